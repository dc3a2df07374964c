// Derivatives and batches of shard_map and its collectives: M3 of docs/behaviours.md. A function that applies shard_map
// is compared with a function of the same value without it, on xla:0: results, both modes, batches.
#include "shard_map.h"

enum { MOST_ARGS = 3, MOST_OUT = 2, BATCH = 2 };

typedef void recorder(const lxla_tensor *args, lxla_tensor *results);

// Two functions that should be the same: `with` shard_map, on the test's mesh, and `without`, on xla:0.
typedef struct {
  size_t n_args, n_results;
  struct {
    int64_t rows, columns;
    const char *sharding;
  } args[MOST_ARGS];
  recorder *with, *without;
} pair;

static lxla_computation traced_as(const pair *p, recorder *record) {
  lxla_tensor args[MOST_ARGS], results[MOST_OUT];
  for (size_t i = 0; i < p->n_args; i++) args[i] = HOLE(DIMS(p->args[i].rows, p->args[i].columns));
  record(args, results);
  return traces(args, p->n_args, results, p->n_results);
}

// Traces arguments -> half the sum of the squares of the first result.
static lxla_computation loss_of(const pair *p, recorder *record) {
  lxla_tensor args[MOST_ARGS], results[MOST_OUT];
  for (size_t i = 0; i < p->n_args; i++) args[i] = HOLE(DIMS(p->args[i].rows, p->args[i].columns));
  record(args, results);
  return traces(args, p->n_args, (lxla_tensor[]){times(total(mul(results[0], results[0])), 0.5)}, 1);
}

