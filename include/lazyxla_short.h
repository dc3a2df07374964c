/*
 * lazyxla_short.h: short names for programs in C. Includes lazyxla.h, whose functions take what these return.
 *
 *   #include <lazyxla_short.h>
 *
 *   int main(void) {
 *     lx_scope();                                        // releases its tensors where this block ends
 *     lxla_tensor x = lx_array(((float[]){1, 2, 3}), 3);
 *     lxla_tensor y = lx_sum(lx_mul(lx_sub(1, x), 0.5)); // numbers on either side
 *     printf("%g\n", lx_value(y));
 *   }
 *
 * Tensors    Every function notes the tensor that it returns. lx_scope() at the start of a block releases what was
 *            noted since, however the block is left. `return lx_keep(x);` gives x to the caller's block instead, and
 *            lx_own(x) to the program, which releases it with lxla_tensor_release. What is made outside of all scopes
 *            stays until lx_release_all().
 * Errors     A call that fails prints its message and exits, or calls what lx_on_error(f) was given; it then returns
 *            the tensor 0, on which further calls fail. LX_TRY(call) does so for functions of lazyxla.h.
 * Device     New tensors are on the thread's device, lx_use(env, device); at first on xla:0 of the default environment.
 * Threads    Scopes, device and error function belong to a thread.
 *
 * For C11 with GCC or Clang. lazyxla.hpp has these names for C++ (docs/cpp.md).
 */
#ifndef LAZYXLA_SHORT_H
#define LAZYXLA_SHORT_H

#ifdef __cplusplus
#error "lazyxla_short.h is for C; include lazyxla.hpp in C++"
#endif

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazyxla.h"

/* ---- Errors ---- */

typedef void (*lx_error_fn)(lxla_status status, const char *message);

typedef struct {
  lxla_env env;
  lxla_device device;
  lx_error_fn failed;
  /* Where the program calls the function that runs. */
  const char *file;
  int line;
  /* Tensors to release, and for each whether it is kept for the enclosing scope. */
  lxla_tensor *noted;
  char *kept;
  size_t count, room, scope;
} lx_thread;

/* One for each thread of the program: all files that include this header share it. */
__attribute__((weak)) _Thread_local lx_thread lx_here = {.device = {LXLA_DEVICE_XLA, 0}};

static inline void lx_fail(const char *file, int line, lxla_status status, const char *message) {
  if (lx_here.failed) {
    lx_here.failed(status, message);
    return;
  }
  if (file) fprintf(stderr, "%s:%d: ", file, line);
  fprintf(stderr, "%s: %s\n", lxla_status_name(status), message);
  exit(1);
}

/* The place of an error: within these headers, the call of the program; in the program, the line itself (places.h). */
#define LX_PLACE_ lx_here.file, lx_here.line

/* Calls a function of lazyxla.h. Returns whether it succeeded. */
#define LX_TRY(call) lx_tried(LX_PLACE_, (call))

static inline bool lx_tried(const char *file, int line, lxla_status status) {
  if (status != LXLA_OK) lx_fail(file, line, status, lxla_last_error_message());
  return status == LXLA_OK;
}

/* Gives the thread a function that is called with each error; NULL prints the message and exits. */
static inline void lx_on_error(lx_error_fn failed) { lx_here.failed = failed; }

/* ---- Scopes ---- */

/* Notes a tensor of lazyxla.h for the innermost scope, and returns it. */
static inline lxla_tensor lx_note(lxla_tensor x) {
  lx_thread *here = &lx_here;
  if (here->count == here->room) {
    size_t room = here->room ? 2 * here->room : 64;
    void *noted = realloc(here->noted, room * sizeof *here->noted);
    if (noted) here->noted = noted;
    void *kept = noted ? realloc(here->kept, room) : NULL;
    if (!kept) {
      lx_fail(LX_PLACE_, LXLA_RESOURCE_EXHAUSTED, "lx_note: no memory for a list of tensors");
      return x;
    }
    here->kept = kept;
    here->room = room;
  }
  here->kept[here->count] = 0;
  return here->noted[here->count++] = x;
}

