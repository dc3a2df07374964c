// Gather and scatter, with all their dimension numbers and along one axis; lazy and native.
#include "combiners.h"

static lxla_gather_options gather_options(void) {
  lxla_gather_options options;
  options.struct_size = sizeof options;
  OK(lxla_gather_options_init(&options));
  return options;
}

static lxla_scatter_options scatter_options(void) {
  lxla_scatter_options options;
  options.struct_size = sizeof options;
  OK(lxla_scatter_options_init(&options));
  return options;
}

#define AXES(options, field, ...)                    \
  ((options).field = (const int64_t[]){__VA_ARGS__}, \
   (options).n_##field = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

// Returns options that gather rows of a matrix, in slices of `sizes`.
static lxla_gather_options rows(const int64_t *sizes) {
  static const int64_t zero[] = {0}, one[] = {1};
  lxla_gather_options options = gather_options();
  options.offset_dims = one;
  options.collapsed_slice_dims = options.start_index_map = zero;
  options.n_offset_dims = options.n_collapsed_slice_dims = options.n_start_index_map = 1;
  options.index_vector_dim = 1;
  options.slice_sizes = sizes;
  options.n_slice_sizes = 2;
  return options;
}

static void gathers(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(3, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), out = none;
  lxla_gather_options options = rows((int64_t[]){1, 2});
  // Starts out of range are clamped, in every dtype of indices.
  lxla_tensor s8 = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(3), 2, -128, 127);
  OK(lxla_gather(x, s8, &options, &out));
  HAS(out, F32, float, DIMS(3, 2), 8, 9, 0, 1, 8, 9);
  lxla_tensor u64 = ARRAY(LXLA_DTYPE_U64, uint64_t, DIMS(2), UINT64_MAX, 1);
  OK(lxla_gather(x, u64, &options, &out));
  HAS(out, F32, float, DIMS(2, 2), 8, 9, 4, 5);
  // Indices as a constant of the program, which XLA folds: 2^63 to 2^64 - 1 must stay large.
  lxla_tensor constant;
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_U64, DIMS(2), 9.3e18, &constant));
  OK(lxla_gather(x, constant, &options, &out));
  HAS(out, F32, float, DIMS(2, 2), 8, 9, 8, 9);
  // Index vectors along the first axis, column index first; the slices occupy the result's first two axes.
  lxla_gather_options vectors = gather_options();
  AXES(vectors, offset_dims, 0, 1);
  AXES(vectors, start_index_map, 1, 0);
  AXES(vectors, slice_sizes, 1, 2);
  lxla_tensor pairs = ARRAY(S32, int32_t, DIMS(2, 2), 1, 9, 0, 2);
  OK(lxla_gather(x, pairs, &vectors, &out));
  HAS(out, F32, float, DIMS(1, 2, 2), 1, 10, 2, 11);
  // Batching axes: two rows are taken from each column.
  lxla_gather_options batches = gather_options();
  AXES(batches, collapsed_slice_dims, 0);
  AXES(batches, operand_batching_dims, 1);
  AXES(batches, start_indices_batching_dims, 0);
  AXES(batches, start_index_map, 0);
  AXES(batches, slice_sizes, 1, 1);
  batches.index_vector_dim = 2;
  lxla_tensor each = ARRAY(S32, int32_t, DIMS(4, 2), 0, 1, 0, 1, 2, 2, -1, 5);
  OK(lxla_gather(x, each, &batches, &out));
  HAS(out, F32, float, DIMS(4, 2), 0, 4, 1, 5, 10, 10, 3, 11);
  // No slices at all, and slices without elements.
  lxla_tensor no_indices = array(S32, DIMS(0), NULL, 0);
  OK(lxla_gather(x, no_indices, &options, &out));
  HAS(out, F32, float, DIMS(0, 2), 0);
  lxla_gather_options nothing = rows((int64_t[]){1, 0});
  OK(lxla_gather(x, s8, &nothing, &out));
  HAS(out, F32, float, DIMS(3, 0), 0);
  // Complex numbers are gathered in the same way.
  lxla_tensor z = ARRAY(LXLA_DTYPE_C64, float, DIMS(2, 1), 1, 2, 3, 4);
  lxla_gather_options one = rows((int64_t[]){1, 1});
  lxla_tensor last = ARRAY(LXLA_DTYPE_U8, uint8_t, DIMS(1), 1);
  OK(lxla_gather(z, last, &one, &out));
  HAS(out, LXLA_DTYPE_C64, uint64_t, DIMS(1, 1), 0x4080000040400000);

  lxla_gather_options bad = rows((int64_t[]){1, 5});
  REFUSED(lxla_gather(x, s8, &bad, &out), LXLA_INVALID_ARGUMENT,
          "slice_sizes[1] is 5; the array is f32[3,4], want 0 to 4");
  bad = rows((int64_t[]){1, 2});
  bad.index_vector_dim = 2;
  REFUSED(lxla_gather(x, s8, &bad, &out), LXLA_INVALID_ARGUMENT,
          "index_vector_dim: it is 2; indices are s8[3], want 0 to 1");
  bad = rows((int64_t[]){1, 2});
  AXES(bad, offset_dims, -1);
  REFUSED(lxla_gather(x, s8, &bad, &out), LXLA_INVALID_ARGUMENT, "offset_dims: -1 is not an axis; there are 2");
  REFUSED(lxla_gather(x, x, &options, &out), LXLA_INVALID_ARGUMENT, "indices: they are f32[3,4]; want integers");
  REFUSED(lxla_gather(x, s8, NULL, &out), LXLA_NULL_ARGUMENT, "options: it is NULL");
  bad = rows((int64_t[]){1, 2});
  bad.struct_size = 4;
  REFUSED(lxla_gather(x, s8, &bad, &out), LXLA_INVALID_ARGUMENT,
          "options: struct_size is 4; set it to sizeof(lxla_gather_options)");
  bad.struct_size = sizeof bad;
  bad.indices_are_sorted = 2;
  REFUSED(lxla_gather(x, s8, &bad, &out), LXLA_INVALID_ARGUMENT, "options.indices_are_sorted: 2 given; want 0 or 1");
  RELEASE(x, s8, u64, constant, pairs, each, no_indices, z, last);
}