// Numbers between -1 and 1, other ones for each seed.
static const float *some(int seed) {
  static float values[4][MOST_ELEMENTS];
  float *list = values[seed % 4];
  uint32_t state = 2654435761u * (uint32_t)(seed + 1);
  for (int i = 0; i < MOST_ELEMENTS; i++) {
    state = state * 1664525u + 1013904223u;
    list[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
  }
  return list;
}

// Makes the argument `i`, or a batch of such arguments, on the device of the test: on a mesh, the argument is split.
static lxla_tensor argument(const pair *p, size_t i, int64_t batch, int seed) {
  const int64_t dims[] = {batch, p->args[i].rows, p->args[i].columns}, *own_dims = batch ? dims : dims + 1;
  const size_t rank = batch ? 3 : 2, bytes = elements(own_dims, rank) * sizeof(float);
  const float *values = some(seed + (int)i);
  if (batch || device.kind != LXLA_DEVICE_MESH) return own(array(F32, own_dims, rank, values, bytes));
  return split_of(F32, own_dims, rank, values, bytes, p->args[i].sharding);
}

static void arguments(const pair *p, int64_t batch, int seed, lxla_tensor *out) {
  for (size_t i = 0; i < p->n_args; i++) out[i] = argument(p, i, batch, seed);
}

// Makes a tensor of x's type on the device of the test.
static lxla_tensor like(lxla_tensor x, int seed) {
  int64_t dims[MOST_RANK];
  size_t rank;
  OK(lxla_tensor_info(x, NULL, &rank, dims, MOST_RANK));
  return own(array(F32, dims, rank, some(seed), elements(dims, rank) * sizeof(float)));
}

static double dot(lxla_tensor a, lxla_tensor b) { return (double)value(total(mul(a, b))); }

// Results of one of the two functions.
typedef struct {
  lxla_tensor results[MOST_OUT], gradients[MOST_ARGS], tangents[MOST_OUT], batches[MOST_OUT], second[2 + 2 * MOST_ARGS];
} outcome;

static outcome outcome_of(const pair *p, recorder *record) {
  outcome o;
  lxla_tensor args[2 * MOST_ARGS], cotangents[MOST_OUT], both[2 * MOST_OUT];
  const lxla_computation f = traced_as(p, record);
  arguments(p, 0, 0, args);
  apply(f, args, p->n_args, o.results, p->n_results);
  for (size_t i = 0; i < p->n_results; i++) cotangents[i] = like(o.results[i], 2 + (int)i);
  pull(vjp_by(f, NULL), args, p->n_args, cotangents, p->n_results, o.gradients);
  arguments(p, 0, 1, args + p->n_args);
  apply(jvp(f, NULL, 0), args, 2 * p->n_args, both, 2 * p->n_results);
  memcpy(o.tangents, both + p->n_results, p->n_results * sizeof *both);
  // The transpose of the derivative is its reverse mode.
  double forward = 0, backward = 0, size = 0;
  for (size_t i = 0; i < p->n_results; i++) forward += dot(o.tangents[i], cotangents[i]);
  for (size_t i = 0; i < p->n_args; i++) {
    backward += dot(o.gradients[i], args[p->n_args + i]);
    size += sqrt(dot(o.gradients[i], o.gradients[i]) * dot(args[p->n_args + i], args[p->n_args + i]));
  }
  if (!(fabs(forward - backward) <= 1e-5 * size)) FAIL("the modes differ: %.9g and %.9g", forward, backward);
  // Forward over reverse.
  apply(jvp(value_and_grad(loss_of(p, record)), NULL, 0), args, 2 * p->n_args, o.second, 2 + 2 * p->n_args);
  // A batch of the first argument, and the others as they are.
  int64_t in[MOST_ARGS] = {0}, out[MOST_OUT] = {0};
  for (size_t i = 1; i < p->n_args; i++) in[i] = -1;
  args[0] = argument(p, 0, BATCH, 3);
  apply(vmap(f, in, p->n_args, out, p->n_results, BATCH), args, p->n_args, o.batches, p->n_results);
  return o;
}

static void agree(const pair *p) {
  const lxla_device place = device;
  const outcome got = outcome_of(p, p->with);
  device = XLA(0);
  const outcome want = outcome_of(p, p->without);
  device = place;
  for (size_t i = 0; i < p->n_results; i++) {
    SAME_NEAR(got.results[i], want.results[i]);
    SAME_NEAR(got.tangents[i], want.tangents[i]);
    SAME_NEAR(got.batches[i], want.batches[i]);
  }
  for (size_t i = 0; i < p->n_args; i++) SAME_NEAR(got.gradients[i], want.gradients[i]);
  for (size_t i = 0; i < 2 + 2 * p->n_args; i++) SAME_NEAR(got.second[i], want.second[i]);
}

// PAIR_TEST(name, ...): a test of two functions with these arguments, on meshes of 2 and of 4.
#define PAIR_TEST(name, ...)                           \
  TEST(name) {                                         \
    static const char *const texts[] = {"a=2", "a=4"}; \
    for (int i_ = 0; i_ < 2; i_++) {                   \
      start_on(texts[i_]);                             \
      agree(&(pair){__VA_ARGS__});                     \
      finish();                                        \
    }                                                  \
  }

// Number of devices along "a", and of the rows of 8 that each has.
static int64_t parts(void) { return axes.sizes[0]; }
static int64_t share(void) { return 8 / parts(); }

static lxla_tensor summed(lxla_tensor x, int64_t axis) {
  lxla_tensor out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, &axis, 1, 1, &out));
  return own(out);
}

// --- all_reduce: x * (the sum of all x^2), and the sums of columns ---

static void by_all_reduce(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = HOLE(DIMS(share(), 4)), square = mul(x, x);
  const lxla_tensor y = mul(x, all_reduced(LXLA_REDUCE_SUM, total(square), "a"));
  const lxla_tensor columns = all_reduced(LXLA_REDUCE_SUM, summed(square, 0), "a");
  mapped(traces(&x, 1, TENSORS(y, columns)), TEXTS("a,-"), args, 1, TEXTS("a,-", ""), results, 2);
}
static void squares(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor square = mul(args[0], args[0]);
  results[0] = mul(args[0], total(square));
  results[1] = summed(square, 0);
}
PAIR_TEST(m3_derivatives_of_all_reduce, .n_args = 1, .n_results = 2, .args = {{8, 4, "a,-"}}, .with = by_all_reduce,
          .without = squares)

