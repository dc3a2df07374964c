/* Calls of functions of lazyxla_short.h note where they are, for the messages of errors: a macro for each function. */
#ifndef LAZYXLA_SHORT_PLACES_H
#define LAZYXLA_SHORT_PLACES_H

#undef LX_PLACE_
#define LX_PLACE_ __FILE__, __LINE__

typedef struct {
  const char *file;
  int line;
} lx_place;

/* Notes a place, and returns the place of the call around it. */
static inline lx_place lx_enter(const char *file, int line) {
  lx_place before = {lx_here.file, lx_here.line};
  lx_here.file = file, lx_here.line = line;
  return before;
}

static inline void lx_leave(lx_place *before) { lx_here.file = before->file, lx_here.line = before->line; }

/* Calls with the place of the call noted. Calls in its arguments note theirs, and give it back. */
#define LX_AT_(call) LX_AT_AS_(LX_JOINED(lx_before_, __COUNTER__), call)
#define LX_AT_AS_(before, call)                                                                \
  __extension__({                                                                              \
    __attribute__((cleanup(lx_leave), unused)) lx_place before = lx_enter(__FILE__, __LINE__); \
    call;                                                                                      \
  })

#define lx_own(...) LX_AT_(lx_own(__VA_ARGS__))
#define lx_release_all(...) LX_AT_(lx_release_all(__VA_ARGS__))
#define lx_step(...) LX_AT_(lx_step(__VA_ARGS__))
#define lx_counter(...) LX_AT_(lx_counter(__VA_ARGS__))
#define lx_array_of(...) LX_AT_(lx_array_of(__VA_ARGS__))
#define lx_scalar(...) LX_AT_(lx_scalar(__VA_ARGS__))
#define lx_full_like(...) LX_AT_(lx_full_like(__VA_ARGS__))
#define lx_zeros_like(...) LX_AT_(lx_zeros_like(__VA_ARGS__))
#define lx_ones_like(...) LX_AT_(lx_ones_like(__VA_ARGS__))
#define lx_eye(...) LX_AT_(lx_eye(__VA_ARGS__))
#define lx_arange(...) LX_AT_(lx_arange(__VA_ARGS__))
#define lx_linspace(...) LX_AT_(lx_linspace(__VA_ARGS__))
#define lx_range(...) LX_AT_(lx_range(__VA_ARGS__))
#define lx_read_to(...) LX_AT_(lx_read_to(__VA_ARGS__))
#define lx_value(...) LX_AT_(lx_value(__VA_ARGS__))
#define lx_save(...) LX_AT_(lx_save(__VA_ARGS__))
#define lx_load(...) LX_AT_(lx_load(__VA_ARGS__))
#define lx_set(...) LX_AT_(lx_set(__VA_ARGS__))
#define lx_binary_of(...) LX_AT_(lx_binary_of(__VA_ARGS__))
#define lx_compare_of(...) LX_AT_(lx_compare_of(__VA_ARGS__))
#define lx_where_of(...) LX_AT_(lx_where_of(__VA_ARGS__))
#define lx_clip(...) LX_AT_(lx_clip(__VA_ARGS__))
#define lx_square(...) LX_AT_(lx_square(__VA_ARGS__))
#define lx_relu(...) LX_AT_(lx_relu(__VA_ARGS__))
#define lx_gelu(...) LX_AT_(lx_gelu(__VA_ARGS__))
#define lx_silu(...) LX_AT_(lx_silu(__VA_ARGS__))
#define lx_softplus(...) LX_AT_(lx_softplus(__VA_ARGS__))
#define lx_erf(...) LX_AT_(lx_erf(__VA_ARGS__))
#define lx_convert(...) LX_AT_(lx_convert(__VA_ARGS__))
#define lx_matmul(...) LX_AT_(lx_matmul(__VA_ARGS__))
#define lx_reshape_to(...) LX_AT_(lx_reshape_to(__VA_ARGS__))
#define lx_slice(...) LX_AT_(lx_slice(__VA_ARGS__))
#define lx_take(...) LX_AT_(lx_take(__VA_ARGS__))
#define lx_argmax(...) LX_AT_(lx_argmax(__VA_ARGS__))
#define lx_softmax(...) LX_AT_(lx_softmax(__VA_ARGS__))
#define lx_log_softmax(...) LX_AT_(lx_log_softmax(__VA_ARGS__))
#define lx_cross_entropy(...) LX_AT_(lx_cross_entropy(__VA_ARGS__))
#define lx_gradients(...) LX_AT_(lx_gradients(__VA_ARGS__))
#define lx_conv2d(...) LX_AT_(lx_conv2d(__VA_ARGS__))
#define lx_max_pool(...) LX_AT_(lx_max_pool(__VA_ARGS__))
#define lx_avg_pool(...) LX_AT_(lx_avg_pool(__VA_ARGS__))
#define lx_batch_norm(...) LX_AT_(lx_batch_norm(__VA_ARGS__))
#define lx_batch_norm_inference(...) LX_AT_(lx_batch_norm_inference(__VA_ARGS__))
#define lx_key(...) LX_AT_(lx_key(__VA_ARGS__))
#define lx_next_key(...) LX_AT_(lx_next_key(__VA_ARGS__))
#define lx_dropout(...) LX_AT_(lx_dropout(__VA_ARGS__))
#define lx_print_to(...) LX_AT_(lx_print_to(__VA_ARGS__))
#define lx_print(...) LX_AT_(lx_print(__VA_ARGS__))
#define lx_neg(...) LX_AT_(lx_neg(__VA_ARGS__))
#define lx_abs(...) LX_AT_(lx_abs(__VA_ARGS__))
#define lx_exp(...) LX_AT_(lx_exp(__VA_ARGS__))
#define lx_log(...) LX_AT_(lx_log(__VA_ARGS__))
#define lx_sqrt(...) LX_AT_(lx_sqrt(__VA_ARGS__))
#define lx_rsqrt(...) LX_AT_(lx_rsqrt(__VA_ARGS__))
#define lx_sin(...) LX_AT_(lx_sin(__VA_ARGS__))
#define lx_cos(...) LX_AT_(lx_cos(__VA_ARGS__))
#define lx_tanh(...) LX_AT_(lx_tanh(__VA_ARGS__))
#define lx_sigmoid(...) LX_AT_(lx_sigmoid(__VA_ARGS__))
#define lx_sign(...) LX_AT_(lx_sign(__VA_ARGS__))
#define lx_expm1(...) LX_AT_(lx_expm1(__VA_ARGS__))
#define lx_log1p(...) LX_AT_(lx_log1p(__VA_ARGS__))
#define lx_floor(...) LX_AT_(lx_floor(__VA_ARGS__))
#define lx_ceil(...) LX_AT_(lx_ceil(__VA_ARGS__))
#define lx_round(...) LX_AT_(lx_round(__VA_ARGS__))
#define lx_sum(...) LX_AT_(lx_sum(__VA_ARGS__))
#define lx_sum_along(...) LX_AT_(lx_sum_along(__VA_ARGS__))
#define lx_max(...) LX_AT_(lx_max(__VA_ARGS__))
#define lx_max_along(...) LX_AT_(lx_max_along(__VA_ARGS__))
#define lx_min(...) LX_AT_(lx_min(__VA_ARGS__))
#define lx_min_along(...) LX_AT_(lx_min_along(__VA_ARGS__))
#define lx_product(...) LX_AT_(lx_product(__VA_ARGS__))
#define lx_product_along(...) LX_AT_(lx_product_along(__VA_ARGS__))
#define lx_all(...) LX_AT_(lx_all(__VA_ARGS__))
#define lx_all_along(...) LX_AT_(lx_all_along(__VA_ARGS__))
#define lx_any(...) LX_AT_(lx_any(__VA_ARGS__))
#define lx_any_along(...) LX_AT_(lx_any_along(__VA_ARGS__))
#define lx_mean(...) LX_AT_(lx_mean(__VA_ARGS__))
#define lx_mean_along(...) LX_AT_(lx_mean_along(__VA_ARGS__))
#define lx_logsumexp(...) LX_AT_(lx_logsumexp(__VA_ARGS__))
#define lx_logsumexp_along(...) LX_AT_(lx_logsumexp_along(__VA_ARGS__))

#endif
