// Short names (lazyxla_short.h): a network of two layers that learns which points lie in a circle.
#include <lazyxla_short.h>

enum { POINTS = 256, STEPS = 400 };

// [recipe]
// Scores of two classes. The tensors on the way are released where the function ends.
static lxla_tensor scores_of(const lxla_tensor *p, lxla_tensor x) {
  lx_scope();
  lxla_tensor hidden = lx_tanh(lx_add(lx_matmul(x, p[0]), p[1]));
  return lx_keep(lx_add(lx_matmul(hidden, p[2]), p[3]));
}

static double train(lxla_tensor *p, lxla_tensor x, lxla_tensor labels) {
  double last = 0;
  for (int i = 0; i < STEPS; i++) {
    lx_scope();  // of an iteration
    lxla_tensor loss = lx_cross_entropy(scores_of(p, x), labels), gradients[4];
    lx_gradients(loss, p, 4, gradients);
    for (int k = 0; k < 4; k++) lx_set(p[k], lx_sub(p[k], lx_mul(0.5, gradients[k])));
    lx_step();
    if (i % 100 == 99) printf("step %d: loss %.4f\n", i + 1, last = lx_value(loss));
  }
  return last;
}

int main(void) {
  lx_scope();
  lxla_tensor key = lx_key(0), x = lx_uniform(lx_next_key(key), -1, 1, POINTS, 2);
  lxla_tensor is_inside = lx_lt(lx_sum_along(lx_square(x), 1), 0.5);
  lxla_tensor labels = lx_convert(lx_reshape(is_inside, POINTS), LXLA_DTYPE_S32);
  lxla_tensor p[] = {lx_normal(lx_next_key(key), 2, 32), lx_zeros(32), lx_mul(lx_normal(lx_next_key(key), 32, 2), 0.1),
                     lx_zeros(2)};
  double loss = train(p, x, labels);
  lxla_tensor right = lx_eq(lx_argmax(scores_of(p, x), 1), labels);
  double share = lx_value(lx_mean(lx_convert(right, LXLA_DTYPE_F32)));
  printf("%.1f %% right\n", 100 * share);
  return loss < 0.2 && share > 0.95 ? 0 : 1;
}
// [recipe end]