// --- all_gather: x x^T ---

static void by_all_gather(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = HOLE(DIMS(share(), 4)), y = product(x, transposed(all_gathered(x, "a", 0)));
  mapped(traces(&x, 1, &y, 1), TEXTS("a,-"), args, 1, TEXTS("a,-"), results, 1);
}
static void gram(const lxla_tensor *args, lxla_tensor *results) { results[0] = product(args[0], transposed(args[0])); }
PAIR_TEST(m3_derivatives_of_all_gather, .n_args = 1, .n_results = 1, .args = {{8, 4, "-,a"}}, .with = by_all_gather,
          .without = gram)

// --- reduce_scatter: x w, of which each device has a part of the contracted axis ---

static void by_reduce_scatter(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = HOLE(DIMS(8, share())), w = HOLE(DIMS(share(), 4));
  const lxla_tensor y = reduce_scattered(LXLA_REDUCE_SUM, product(x, w), "a", 0);
  mapped(traces(TENSORS(x, w), &y, 1), TEXTS("-,a", "a,-"), args, 2, TEXTS("a,-"), results, 1);
}
static void plain_product(const lxla_tensor *args, lxla_tensor *results) { results[0] = product(args[0], args[1]); }
PAIR_TEST(m3_derivatives_of_reduce_scatter, .n_args = 2, .n_results = 1, .args = {{8, 8, "-,a"}, {8, 4, ""}},
          .with = by_reduce_scatter, .without = plain_product)

// --- all_to_all: columns times their sums, where each device has some columns, of rows split over the devices ---

static void by_all_to_all(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = HOLE(DIMS(share(), 8)), columns = exchanged(x, "a", 1, 0);
  const lxla_tensor y = exchanged(mul(columns, summed(columns, 0)), "a", 0, 1);
  mapped(traces(&x, 1, &y, 1), TEXTS("a,-"), args, 1, TEXTS("a,-"), results, 1);
}
static void times_sums(const lxla_tensor *args, lxla_tensor *results) { results[0] = mul(args[0], summed(args[0], 0)); }
PAIR_TEST(m3_derivatives_of_all_to_all, .n_args = 1, .n_results = 1, .args = {{8, 8, "a,-"}}, .with = by_all_to_all,
          .without = times_sums)

// --- collective_permute: rows times those of the device before, in a ring; and plus those, where there is one ---

static void by_permute(const lxla_tensor *args, lxla_tensor *results) {
  int64_t pairs[2 * DEVICES];
  for (int64_t i = 0; i + 1 < parts(); i++) pairs[2 * i] = i, pairs[2 * i + 1] = i + 1;
  const lxla_tensor x = HOLE(DIMS(share(), 4)), ring = mul(x, passed_on(x, "a", parts()));
  const lxla_tensor shifted = add(mul(x, x), permuted(x, "a", pairs, (size_t)parts() - 1));
  mapped(traces(&x, 1, TENSORS(ring, shifted)), TEXTS("a,-"), args, 1, TEXTS("a,-", "a,-"), results, 2);
}
static void rolled(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = args[0];
  lxla_tensor ring, head, zeros, below;
  OK(lxla_roll(x, (int64_t[]){share()}, (int64_t[]){0}, 1, &ring));
  OK(lxla_slice_axis(x, 0, 0, 8 - share(), 1, &head));
  OK(lxla_tensor_full(env, device, F32, DIMS(share(), 4), 0, &zeros));
  OK(lxla_concatenate(TENSORS(own(zeros), own(head)), 0, &below));
  results[0] = mul(x, own(ring));
  results[1] = add(mul(x, x), own(below));
}
PAIR_TEST(m3_derivatives_of_collective_permute, .n_args = 1, .n_results = 2, .args = {{8, 4, "a,-"}},
          .with = by_permute, .without = rolled)

