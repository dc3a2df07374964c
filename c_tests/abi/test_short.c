// lazyxla_short.h: scopes, numbers as operands, errors, networks and random numbers, on an XLA device and natively.
#include <lazyxla_short.h>

#include "both.h"

static uint64_t live(void) { return counter(env, "CreateTensor") - counter(env, "DestroyTensor"); }

static void has_values(lxla_tensor x, const float *wanted, size_t n) {
  float got[64];
  lx_read(x, got, n);
  for (size_t i = 0; i < n; i++) {
    if (!(fabsf(got[i] - wanted[i]) <= 1e-6f * (1 + fabsf(wanted[i])))) FAIL("[%zu] %g, want %g", i, got[i], wanted[i]);
  }
}
#define VALUES(x, ...) has_values((x), (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

// Runs a test on both devices, and checks that nothing is left.
static void each(void (*test)(void)) {
  on_both(test);
  lx_release_all();
}

static void begin(void) { lx_use(env, device); }

// --- Scopes -------------------------------------------------------------------------------------------------------

static lxla_tensor half(lxla_tensor x, int early) {
  lx_scope();
  lxla_tensor product = lx_mul(lx_add(x, 0), 0.5);
  if (early) return lx_keep(product);
  lx_scope();  // a second one in the same block
  lxla_tensor more = lx_mul(lx_mul(product, 1), 1);
  return lx_keep(lx_keep(more));
}

static void scopes(void) {
  begin();
  uint64_t before = live();
  lxla_tensor owned;
  {
    lx_scope();
    lxla_tensor x = lx_array(((float[]){2, 4}), 2);
    for (int i = 0; i < 3; i++) {
      lx_scope();
      lx_exp(x);
      if (i == 0) continue;
      lx_exp(x);
      if (i == 1) break;
    }
    EQUAL(live(), before + 1);
    lxla_tensor y = half(x, 1);
    EQUAL(live(), before + 2);
    VALUES(y, 1, 2);
    owned = lx_own(y);
    for (int i = 0; i < 200; i++) lx_add(x, i);  // more than a first list holds
  }
  EQUAL(live(), before + 1);
  VALUES(owned, 1, 2);
  RELEASE(owned);
  {
    lx_scope();
    lxla_tensor kept[3];
    {
      lx_scope();
      for (int i = 0; i < 3; i++) lx_scalar(0), kept[i] = lx_keep(lx_scalar(i)), lx_scalar(9);
    }
    EQUAL(live(), before + 3);
    for (int i = 0; i < 3; i++) EQUAL(lx_value(kept[i]), i);
    lx_keep(kept[0]);
  }
  EQUAL(live(), before + 1);  // outside of all scopes
  lx_release_all();
  EQUAL(live(), before);
}
TEST(test_scopes) { each(scopes); }

// --- Operands -----------------------------------------------------------------------------------------------------

static void operands(void) {
  begin();
  lx_scope();
  lxla_tensor x = lx_array(((float[]){1, -2, 4}), 3), n = lx_array(((int64_t[]){7, -7, 2}), 3);
  VALUES(lx_sub(1, x), 0, 3, -3);
  VALUES(lx_sub(x, 1.5), -0.5f, -3.5f, 2.5f);
  VALUES(lx_div(2, x), 2, -1, 0.5f);
  VALUES(lx_pow(2, x), 2, 0.25f, 16);
  VALUES(lx_maximum(lx_minimum(x, 2), -1.0f), 1, -1, 2);
  VALUES(lx_where(lx_lt(x, 0), 0, x), 1, 0, 4);
  VALUES(lx_where(lx_ge(1, x), x, -1), 1, -2, -1);
  int64_t whole[3];
  lx_read(lx_sub(10L, n), whole, 3);
  CHECK(whole[0] == 3 && whole[1] == 17 && whole[2] == 8);
  int8_t few[3];
  lx_read(lx_convert(n, LXLA_DTYPE_S4), few, 3);  // a byte for each element of 4 bits
  CHECK(few[0] == 7 && few[1] == -7 && few[2] == 2);
  EQUAL(lx_value(lx_sum(n)), 2);
  EQUAL(lx_value(lx_max(n)), 7);
  EQUAL(lx_value(lx_argmax(x, 0)), 2);
  EQUAL(lx_value(lx_convert(lx_slice(x, 0, -1, 3), LXLA_DTYPE_BF16)), 4);
  EQUAL(lx_value(lx_lt(lx_min(x), lx_scalar(0))), 1);
}
TEST(test_operands) { each(operands); }

