// Chains of operations that are recorded and never run: additions, or operations of seven kinds in turn.
#ifndef LXLA_BENCH_RECORDING_H
#define LXLA_BENCH_RECORDING_H

#include "pjrt.h"

enum { RECORDING_SIDE = 8 };

typedef enum { ADDITIONS, MIXED } recording_kind;

typedef struct {
  lxla_tensor row, other_row;        // f32[8]
  lxla_tensor square, other_square;  // f32[8, 8]
  lxla_tensor mask;                  // pred[8, 8]
} recording_operands;

// Nanoseconds of recording an operation, and of releasing a handle that was kept.
typedef struct {
  double record, release;
} recording_cost;

static lxla_tensor recording_operand(int32_t dtype, size_t rank, size_t element_size) {
  static const double data[RECORDING_SIDE * RECORDING_SIDE] = {0};
  const int64_t dims[2] = {RECORDING_SIDE, RECORDING_SIDE};
  size_t elements = rank == 2 ? RECORDING_SIDE * RECORDING_SIDE : RECORDING_SIDE;
  lxla_tensor out;
  OK(lxla_tensor_from_host(env, device, dtype, dims, rank, data, elements * element_size, &out));
  return out;
}

static recording_operands recording_prepare(void) {
  return (recording_operands){.row = recording_operand(LXLA_DTYPE_F32, 1, sizeof(float)),
                              .other_row = recording_operand(LXLA_DTYPE_F32, 1, sizeof(float)),
                              .square = recording_operand(LXLA_DTYPE_F32, 2, sizeof(float)),
                              .other_square = recording_operand(LXLA_DTYPE_F32, 2, sizeof(float)),
                              .mask = recording_operand(LXLA_DTYPE_PRED, 2, 1)};
}

static void recording_release(const recording_operands *on) {
  OK(lxla_tensor_release_many((const lxla_tensor[]){on->row, on->other_row, on->square, on->other_square, on->mask},
                              5));
}

// Records operation `i` of a mixed chain. Returns its result: x itself, where it is in place.
static inline lxla_tensor recording_mixed(const recording_operands *on, int i, lxla_tensor x) {
  lxla_tensor out = x;
  switch (i % 7) {
    case 0: OK(lxla_matmul(x, on->other_square, &out)); break;
    case 1: OK(lxla_transpose(x, (const int64_t[]){1, 0}, 2, &out)); break;
    case 2: OK(lxla_reduce(LXLA_REDUCE_SUM, x, (const int64_t[]){0}, 1, 1, &out)); break;
    case 3: OK(lxla_broadcast_to(x, (const int64_t[]){RECORDING_SIDE, RECORDING_SIDE}, 2, &out)); break;
    case 4: OK(lxla_select(on->mask, x, on->other_square, &out)); break;
    case 5: OK(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, x, 0.5, &out)); break;
    default: OK(lxla_binary_inplace(LXLA_BINARY_ADD, x, on->other_square)); break;
  }
  return out;
}

static inline lxla_tensor recording_addition(const recording_operands *on, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_binary(LXLA_BINARY_ADD, x, on->other_row, &out));
  return out;
}

// Records a chain of `n` operations. Releases each handle after its last use, or puts it into `kept`, room for n + 1.
// Returns the number of handles that are kept.
static size_t record_chain(const recording_operands *on, recording_kind kind, int n, lxla_tensor *kept) {
  size_t count = 0;
  lxla_tensor x;
  OK(lxla_tensor_snapshot(kind == MIXED ? on->square : on->row, &x));
  for (int i = 0; i < n; i++) {
    lxla_tensor next = kind == MIXED ? recording_mixed(on, i, x) : recording_addition(on, x);
    if (next.id == x.id) continue;
    if (kept) {
      kept[count++] = x;
    } else {
      OK(lxla_tensor_release(x));
    }
    x = next;
  }
  if (kept) {
    kept[count++] = x;
  } else {
    OK(lxla_tensor_release(x));
  }
  return count;
}

// Measures a chain. With `kept`, the handles are kept until its end, and released at once.
static recording_cost recording_measure(const recording_operands *on, recording_kind kind, int n, lxla_tensor *kept) {
  double start = now();
  size_t count = record_chain(on, kind, n, kept);
  double recorded = now();
  if (kept) OK(lxla_tensor_release_many(kept, count));
  double released = now();
  return (recording_cost){(recorded - start) * 1e3 / n, kept ? (released - recorded) * 1e3 / (double)count : 0};
}

#endif