// --- softmax over an axis that is split: the largest element needs no derivative ---

static void split_softmax(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = HOLE(DIMS(8, share()));
  lxla_tensor most, y;
  OK(lxla_reduce(LXLA_REDUCE_MAX, stopped(x), DIMS(1), 1, &most));
  const lxla_tensor power = unary(LXLA_UNARY_EXPONENTIAL, subtract(x, all_reduced(LXLA_REDUCE_MAX, own(most), "a")));
  y = own(binary(LXLA_BINARY_DIVIDE, power, all_reduced(LXLA_REDUCE_SUM, summed(power, 1), "a")));
  mapped(traces(&x, 1, &y, 1), TEXTS("-,a"), args, 1, TEXTS("-,a"), results, 1);
}
static void plain_softmax(const lxla_tensor *args, lxla_tensor *results) {
  OK(lxla_softmax(args[0], 1, &results[0]));
  own(results[0]);
}
PAIR_TEST(m3_derivatives_of_a_split_softmax, .n_args = 1, .n_results = 1, .args = {{8, 8, "-,a"}},
          .with = split_softmax, .without = plain_softmax)

// --- A ring matmul: x w, where each device has some rows of both; the blocks of w go around, a permute in a scan ---

// (x, w, sum) at step s: w is the block of rows of the device s places before. Adds x's columns of that block times w.
static lxla_computation ring_step(void) {
  const lxla_tensor x = HOLE(DIMS(share(), 8)), w = HOLE(DIMS(share(), 4)), sum = HOLE(DIMS(share(), 4));
  const lxla_tensor s = hole_of(S32, SCALAR), behind = plus(subtract(index_over("a"), s), (double)parts());
  const lxla_tensor block = own(scalar(LXLA_BINARY_REMAINDER, behind, (double)parts()));
  const lxla_tensor starts[] = {number_of(S32, 0), times(block, (double)share())};
  lxla_tensor columns;
  OK(lxla_dynamic_slice(x, starts, (int64_t[]){share(), share()}, 2, &columns));
  const lxla_tensor next = add(sum, product(own(columns), w));
  return traces(TENSORS(x, w, sum, s), TENSORS(x, passed_on(w, "a", parts()), next));
}
static void ring_matmul(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = HOLE(DIMS(share(), 8)), w = HOLE(DIMS(share(), 4));
  lxla_tensor zeros, steps, carry[3];
  OK(lxla_tensor_full(env, device, F32, DIMS(share(), 4), 0, &zeros));
  OK(lxla_iota(env, device, S32, DIMS(parts()), 0, &steps));
  scan(ring_step(), TENSORS(x, w, own(zeros)), (lxla_tensor[]){own(steps)}, 1, parts(), 0, carry, NULL, 0);
  mapped(traces(TENSORS(x, w), &carry[2], 1), TEXTS("a,-", "a,-"), args, 2, TEXTS("a,-"), results, 1);
}
PAIR_TEST(m3_derivatives_of_a_ring_matmul, .n_args = 2, .n_results = 1, .args = {{8, 8, "a,-"}, {8, 4, "-,a"}},
          .with = ring_matmul, .without = plain_product)

// --- A network with tensor parallelism: batches over a, hidden units over b; weights are replicated over a ---