static void elements_and_shapes(void) {
  begin();
  lx_scope();
  lxla_tensor x = lx_array(((float[]){1, -2, 0.5f}), 3), m = lx_reshape(lx_range(6), 2, -1);
  VALUES(lx_sign(x), 1, -1, 1);
  VALUES(lx_expm1(x), 1.7182818f, -0.8646647f, 0.6487213f);
  VALUES(lx_log1p(lx_abs(x)), 0.6931472f, 1.0986123f, 0.4054651f);
  VALUES(lx_floor(x), 1, -2, 0);
  VALUES(lx_ceil(x), 1, -2, 1);
  VALUES(lx_softplus(x), 1.3132617f, 0.126928f, 0.974077f);
  VALUES(lx_erf(x), 0.8427008f, -0.9953223f, 0.5204999f);
  VALUES(lx_product(x), -1);
  VALUES(lx_logsumexp(lx_mul(x, 0)), 1.0986123f);
  EQUAL(lx_value(lx_any(lx_gt(x, 0.9))), 1);
  EQUAL(lx_value(lx_all(lx_gt(x, 0.9))), 0);
  int32_t whole[6];
  lx_read(lx_product_along(m, 1), whole, 2);
  CHECK(whole[0] == 0 && whole[1] == 60);
  lx_read(lx_reshape(m, -1), whole, 6);
  CHECK(whole[0] == 0 && whole[5] == 5);
  lx_read(lx_sum(lx_ones_like(m)), whole, 1);
  EQUAL(whole[0], 6);
  EQUAL(lx_value(lx_sum(lx_zeros_like(m))), 0);
  VALUES(lx_eye(2), 1, 0, 0, 1);
  VALUES(lx_round(lx_mul(x, 3)), 3, -6, 2);
  VALUES(lx_clip(x, -1, 0.75), 0.75f, -1, 0.5f);
  VALUES(lx_arange(1, 2.5, 0.5), 1, 1.5f, 2);
  VALUES(lx_linspace(0, 1, 3), 0, 0.5f, 1);
}
TEST(test_elements_and_shapes) { each(elements_and_shapes); }

// --- Errors -------------------------------------------------------------------------------------------------------

static int failures;
static char said[256], place[256];
static void failed(lxla_status status, const char *message) {
  (void)status;
  // Calls that take the result of a failed one fail as well.
  if (failures++) return;
  snprintf(said, sizeof said, "%s", message);
  snprintf(place, sizeof place, "%s:%d", lx_here.file, lx_here.line);
}

// The last error is told at a line of this file.
static bool is_at(int line) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, "test_short.c:%d", line);
  return strstr(place, wanted);
}
static lxla_tensor twice(lxla_tensor x) { return lx_mul(x, 2); }

