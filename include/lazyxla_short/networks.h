/* Networks and random numbers by short names. Part of lazyxla_short.h, which includes it. */
#ifndef LAZYXLA_SHORT_NETWORKS_H
#define LAZYXLA_SHORT_NETWORKS_H

#include "../lazyxla_short.h"

/* ---- Networks ---- */

static inline lxla_tensor lx_softmax(lxla_tensor x, int64_t axis) { return LX_MAKE(lxla_softmax, x, axis); }
static inline lxla_tensor lx_log_softmax(lxla_tensor x, int64_t axis) { return LX_MAKE(lxla_log_softmax, x, axis); }

/* Returns the mean of -log softmax(scores)[label]: scores [..., classes], labels [...], integers from 0 to classes - 1.
 * NaN if a label is out of range. */
static inline lxla_tensor lx_cross_entropy(lxla_tensor scores, lxla_tensor labels) {
  lx_scope();
  lxla_tensor at = LX_MAKE(lxla_expand_dims, labels, (const int64_t[]){-1}, 1);
  lxla_tensor picked = LX_MAKE(lxla_take_along_axis, lx_log_softmax(scores, -1), at, -1);
  int64_t dims[64] = {0};
  size_t rank = 0;
  if (!LX_TRY(lxla_tensor_rank(scores, &rank)) || !LX_TRY(lxla_tensor_dims(scores, dims, 64))) {
    return lx_keep((lxla_tensor){0});
  }
  lxla_tensor is_class =
      LX_MAKE(lxla_binary, LXLA_BINARY_AND, lx_ge(at, 0), lx_lt(at, (double)(rank > 0 ? dims[rank - 1] : 0)));
  return lx_keep(lx_neg(lx_mean(lx_where(is_class, picked, NAN))));
}

/* Records one gradient for each of `n` tensors of a scalar that is not computed yet; see lxla_gradients. */
static inline void lx_gradients(lxla_tensor of, const lxla_tensor *by, size_t n, lxla_tensor *out) {
  memset(out, 0, n * sizeof *out);
  if (!LX_TRY(lxla_gradients(&of, 1, NULL, by, n, out))) return;
  for (size_t i = 0; i < n; i++) lx_note(out[i]);
}

/* Images are [n, height, width, channels], kernels [height, width, channels in, channels out]. Padding 1 keeps the size
 * (of images by strides, rounded up), and 0 adds nothing. */
static inline lxla_tensor lx_conv2d(lxla_tensor x, lxla_tensor kernel, int64_t stride, bool padding) {
  int64_t dims[4] = {0}, sizes[4] = {0}, strides[2] = {stride, stride}, low[2] = {0}, high[2] = {0};
  if (!LX_TRY(lxla_tensor_dims(x, dims, 4)) || !LX_TRY(lxla_tensor_dims(kernel, sizes, 4))) return (lxla_tensor){0};
  for (int i = 0; padding && i < 2 && stride > 0; i++) {
    int64_t all = ((dims[1 + i] + stride - 1) / stride - 1) * stride + sizes[i] - dims[1 + i];
    low[i] = all > 0 ? all / 2 : 0, high[i] = all > 0 ? all - all / 2 : 0;
  }
  lxla_convolution_options options = {.struct_size = sizeof options};
  if (!LX_TRY(lxla_convolution_options_init(&options))) return (lxla_tensor){0};
  const int64_t images[] = {0, 3, 1, 2}, kernels[] = {3, 2, 0, 1};
  options.spatial_rank = 2, options.window_strides = strides;
  options.padding_low = low, options.padding_high = high;
  options.lhs_dimensions = images, options.rhs_dimensions = kernels, options.out_dimensions = images;
  return LX_MAKE(lxla_convolution, x, kernel, &options);
}

/* Reduces windows of images by one operation, and multiplies by a factor. Floats of less than 32 bits are computed in
 * f32: sums of many have too few digits, and some of these dtypes have no infinity to begin with. */
