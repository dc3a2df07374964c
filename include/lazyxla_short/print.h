/* Tensors as text, for people. Part of lazyxla_short.h, which includes it. */
#ifndef LAZYXLA_SHORT_PRINT_H
#define LAZYXLA_SHORT_PRINT_H

#include "../lazyxla_short.h"

/* Elements that are printed, of `size` bytes each. */
typedef struct {
  const char *data;
  const int64_t *dims;
  size_t rank, size;
  int32_t dtype;
  bool is_short;
} lx_printed;

static inline void lx_print_element(FILE *out, const lx_printed *x, size_t at) {
  const char *element = x->data + at * x->size;
  double parts[2];
  int64_t whole;
  uint64_t natural;
  float single;
  int32_t half;
  switch (x->dtype) {
    case LXLA_DTYPE_PRED: fputs(*element ? "true" : "false", out); break;
    case LXLA_DTYPE_S64: memcpy(&whole, element, sizeof whole), fprintf(out, "%lld", (long long)whole); break;
    case LXLA_DTYPE_U64:
      memcpy(&natural, element, sizeof natural), fprintf(out, "%llu", (unsigned long long)natural);
      break;
    case LXLA_DTYPE_C128: memcpy(parts, element, sizeof parts), fprintf(out, "(%g,%g)", parts[0], parts[1]); break;
    case LXLA_DTYPE_F32: memcpy(&single, element, sizeof single), fprintf(out, "%g", (double)single); break;
    case LXLA_DTYPE_S32: memcpy(&half, element, sizeof half), fprintf(out, "%d", (int)half); break;
    default: memcpy(parts, element, sizeof *parts), fprintf(out, "%g", parts[0]); break;
  }
}

/* Prints the elements from `at` on of the axes from `axis` on in brackets, a row in a line. Leaves out the middle of
 * long axes if `is_short`. Returns the position of the next element. */
static inline size_t lx_print_axis(FILE *out, const lx_printed *x, size_t axis, size_t at) {
  if (axis == x->rank) {
    lx_print_element(out, x, at);
    return at + 1;
  }
  int64_t size = x->dims[axis], inner = 1;
  for (size_t i = axis + 1; i < x->rank; i++) inner *= x->dims[i];
  fputc('[', out);
  for (int64_t i = 0; i < size; i++) {
    for (int times = x->is_short && size > 6 && i == 3 ? 2 : 1; i > 0 && times > 0; times--) {
      if (axis + 1 == x->rank) fputs(", ", out);
      else fprintf(out, ",\n%*s", (int)axis + 1, "");
      if (times == 2) fputs("...", out), at += (size_t)((size - 6) * inner), i = size - 3;
    }
    at = lx_print_axis(out, x, axis + 1, at);
  }
  fputc(']', out);
  return at;
}

/* Returns the dtype to which elements are converted. Common ones stay: a conversion would be one more program for each
 * shape. */
static inline int32_t lx_printed_dtype(int32_t dtype) {
  const char *name = lxla_dtype_name(dtype);
  if (dtype == LXLA_DTYPE_PRED || dtype == LXLA_DTYPE_U64 || dtype == LXLA_DTYPE_F32 || dtype == LXLA_DTYPE_S32) {
    return dtype;
  }
  if (name[0] == 'c') return LXLA_DTYPE_C128;
  return name[0] == 's' || name[0] == 'u' ? LXLA_DTYPE_S64 : LXLA_DTYPE_F64;
}

/* Prints the type and the elements of a tensor, and a new line; computes them first. Of more than 1000 elements, the
 * middle of long axes is left out; of a tensor without a value, as in a trace, the type stands alone. */
static inline void lx_print_to(FILE *out, lxla_tensor x) {
  lx_scope();
  int64_t dims[64];
  int32_t dtype = 0;
  size_t count = 1;
  lx_printed text = {.dims = dims};
  if (!LX_TRY(lxla_tensor_info(x, &dtype, &text.rank, dims, 64))) return;
  text.dtype = lx_printed_dtype(dtype);
  for (size_t i = 0; i < text.rank; i++) count *= (size_t)dims[i];
  if (!LX_TRY(lxla_dtype_size(text.dtype, &text.size))) return;
  lxla_tensor wide = text.dtype == dtype ? x : lx_convert(x, text.dtype);
  char *data = malloc(count * text.size + 1);
  if (!data) {
    lx_fail(LX_PLACE_, LXLA_RESOURCE_EXHAUSTED, "lx_print: no memory for the elements");
    return;
  }
  lxla_status status = lxla_tensor_read(wide, data, count * text.size);
  if (status != LXLA_OK && status != LXLA_FAILED_PRECONDITION) {
    lx_tried(LX_PLACE_, status);
    free(data);
    return;
  }
  fprintf(out, "%s[", lxla_dtype_name(dtype));
  for (size_t i = 0; i < text.rank; i++) fprintf(out, i > 0 ? ",%lld" : "%lld", (long long)dims[i]);
  fputc(']', out);
  if (status == LXLA_OK) {
    text.data = data, text.is_short = count > 1000;
    fputc(text.rank > 1 ? '\n' : ' ', out);
    lx_print_axis(out, &text, 0, 0);
  }
  fputc('\n', out);
  free(data);
}

static inline void lx_print(lxla_tensor x) { lx_print_to(stdout, x); }

#endif