/* A scope: the number of tensors that were noted before it, and the same of the scope around it. */
typedef struct {
  size_t start, outer;
} lx_scope_mark;

static inline lx_scope_mark lx_open(void) {
  lx_scope_mark mark = {lx_here.count, lx_here.scope};
  lx_here.scope = mark.start;
  return mark;
}

static inline void lx_close(lx_scope_mark *mark) {
  lx_thread *here = &lx_here;
  size_t left = mark->start;
  for (size_t i = left; i < here->count; i++) {
    if (!here->kept[i]) continue;
    lxla_tensor x = here->noted[i];
    here->noted[i] = here->noted[left], here->noted[left] = x;
    here->kept[left++] = 0;
  }
  if (here->count > left) LX_TRY(lxla_tensor_release_many(here->noted + left, here->count - left));
  here->count = left;
  here->scope = mark->outer;
}

#define LX_JOINED_(a, b) a##b
#define LX_JOINED(a, b) LX_JOINED_(a, b)

/* Declares the scope of the rest of a block. */
#define lx_scope() __attribute__((cleanup(lx_close), unused)) lx_scope_mark LX_JOINED(lx_scope_, __LINE__) = lx_open()

/* Gives a tensor of the innermost scope to the scope around it, and returns the tensor. Other tensors stay where they
 * are. */
static inline lxla_tensor lx_keep(lxla_tensor x) {
  lx_thread *here = &lx_here;
  for (size_t i = here->count; i-- > here->scope;) {
    if (here->noted[i].id == x.id) {
      here->kept[i] = 1;
      break;
    }
  }
  return x;
}

/* Gives a tensor to the program, which releases it with lxla_tensor_release. Returns the tensor. */
static inline lxla_tensor lx_own(lxla_tensor x) {
  LX_TRY(lxla_tensor_retain(x));
  return x;
}

/* Releases what was noted outside of all scopes. For the end of a thread; no scope may be open. */
static inline void lx_release_all(void) {
  lx_close(&(lx_scope_mark){0, 0});
  free(lx_here.noted);
  free(lx_here.kept);
  lx_here.noted = NULL, lx_here.kept = NULL, lx_here.room = 0;
}

/* Notes the result of a function of lazyxla.h, whose last parameter is the output: LX_MAKE(lxla_softmax, x, -1) */
#define LX_MAKE(function, ...)                                                                  \
  __extension__({                                                                               \
    lxla_tensor lx_out_ = {0};                                                                  \
    lx_tried(LX_PLACE_, function(__VA_ARGS__, &lx_out_)) ? lx_note(lx_out_) : (lxla_tensor){0}; \
  })

/* ---- Device and steps ---- */

/* Chooses the environment and the device of the thread's new tensors. */
static inline void lx_use(lxla_env env, lxla_device device) { lx_here.env = env, lx_here.device = device; }

/* Chooses the device of the thread's new tensors, and keeps the environment. */
static inline void lx_use_device(lxla_device device) { lx_here.device = device; }

/* Runs all that is recorded on the device, in place of values that no tensor has any more; see lxla_mark_step. */
static inline void lx_step(void) { LX_TRY(lxla_mark_step(lx_here.env, lx_here.device, 0)); }

/* Returns a counter of the environment, such as UncachedCompile: programs compiled so far; see lxla_env_counter. */
static inline uint64_t lx_counter(const char *name) {
  uint64_t value = 0;
  LX_TRY(lxla_env_counter(lx_here.env, name, &value));
  return value;
}

/* ---- Creation ---- */

/* A list of sizes, and its length: LX_DIMS(2, 3) */
#define LX_DIMS(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

/* The dtype of the elements of a C array. */
#define LX_DTYPE_OF(data)                 \
  _Generic((data)[0],                     \
      bool: LXLA_DTYPE_PRED,              \
      signed char: LXLA_DTYPE_S8,         \
      char: LXLA_DTYPE_S8,                \
      short: LXLA_DTYPE_S16,              \
      int: LXLA_DTYPE_S32,                \
      long: LXLA_DTYPE_S64,               \
      long long: LXLA_DTYPE_S64,          \
      unsigned char: LXLA_DTYPE_U8,       \
      unsigned short: LXLA_DTYPE_U16,     \
      unsigned: LXLA_DTYPE_U32,           \
      unsigned long: LXLA_DTYPE_U64,      \
      unsigned long long: LXLA_DTYPE_U64, \
      float: LXLA_DTYPE_F32,              \
      double: LXLA_DTYPE_F64)