static void parallel_network(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = HOLE(DIMS(4, 4)), up = HOLE(DIMS(4, 4)), down = HOLE(DIMS(4, 4));
  const lxla_tensor y = all_reduced(LXLA_REDUCE_SUM, product(tanh_of(product(x, up)), down), "b");
  const lxla_tensor loss = all_reduced(LXLA_REDUCE_SUM, total(mul(y, y)), "a");
  mapped(traces(TENSORS(x, up, down), TENSORS(loss, y)), TEXTS("a,-", "-,b", "b,-"), args, 3, TEXTS("", "a,-"), results,
         2);
}
static void network(const lxla_tensor *args, lxla_tensor *results) {
  results[1] = product(tanh_of(product(args[0], args[1])), args[2]);
  results[0] = total(mul(results[1], results[1]));
}
MESH_TEST(m3_derivatives_of_a_network_with_two_axes, "a=2,b=2") {
  agree(&(pair){.n_args = 3,
                .n_results = 2,
                .args = {{8, 4, "a,-"}, {4, 8, "-,b"}, {8, 4, "b,-"}},
                .with = parallel_network,
                .without = network});
}

// Over both axes at once: x times the sum of all; each device has one row.
static void over_both(const lxla_tensor *args, lxla_tensor *results) {
  const lxla_tensor x = HOLE(DIMS(2, 4)), whole = all_gathered(x, "b+a", 0);
  const lxla_tensor y = mul(mul(x, all_reduced(LXLA_REDUCE_SUM, total(x), "a+b")), total(whole));
  mapped(traces(&x, 1, &y, 1), TEXTS("a+b,-"), args, 1, TEXTS("a+b,-"), results, 1);
}
static void times_square(const lxla_tensor *args, lxla_tensor *results) {
  results[0] = mul(mul(args[0], total(args[0])), total(args[0]));
}
MESH_TEST(m3_derivatives_over_two_axes_at_once, "a=2,b=2") {
  agree(&(pair){.n_args = 1, .n_results = 1, .args = {{8, 4, "a,b"}}, .with = over_both, .without = times_square});
}

// --- By hand ---

// Pulls a cotangent back through a body of one argument and one result.
static lxla_tensor pulled(lxla_computation body, const char *in, lxla_tensor x, const char *out,
                          lxla_tensor cotangent) {
  int64_t dims[MOST_RANK];
  size_t rank;
  OK(lxla_tensor_info(x, NULL, &rank, dims, MOST_RANK));
  const lxla_tensor whole = hole_of(F32, dims, rank), y = mapped_one(body, in, whole, out);
  lxla_tensor gradient_of_x;
  pull(vjp_by(traces(&whole, 1, &y, 1), NULL), &x, 1, &cotangent, 1, &gradient_of_x);
  return gradient_of_x;
}

MESH_TEST(m3_cotangents_by_hand, "a=2") {
  const lxla_tensor v = HOLE(DIMS(2)), m = HOLE(DIMS(1, 4)), tall = HOLE(DIMS(2, 2)), x = counting(DIMS(4), "a");
  const lxla_tensor rows = counting(DIMS(2, 4), "a,-"), c = SPLIT("", DIMS(4), 1, 2, 3, 4);
  lxla_tensor y;
  // A sum gives its cotangent to each summand.
  y = all_reduced(LXLA_REDUCE_SUM, v, "a");
  IS(pulled(traces(&v, 1, &y, 1), "a", x, "", SPLIT("", DIMS(2), 10, 20)), DIMS(4), 10, 20, 10, 20);
  // The whole of a split tensor, replicated.
  y = all_gathered(v, "a", 0);
  IS(pulled(traces(&v, 1, &y, 1), "a", x, "", c), DIMS(4), 1, 2, 3, 4);
  // The sum of two rows, a half on each device.
  y = reduce_scattered(LXLA_REDUCE_SUM, m, "a", 1);
  const lxla_tensor of_sum = SPLIT("-,a", DIMS(1, 4), 1, 2, 3, 4);
  IS(pulled(traces(&m, 1, &y, 1), "a,-", rows, "-,a", of_sum), DIMS(2, 4), 1, 2, 3, 4, 1, 2, 3, 4);
  // From rows to columns.
  y = exchanged(tall, "a", 1, 0);
  const lxla_tensor square = counting(DIMS(4, 2), "a,-"), of_square = SPLIT("", DIMS(4, 2), 1, 2, 3, 4, 5, 6, 7, 8);
  IS(pulled(traces(&tall, 1, &y, 1), "a,-", square, "-,a", of_square), DIMS(4, 2), 1, 2, 3, 4, 5, 6, 7, 8);
  // The devices change places; and the first device sends to the second, which sends nothing.
  y = passed_on(v, "a", 2);
  IS(pulled(traces(&v, 1, &y, 1), "a", x, "a", c), DIMS(4), 3, 4, 1, 2);
  y = permuted(v, "a", (int64_t[]){0, 1}, 1);
  IS(pulled(traces(&v, 1, &y, 1), "a", x, "a", c), DIMS(4), 3, 4, 0, 0);
  // A replicated argument: each device adds what its piece of the result depends on.
  const lxla_tensor w = HOLE(DIMS(2)), both[] = {v, w}, w_whole = HOLE(DIMS(2)), x_whole = HOLE(DIMS(4));
  lxla_tensor z, gradients_of[2];
  y = mul(v, w);
  mapped(traces(both, 2, &y, 1), TEXTS("a", ""), TENSORS(x_whole, w_whole), TEXTS("a"), &z, 1);
  pull(vjp_by(traces(TENSORS(x_whole, w_whole), &z, 1), NULL), TENSORS(x, SPLIT("", DIMS(2), 5, 6)), &c, 1,
       gradients_of);
  IS(gradients_of[0], DIMS(4), 5, 12, 15, 24);
  IS(gradients_of[1], DIMS(2), 2 * 3, 1 * 2 + 3 * 4);
}

