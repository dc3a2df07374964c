// The rule for lists of axes, in every function that takes one: NULL means all axes, a list of length 0 means none.
#include "both.h"
#include "computation.h"

static const int64_t no_axes[1] = {0};

static void every_function(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), flat = F32S(DIMS(1, 2, 1), 1, 2), no = {0}, out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  HAS_F32(out, SCALAR, 21);
  OK(lxla_reduce(LXLA_REDUCE_MAX, x, NULL, 0, 1, &out));
  HAS_F32(out, DIMS(1, 1), 6);
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, no_axes, 0, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_mean(x, NULL, 0, 0, &out));
  HAS_F32(out, SCALAR, 3.5);
  OK(lxla_mean(x, no_axes, 0, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_variance(x, NULL, 0, 1, 0, &out));
  HAS_F32(out, SCALAR, 3.5);
  OK(lxla_variance(x, no_axes, 0, 0, 0, &out));
  HAS_F32(out, DIMS(2, 3), 0, 0, 0, 0, 0, 0);
  OK(lxla_standard_deviation(flat, NULL, 0, 0, 0, &out));
  HAS_F32(out, SCALAR, 0.5);
  OK(lxla_standard_deviation(flat, no_axes, 0, 0, 0, &out));
  HAS_F32(out, DIMS(1, 2, 1), 0, 0);
  OK(lxla_logsumexp(flat, NULL, 0, 1, &out));
  RELEASE(out);
  OK(lxla_logsumexp(flat, no_axes, 0, 0, &out));
  HAS_F32(out, DIMS(1, 2, 1), 1, 2);
  OK(lxla_norm(x, 1, NULL, 0, 0, &out));
  HAS_F32(out, SCALAR, 21);
  OK(lxla_norm(x, 1, no_axes, 0, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_reverse(x, NULL, 0, &out));
  HAS_F32(out, DIMS(2, 3), 6, 5, 4, 3, 2, 1);
  OK(lxla_reverse(x, no_axes, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_flip(x, NULL, 0, &out));
  HAS_F32(out, DIMS(2, 3), 6, 5, 4, 3, 2, 1);
  OK(lxla_flip(x, no_axes, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_squeeze(flat, NULL, 0, &out));
  HAS_F32(out, DIMS(2), 1, 2);
  OK(lxla_squeeze(flat, no_axes, 0, &out));
  HAS_F32(out, DIMS(1, 2, 1), 1, 2);
  OK(lxla_layer_norm(flat, NULL, 0, no, no, 0, &out));
  HAS_F32(out, DIMS(1, 2, 1), -1, 1);
  REFUSED(lxla_layer_norm(flat, no_axes, 0, no, no, 0, &out), BAD, "axes: none given; want at least 1");
  REFUSED(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 1, 0, &out), LXLA_NULL_ARGUMENT, "axes: it is NULL");
  REFUSED(lxla_norm(x, 2, NULL, 1, 0, &out), LXLA_NULL_ARGUMENT, "axes: it is NULL");
  REFUSED(lxla_reduce(LXLA_REDUCE_SUM, no, NULL, 0, 0, &out), LXLA_INVALID_HANDLE, "x");
  RELEASE(x, flat);
}
TEST(null_is_all_axes_and_an_empty_list_is_none) { on_both(every_function); }

static void by_a_computation(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), zero = at(F32, 0), p[2], sum, out;
  lxla_computation add;
  for (int i = 0; i < 2; i++) OK(lxla_tensor_placeholder(env, XLA(0), F32, NULL, 0, &p[i]));
  OK(lxla_binary(LXLA_BINARY_ADD, p[0], p[1], &sum));
  OK(lxla_computation_trace(p, 2, &sum, 1, &add));
  RELEASE(p[0], p[1], sum);
  OK(lxla_reduce_with(add, &x, &zero, 1, NULL, 0, &out));
  HAS_F32(out, SCALAR, 21);
  OK(lxla_reduce_with(add, &x, &zero, 1, no_axes, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_computation_release(add));
  RELEASE(x, zero);
}
TEST(so_it_is_for_reductions_by_computations) { on_both(by_a_computation); }

static void truth_values(void) {
  lxla_tensor x = ARRAY(PRED, uint8_t, DIMS(2, 3), 1, 0, 1, 1, 1, 0), out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, DIMS(1), 0, &out));
  HAS(out, S64, int64_t, DIMS(2), 2, 2);
  OK(lxla_reduce(LXLA_REDUCE_PRODUCT, x, DIMS(0), 1, &out));
  HAS(out, S64, int64_t, DIMS(1, 3), 1, 0, 0);
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, no_axes, 0, 0, &out));
  HAS(out, S64, int64_t, DIMS(2, 3), 1, 0, 1, 1, 1, 0);
  OK(lxla_cumulative(LXLA_REDUCE_SUM, x, 1, 0, &out));
  HAS(out, S64, int64_t, DIMS(2, 3), 1, 1, 2, 1, 2, 2);
  RELEASE(x);
  // More elements than any 8-bit dtype can count.
  lxla_scalar yes = {PRED, 0, {.u = 1}};
  OK(lxla_tensor_full_with_scalar(env, device, PRED, DIMS(70000), &yes, &x));
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  HAS(out, S64, int64_t, SCALAR, 70000);
  RELEASE(x);
}
TEST(sums_of_pred_count) { on_both(truth_values); }