/* Returns a tensor with the values of a C array, of the dtype of its elements: lx_array(values, 2, 3) */
#define lx_array(data, ...) lx_array_of(LX_DTYPE_OF(data), (data), sizeof((data)[0]), LX_DIMS(__VA_ARGS__))

static inline lxla_tensor lx_array_of(int32_t dtype, const void *data, size_t size, const int64_t *dims, size_t rank) {
  for (size_t i = 0; i < rank; i++) size *= dims[i] > 0 ? (size_t)dims[i] : 0;
  return LX_MAKE(lxla_tensor_from_host, lx_here.env, lx_here.device, dtype, dims, rank, data, size);
}

/* Returns an f32 tensor of one value: lx_full(0.5, 2, 3), lx_zeros(2, 3), lx_ones(2, 3); lx_scalar(0.5) has no axes. */
#define lx_full(value, ...) \
  LX_MAKE(lxla_tensor_full, lx_here.env, lx_here.device, LXLA_DTYPE_F32, LX_DIMS(__VA_ARGS__), (value))
#define lx_zeros(...) lx_full(0, __VA_ARGS__)
#define lx_ones(...) lx_full(1, __VA_ARGS__)

static inline lxla_tensor lx_scalar(double value) {
  return LX_MAKE(lxla_tensor_full, lx_here.env, lx_here.device, LXLA_DTYPE_F32, NULL, 0, value);
}

/* Returns a tensor of one value with the shape, dtype and place of x. */
static inline lxla_tensor lx_full_like(lxla_tensor x, double value) {
  int64_t dims[64];
  size_t rank = 0;
  int32_t dtype = 0;
  lxla_device device = {0};
  lxla_env env = {0};
  if (!LX_TRY(lxla_tensor_info(x, &dtype, &rank, dims, 64)) || !LX_TRY(lxla_tensor_device(x, &device)) ||
      !LX_TRY(lxla_tensor_env(x, &env)))
    return (lxla_tensor){0};
  return LX_MAKE(lxla_tensor_full, env, device, dtype, dims, rank, value);
}

static inline lxla_tensor lx_zeros_like(lxla_tensor x) { return lx_full_like(x, 0); }
static inline lxla_tensor lx_ones_like(lxla_tensor x) { return lx_full_like(x, 1); }

/* Returns an f32 matrix of n rows with ones on the diagonal and zeros elsewhere. */
static inline lxla_tensor lx_eye(int64_t n) {
  return LX_MAKE(lxla_eye, lx_here.env, lx_here.device, LXLA_DTYPE_F32, n, n, 0);
}

/* Returns f32 numbers: start, start + step, ..., up to but excluding stop; or n from start to stop, including both. */
static inline lxla_tensor lx_arange(double start, double stop, double step) {
  return LX_MAKE(lxla_arange, lx_here.env, lx_here.device, LXLA_DTYPE_F32, start, stop, step);
}

static inline lxla_tensor lx_linspace(double start, double stop, int64_t n) {
  return LX_MAKE(lxla_linspace, lx_here.env, lx_here.device, LXLA_DTYPE_F32, start, stop, n, 1);
}

/* Returns the s32 numbers from 0 to n - 1. */
static inline lxla_tensor lx_range(int64_t n) {
  return LX_MAKE(lxla_iota, lx_here.env, lx_here.device, LXLA_DTYPE_S32, &n, 1, 0);
}

/* ---- Reading and writing ---- */

