// Gradients: of pending tensors, and of a traced computation.
#include "frontend.h"

// [recipe]
// The mean squared error of tanh(x w1) w2. Records, and runs nothing.
static lxla_tensor loss_of(lxla_tensor x, lxla_tensor target, lxla_tensor w1, lxla_tensor w2) {
  lxla_tensor z = matmul(x, w1), h = unary(LXLA_UNARY_TANH, z), prediction = matmul(h, w2), loss;
  lxla_tensor error = binary(LXLA_BINARY_SUBTRACT, prediction, target);
  lxla_tensor square = binary(LXLA_BINARY_MULTIPLY, error, error);
  TRY(lxla_mean(square, NULL, 0, 0, &loss));
  RELEASE(z, h, prediction, error, square);  // the recorded operations stay
  return loss;
}

// w -= rate * gradient, in place.
static void descend(lxla_tensor w, lxla_tensor gradient, double rate) {
  lxla_tensor update = binary_scalar(LXLA_BINARY_MULTIPLY, gradient, rate);
  TRY(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, w, update));
  RELEASE(update);
}
// [recipe end]

// [recipe]
// A training step on pending tensors: one program with the loss, its gradients and the updates.
static lxla_tensor train_lazily(lxla_tensor x, lxla_tensor target, const lxla_tensor *w) {
  lxla_tensor loss = loss_of(x, target, w[0], w[1]), gradients[2];
  TRY(lxla_gradients(&loss, 1, NULL, w, 2, gradients));  // before the step or a read of the loss
  for (int i = 0; i < 2; i++) descend(w[i], gradients[i], 0.1);
  RELEASE(gradients[0], gradients[1]);
  TRY(lxla_mark_step(env, device, 0));
  return loss;
}
// [recipe end]

// [recipe]
// The computation of x, target, w1, w2 to the loss and its gradients by w1 and w2. The backward pass computes again all
// values of the forward pass but the products.
static lxla_computation loss_and_gradients(lxla_tensor x, lxla_tensor target, const lxla_tensor *w) {
  lxla_tensor p[4], examples[] = {x, target, w[0], w[1]};
  for (int i = 0; i < 4; i++) TRY(lxla_tensor_placeholder_like(examples[i], &p[i]));
  lxla_tensor loss = loss_of(p[0], p[1], p[2], p[3]);
  lxla_computation traced, made;
  TRY(lxla_computation_trace(p, 4, &loss, 1, &traced));
  const size_t weights[] = {2, 3};
  lxla_vjp_options options = {.struct_size = sizeof options};
  TRY(lxla_vjp_options_init(&options));
  options.wrt = weights, options.n_wrt = 2;
  options.checkpoint = LXLA_CHECKPOINT_SAVE_DOTS;
  TRY(lxla_computation_value_and_grad(traced, &options, &made));
  TRY(lxla_computation_release(traced));
  TRY(lxla_tensor_release_many(p, 4));
  RELEASE(loss);
  return made;
}

static lxla_tensor train_by(lxla_computation step, lxla_tensor x, lxla_tensor target, const lxla_tensor *w) {
  lxla_tensor r[3];
  TRY(lxla_computation_call(step, (lxla_tensor[]){x, target, w[0], w[1]}, 4, r, 3));
  for (int i = 0; i < 2; i++) descend(w[i], r[1 + i], 0.1);
  RELEASE(r[1], r[2]);
  return r[0];
}
// [recipe end]

enum { STEPS = 200 };

static void make_data(lxla_device on, lxla_tensor *x, lxla_tensor *target, lxla_tensor *w) {
  float x_values[] = {0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1}, t_values[] = {0, 1, 1, 0};  // exclusive or, and a bias
  float w1_values[] = {1.1f, -0.8f, 0.5f, -1.2f, 0.9f, 0.6f, -0.1f, 0.2f, -0.4f}, w2_values[] = {0.7f, -0.9f, 0.5f};
  *x = from_floats(on, DIMS(4, 3), x_values), *target = from_floats(on, DIMS(4, 1), t_values);
  w[0] = from_floats(on, DIMS(3, 3), w1_values), w[1] = from_floats(on, DIMS(3, 1), w2_values);
}

int main(void) {
  float losses[3], first = 0;
  for (int way = 0; way < 3; way++) {  // pending tensors; a computation, lazily and natively
    lxla_device on = way == 2 ? (lxla_device){LXLA_DEVICE_CPU, 0} : device;
    lxla_tensor x, target, w[2];
    make_data(on, &x, &target, w);
    lxla_computation step = loss_and_gradients(x, target, w);
    for (int i = 0; i < STEPS; i++) {
      lxla_tensor loss = way == 0 ? train_lazily(x, target, w) : train_by(step, x, target, w);
      if (way == 1) TRY(lxla_mark_step(env, device, 0));
      losses[way] = first_value(loss, 1);
      if (i == 0) first = losses[way];
      RELEASE(loss);
    }
    TRY(lxla_computation_release(step));
    RELEASE(x, target, w[0], w[1]);
  }
  printf("loss: %.4f at first, then %.4f %.4f %.4f\n", first, losses[0], losses[1], losses[2]);
  for (int way = 0; way < 3; way++) CHECK(losses[way] < first / 2 && fabsf(losses[way] - losses[0]) < 0.01f);
  CHECK(counter(env, "UncachedCompile") < 8);
  return 0;
}
