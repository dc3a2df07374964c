// Convolutions, on an XLA device and native.
#include "near.h"

#define AXES(...) \
  (const int64_t[]) { __VA_ARGS__ }

static lxla_convolution_options plain(size_t spatial_rank) {
  lxla_convolution_options options;
  options.struct_size = sizeof options;
  OK(lxla_convolution_options_init(&options));
  options.spatial_rank = spatial_rank;
  return options;
}

static lxla_tensor convolved(lxla_tensor x, lxla_tensor kernel, const lxla_convolution_options *options) {
  lxla_tensor out;
  OK(lxla_convolution(x, kernel, options, &out));
  return out;
}

static void lines(void) {
  lxla_tensor x = F32S(DIMS(1, 1, 4), 1, 2, 3, 4), k = F32S(DIMS(1, 1, 2), 1, 10);
  VALUES(convolved(x, k, NULL), F32, DIMS(1, 1, 3), 21, 32, 43);
  lxla_convolution_options o = plain(1);
  o.padding_low = o.padding_high = AXES(1);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 5), 10, 21, 32, 43, 4);
  o.padding_high = AXES(-2);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 2), 10, 21);
  o.window_strides = AXES(INT64_MAX);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 1), 10);
  o = plain(1);
  o.window_strides = AXES(2);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 2), 21, 43);
  o.window_reversal = (int32_t[]){1};
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 2), 12, 34);
  // A single window, which is a plain product; with the kernel reversed.
  lxla_tensor whole = F32S(DIMS(1, 1, 4), 2, 3, 4, 5);
  VALUES(convolved(x, whole, &o), F32, DIMS(1, 1, 1), 30);
  RELEASE(whole);
  o = plain(1);
  o.rhs_dilation = AXES(3);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 1), 41);
  o.rhs_dilation = AXES(4);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 0), 0);
  o.rhs_dilation = NULL;
  o.lhs_dilation = AXES(2);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 6), 1, 20, 2, 30, 3, 40);
  // Operands with one element, and with none.
  lxla_tensor one_element = F32S(DIMS(1, 1, 1), 7), nothing = array(F32, DIMS(1, 1, 0), NULL, 0);
  o.lhs_dilation = AXES(INT64_MAX);
  o.rhs_dilation = AXES(INT64_MAX);
  VALUES(convolved(one_element, one_element, &o), F32, DIMS(1, 1, 1), 49);
  o = plain(1);
  o.padding_low = AXES(2);
  VALUES(convolved(nothing, one_element, &o), F32, DIMS(1, 1, 2), 0, 0);
  RELEASE(x, k, one_element, nothing);
}

static void planes(void) {
  lxla_tensor x = F32S(DIMS(1, 2, 2, 3), 1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60);
  lxla_tensor k = F32S(DIMS(2, 2, 1, 2), 1, 1, 1, 0, 0, 1, 0, 0);
  VALUES(convolved(x, k, NULL), F32, DIMS(1, 2, 2, 2), 13, 25, 49, 61, 2, 3, 5, 6);
  // The same convolution with features last: NHWC, HWIO.
  lxla_tensor last = F32S(DIMS(1, 2, 3, 2), 1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60);
  lxla_tensor k_last = F32S(DIMS(1, 2, 2, 2), 1, 0, 1, 0, 1, 1, 0, 0);
  lxla_convolution_options o = plain(2);
  o.lhs_dimensions = o.out_dimensions = AXES(0, -1, 1, 2);
  o.rhs_dimensions = AXES(3, 2, 0, 1);
  VALUES(convolved(last, k_last, &o), F32, DIMS(1, 2, 2, 2), 13, 2, 25, 3, 49, 5, 61, 6);
  // Depthwise: each feature has a kernel of its own.
  lxla_tensor depthwise = F32S(DIMS(2, 1, 1, 1), 1, -1);
  o = plain(2);
  o.feature_group_count = 2;
  VALUES(convolved(x, depthwise, &o), F32, DIMS(1, 2, 2, 3), 1, 2, 3, 4, 5, 6, -10, -20, -30, -40, -50, -60);
  // Batch groups: each half of the batch has a kernel of its own.
  lxla_tensor images = F32S(DIMS(4, 1), 1, 2, 3, 4), kernels = F32S(DIMS(2, 1), 10, 100);
  o = plain(0);
  o.batch_group_count = 2;
  VALUES(convolved(images, kernels, &o), F32, DIMS(2, 2), 10, 300, 20, 400);
  VALUES(convolved(images, kernels, NULL), F32, DIMS(4, 2), 10, 100, 20, 200, 30, 300, 40, 400);
  lxla_tensor none_in = array(F32, DIMS(1, 0, 2), NULL, 0), none_kernel = array(F32, DIMS(2, 0, 1), NULL, 0);
  VALUES(convolved(none_in, none_kernel, NULL), F32, DIMS(1, 2, 2), 0, 0, 0, 0);
  RELEASE(x, k, last, k_last, depthwise, images, kernels, none_in, none_kernel);
}