/* Whether elements of a C type can hold the host memory of a tensor: of the same dtype, or bytes for 2 and 4 bits. */
static inline bool lx_holds(int32_t array, int32_t tensor) {
  bool is_signed = tensor == LXLA_DTYPE_S4 || tensor == LXLA_DTYPE_S2;
  bool is_unsigned = tensor == LXLA_DTYPE_U4 || tensor == LXLA_DTYPE_U2 || tensor == LXLA_DTYPE_F4E2M1FN;
  return array == tensor || (is_signed && array == LXLA_DTYPE_S8) || (is_unsigned && array == LXLA_DTYPE_U8);
}

/* Copies the values of a tensor to a C array of `count` elements of its dtype; computes them first. Elements of 2 and 4
 * bits take a byte each. */
#define lx_read(x, data, count) lx_read_to((x), LX_DTYPE_OF(data), (data), (count) * sizeof((data)[0]))

static inline void lx_read_to(lxla_tensor x, int32_t dtype, void *data, size_t size) {
  int32_t own = 0;
  if (!LX_TRY(lxla_tensor_dtype(x, &own))) return;
  if (!lx_holds(dtype, own)) {
    char message[128];
    snprintf(message, sizeof message, "lx_read: the tensor is %s, the array %s; convert one of them",
             lxla_dtype_name(own), lxla_dtype_name(dtype));
    lx_fail(LX_PLACE_, LXLA_INVALID_ARGUMENT, message);
    return;
  }
  LX_TRY(lxla_tensor_read(x, data, size));
}

/* Returns the value of a tensor of one element; computes it first. */
static inline double lx_value(lxla_tensor x) {
  union {
    bool pred;
    int8_t s8;
    uint8_t u8;
    int32_t s32;
    uint32_t u32;
    int64_t s64;
    uint64_t u64;
    float f32;
    double f64;
  } value = {0};
  int32_t dtype = 0;
  size_t size = 0;
  lxla_tensor wide = x;
  if (!LX_TRY(lxla_tensor_dtype(x, &dtype))) return 0;
  if (dtype == LXLA_DTYPE_C64 || dtype == LXLA_DTYPE_C128) {
    lx_fail(LX_PLACE_, LXLA_INVALID_ARGUMENT, "lx_value: the tensor is complex; want a real dtype, as of lxla_real");
    return 0;
  }
  bool is_plain = dtype == LXLA_DTYPE_PRED || dtype == LXLA_DTYPE_S8 || dtype == LXLA_DTYPE_U8 ||
                  (dtype >= LXLA_DTYPE_S32 && dtype <= LXLA_DTYPE_U8) || dtype == LXLA_DTYPE_U32 ||
                  dtype == LXLA_DTYPE_U64 || dtype == LXLA_DTYPE_F32 || dtype == LXLA_DTYPE_F64;
  if (!is_plain && !LX_TRY(lxla_convert(x, dtype = LXLA_DTYPE_F64, &wide))) return 0;
  bool is_read = LX_TRY(lxla_dtype_size(dtype, &size)) && LX_TRY(lxla_tensor_read(wide, &value, size));
  if (!is_plain) LX_TRY(lxla_tensor_release(wide));
  if (!is_read) return 0;
  switch (dtype) {
    case LXLA_DTYPE_PRED: return value.pred;
    case LXLA_DTYPE_S8: return value.s8;
    case LXLA_DTYPE_U8: return value.u8;
    case LXLA_DTYPE_S32: return value.s32;
    case LXLA_DTYPE_U32: return value.u32;
    case LXLA_DTYPE_S64: return (double)value.s64;
    case LXLA_DTYPE_U64: return (double)value.u64;
    case LXLA_DTYPE_F32: return (double)value.f32;
    default: return value.f64;
  }
}

/* Saves tensors under names in a safetensors file, and loads one; see lxla_save and lxla_load. */
static inline bool lx_save(const char *path, const char *const *names, const lxla_tensor *tensors, size_t n) {
  return LX_TRY(lxla_save(path, names, tensors, n));
}

static inline lxla_tensor lx_load(const char *path, const char *name) {
  return LX_MAKE(lxla_load, lx_here.env, lx_here.device, path, name);
}

/* Gives `x` the value of `y`, as x = y does in Python for an updated weight. */
static inline void lx_set(lxla_tensor x, lxla_tensor y) { LX_TRY(lxla_tensor_assign(x, y)); }