MESH_TEST(m3_gradients_of_a_pending_shard_map, "a=4") {
  // loss = (the sum of x)^2, of pending tensors; then of the gradient again.
  const lxla_tensor piece = HOLE(DIMS(1)), sum = all_reduced(LXLA_REDUCE_SUM, total(piece), "a");
  const lxla_tensor x = SPLIT("a", DIMS(4), 1, 2, 3, 4), s = mapped_one(traces(&piece, 1, &sum, 1), "a", x, "");
  const lxla_tensor once = gradient(mul(s, s), x), twice = gradient(total(gradient(mul(mul(s, s), s), x)), x);
  IS(once, DIMS(4), 20, 20, 20, 20);
  IS(twice, DIMS(4), 240, 240, 240, 240);
}

MESH_TEST(m3_checkpoints_of_a_shard_map, "a=4") {
  // Policies do not change gradients: f = the sum of tanh(x w)^2 by a body with a gather.
  const lxla_tensor x = HOLE(DIMS(2, 4)), w = HOLE(DIMS(1, 4)), y = tanh_of(product(x, all_gathered(w, "a", 0)));
  const lxla_computation body = traces(TENSORS(x, w), &y, 1);
  const lxla_tensor all_x = HOLE(DIMS(8, 4)), all_w = HOLE(DIMS(4, 4));
  lxla_tensor z;
  mapped(body, TEXTS("a,-", "a,-"), TENSORS(all_x, all_w), TEXTS("a,-"), &z, 1);
  const lxla_computation f = traces(TENSORS(all_x, all_w), (lxla_tensor[]){total(mul(z, z))}, 1);
  const lxla_tensor args[] = {split_of(F32, DIMS(8, 4), some(0), 128, "a,-"),
                              split_of(F32, DIMS(4, 4), some(1), 64, "a,-")};
  lxla_tensor want[3], got[3];
  apply(value_and_grad(f), args, 2, want, 3);
  for (int32_t policy = LXLA_CHECKPOINT_SAVE_NONE; policy <= LXLA_CHECKPOINT_SAVE_DOTS; policy++) {
    lxla_vjp_options options = vjp_defaults();
    options.checkpoint = policy;
    apply(value_and_grad_by(f, &options), args, 2, got, 3);
    for (int i = 0; i < 3; i++) SAME_NEAR(got[i], want[i]);
  }
}
