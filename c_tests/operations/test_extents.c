// Padding, dilation and strides so large that an array between operand and result would have more elements than memory
// has bytes, or more than 63 bits count. The result is small: it is right, or the call or the read is refused. Lazy and
// native, with gradients.
#include "combiners.h"

// Number of results that were refused.
static int refused;

// Compares a result, unless the status or its read is an error of these codes.
static void compare_values(lxla_status status, lxla_tensor out, int n, const float *want) {
  float got[8];
  if (!status) status = lxla_tensor_read(out, got, (size_t)n * sizeof *got);
  if (status) {
    if (status != LXLA_INVALID_ARGUMENT && status != LXLA_RESOURCE_EXHAUSTED) FAIL("%s", lxla_last_error_message());
    refused++;
    return;
  }
  for (int i = 0; i < n; i++) EQUAL(got[i], want[i]);
}

// Compares a result of one spatial axis, the last of `rank`, and on a lazy device the gradient of its sum by x.
static void compare(lxla_status status, lxla_tensor out, lxla_tensor x, size_t rank, int n, const float *want,
                    const float *slopes) {
  lxla_tensor loss = {0}, gradient = {0};
  if (!status && !is_native()) {
    OK(lxla_reduce(LXLA_REDUCE_SUM, out, (int64_t[]){0, 1, 2}, rank, 0, &loss));
    lxla_status made = lxla_gradients(&loss, 1, NULL, &x, 1, &gradient);
    compare_values(made, gradient, 2, slopes);
  }
  compare_values(status, out, n, want);
  if (!status) RELEASE(out, loss, gradient);
}

static void extents(void) {
  lxla_tensor x = F32S(DIMS(2), 2, 3), seven = at(F32, 7), zero = at(F32, 0), out = {0};
  lxla_tensor image = F32S(DIMS(1, 1, 2), 2, 3), kernel = F32S(DIMS(1, 1, 2), 5, 11), tap = F32S(DIMS(1, 1, 1), 5);
  lxla_computation sum = of_two(ADD, F32);
  refused = 0;
  for (int e = 30; e < 36; e++) {
    // No array between the windows and their gradients is stored.
    const int64_t far[] = {(int64_t)1 << e}, near[] = {-far[0]}, one[] = {1};
    lxla_window_options w = {.struct_size = sizeof w, .rank = 1, .window_dimensions = one};
    w.base_dilations = far, w.strides = far;
    compare(lxla_reduce_window(sum, &x, &zero, 1, &w, &out), out, x, 1, 2, (float[]){2, 3}, (float[]){1, 1});
    w.strides = NULL, w.low = near, w.high = one;
    compare(lxla_reduce_window(sum, &x, &zero, 1, &w, &out), out, x, 1, 2, (float[]){3, 0}, (float[]){0, 1});
  }
  EQUAL(refused, 0);
  // XLA stores some arrays in between: of these sizes a machine has enough memory, or surely not.
  const int exponents[] = {20, 21, 40, 47, 52, 57, 58, 59, 60, 61, 62};
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
    const int e = exponents[i];
    const int64_t far[] = {(int64_t)1 << e}, near[] = {-far[0]}, none[] = {0}, one[] = {1}, two[] = {2};
    // Of 2, far zeros and 3 remain a zero, 3 and a padding behind.
    compare(lxla_pad(x, seven, near, one, far, 1, &out), out, x, 1, 3, (float[]){7, 3, 7}, (float[]){0, 1});
    // Both elements are removed, or the second one is, on one side.
    compare(lxla_pad(x, seven, far, near, none, 1, &out), out, x, 1, 2, (float[]){7, 7}, (float[]){0, 0});
    compare(lxla_pad(x, seven, one, near, far, 1, &out), out, x, 1, 3, (float[]){7, 2, 7}, (float[]){1, 0});

    lxla_window_options w = {.struct_size = sizeof w, .rank = 1, .window_dimensions = one};
    w.base_dilations = far, w.strides = far;
    compare(lxla_reduce_window(sum, &x, &zero, 1, &w, &out), out, x, 1, 2, (float[]){2, 3}, (float[]){1, 1});
    w.strides = NULL, w.low = near, w.high = one;
    compare(lxla_reduce_window(sum, &x, &zero, 1, &w, &out), out, x, 1, 2, (float[]){3, 0}, (float[]){0, 1});
    w = (lxla_window_options){.struct_size = sizeof w, .rank = 1, .window_dimensions = two, .window_dilations = far};
    w.low = one, w.high = far;
    compare(lxla_reduce_window(sum, &x, &zero, 1, &w, &out), out, x, 1, 3, (float[]){0, 2, 3}, (float[]){1, 1});
    w = (lxla_window_options){.struct_size = sizeof w, .rank = 1, .window_dimensions = far};
    w.low = far, w.strides = two;
    // XLA visits each element of a window.
    if (is_native() || e < 22) {
      compare(lxla_reduce_window(sum, &x, &zero, 1, &w, &out), out, x, 1, 2, (float[]){0, 5}, (float[]){1, 1});
    }

    lxla_convolution_options c = {.struct_size = sizeof c, .spatial_rank = 1, .lhs_dilation = far};
    c.window_strides = far;
    compare(lxla_convolution(image, tap, &c, &out), out, image, 3, 2, (float[]){10, 15}, (float[]){5, 5});
    c = (lxla_convolution_options){.struct_size = sizeof c, .spatial_rank = 1, .rhs_dilation = far};
    c.padding_high = far;
    compare(lxla_convolution(image, kernel, &c, &out), out, image, 3, 2, (float[]){10, 15}, (float[]){5, 5});
    c = (lxla_convolution_options){.struct_size = sizeof c, .spatial_rank = 1, .window_strides = far};
    c.padding_low = far;
    compare(lxla_convolution(image, kernel, &c, &out), out, image, 3, 2, (float[]){0, 43}, (float[]){5, 11});
    if (e < 22) EQUAL(refused, 0);
  }
  DONE(sum);
  RELEASE(x, seven, zero, image, kernel, tap);
}

TEST(extents_beyond_memory) { on_both(extents); }