/* ---- Arithmetic: each operand is a tensor or a number, and one of them is a tensor. Numbers are doubles: integers
 * beyond 2^53 are rounded; lxla_binary_with_scalar and lxla_compare_with_scalar take them exactly ---- */

typedef struct {
  lxla_tensor tensor;
  double number;
  bool is_number;
} lx_operand;

static inline lx_operand lx_of_tensor(lxla_tensor x) { return (lx_operand){.tensor = x}; }
static inline lx_operand lx_of_number(double x) { return (lx_operand){.number = x, .is_number = true}; }
#define LX_OPERAND(x) _Generic((x), lxla_tensor: lx_of_tensor, default: lx_of_number)(x)

/* Notes a tensor without axes of the value of a number, of another tensor's dtype and place. */
static inline lxla_tensor lx_number_like(double number, lxla_tensor x) {
  int32_t dtype = 0;
  lxla_device device = {0};
  lxla_env env = {0};
  if (!LX_TRY(lxla_tensor_dtype(x, &dtype)) || !LX_TRY(lxla_tensor_device(x, &device)) ||
      !LX_TRY(lxla_tensor_env(x, &env)))
    return (lxla_tensor){0};
  return LX_MAKE(lxla_tensor_full, env, device, dtype, NULL, 0, number);
}

static inline bool lx_is_tensor_there(lx_operand a, lx_operand b) {
  if (a.is_number && b.is_number) {
    lx_fail(LX_PLACE_, LXLA_INVALID_ARGUMENT, "two numbers given; want a tensor as one of the operands");
  }
  return !(a.is_number && b.is_number);
}

static inline lxla_tensor lx_binary_of(int32_t op, lx_operand a, lx_operand b) {
  if (!lx_is_tensor_there(a, b)) return (lxla_tensor){0};
  if (b.is_number) return LX_MAKE(lxla_binary_scalar, op, a.tensor, b.number);
  if (a.is_number) a.tensor = lx_number_like(a.number, b.tensor);
  return LX_MAKE(lxla_binary, op, a.tensor, b.tensor);
}

static inline lxla_tensor lx_compare_of(int32_t op, lx_operand a, lx_operand b) {
  if (!lx_is_tensor_there(a, b)) return (lxla_tensor){0};
  if (b.is_number) return LX_MAKE(lxla_compare_scalar, op, a.tensor, b.number);
  if (a.is_number) a.tensor = lx_number_like(a.number, b.tensor);
  return LX_MAKE(lxla_compare, op, a.tensor, b.tensor);
}

#define lx_binary(op, a, b) lx_binary_of((op), LX_OPERAND(a), LX_OPERAND(b))
#define lx_compare(op, a, b) lx_compare_of((op), LX_OPERAND(a), LX_OPERAND(b))
#define lx_add(a, b) lx_binary(LXLA_BINARY_ADD, a, b)
#define lx_sub(a, b) lx_binary(LXLA_BINARY_SUBTRACT, a, b)
#define lx_mul(a, b) lx_binary(LXLA_BINARY_MULTIPLY, a, b)
#define lx_div(a, b) lx_binary(LXLA_BINARY_DIVIDE, a, b)
#define lx_pow(a, b) lx_binary(LXLA_BINARY_POWER, a, b)
#define lx_maximum(a, b) lx_binary(LXLA_BINARY_MAXIMUM, a, b)
#define lx_minimum(a, b) lx_binary(LXLA_BINARY_MINIMUM, a, b)
#define lx_eq(a, b) lx_compare(LXLA_COMPARE_EQ, a, b)
#define lx_ne(a, b) lx_compare(LXLA_COMPARE_NE, a, b)
#define lx_lt(a, b) lx_compare(LXLA_COMPARE_LT, a, b)
#define lx_le(a, b) lx_compare(LXLA_COMPARE_LE, a, b)
#define lx_gt(a, b) lx_compare(LXLA_COMPARE_GT, a, b)
#define lx_ge(a, b) lx_compare(LXLA_COMPARE_GE, a, b)