// An axis with the window of groups, but of another size, beside one where the kernel is larger than the operand.
static void dilations_like_groups(void) {
  lxla_tensor x = F32S(DIMS(1, 1, 1, 3), 1, 2, 3), k = F32S(DIMS(1, 1, 3, 2), 1, 2, 3, 4, 5, 6);
  lxla_convolution_options o = plain(2);
  o.padding_low = o.padding_high = AXES(1, 0);
  o.lhs_dilation = AXES(1, 2);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 1, 4), 3, 8, 6, 12);
  lxla_tensor longer = F32S(DIMS(1, 1, 1, 4), 1, 2, 3, 4), wider = F32S(DIMS(1, 1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8);
  o.lhs_dilation = AXES(1, 3);
  o.window_strides = AXES(1, 2);
  VALUES(convolved(longer, wider, &o), F32, DIMS(1, 1, 1, 4), 3, 8, 15, 9);
  // As large as the kernel: groups.
  VALUES(convolved(x, wider, &o), F32, DIMS(1, 1, 1, 3), 3, 8, 15);
  RELEASE(x, k, longer, wider);
}

// Windows that end before the first row: padding of the window, and a pad by 0. Two axes of space and many features,
// which go to a library.
static void only_padding(void) {
  enum { OUT = 2 * 8 * 20 };
  lxla_tensor x, k, padded;
  OK(lxla_tensor_full(env, device, F32, DIMS(2, 1, 12, 9), 1, &x));
  OK(lxla_tensor_full(env, device, F32, DIMS(1, 5, 9, 20), 1, &k));
  lxla_scalar zero = {.dtype = F32, .value.f = 0};
  OK(lxla_pad_with_scalar(x, &zero, (int64_t[]){0, 1, 0, 0}, (int64_t[]){0, 0, 0, 0}, (int64_t[]){0, 0, 0, 0}, 4,
                          &padded));
  const float zeros[OUT] = {0};
  for (int by_window = 0; by_window < 2; by_window++) {
    lxla_convolution_options o = plain(2);
    o.lhs_dimensions = o.out_dimensions = AXES(0, 3, 1, 2);
    o.rhs_dimensions = AXES(3, 2, 0, 1);
    o.window_strides = AXES(2, 1);
    o.padding_low = AXES(by_window, 0);
    lxla_tensor out = convolved(by_window ? x : padded, k, &o);
    HAS_ARRAY(out, F32, DIMS(2, 1, 8, 20), zeros);
  }
  RELEASE(x, k, padded);
}

static void convolution_dtypes(void) {
  const int32_t dtypes[] = {
      S8, LXLA_DTYPE_S16, S32, LXLA_DTYPE_S64, U8, LXLA_DTYPE_U16, LXLA_DTYPE_U32, U64, F16, BF16, F32, F64};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    lxla_tensor x = as(dtypes[i], F32S(DIMS(1, 1, 4), 1, 2, 3, 4)), k = as(dtypes[i], F32S(DIMS(1, 1, 2), 1, 10));
    VALUES(convolved(x, k, NULL), dtypes[i], DIMS(1, 1, 3), 21, 32, 43);
    RELEASE(x, k);
  }
  lxla_tensor z = C64S(DIMS(1, 1, 2), 1, 2, 3, -1), i = C64S(DIMS(1, 1, 1), 0, 1);
  VALUES(convolved(z, i, NULL), C64, DIMS(1, 1, 2), -2, 1, 1, 3);
  lxla_tensor bytes = ARRAY(S8, int8_t, DIMS(1, 2, 1), 100, -128);
  lxla_convolution_options o = plain(1);
  VALUES(convolved(bytes, bytes, &o), S8, DIMS(1, 1, 1), (int8_t)(100 * 100 + 128 * 128));
  o.dtype = S32;
  VALUES(convolved(bytes, bytes, &o), S32, DIMS(1, 1, 1), 100 * 100 + 128 * 128);
  lxla_tensor ones;
  OK(lxla_tensor_full(env, device, F16, DIMS(1, 4100, 1), 1, &ones));
  VALUES(convolved(ones, ones, NULL), F16, DIMS(1, 1, 1), 4100);
  o.dtype = F64;
  lxla_tensor wide = F32S(DIMS(1, 3, 1), 1e8, 1, -1e8), three = F32S(DIMS(1, 3, 1), 1, 1, 1);
  VALUES(convolved(wide, three, &o), F64, DIMS(1, 1, 1), 1);
  RELEASE(z, i, bytes, ones, wide, three);
}