static void scatters_refused(lxla_computation add, lxla_tensor x, lxla_tensor at_rows, lxla_tensor updates,
                             const lxla_scatter_options *options) {
  lxla_tensor out = none;
  lxla_tensor wrong = ARRAY(S32, int32_t, DIMS(3, 2), 1, 2, 3, 4, 5, 6),
              f = ARRAY(F32, float, DIMS(4, 2), 1, 2, 3, 4, 5, 6, 7, 8);
  REFUSED(lxla_scatter(add, &x, at_rows, &wrong, 1, options, &out), LXLA_INVALID_ARGUMENT,
          "updates: they are s32[3,2], with [3] beside update_window_dims; indices are s64[4]");
  REFUSED(lxla_scatter(add, &x, at_rows, &f, 1, options, &out), LXLA_INVALID_ARGUMENT,
          "updates[0] is f32[4,2]; inputs[0] is s32[3,2]");
  REFUSED(lxla_scatter(add, &x, at_rows, &updates, 0, options, NULL), LXLA_INVALID_ARGUMENT, "n: 0 tensors given");
  lxla_computation floats = of_two(ADD, F32);
  REFUSED(lxla_scatter(floats, &x, at_rows, &updates, 1, options, &out), LXLA_INVALID_ARGUMENT,
          "combiner: its parameters are f32[], f32[]; those wanted are s32[], s32[]");
  DONE(floats);
  RELEASE(wrong, f);
}