#define FAILS(call, words)                                                      \
  do {                                                                          \
    failures = 0;                                                               \
    (void)(call);                                                               \
    if (!failures || !strstr(said, words)) FAIL("%s says \"%s\"", #call, said); \
  } while (0)

static void errors(void) {
  begin();
  lx_on_error(failed);
  uint64_t before = live();
  {
    lx_scope();
    lxla_tensor x = lx_zeros(2, 3);
    FAILS(lx_matmul(x, x), "lxla_matmul");
    CHECK(is_at(__LINE__ - 1));
    // The call that fails, not a call of its arguments.
    FAILS(lx_matmul(twice(x), twice(x)), "lxla_matmul");
    CHECK(is_at(__LINE__ - 1) && !lx_here.file);
    FAILS(lx_value(lx_convert(lx_scalar(1), LXLA_DTYPE_C64)), "lx_value: the tensor is complex");
    FAILS(lx_add(1, 2), "want a tensor as one of the operands");
    FAILS(lx_reshape(x, 7), "lxla_reshape");
    FAILS(lx_reshape(x, 4, -1), "one size is -1");
    FAILS(lx_reshape(x, -1, INT64_MAX, 4), "one size is -1");
    FAILS(lx_reshape(x, -1, -1), "one size is -1");
    FAILS(lx_reshape(lx_matmul(x, x), -1), "lxla_matmul");
    FAILS(lx_zeros_like(lx_matmul(x, x)), "lxla_matmul");
    FAILS(lx_batch_norm(x, x, x, 0, NULL, NULL), "lxla_batch_norm_training");
    FAILS(lx_add(x, lx_matmul(x, x)), "rhs");
    FAILS(lx_value(x), "size_bytes");
    FAILS(lx_read(x, ((int[6]){0}), 6), "lx_read: the tensor is f32, the array s32");
    FAILS(lx_read(x, ((float[6]){0}), 5), "size_bytes");
    FAILS(lx_max_pool(x, 2, 2), "rank");
    FAILS(lx_conv2d(x, x, 1, true), "lxla_convolution");
    FAILS(lx_cross_entropy(x, lx_range(3)), "lxla_take_along_axis");
    FAILS(lx_counter("NoSuch"), "there is no counter");
    FAILS(lx_print(lx_matmul(x, x)), "lxla_matmul");
    FAILS(lx_load("/no/such/file", "x"), "lxla_load");
    FAILS(lx_save("/no/such/folder/x", (const char *[]){"x"}, &x, 1), "lxla_save");
    FAILS(lx_dropout(x, 2, lx_key(0)), "p: -1 given");
    VALUES(lx_sum(x), 0);
  }
  EQUAL(live(), before);
  lx_on_error(NULL);
}
TEST(test_errors) { each(errors); }

// --- Texts ------------------------------------------------------------------------------------------------------

static void has_text(lxla_tensor x, const char *wanted) {
  char *got = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&got, &size);
  CHECK(out);
  lx_print_to(out, x);
  CHECK(fclose(out) == 0);
  if (strcmp(got, wanted)) FAIL("\"%s\", want \"%s\"", got, wanted);
  free(got);
}

// As test_cpp_short.cc.
static void texts(void) {
  begin();
  lx_scope();
  lxla_tensor x = lx_array(((float[]){1, 2.5f, -3}), 3), z = LX_MAKE(lxla_complex, x, x);
  has_text(x, "f32[3] [1, 2.5, -3]\n");
  has_text(lx_scalar(0.1), "f32[] 0.1\n");
  has_text(lx_reshape(lx_range(4), 2, 2), "s32[2,2]\n[[0, 1],\n [2, 3]]\n");
  has_text(lx_zeros(1, 2, 1), "f32[1,2,1]\n[[[0],\n  [0]]]\n");
  has_text(lx_zeros(0), "f32[0] []\n");
  has_text(lx_gt(x, 2), "pred[3] [false, true, false]\n");
  has_text(z, "c64[3] [(1,1), (2.5,2.5), (-3,-3)]\n");
  has_text(lx_convert(x, LXLA_DTYPE_S4), "s4[3] [1, 2, -3]\n");
  has_text(lx_convert(x, LXLA_DTYPE_BF16), "bf16[3] [1, 2.5, -3]\n");
  has_text(lx_array(((uint64_t[]){UINT64_MAX}), 1), "u64[1] [18446744073709551615]\n");
  has_text(lx_range(1001), "s32[1001] [0, 1, 2, ..., 998, 999, 1000]\n");
  has_text(LX_MAKE(lxla_tensor_placeholder_like, x), "f32[3]\n");
  has_text(lx_reshape(lx_range(1400), 7, -1),
           "s32[7,200]\n[[0, 1, 2, ..., 197, 198, 199],\n"
           " [200, 201, 202, ..., 397, 398, 399],\n"
           " [400, 401, 402, ..., 597, 598, 599],\n ...,\n"
           " [800, 801, 802, ..., 997, 998, 999],\n"
           " [1000, 1001, 1002, ..., 1197, 1198, 1199],\n"
           " [1200, 1201, 1202, ..., 1397, 1398, 1399]]\n");
}
TEST(test_texts) { each(texts); }

