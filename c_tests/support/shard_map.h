// Helpers for tests of shard_map: bodies traced on pieces, collectives, and the expected result on each device.
#ifndef LXLA_TEST_SHARD_MAP_H
#define LXLA_TEST_SHARD_MAP_H

#include "mesh.h"

// --- Recording ---

static inline lxla_tensor all_reduced(int32_t op, lxla_tensor x, const char *over) {
  lxla_tensor out;
  OK(lxla_all_reduce(op, x, over, &out));
  return own(out);
}

static inline lxla_tensor all_gathered(lxla_tensor x, const char *over, int64_t axis) {
  lxla_tensor out;
  OK(lxla_all_gather(x, over, axis, &out));
  return own(out);
}

static inline lxla_tensor reduce_scattered(int32_t op, lxla_tensor x, const char *over, int64_t axis) {
  lxla_tensor out;
  OK(lxla_reduce_scatter(op, x, over, axis, &out));
  return own(out);
}

static inline lxla_tensor exchanged(lxla_tensor x, const char *over, int64_t split_axis, int64_t concat_axis) {
  lxla_tensor out;
  OK(lxla_all_to_all(x, over, split_axis, concat_axis, &out));
  return own(out);
}

static inline lxla_tensor permuted(lxla_tensor x, const char *along, const int64_t *pairs, size_t n_pairs) {
  lxla_tensor out;
  OK(lxla_collective_permute(x, along, pairs, n_pairs, &out));
  return own(out);
}

// Passes x to the next device along an axis of n devices, in a ring.
static inline lxla_tensor passed_on(lxla_tensor x, const char *along, int64_t n) {
  int64_t pairs[2 * DEVICES];
  for (int64_t i = 0; i < n; i++) pairs[2 * i] = i, pairs[2 * i + 1] = (i + 1) % n;
  return permuted(x, along, pairs, (size_t)n);
}

// Index of the device along axes, as s32[].
static inline lxla_tensor index_over(const char *over) {
  lxla_tensor out, index;
  OK(lxla_axis_index(env, device, over, &out));
  OK(lxla_convert(own(out), S32, &index));
  return own(index);
}

// Applies a body to the pieces of its arguments, on every device of the mesh.
static inline void mapped(lxla_computation body, const char *const *in, const lxla_tensor *args, size_t n_args,
                          const char *const *out, lxla_tensor *results, size_t n_results) {
  OK(lxla_shard_map(body, mesh, in, args, n_args, out, results, n_results));
  for (size_t i = 0; i < n_results; i++) own(results[i]);
}

// Applies a body with one argument and one result.
static inline lxla_tensor mapped_one(lxla_computation body, const char *in, lxla_tensor x, const char *out) {
  lxla_tensor result;
  mapped(body, &in, &x, 1, &out, &result, 1);
  return result;
}

#define TEXTS(...) \
  (const char *const[]) { __VA_ARGS__ }

// --- What each device should get ---

// The pieces of all devices of the test's mesh, each a matrix.
typedef struct {
  int64_t rows, columns;
  float values[DEVICES][MOST_ELEMENTS / DEVICES];
} pieces;

static inline float *piece_of(pieces *all, int64_t device_at, int64_t row, int64_t column) {
  CHECK(all->rows * all->columns <= MOST_ELEMENTS / DEVICES);
  return &all->values[device_at][row * all->columns + column];
}

// Returns whether two positions differ on the listed axes only.
static inline int in_one_group(int64_t p, int64_t q, const char *over) {
  for (size_t i = 0; i < axes.rank; i++) {
    int listed = 0;
    for (const char *at = over; *at; at += strcspn(at, "+"), at += *at == '+') listed |= axis_named(&axes, at) == i;
    if (!listed && coordinate(&axes, p, i) != coordinate(&axes, q, i)) return 0;
  }
  return 1;
}

// Returns the member with this index of p's group. Writes the size of the group to `count`.
static inline int64_t member(int64_t p, const char *over, int64_t index, int64_t *count) {
  for (int64_t q = 0; q < devices_of(&axes); q++)
    if (in_one_group(p, q, over) && index_along(&axes, q, over, count) == index) return q;
  FAIL("no member %" PRId64 " along %s", index, over);
}