static void scatters(void) {
  lxla_computation add = of_two(ADD, S32), keep_new;
  lxla_tensor a = placeholder(env, S32, NULL, 0), b = placeholder(env, S32, NULL, 0), out = none;
  keep_new = traced(TENSORS(a, b), TENSORS(b));
  RELEASE(a, b);
  lxla_tensor x = ARRAY(S32, int32_t, DIMS(3, 2), 1, 2, 3, 4, 5, 6);
  lxla_scatter_options options = scatter_options();
  AXES(options, update_window_dims, 1);
  AXES(options, inserted_window_dims, 0);
  AXES(options, scatter_dims_to_operand_dims, 0);
  options.index_vector_dim = 1;
  // Row 2 is updated twice; rows out of range are dropped.
  lxla_tensor at_rows = ARRAY(LXLA_DTYPE_S64, int64_t, DIMS(4), 2, -1, 3, 2);
  lxla_tensor updates = ARRAY(S32, int32_t, DIMS(4, 2), 10, 20, 30, 40, 50, 60, 100, INT32_MAX);
  OK(lxla_scatter(add, &x, at_rows, &updates, 1, &options, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 1, 2, 3, 4, 115, INT32_MIN + 25);
  OK(lxla_scatter(keep_new, &x, at_rows, &updates, 1, &options, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 1, 2, 3, 4, 100, INT32_MAX);
  // Index promises (sorted, unique) are passed on to XLA.
  lxla_scatter_options promised = options;
  promised.unique_indices = promised.indices_are_sorted = 1;
  lxla_tensor apart = ARRAY(S32, int32_t, DIMS(2), 0, 1), two = ARRAY(S32, int32_t, DIMS(2, 2), 10, 20, 30, 40);
  OK(lxla_scatter(add, &x, apart, &two, 1, &promised, &out));
  if (!is_native()) {
    char *text = text_of(out);
    CHECK(strstr(text, "indices_are_sorted = true, unique_indices = true"));
    lxla_string_free(text);
  }
  HAS(out, S32, int32_t, DIMS(3, 2), 11, 22, 33, 44, 5, 6);
  RELEASE(apart, two);
  // Indices of u64 that would be negative as s64.
  lxla_tensor large = ARRAY(LXLA_DTYPE_U64, uint64_t, DIMS(4), UINT64_MAX, 0, UINT64_MAX - 1, 1);
  OK(lxla_scatter(add, &x, large, &updates, 1, &options, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 31, 42, 103, INT32_MIN + 3, 5, 6);
  // A window that is partly out of range is dropped as a whole.
  lxla_scatter_options windows = scatter_options();
  AXES(windows, update_window_dims, 0);
  AXES(windows, inserted_window_dims, 1);
  AXES(windows, scatter_dims_to_operand_dims, 0, 1);
  lxla_tensor corners = ARRAY(S32, int32_t, DIMS(2, 3), 1, 2, -1, 1, 0, 0);
  lxla_tensor columns = ARRAY(S32, int32_t, DIMS(2, 3), 10, 20, 30, 40, 50, 60);
  OK(lxla_scatter(add, &x, corners, &columns, 1, &windows, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 1, 2, 3, 14, 5, 46);
  // Batching axes: each row is updated in its own column.
  lxla_scatter_options batches = scatter_options();
  AXES(batches, inserted_window_dims, 1);
  AXES(batches, input_batching_dims, 0);
  AXES(batches, scatter_indices_batching_dims, 0);
  AXES(batches, scatter_dims_to_operand_dims, 1);
  batches.index_vector_dim = 1;
  lxla_tensor own = ARRAY(S32, int32_t, DIMS(3), 1, 0, 7), three = ARRAY(S32, int32_t, DIMS(3), 10, 20, 30);
  OK(lxla_scatter(add, &x, own, &three, 1, &batches, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 1, 12, 23, 4, 5, 6);
  // Index vectors without elements: all slices are at the start, of an array and of a scalar.
  lxla_scatter_options start = scatter_options();
  AXES(start, update_window_dims, 1);
  start.index_vector_dim = 1;
  lxla_tensor no_vectors = array(S32, DIMS(3, 0), NULL, 0), five = at(S32, 5), one = ARRAY(S32, int32_t, DIMS(1), 7);
  lxla_tensor three_by_one = ARRAY(S32, int32_t, DIMS(3, 1), 10, 20, 30);
  OK(lxla_scatter(add, &one, no_vectors, &three_by_one, 1, &start, &out));
  HAS(out, S32, int32_t, DIMS(1), 67);
  start.n_update_window_dims = 0;
  OK(lxla_scatter(add, &five, no_vectors, &three, 1, &start, &out));
  HAS(out, S32, int32_t, SCALAR, 65);
  // No updates at all.
  lxla_tensor no_rows = array(S32, DIMS(0), NULL, 0), no_updates = array(S32, DIMS(0, 2), NULL, 0);
  OK(lxla_scatter(add, &x, no_rows, &no_updates, 1, &options, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 1, 2, 3, 4, 5, 6);
  scatters_refused(add, x, at_rows, updates, &options);
  DONE(add, keep_new);
  RELEASE(x, at_rows, updates, large, corners, columns, own, three, no_vectors, five, one, three_by_one, no_rows,
          no_updates);
}

// Scatters two arrays together: the largest update, and its position.
static void scatters_of_several(void) {
  lxla_tensor v = placeholder(env, F32, NULL, 0), i = placeholder(env, S32, NULL, 0),
              w = placeholder(env, F32, NULL, 0), j = placeholder(env, S32, NULL, 0);
  lxla_tensor more = compared(LXLA_COMPARE_GT, w, v), value = selected(more, w, v), index = selected(more, j, i),
              out[2];
  lxla_computation larger = traced(TENSORS(v, i, w, j), TENSORS(value, index));
  RELEASE(v, i, w, j, more, value, index);
  lxla_scatter_options options = scatter_options();
  AXES(options, inserted_window_dims, 0);
  AXES(options, scatter_dims_to_operand_dims, 0);
  options.index_vector_dim = 1;
  lxla_tensor arrays[] = {ARRAY(F32, float, DIMS(3), 5, 5, 5), ARRAY(S32, int32_t, DIMS(3), -1, -1, -1)};
  lxla_tensor updates[] = {ARRAY(F32, float, DIMS(5), 6, 9, 1, 7, 8), ARRAY(S32, int32_t, DIMS(5), 0, 1, 2, 3, 4)};
  lxla_tensor where = ARRAY(S32, int32_t, DIMS(5), 0, 2, 1, 2, 0);
  OK(lxla_scatter(larger, arrays, where, updates, 2, &options, out));
  HAS(out[0], F32, float, DIMS(3), 8, 5, 9);
  HAS(out[1], S32, int32_t, DIMS(3), 4, -1, 1);
  lxla_tensor shapes[] = {arrays[0], updates[0]};
  REFUSED(lxla_scatter(larger, shapes, where, updates, 2, &options, out), LXLA_INVALID_ARGUMENT,
          "inputs[1] is f32[5] and inputs[0] is f32[3]; want one shape");
  DONE(larger);
  RELEASE(arrays[0], arrays[1], updates[0], updates[1], where);
}

// Scatters the same tensor twice, or two that turn out to be the same: (a, b), (u, v) to (a + u, b * v).
static void scatters_of_equal_arrays(void) {
  lxla_tensor p[4], r[2], out[2], zeros[2];
  for (int i = 0; i < 4; i++) p[i] = placeholder(env, F32, NULL, 0);
  r[0] = binary(ADD, p[0], p[2]);
  r[1] = binary(MUL, p[1], p[3]);
  lxla_computation both = traced(p, 4, r, 2);
  OK(lxla_tensor_release_many(p, 4));
  OK(lxla_tensor_release_many(r, 2));
  lxla_scatter_options options = scatter_options();
  AXES(options, inserted_window_dims, 0);
  AXES(options, scatter_dims_to_operand_dims, 0);
  options.index_vector_dim = 1;
  lxla_tensor x = F32S(DIMS(3), 1, 2, 3), where = ARRAY(S32, int32_t, DIMS(4), 2, 0, 2, 0),
              u = F32S(DIMS(4), 2, 3, 4, 5);
  const lxla_tensor twice[] = {x, x}, updates[] = {u, u};
  OK(lxla_scatter(both, twice, where, updates, 2, &options, out));
  HAS(out[0], F32, float, DIMS(3), 9, 2, 9);
  HAS(out[1], F32, float, DIMS(3), 15, 2, 24);
  for (int i = 0; i < 2; i++) OK(lxla_tensor_full(env, device, F32, DIMS(3), 0, &zeros[i]));
  OK(lxla_scatter(both, zeros, where, updates, 2, &options, out));
  HAS(out[0], F32, float, DIMS(3), 8, 0, 6);
  HAS(out[1], F32, float, DIMS(3), 0, 0, 0);
  // The array that was read is unchanged.
  int32_t at_rows[4];
  OK(lxla_tensor_read(where, at_rows, sizeof at_rows));
  CHECK(at_rows[0] == 2 && at_rows[1] == 0 && at_rows[2] == 2 && at_rows[3] == 0);
  DONE(both);
  RELEASE(x, where, u, zeros[0], zeros[1]);
}

// Floats of several dtypes, which are passed as unsigned integers: also beside an array with the same bits, and with
// the bits of the indices. (a, b, c), (u, v, w) to (a + u, max(b, v), c | w).
static void scatters_of_floats_of_several_dtypes(void) {
  const int32_t dtypes[] = {F64, F32, U32};
  lxla_tensor p[6], r[3], out[3];
  for (int i = 0; i < 6; i++) p[i] = placeholder(env, dtypes[i % 3], NULL, 0);
  r[0] = binary(ADD, p[0], p[3]), r[1] = binary(LXLA_BINARY_MAXIMUM, p[1], p[4]),
  r[2] = binary(LXLA_BINARY_OR, p[2], p[5]);
  lxla_computation all = traced(p, 6, r, 3);
  OK(lxla_tensor_release_many(p, 6));
  OK(lxla_tensor_release_many(r, 3));
  lxla_scatter_options options = scatter_options();
  AXES(options, inserted_window_dims, 0);
  AXES(options, scatter_dims_to_operand_dims, 0);
  options.index_vector_dim = 1;
  lxla_tensor where = ARRAY(U32, uint32_t, DIMS(3), 2, 0, 2), as_float, as_double;
  OK(lxla_bitcast_convert(where, F32, &as_float));
  OK(lxla_convert(where, F64, &as_double));
  const lxla_tensor inputs[] = {as_double, as_float, where};
  lxla_tensor updates[] = {ARRAY(F64, double, DIMS(3), 10, 20, 30), F32S(DIMS(3), 5, 7, 6),
                           ARRAY(U32, uint32_t, DIMS(3), 4, 8, 16)};
  OK(lxla_scatter(all, inputs, where, updates, 3, &options, out));
  if (!is_native()) OK(lxla_mark_step(env, device, 1));
  HAS(out[0], F64, double, DIMS(3), 22, 0, 42);
  HAS_F32(out[1], DIMS(3), 7, 0, 6);
  HAS(out[2], U32, uint32_t, DIMS(3), 10, 0, 22);
  HAS(where, U32, uint32_t, DIMS(3), 2, 0, 2);
  DONE(all);
  RELEASE(as_float, as_double, updates[0], updates[1], updates[2]);
}

static void along_an_axis(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 3), 1, 2, 3, 4, 5, 6), out = none;
  lxla_tensor i = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(2, 4), 0, -1, 2, 99, -3, -4, 1, 1);
  OK(lxla_take_along_axis(x, i, 1, &out));
  HAS(out, F32, float, DIMS(2, 4), 1, 3, 3, 3, 4, 4, 5, 5);
  OK(lxla_take_along_axis(x, i, -1, &out));
  HAS(out, F32, float, DIMS(2, 4), 1, 3, 3, 3, 4, 4, 5, 5);
  // x and the indices broadcast on the axes other than the indexed one.
  lxla_tensor row = ARRAY(LXLA_DTYPE_U16, uint16_t, DIMS(1, 2), 2, 0), column = ARRAY(F32, float, DIMS(3, 1), 7, 8, 9);
  OK(lxla_take_along_axis(x, row, 1, &out));
  HAS(out, F32, float, DIMS(2, 2), 3, 1, 6, 4);
  OK(lxla_take_along_axis(column, row, 0, &out));
  HAS(out, F32, float, DIMS(1, 2), 9, 7);
  lxla_tensor no_row = array(S32, DIMS(2, 0), NULL, 0), empty = array(F32, DIMS(2, 0), NULL, 0),
              three = ARRAY(S32, int32_t, DIMS(3, 1), 0, 0, 0);
  OK(lxla_take_along_axis(x, no_row, 1, &out));
  HAS(out, F32, float, DIMS(2, 0), 0);
  REFUSED(lxla_take_along_axis(empty, row, 1, &out), LXLA_INVALID_ARGUMENT,
          "x: it is f32[2,0]; want at least 1 element on axis 1");
  REFUSED(lxla_take_along_axis(x, three, 1, &out), LXLA_INVALID_ARGUMENT,
          "beside axis 1 their shapes do not broadcast");
  REFUSED(lxla_take_along_axis(x, x, 1, &out), LXLA_INVALID_ARGUMENT, "indices: they are f32[2,3]; want integers");
  REFUSED(lxla_take_along_axis(x, i, 2, &out), LXLA_INVALID_ARGUMENT, "axis 2 is out of range for rank 2");
  lxla_tensor flat = ARRAY(S32, int32_t, DIMS(2), 0, 1);
  REFUSED(lxla_take_along_axis(x, flat, 1, &out), LXLA_INVALID_ARGUMENT, "want as many axes");

  lxla_tensor u = ARRAY(F32, float, DIMS(2, 4), 10, 20, 30, 40, 50, 60, 70, 80);
  const float want[][6] = {{10, 2, 30, 50, 80, 6},
                           {11, 2, 53, 54, 155, 6},
                           {10, 2, 1800, 200, 28000, 6},
                           {10, 2, 30, 50, 80, 6},
                           {1, 2, 3, 4, 5, 6}};
  for (int op = LXLA_SCATTER_COPY; op <= LXLA_SCATTER_MIN; op++) {
    OK(lxla_scatter_along(op, x, i, u, 1, &out));
    has(__FILE__, __LINE__, out, F32, DIMS(2, 3), want[op - 1], sizeof want[0]);
  }
  REFUSED(lxla_scatter_along(6, x, i, u, 1, &out), LXLA_INVALID_ARGUMENT,
          "op: 6 is not an LXLA_SCATTER_* constant (valid: 1 to 5)");
  REFUSED(lxla_scatter_along(2, x, i, x, 1, &out), LXLA_INVALID_ARGUMENT,
          "updates: they are f32[2,3]; indices are s8[2,4] and x is f32[2,3], want f32[2,4]");
  REFUSED(lxla_scatter_along(2, x, row, u, 1, &out), LXLA_INVALID_ARGUMENT, "they may differ on axis 1 only");
  // NaN is kept, and combined as by maximum.
  lxla_tensor nan = ARRAY(F64, double, DIMS(2), NAN, 1), j = ARRAY(S32, int32_t, DIMS(2), 0, 1),
              with = ARRAY(F64, double, DIMS(2), 5, NAN);
  OK(lxla_scatter_along(LXLA_SCATTER_MAX, nan, j, with, 0, &out));
  HAS(out, F64, double, DIMS(2), NAN, NAN);
  RELEASE(x, i, row, column, no_row, empty, three, flat, u, nan, j, with);
}

static void slices_at_indices(void) {
  lxla_tensor x = ARRAY(S32, int32_t, DIMS(3, 2), 1, 2, 3, 4, 5, 6), out = none;
  lxla_tensor i = ARRAY(LXLA_DTYPE_S64, int64_t, DIMS(4), 0, -1, 0, 7),
              s = ARRAY(S32, int32_t, DIMS(4, 2), 10, 20, 30, 40, 50, 60, 70, 80);
  OK(lxla_index_add(x, 0, i, s, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 61, 82, 3, 4, 35, 46);
  OK(lxla_index_copy(x, 0, i, s, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 50, 60, 3, 4, 30, 40);
  lxla_tensor columns = ARRAY(LXLA_DTYPE_U8, uint8_t, DIMS(1), 1), one = ARRAY(S32, int32_t, DIMS(3, 1), 100, 200, 300);
  OK(lxla_index_add(x, -1, columns, one, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 1, 102, 3, 204, 5, 306);
  lxla_tensor p = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(2), 0, 1), q = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(1), 1),
              zero = ARRAY(S32, int32_t, DIMS(1), 0);
  OK(lxla_index_copy(p, 0, zero, q, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2), 1, 1);
  OK(lxla_index_add(p, 0, zero, q, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2), 1, 1);
  REFUSED(lxla_index_add(x, 0, i, x, &out), LXLA_INVALID_ARGUMENT,
          "source: it is s32[3,2]; x is s32[3,2] and indices are s64[4], want s32[4,2]");
  REFUSED(lxla_index_add(x, 0, x, s, &out), LXLA_INVALID_ARGUMENT,
          "indices: they are s32[3,2]; want integers in a row");
  REFUSED(lxla_index_copy(x, -3, i, s, &out), LXLA_INVALID_ARGUMENT, "axis -3 is out of range for rank 2");
  // Adds 300 ones, which bf16 would lose beyond 256.
  enum { COUNT = 300 };
  uint16_t ones[COUNT];
  int32_t zeros[COUNT] = {0};
  for (int n = 0; n < COUNT; n++) ones[n] = 0x3F80;
  lxla_tensor b = ARRAY(LXLA_DTYPE_BF16, uint16_t, DIMS(1), 0),
              many = array(LXLA_DTYPE_BF16, DIMS(COUNT), ones, sizeof ones),
              where = array(S32, DIMS(COUNT), zeros, sizeof zeros);
  OK(lxla_index_add(b, 0, where, many, &out));
  HAS(out, LXLA_DTYPE_BF16, uint16_t, DIMS(1), 0x4396);
  RELEASE(x, i, s, columns, one, p, q, zero, b, many, where);
}

// Uses an array as its own indices, which are updated while they are read.
static void indices_that_are_updated(void) {
  const int32_t dtypes[] = {S32, LXLA_DTYPE_S64, LXLA_DTYPE_U32};
  lxla_scatter_options options = scatter_options();
  AXES(options, inserted_window_dims, 0, 1);
  AXES(options, scatter_dims_to_operand_dims, 0, 1);
  options.index_vector_dim = 1;
  for (int n = 0; n < 3; n++) {
    lxla_computation add = of_two(ADD, dtypes[n]);
    lxla_tensor small = ARRAY(S32, int32_t, DIMS(2, 2), 1, 1, 1, 1), ones = ARRAY(S32, int32_t, DIMS(2), 1, 1), x,
                updates, out, as_s32;
    OK(lxla_convert(small, dtypes[n], &x));
    OK(lxla_convert(ones, dtypes[n], &updates));
    OK(lxla_mark_step(env, device, 1));
    OK(lxla_scatter(add, &x, x, &updates, 1, &options, &out));
    OK(lxla_convert(out, S32, &as_s32));
    HAS(as_s32, S32, int32_t, DIMS(2, 2), 1, 1, 1, 3);
    DONE(add);
    RELEASE(small, ones, x, updates, out);
  }
}

// Uses an array as its own indices, some of which are out of range.
static void indices_outside_that_are_updated(void) {
  lxla_computation add = of_two(ADD, S32);
  lxla_scatter_options options = scatter_options();
  AXES(options, inserted_window_dims, 0, 1);
  AXES(options, scatter_dims_to_operand_dims, 0, 1);
  options.index_vector_dim = 1;
  lxla_tensor x = ARRAY(S32, int32_t, DIMS(3, 2), 2, 1, INT32_MIN, 0, 1, -1),
              updates = ARRAY(S32, int32_t, DIMS(3), 1, 2, 3), out;
  OK(lxla_scatter(add, &x, x, &updates, 1, &options, &out));
  HAS(out, S32, int32_t, DIMS(3, 2), 2, 1, INT32_MIN, 0, 1, 0);
  DONE(add);
  RELEASE(x, updates);
}

TEST(an_array_that_is_its_own_indices) { on_both(indices_that_are_updated); }
TEST(an_array_that_is_its_own_indices_with_some_outside) { on_both(indices_outside_that_are_updated); }
TEST(slices_from_where_indices_say) { on_both(gathers); }
TEST(slices_to_where_indices_say) { on_both(scatters); }
TEST(several_arrays_scattered_together) { on_both(scatters_of_several); }
TEST(equal_arrays_scattered_together) { on_both(scatters_of_equal_arrays); }
TEST(floats_of_several_dtypes_scattered_together) { on_both(scatters_of_floats_of_several_dtypes); }
TEST(elements_along_an_axis) { on_both(along_an_axis); }
TEST(slices_at_a_row_of_indices) { on_both(slices_at_indices); }

// A region can use a scalar that the computation captured.
TEST(a_combiner_captures_scalars) {
  env = new_env();
  device = XLA(0);
  lxla_tensor factor = ARRAY(F32, float, SCALAR, 10), a = placeholder(env, F32, NULL, 0),
              b = placeholder(env, F32, NULL, 0);
  lxla_tensor scaled = binary(MUL, b, factor), sum = binary(ADD, a, scaled), out;
  lxla_computation c = traced(TENSORS(a, b), TENSORS(sum));
  lxla_scatter_options options = scatter_options();
  AXES(options, inserted_window_dims, 0);
  AXES(options, scatter_dims_to_operand_dims, 0);
  options.index_vector_dim = 1;
  lxla_tensor x = ARRAY(F32, float, DIMS(2), 1, 2), i = ARRAY(S32, int32_t, DIMS(3), 1, 1, 0),
              u = ARRAY(F32, float, DIMS(3), 1, 2, 3);
  OK(lxla_scatter(c, &x, i, &u, 1, &options, &out));
  HAS(out, F32, float, DIMS(2), 31, 32);
  lxla_tensor row = ARRAY(F32, float, DIMS(2), 1, 2), total, wrong;
  OK(lxla_reduce(LXLA_REDUCE_SUM, row, (int64_t[]){0}, 1, 0, &total));
  lxla_tensor p = placeholder(env, F32, NULL, 0), q = placeholder(env, F32, NULL, 0), wide;
  OK(lxla_broadcast_to(p, DIMS(2), &wide));
  lxla_tensor product = binary(MUL, wide, row), dot;
  OK(lxla_reduce(LXLA_REDUCE_SUM, product, (int64_t[]){0}, 1, 0, &dot));
  lxla_computation bad = traced(TENSORS(p, q), TENSORS(dot));
  REFUSED(lxla_scatter(bad, &x, i, &u, 1, &options, &wrong), LXLA_INVALID_ARGUMENT,
          "combiner: it captured f32[2]; want scalars only");
  DONE(c, bad);
  RELEASE(factor, a, b, scaled, sum, x, i, u, row, total, p, q, wide, product, dot);
  OK(lxla_env_release(env));
}

// A large array whose old value is not needed is updated in place.
TEST(a_donated_array_is_updated_in_place) {
  enum { MANY = 1 << 20 };
  env = new_env();
  device = XLA(0);
  lxla_tensor x, i = ARRAY(S32, int32_t, DIMS(2), 3, MANY - 1), u = ARRAY(F32, float, DIMS(2), 1, 2), out, part;
  OK(lxla_tensor_full(env, device, F32, DIMS(MANY), 5, &x));
  step(env);
  OK(lxla_index_add(x, 0, i, u, &out));
  OK(lxla_tensor_assign(x, out));
  RELEASE(out);
  lxla_memory_stats stats;
  stats.struct_size = sizeof stats;
  OK(lxla_compiled_memory(env, XLA(0), NULL, 0, &stats));
  CHECK(stats.alias_bytes >= MANY * sizeof(float));
  CHECK(stats.temp_bytes < MANY);
  CHECK(step(env) >= 1);
  OK(lxla_slice(x, (int64_t[]){2}, (int64_t[]){5}, NULL, 1, &part));
  HAS(part, F32, float, DIMS(3), 5, 6, 5);
  RELEASE(x, i, u);
  OK(lxla_env_release(env));
}