// --- Networks -----------------------------------------------------------------------------------------------------

static void networks(void) {
  begin();
  lx_scope();
  lxla_tensor x = lx_reshape(lx_convert(lx_range(16), LXLA_DTYPE_F32), 1, 4, 4, 1);
  VALUES(lx_max_pool(x, 2, 2), 5, 7, 13, 15);
  VALUES(lx_avg_pool(x, 2, 2), 2.5f, 4.5f, 10.5f, 12.5f);
  VALUES(lx_max_pool(x, 3, 1), 10, 11, 14, 15);
  lxla_tensor ones = lx_ones(3, 3, 1, 1);
  VALUES(lx_conv2d(x, ones, 1, false), 45, 54, 81, 90);
  VALUES(lx_conv2d(x, ones, 2, true), 45, 39, 66, 50);
  lxla_tensor scores = lx_array(((float[]){1, 2, 3, 0, 0, 0}), 2, 3), labels = lx_array(((int[]){2, 0}), 2);
  VALUES(lx_cross_entropy(scores, labels), (0.40760596f + 1.0986123f) / 2);
  VALUES(lx_softmax(scores, -1), 0.09003057f, 0.24472848f, 0.66524094f, 1 / 3.f, 1 / 3.f, 1 / 3.f);
  VALUES(lx_sum_along(scores, 1), 6, 0);
  VALUES(lx_mean_along(scores, 0), 0.5f, 1, 1.5f);
  VALUES(lx_transpose(scores, 1, 0), 1, 0, 2, 0, 3, 0);
  VALUES(lx_take(scores, labels, 1), 3, 1, 0, 0);
  lxla_tensor batch = lx_array(((float[]){1, 0, 3, 8}), 2, 2), mean, variance;
  lxla_tensor scale = lx_array(((float[]){1, 2}), 2), offset = lx_array(((float[]){0, 1}), 2);
  VALUES(lx_batch_norm(batch, scale, offset, 0, &mean, &variance), -1, -1, 1, 3);
  VALUES(mean, 2, 4);
  VALUES(variance, 1, 16);
  VALUES(lx_batch_norm(batch, scale, offset, 0, NULL, NULL), -1, -1, 1, 3);
  VALUES(lx_batch_norm_inference(batch, lx_ones(2), lx_zeros(2), lx_ones(2), lx_full(4, 2), 0), 0, -0.5f, 1, 3.5f);
}
TEST(test_networks) { each(networks); }

// The numbers of jax.random with the same keys.
static void numbers(void) {
  begin();
  lx_scope();
  lxla_tensor key = lx_key(42), next = lx_next_key(key);
  uint32_t words[2];
  lx_read(key, words, 2);
  CHECK(words[0] == 1832780943u && words[1] == 270669613u);
  lx_read(next, words, 2);
  CHECK(words[0] == 64467757u && words[1] == 2916123636u);
  VALUES(lx_normal(lx_key(0), 3), 1.6226422f, 2.0252647f, -0.43359444f);
  VALUES(lx_uniform(lx_key(0), 0, 1, 2), 0.947667f, 0.9785799f);
  lxla_tensor dropped = lx_dropout(lx_ones(10000), 0.25, lx_key(7)), zeros = lx_eq(dropped, 0);
  CHECK(fabs(lx_value(lx_mean(dropped)) - 1) < 0.03);
  CHECK(fabs(lx_value(lx_mean(lx_convert(zeros, LXLA_DTYPE_F32))) - 0.25) < 0.02);
  VALUES(lx_max(dropped), 4 / 3.f);
  VALUES(lx_dropout(lx_ones(2), 0, key), 1, 1);
  VALUES(lx_dropout(lx_ones(2), 1, key), 0, 0);
}
TEST(test_numbers) { each(numbers); }