static inline lxla_tensor lx_pooled(lxla_tensor x, int64_t size, int64_t stride, int32_t op, double init,
                                    double factor) {
  lx_scope();
  int32_t dtype = 0;
  lxla_device device = {0};
  lxla_env env = {0};
  if (!LX_TRY(lxla_tensor_dtype(x, &dtype)) || !LX_TRY(lxla_tensor_device(x, &device)) ||
      !LX_TRY(lxla_tensor_env(x, &env)))
    return (lxla_tensor){0};
  const char kind = lxla_dtype_name(dtype)[0];
  bool is_narrow = (kind == 'f' && dtype != LXLA_DTYPE_F32 && dtype != LXLA_DTYPE_F64) || kind == 'b';
  int32_t wide = is_narrow ? LXLA_DTYPE_F32 : dtype;
  if (is_narrow) x = lx_convert(x, wide);
  lxla_tensor a = LX_MAKE(lxla_tensor_placeholder, env, device, wide, NULL, 0);
  lxla_tensor b = LX_MAKE(lxla_tensor_placeholder, env, device, wide, NULL, 0);
  lxla_tensor made = LX_MAKE(lxla_binary, op, a, b), start = lx_number_like(init, x), out = {0};
  lxla_computation body;
  if (!LX_TRY(lxla_computation_trace((lxla_tensor[]){a, b}, 2, &made, 1, &body))) return out;
  const int64_t window[] = {1, size, size, 1}, strides[] = {1, stride, stride, 1};
  lxla_window_options options = {.struct_size = sizeof options};
  LX_TRY(lxla_window_options_init(&options));
  options.rank = 4, options.window_dimensions = window, options.strides = strides;
  if (LX_TRY(lxla_reduce_window(body, &x, &start, 1, &options, &out))) lx_note(out);
  LX_TRY(lxla_computation_release(body));
  if (factor != 1) out = lx_mul(out, factor);
  return lx_keep(is_narrow ? lx_convert(out, dtype) : out);
}

/* Returns the largest elements, or the means, of windows of images [n, height, width, channels] of floats. */
static inline lxla_tensor lx_max_pool(lxla_tensor x, int64_t size, int64_t stride) {
  return lx_pooled(x, size, stride, LXLA_BINARY_MAXIMUM, -INFINITY, 1);
}

static inline lxla_tensor lx_avg_pool(lxla_tensor x, int64_t size, int64_t stride) {
  return lx_pooled(x, size, stride, LXLA_BINARY_ADD, 0, 1.0 / (double)(size * size));
}

/* Normalizes the features of a batch, its last axis: (x - mean) / sqrt(variance + epsilon) * scale + offset. Gives the
 * mean and the variance of each feature where these pointers are not NULL: running statistics are the caller's, for
 * lx_batch_norm_inference. */
static inline lxla_tensor lx_batch_norm(lxla_tensor x, lxla_tensor scale, lxla_tensor offset, double epsilon,
                                        lxla_tensor *mean, lxla_tensor *variance) {
  lxla_tensor out[3] = {{0}, {0}, {0}};
  if (LX_TRY(lxla_batch_norm_training(x, scale, offset, epsilon, -1, &out[0], &out[1], &out[2]))) {
    for (int i = 0; i < 3; i++) lx_note(out[i]);
  }
  if (mean) *mean = out[1];
  if (variance) *variance = out[2];
  return out[0];
}

static inline lxla_tensor lx_batch_norm_inference(lxla_tensor x, lxla_tensor scale, lxla_tensor offset,
                                                  lxla_tensor mean, lxla_tensor variance, double epsilon) {
  return LX_MAKE(lxla_batch_norm_inference, x, scale, offset, mean, variance, epsilon, -1);
}

/* ---- Random numbers: as jax.random with a key of the same seed ---- */

static inline lxla_tensor lx_key(uint64_t seed) {
  uint32_t words[] = {(uint32_t)(seed >> 32), (uint32_t)seed};
  return lx_array(words, 2);
}

/* Splits a key in two: gives `key` the first, and returns the second. */
static inline lxla_tensor lx_next_key(lxla_tensor key) {
  lx_scope();
  lxla_tensor both = LX_MAKE(lxla_random_split, LXLA_RNG_THREE_FRY, key, 2);
  lx_set(key, lx_reshape(lx_slice(both, 0, 0, 1), 2));
  return lx_keep(lx_reshape(lx_slice(both, 0, 1, 2), 2));
}

/* f32 numbers: lx_normal(key, 2, 3), lx_uniform(key, 0, 1, 2, 3) */
#define lx_normal(key, ...) LX_MAKE(lxla_random_normal, LXLA_RNG_THREE_FRY, (key), LXLA_DTYPE_F32, LX_DIMS(__VA_ARGS__))
#define lx_uniform(key, low, high, ...) \
  LX_MAKE(lxla_random_uniform, LXLA_RNG_THREE_FRY, (key), LXLA_DTYPE_F32, LX_DIMS(__VA_ARGS__), (low), (high))

/* Returns `x` with elements set to 0 with probability `rate`, and the others divided by 1 - rate. */
static inline lxla_tensor lx_dropout(lxla_tensor x, double rate, lxla_tensor key) {
  lx_scope();
  int64_t dims[64];
  size_t rank = 0;
  if (!LX_TRY(lxla_tensor_rank(x, &rank)) || !LX_TRY(lxla_tensor_dims(x, dims, 64))) return (lxla_tensor){0};
  lxla_tensor kept = LX_MAKE(lxla_random_bernoulli, LXLA_RNG_THREE_FRY, key, 1 - rate, dims, rank);
  /* An infinite factor would make the derivatives NaN. */
  return lx_keep(lx_where(kept, lx_mul(x, rate < 1 ? 1 / (1 - rate) : 0), 0));
}

#endif