/* Returns the elements of `a` where `pred` is true, and the elements of `b` elsewhere; `a` or `b` may be a number. */
#define lx_where(pred, a, b) lx_where_of((pred), LX_OPERAND(a), LX_OPERAND(b))

static inline lxla_tensor lx_where_of(lxla_tensor pred, lx_operand a, lx_operand b) {
  if (!lx_is_tensor_there(a, b)) return (lxla_tensor){0};
  if (a.is_number) a.tensor = lx_number_like(a.number, b.tensor);
  if (b.is_number) b.tensor = lx_number_like(b.number, a.tensor);
  return LX_MAKE(lxla_select, pred, a.tensor, b.tensor);
}

#define LX_UNARY_(name, op) \
  static inline lxla_tensor name(lxla_tensor x) { return LX_MAKE(lxla_unary, op, x); }
LX_UNARY_(lx_neg, LXLA_UNARY_NEGATE)
LX_UNARY_(lx_abs, LXLA_UNARY_ABS)
LX_UNARY_(lx_exp, LXLA_UNARY_EXPONENTIAL)
LX_UNARY_(lx_log, LXLA_UNARY_LOG)
LX_UNARY_(lx_sqrt, LXLA_UNARY_SQRT)
LX_UNARY_(lx_rsqrt, LXLA_UNARY_RSQRT)
LX_UNARY_(lx_sin, LXLA_UNARY_SINE)
LX_UNARY_(lx_cos, LXLA_UNARY_COSINE)
LX_UNARY_(lx_tanh, LXLA_UNARY_TANH)
LX_UNARY_(lx_sigmoid, LXLA_UNARY_LOGISTIC)
LX_UNARY_(lx_sign, LXLA_UNARY_SIGN)
LX_UNARY_(lx_expm1, LXLA_UNARY_EXPONENTIAL_MINUS_ONE)
LX_UNARY_(lx_log1p, LXLA_UNARY_LOG_PLUS_ONE)
LX_UNARY_(lx_floor, LXLA_UNARY_FLOOR)
LX_UNARY_(lx_ceil, LXLA_UNARY_CEIL)
LX_UNARY_(lx_round, LXLA_UNARY_ROUND_NEAREST_EVEN)

/* Returns x with elements below `low` replaced by it, and elements above `high` by that. */
static inline lxla_tensor lx_clip(lxla_tensor x, double low, double high) {
  lx_scope();
  return lx_keep(lx_minimum(lx_maximum(x, low), high));
}

static inline lxla_tensor lx_square(lxla_tensor x) { return LX_MAKE(lxla_binary, LXLA_BINARY_MULTIPLY, x, x); }
static inline lxla_tensor lx_relu(lxla_tensor x) { return LX_MAKE(lxla_activation, LXLA_ACTIVATION_RELU, x); }
static inline lxla_tensor lx_gelu(lxla_tensor x) { return LX_MAKE(lxla_activation, LXLA_ACTIVATION_GELU, x); }
static inline lxla_tensor lx_silu(lxla_tensor x) { return LX_MAKE(lxla_activation, LXLA_ACTIVATION_SILU, x); }
static inline lxla_tensor lx_softplus(lxla_tensor x) { return LX_MAKE(lxla_activation, LXLA_ACTIVATION_SOFTPLUS, x); }
static inline lxla_tensor lx_erf(lxla_tensor x) { return LX_MAKE(lxla_special, LXLA_SPECIAL_ERF, x); }
static inline lxla_tensor lx_convert(lxla_tensor x, int32_t dtype) { return LX_MAKE(lxla_convert, x, dtype); }

/* ---- Shapes, products, reductions ---- */

static inline lxla_tensor lx_matmul(lxla_tensor a, lxla_tensor b) { return LX_MAKE(lxla_matmul, a, b); }

/* lx_reshape(x, 2, 3); one size may be -1: what the other sizes leave. */
#define lx_reshape(x, ...) lx_reshape_to((x), LX_DIMS(__VA_ARGS__))