// Negative padding of more elements than there are leaves no window, and no result.
static void nothing_left(void) {
  lxla_tensor x = F32S(DIMS(1, 1, 3), 1, 2, 3), k = F32S(DIMS(2, 1, 2), 1, 2, 3, 4);
  lxla_convolution_options o = plain(1);
  o.padding_low = AXES(-2), o.padding_high = AXES(-3);
  lxla_tensor out = convolved(x, k, &o), sum;
  int64_t dims[3];
  OK(lxla_tensor_dims(out, dims, 3));
  CHECK(dims[0] == 1 && dims[1] == 2 && dims[2] == 0);
  OK(lxla_reduce(LXLA_REDUCE_SUM, out, DIMS(2), 0, &sum));
  VALUES(sum, F32, DIMS(1, 2), 0, 0);
  RELEASE(x, k, out);
}

static void convolution_refusals(void) {
  lxla_tensor x = F32S(DIMS(1, 2, 4), 1, 2, 3, 4, 5, 6, 7, 8), k = F32S(DIMS(1, 2, 2), 1, 2, 3, 4), out = none;
  lxla_tensor v = F32S(DIMS(2), 1, 2), empty = array(F32, DIMS(1, 2, 0), NULL, 0);
  lxla_tensor pred = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(1, 1), 1);
#define WRONG_OPTION(field, value, words)                  \
  do {                                                     \
    lxla_convolution_options o = plain(1);                 \
    o.field = value;                                       \
    REFUSED(lxla_convolution(x, k, &o, &out), BAD, words); \
  } while (0)
  WRONG_OPTION(window_strides, AXES(0), "window_strides: window_strides[0] is 0; want at least 1");
  WRONG_OPTION(lhs_dilation, AXES(-1), "lhs_dilation[0] is -1; want at least 1");
  WRONG_OPTION(rhs_dilation, AXES(0), "rhs_dilation[0] is 0; want at least 1");
  WRONG_OPTION(rhs_dilation, AXES(INT64_MAX), "on spatial axis 0 of lhs, which is f32[1,2,4], they leave no shape");
  WRONG_OPTION(padding_low, AXES(INT64_MAX), "they leave no shape");
  WRONG_OPTION(window_reversal, (int32_t[]){-1}, "window_reversal[0] is -1; want 0 or 1");
  WRONG_OPTION(
      feature_group_count, 2,
      "feature_group_count: lhs is f32[1,2,4], with 2 features, and rhs is f32[1,2,2], which takes 2 in each of 2 "
      "groups");
  WRONG_OPTION(feature_group_count, -1, "feature_group_count: -1 given; want at least 1");
  WRONG_OPTION(batch_group_count, 2, "rhs (f32[1,2,2]) has 1 output features");
  WRONG_OPTION(lhs_dimensions, AXES(0, 1, 1), "lhs_dimensions: axis 1 is given twice");
  WRONG_OPTION(out_dimensions, AXES(0, 1, 3), "out_dimensions: axis 3 is out of range");
  WRONG_OPTION(dtype, S32, "dtype: s32 given");
  lxla_convolution_options o = plain(0);
  o.window_strides = AXES(1);
  REFUSED(lxla_convolution(x, k, &o, &out), BAD, "window_strides: 0 given; lhs is f32[1,2,4], with 1 spatial axes");
  o.spatial_rank = 65;
  REFUSED(lxla_convolution(x, k, &o, &out), BAD, "want at most 64");
  o.struct_size = 4;
  REFUSED(lxla_convolution(x, k, &o, &out), BAD, "set it to sizeof(lxla_convolution_options)");
  REFUSED(lxla_convolution_options_init(&o), BAD, "struct_size is 4");
  REFUSED(lxla_convolution_options_init(NULL), LXLA_NULL_ARGUMENT, "options: it is NULL");
  REFUSED(lxla_convolution(v, v, NULL, &out), BAD, "convolution takes operands of one rank, at least 2");
  REFUSED(lxla_convolution(x, empty, NULL, &out), BAD, "rhs: it is f32[1,2,0]; a kernel has at least 1 element");
  REFUSED(lxla_convolution(pred, pred, NULL, &out), BAD, "convolution takes numbers");
  // A caller with an older, shorter struct gets the defaults of the fields it lacks.
  struct {
    size_t struct_size, spatial_rank;
    const int64_t *window_strides;
  } older = {sizeof older, 1, AXES(2)};
  VALUES(convolved(x, k, (const lxla_convolution_options *)&older), F32, DIMS(1, 1, 2), 44, 64);
  RELEASE(x, k, v, empty, pred);
}

TEST(convolution_of_lines) { on_both(lines); }
TEST(convolution_of_planes_and_groups) { on_both(planes); }
TEST(convolution_with_dilations_like_groups) { on_both(dilations_like_groups); }
TEST(convolution_of_padding_alone) { on_both(only_padding); }
TEST(convolution_of_all_kinds_of_numbers) { on_both(convolution_dtypes); }
TEST(convolution_of_nothing) { on_both(nothing_left); }
TEST(convolution_refuses_what_does_not_fit) { on_both(convolution_refusals); }