// Sums of many bf16 and f16 have too few digits, and some floats of 8 bits have no infinity.
static void narrow_pools(void) {
  begin();
  lx_scope();
  lxla_tensor x = lx_full(300, 1, 32, 32, 1), small = lx_array(((float[]){-2, -1, -3, -4}), 1, 2, 2, 1);
  VALUES(lx_convert(lx_avg_pool(lx_convert(x, LXLA_DTYPE_BF16), 32, 32), LXLA_DTYPE_F32), 300);
  VALUES(lx_convert(lx_avg_pool(lx_convert(x, LXLA_DTYPE_F16), 32, 32), LXLA_DTYPE_F32), 300);
  VALUES(lx_convert(lx_max_pool(lx_convert(small, LXLA_DTYPE_F8E4M3FN), 2, 2), LXLA_DTYPE_F32), -1);
}
TEST(test_narrow_pools) { each(narrow_pools); }

static void labels_out_of_range(void) {
  begin();
  lx_scope();
  lxla_tensor scores = lx_array(((float[]){1, 2, 3, 1, 0, -1}), 2, 3);
  VALUES(lx_cross_entropy(scores, lx_array(((int[]){2, 0}), 2)), 0.40760596f);
  for (int i = 0; i < 3; i++) {
    CHECK(isnan(lx_value(lx_cross_entropy(scores, lx_array(((int[]){(int[]){3, -1, -100}[i], 0}), 2)))));
  }
}
TEST(test_labels_out_of_range) { each(labels_out_of_range); }

// Numbers beside tensors of another environment are in that one.
static void another_environment(void) {
  begin();
  lx_scope();
  lxla_env other;
  OK(lxla_env_create(NULL, &other));
  lxla_tensor x;
  OK(lxla_tensor_from_host(other, device, LXLA_DTYPE_F32, DIMS(1, 2, 2, 1), (float[]){1, 2, 3, 4}, 16, &x));
  VALUES(lx_sub(1, x), 0, -1, -2, -3);
  VALUES(lx_where(lx_gt(x, 2), x, 0), 0, 0, 3, 4);
  VALUES(lx_max_pool(x, 2, 2), 4);
  RELEASE(x);
  lx_release_all();
  OK(lxla_env_release(other));
}
TEST(test_another_environment) { each(another_environment); }

// A network that is trained by lines as in JAX: two programs (the first step has other leaves), and no tensor is left.
static void training(void) {
  if (is_native()) return;  // gradients are of pending tensors
  begin();
  lx_scope();
  lxla_tensor x = lx_array(((float[]){0, 0, 0, 1, 1, 0, 1, 1}), 4, 2), labels = lx_array(((int[]){0, 1, 1, 0}), 4);
  lxla_tensor key = lx_key(1), p[4] = {lx_normal(lx_next_key(key), 2, 16), lx_zeros(16),
                                       lx_normal(lx_next_key(key), 16, 2), lx_zeros(2)};
  double loss = 0;
  uint64_t tensors = 0, compiled = 0;
  for (int i = 0; i < 300; i++) {
    if (i == 4) tensors = live(), compiled = counter(env, "UncachedCompile");
    lx_scope();
    lxla_tensor hidden = lx_tanh(lx_add(lx_matmul(x, p[0]), p[1])), scores = lx_add(lx_matmul(hidden, p[2]), p[3]);
    lxla_tensor error = lx_cross_entropy(scores, labels), g[4];
    lx_gradients(error, p, 4, g);
    for (int k = 0; k < 4; k++) lx_set(p[k], lx_sub(p[k], lx_mul(g[k], 0.5)));
    lx_step();
    loss = lx_value(error);
  }
  EQUAL(live(), tensors);
  EQUAL(counter(env, "UncachedCompile"), compiled);
  CHECK(compiled <= 3 && loss < 0.02);
}
TEST(test_training) { each(training); }