static inline float reduced_by(int32_t op, float a, float b) {
  switch (op) {
    case LXLA_REDUCE_SUM: return a + b;
    case LXLA_REDUCE_PRODUCT: return a * b;
    case LXLA_REDUCE_MAX: return a > b ? a : b;
    case LXLA_REDUCE_MIN: return a < b ? a : b;
    case LXLA_REDUCE_ALL: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
  }
}

// Each of these functions computes the result of a collective on every device, from the operand on every device.
static inline void plain_all_reduce(int32_t op, pieces *in, const char *over, pieces *out) {
  int64_t count;
  out->rows = in->rows, out->columns = in->columns;
  for (int64_t p = 0; p < devices_of(&axes); p++)
    for (int64_t i = 0; i < in->rows; i++)
      for (int64_t k = 0; k < in->columns; k++) {
        float *to = piece_of(out, p, i, k);
        *to = *piece_of(in, member(p, over, 0, &count), i, k);
        for (int64_t m = 1; m < count; m++) *to = reduced_by(op, *to, *piece_of(in, member(p, over, m, &count), i, k));
      }
}

static inline void plain_all_gather(pieces *in, const char *over, int axis, pieces *out) {
  int64_t count;
  index_along(&axes, 0, over, &count);
  out->rows = in->rows * (axis == 0 ? count : 1), out->columns = in->columns * (axis == 1 ? count : 1);
  for (int64_t p = 0; p < devices_of(&axes); p++)
    for (int64_t m = 0; m < count; m++)
      for (int64_t i = 0; i < in->rows; i++)
        for (int64_t k = 0; k < in->columns; k++)
          *piece_of(out, p, i + (axis == 0 ? m * in->rows : 0), k + (axis == 1 ? m * in->columns : 0)) =
              *piece_of(in, member(p, over, m, &count), i, k);
}

static inline void plain_reduce_scatter(int32_t op, pieces *in, const char *over, int axis, pieces *out) {
  static pieces whole;
  int64_t count;
  plain_all_reduce(op, in, over, &whole);
  index_along(&axes, 0, over, &count);
  out->rows = in->rows / (axis == 0 ? count : 1), out->columns = in->columns / (axis == 1 ? count : 1);
  for (int64_t p = 0; p < devices_of(&axes); p++) {
    const int64_t m = index_along(&axes, p, over, &count);
    const int64_t row = axis == 0 ? m * out->rows : 0, column = axis == 1 ? m * out->columns : 0;
    for (int64_t i = 0; i < out->rows; i++)
      for (int64_t k = 0; k < out->columns; k++) *piece_of(out, p, i, k) = *piece_of(&whole, p, row + i, column + k);
  }
}

// Splits on one axis of the matrix and concatenates on the other.
static inline void plain_all_to_all(pieces *in, const char *over, int split_axis, pieces *out) {
  int64_t count;
  index_along(&axes, 0, over, &count);
  const int64_t rows = in->rows / (split_axis == 0 ? count : 1), columns = in->columns / (split_axis == 1 ? count : 1);
  out->rows = split_axis == 0 ? rows : in->rows * count, out->columns = split_axis == 1 ? columns : in->columns * count;
  for (int64_t p = 0; p < devices_of(&axes); p++) {
    const int64_t mine = index_along(&axes, p, over, &count);
    for (int64_t m = 0; m < count; m++)
      for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
          *piece_of(out, p, i + (split_axis == 0 ? 0 : m * rows), k + (split_axis == 1 ? 0 : m * columns)) =
              *piece_of(in, member(p, over, m, &count), i + (split_axis == 0 ? mine * rows : 0),
                        k + (split_axis == 1 ? mine * columns : 0));
  }
}

// Expected result of collective_permute: devices that are not a target get zeros.
static inline void plain_permute(pieces *in, const char *along, const int64_t *pairs, size_t n_pairs, pieces *out) {
  int64_t count;
  out->rows = in->rows, out->columns = in->columns;
  memset(out->values, 0, sizeof out->values);
  for (int64_t p = 0; p < devices_of(&axes); p++)
    for (size_t i = 0; i < n_pairs; i++)
      if (pairs[2 * i + 1] == index_along(&axes, p, along, &count))
        memcpy(out->values[p], in->values[member(p, along, pairs[2 * i], &count)], sizeof *out->values);
}

#endif