static inline lxla_tensor lx_reshape_to(lxla_tensor x, const int64_t *dims, size_t rank) {
  int64_t whole[64], own[64], count = 1, others = 1;
  size_t own_rank = 0, free = rank;
  if (rank > 64 || !LX_TRY(lxla_tensor_info(x, NULL, &own_rank, own, 64))) return LX_MAKE(lxla_reshape, x, dims, rank);
  for (size_t i = 0; i < own_rank; i++) count *= own[i];
  for (size_t i = 0; i < rank; i++) {
    whole[i] = dims[i];
    if (dims[i] == -1 && free == rank) free = i;
    /* More than the elements of x: kept below an overflow. */
    else others = dims[i] > 0 && others > count / dims[i] ? count + 1 : others * (dims[i] > 0 ? dims[i] : 0);
  }
  if (free == rank) return LX_MAKE(lxla_reshape, x, dims, rank);
  if (others == 0 || count % others) {
    lx_fail(LX_PLACE_, LXLA_INVALID_ARGUMENT,
            "lx_reshape: one size is -1, and the product of the others does not divide the number of elements");
    return (lxla_tensor){0};
  }
  whole[free] = count / others;
  return LX_MAKE(lxla_reshape, x, whole, rank);
}
/* lx_transpose(x, 1, 0) */
#define lx_transpose(x, ...) LX_MAKE(lxla_transpose, (x), LX_DIMS(__VA_ARGS__))

/* Returns x[start:stop] along an axis; negative numbers count from the end. */
static inline lxla_tensor lx_slice(lxla_tensor x, int64_t axis, int64_t start, int64_t stop) {
  return LX_MAKE(lxla_slice_axis, x, axis, start, stop, 1);
}

static inline lxla_tensor lx_take(lxla_tensor x, lxla_tensor indices, int64_t axis) {
  return LX_MAKE(lxla_take, x, indices, axis);
}

/* Reductions of all elements, and along one axis, which is kept with size 1. */
#define LX_REDUCTION_(name, call)                                            \
  static inline lxla_tensor name(lxla_tensor x) { return call(NULL, 0, 0); } \
  static inline lxla_tensor name##_along(lxla_tensor x, int64_t axis) { return call(&axis, 1, 1); }
#define LX_SUM_(...) LX_MAKE(lxla_reduce, LXLA_REDUCE_SUM, x, __VA_ARGS__)
#define LX_MAX_(...) LX_MAKE(lxla_reduce, LXLA_REDUCE_MAX, x, __VA_ARGS__)
#define LX_MIN_(...) LX_MAKE(lxla_reduce, LXLA_REDUCE_MIN, x, __VA_ARGS__)
#define LX_PRODUCT_(...) LX_MAKE(lxla_reduce, LXLA_REDUCE_PRODUCT, x, __VA_ARGS__)
#define LX_ALL_(...) LX_MAKE(lxla_reduce, LXLA_REDUCE_ALL, x, __VA_ARGS__)
#define LX_ANY_(...) LX_MAKE(lxla_reduce, LXLA_REDUCE_ANY, x, __VA_ARGS__)
#define LX_MEAN_(...) LX_MAKE(lxla_mean, x, __VA_ARGS__)
#define LX_LOGSUMEXP_(...) LX_MAKE(lxla_logsumexp, x, __VA_ARGS__)
LX_REDUCTION_(lx_sum, LX_SUM_)
LX_REDUCTION_(lx_max, LX_MAX_)
LX_REDUCTION_(lx_min, LX_MIN_)
LX_REDUCTION_(lx_product, LX_PRODUCT_)
LX_REDUCTION_(lx_all, LX_ALL_)
LX_REDUCTION_(lx_any, LX_ANY_)
LX_REDUCTION_(lx_mean, LX_MEAN_)
LX_REDUCTION_(lx_logsumexp, LX_LOGSUMEXP_)

/* Returns the s32 positions of the largest elements along an axis, which is removed. */
static inline lxla_tensor lx_argmax(lxla_tensor x, int64_t axis) {
  return LX_MAKE(lxla_argmax, x, axis, 0, LXLA_DTYPE_S32);
}

#include "lazyxla_short/networks.h"
#include "lazyxla_short/print.h"

/* Last: */
#include "lazyxla_short/places.h"

#endif
