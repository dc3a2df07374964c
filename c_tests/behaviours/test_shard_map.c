// shard_map and collectives against plain loops over the pieces: M3 of docs/behaviours.md. Derivatives and batches:
// test_shard_map_derivatives.c.
#include "shard_map.h"

static const char *const MESHES[] = {"a=2", "a=4", "a=2,b=2", "a=2,b=4"};
enum { SIDE = 8 };  // each device's piece is SIDE x SIDE

static void on_each_mesh(void (*test)(void)) {
  for (size_t i = 0; i < sizeof MESHES / sizeof *MESHES; i++) {
    start_on(MESHES[i]);
    test();
    finish();
  }
}

// Splits the rows of a matrix over all devices of the test's mesh.
static const char *by_rows(void) { return axes.rank == 1 ? "a,-" : "a+b,-"; }

// Lists of axes of the test's mesh.
static size_t lists_of_axes(const char *const **lists) {
  static const char *const all[] = {"a", "b", "a+b", "b+a"};
  *lists = all;
  return axes.rank == 1 ? 1 : 4;
}

// Makes a matrix of dtype `dtype` whose rows are split over all devices: small integers, which it also writes to `in`.
static lxla_tensor rows_of_all(int32_t dtype, pieces *in) {
  static float values[MOST_ELEMENTS];
  const int64_t n = devices_of(&axes);
  in->rows = in->columns = SIDE;
  for (int64_t p = 0; p < n; p++)
    for (int i = 0; i < SIDE * SIDE; i++) {
      const int64_t at = p * SIDE * SIDE + i;
      const float small = (float)(at * 37 % 5 - 2);
      values[at] = in->values[p][i] = dtype == PRED ? small != 0 : small;
    }
  const size_t bytes = (size_t)(n * SIDE * SIDE) * sizeof(float);
  lxla_tensor x = split_of(F32, DIMS(n * SIDE, SIDE), values, bytes, by_rows()), out;
  OK(lxla_convert(x, dtype, &out));
  return own(out);
}

// Checks a result whose rows are split over all devices.
static void has_rows(const char *file, int line, lxla_tensor t, pieces *want) {
  static float whole[MOST_ELEMENTS];
  const int64_t n = devices_of(&axes);
  int64_t dims[2];
  size_t rank;
  lxla_tensor wide;
  OK(lxla_convert(t, F32, &wide));
  OK(lxla_tensor_info(own(wide), NULL, &rank, dims, 2));
  if (rank != 2 || dims[0] != n * want->rows || dims[1] != want->columns)
    FAIL("%s:%d: the result is [%" PRId64 ",%" PRId64 "]", file, line, dims[0], dims[1]);
  const size_t each = (size_t)(want->rows * want->columns);
  for (int64_t p = 0; p < n; p++) memcpy(whole + (size_t)p * each, want->values[p], each * sizeof *whole);
  has_values(file, line, wide, whole, (size_t)n * each);
  int32_t dtype;
  OK(lxla_tensor_dtype(t, &dtype));
  has_sharding(file, line, t, by_rows());
  if (dtype == F32) has_pieces(file, line, t, whole, &axes, NULL, by_rows());
}
#define HAS_ROWS(t, want) has_rows(__FILE__, __LINE__, t, want)

// --- Each collective ---

typedef lxla_tensor collective(lxla_tensor x, const char *over, int32_t variant);
typedef void plain_collective(pieces *in, const char *over, int32_t variant, pieces *out);

// Compares a collective over each list of axes with the plain loop.
static void compare(int32_t dtype, collective *record, plain_collective *plain, int32_t variant) {
  static pieces in, want;
  const char *const *lists;
  const size_t n = lists_of_axes(&lists);
  const lxla_tensor x = rows_of_all(dtype, &in);
  for (size_t i = 0; i < n; i++) {
    const lxla_tensor piece = hole_of(dtype, DIMS(SIDE, SIDE)), y = record(piece, lists[i], variant);
    const lxla_tensor result = mapped_one(traces(&piece, 1, &y, 1), by_rows(), x, by_rows());
    plain(&in, lists[i], variant, &want);
    HAS_ROWS(result, &want);
  }
}

static lxla_tensor reduce_all(lxla_tensor x, const char *over, int32_t op) { return all_reduced(op, x, over); }
static void plain_reduce_all(pieces *in, const char *over, int32_t op, pieces *out) {
  plain_all_reduce(op, in, over, out);
}

static void each_all_reduce(void) {
  for (int32_t op = LXLA_REDUCE_SUM; op <= LXLA_REDUCE_MIN; op++) {
    compare(F32, reduce_all, plain_reduce_all, op);
    compare(S32, reduce_all, plain_reduce_all, op);
  }
  compare(BF16, reduce_all, plain_reduce_all, LXLA_REDUCE_SUM);
  compare(PRED, reduce_all, plain_reduce_all, LXLA_REDUCE_ALL);
  compare(PRED, reduce_all, plain_reduce_all, LXLA_REDUCE_ANY);
}
TEST(m3_all_reduce_of_each_kind) { on_each_mesh(each_all_reduce); }

static lxla_tensor gather_all(lxla_tensor x, const char *over, int32_t axis) { return all_gathered(x, over, axis); }
static void each_all_gather(void) {
  for (int axis = 0; axis < 2; axis++) compare(F32, gather_all, plain_all_gather, axis);
  compare(S32, gather_all, plain_all_gather, 1);
}
TEST(m3_all_gather_concatenates_pieces) { on_each_mesh(each_all_gather); }

// The variant is the kind, and 16 for the second axis.
static lxla_tensor scatter_reduced(lxla_tensor x, const char *over, int32_t variant) {
  return reduce_scattered(variant % 16, x, over, variant / 16);
}
static void plain_scatter_reduced(pieces *in, const char *over, int32_t variant, pieces *out) {
  plain_reduce_scatter(variant % 16, in, over, variant / 16, out);
}
static void each_reduce_scatter(void) {
  for (int32_t op = LXLA_REDUCE_SUM; op <= LXLA_REDUCE_MIN; op++)
    for (int axis = 0; axis < 2; axis++) compare(F32, scatter_reduced, plain_scatter_reduced, op + 16 * axis);
}
TEST(m3_reduce_scatter_leaves_each_device_its_part) { on_each_mesh(each_reduce_scatter); }

static lxla_tensor exchange(lxla_tensor x, const char *over, int32_t axis) {
  return exchanged(x, over, axis, 1 - axis);
}
static void each_all_to_all(void) {
  for (int axis = 0; axis < 2; axis++) compare(F32, exchange, plain_all_to_all, axis);
}
TEST(m3_all_to_all_exchanges_parts) { on_each_mesh(each_all_to_all); }

// Along the axis named by the list's first letter: 0 a ring, 1 a shift whose ends get nothing, 2 the identity of one.
static size_t pairs_of(const char *along, int32_t variant, int64_t *pairs) {
  int64_t count;
  size_t n = 0;
  index_along(&axes, 0, along, &count);
  for (int64_t i = 0; i < count; i++) {
    const int64_t target = variant == 2 ? i : (i + 1) % count;
    if ((variant == 1 && i + 1 == count) || (variant == 2 && i != 1)) continue;
    pairs[2 * n] = i, pairs[2 * n + 1] = target;
    n++;
  }
  return n;
}
static const char *first_of(const char *over) { return *over == 'a' ? "a" : "b"; }
static lxla_tensor permute(lxla_tensor x, const char *over, int32_t variant) {
  int64_t pairs[2 * DEVICES];
  const size_t n = pairs_of(first_of(over), variant, pairs);
  return permuted(x, first_of(over), pairs, n);
}
static void plain_permuted(pieces *in, const char *over, int32_t variant, pieces *out) {
  int64_t pairs[2 * DEVICES];
  const size_t n = pairs_of(first_of(over), variant, pairs);
  plain_permute(in, first_of(over), pairs, n, out);
}
static void each_permute(void) {
  for (int32_t variant = 0; variant < 3; variant++) compare(F32, permute, plain_permuted, variant);
}
TEST(m3_collective_permute_sends_pieces_along_an_axis) { on_each_mesh(each_permute); }

// Negative axes count from the end. Of tensors of other ranks: a vector, a cube.
MESH_TEST(m3_collectives_of_other_ranks, "a=2,b=2") {
  const lxla_tensor v = HOLE(DIMS(2)), c = HOLE(DIMS(2, 2, 2));
  const lxla_tensor args[] = {counting(DIMS(4), "a"), counting(DIMS(2, 4, 2), "-,b,-")};
  const lxla_tensor results[] = {all_gathered(v, "a", -1), exchanged(c, "b", -1, -2),
                                 all_reduced(LXLA_REDUCE_SUM, total(v), "a")};
  lxla_tensor r[3];
  mapped(traces(TENSORS(v, c), results, 3), TEXTS("a", "-,b,-"), args, 2, TEXTS("", "-,-,b", ""), r, 3);
  HAS_VALUES(r[0], numbers(), 4);
  HAS_SHARDING(r[0], "-");
  HAS_VALUES(r[1], numbers(), 16);
  HAS_SHARDING(r[1], "-,-,b");
  EQUAL(value(r[2]), 6);
}

static void each_axis_index(void) {
  static pieces in, want;
  const char *const *lists;
  const size_t n = lists_of_axes(&lists);
  const lxla_tensor x = rows_of_all(F32, &in);
  for (size_t i = 0; i < n; i++) {
    lxla_tensor index;
    const lxla_tensor piece = HOLE(DIMS(SIDE, SIDE));
    OK(lxla_convert(index_over(lists[i]), F32, &index));
    const lxla_tensor y = add(piece, own(index));
    int64_t count;
    want = in;
    for (int64_t p = 0; p < devices_of(&axes); p++)
      for (int k = 0; k < SIDE * SIDE; k++) want.values[p][k] += (float)index_along(&axes, p, lists[i], &count);
    HAS_ROWS(mapped_one(traces(&piece, 1, &y, 1), by_rows(), x, by_rows()), &want);
  }
}
TEST(m3_axis_index_is_the_place_along_axes) { on_each_mesh(each_axis_index); }

// --- Bodies ---

// A body that gets its pieces as in_shardings say, and whose results are whole as out_shardings say.
MESH_TEST(m3_arguments_and_results_have_shardings_of_their_own, "a=2,b=4") {
  // x is split by rows and columns, w by rows as x by columns, c is replicated.
  const lxla_tensor x = HOLE(DIMS(4, 4)), w = HOLE(DIMS(4, 8)), c = HOLE(DIMS(8));
  const lxla_tensor y = add(all_reduced(LXLA_REDUCE_SUM, product(x, w), "b"), c);
  const lxla_tensor sum = all_reduced(LXLA_REDUCE_SUM, total(y), "a");
  const lxla_tensor scattered = reduce_scattered(LXLA_REDUCE_SUM, product(x, w), "b", 1);
  const lxla_computation body = traces(TENSORS(x, w, c), TENSORS(y, sum, scattered));
  // Arguments of other shardings are split again; pending ones are computed on the way.
  const lxla_tensor args[] = {counting(DIMS(8, 16), "-,a"), times(counting(DIMS(16, 8), ""), 0.5),
                              counting(DIMS(8), "b")};
  lxla_tensor r[3];
  mapped(body, TEXTS("a,b", "b,-", ""), args, 3, TEXTS("a,-", "", "a,b"), r, 3);
  float want[64], plain[64], all = 0;
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 8; k++) {
      float *at = &plain[i * 8 + k];
      *at = 0;
      for (int m = 0; m < 16; m++) *at += (float)(i * 16 + m) * (float)(m * 8 + k) / 2;
      want[i * 8 + k] = *at + (float)k;
      all += want[i * 8 + k];
    }
  HAS_VALUES(r[0], want, 64);
  HAS_SHARDING(r[0], "a,-");
  HAS_PIECES(r[0], want, "a,-");
  EQUAL(value(r[1]), all);
  HAS_SHARDING(r[1], "");
  HAS_VALUES(r[2], plain, 64);
  HAS_SHARDING(r[2], "a,b");
  HAS_PIECES(r[2], plain, "a,b");
}

// h = ring(h) + sum(x) / 4, three times, in a scan of the body.
static void loop_of_collectives(void) {
  static pieces in, h, sum, next;
  const lxla_tensor x = rows_of_all(F32, &in), piece = HOLE(DIMS(SIDE, SIDE)), of_x = HOLE(DIMS(SIDE, SIDE));
  const int64_t n = axes.sizes[0];
  const lxla_tensor stepped = add(passed_on(piece, "a", n), times(all_reduced(LXLA_REDUCE_SUM, of_x, "a"), 0.25));
  lxla_tensor xs, end;
  OK(lxla_broadcast_to(of_x, DIMS(3, SIDE, SIDE), &xs));
  scan(traces(TENSORS(piece, of_x), &stepped, 1), &of_x, 1, (lxla_tensor[]){own(xs)}, 1, 3, 0, &end, NULL, 0);
  const lxla_tensor result = mapped_one(traces(&of_x, 1, &end, 1), by_rows(), x, by_rows());
  int64_t pairs[2 * DEVICES];
  for (int64_t i = 0; i < n; i++) pairs[2 * i] = i, pairs[2 * i + 1] = (i + 1) % n;
  plain_all_reduce(LXLA_REDUCE_SUM, &in, "a", &sum);
  h = in;
  for (int turn = 0; turn < 3; turn++) {
    plain_permute(&h, "a", pairs, (size_t)n, &next);
    for (int64_t p = 0; p < devices_of(&axes); p++)
      for (int i = 0; i < SIDE * SIDE; i++) h.values[p][i] = next.values[p][i] + sum.values[p][i] / 4;
  }
  HAS_ROWS(result, &h);
}
TEST(m3_collectives_in_a_scan_of_a_body) { on_each_mesh(loop_of_collectives); }

// The body of a scan applies a shard_map: each turn adds the mean over all rows to the rows.
MESH_TEST(m3_a_shard_map_in_a_scan_and_a_branch, "a=4") {
  const lxla_tensor piece = HOLE(DIMS(2, 2)), h = HOLE(DIMS(8, 2)), k = HOLE(DIMS(2)), x = HOLE(DIMS(8, 2));
  lxla_tensor sum, end, ys, r[1];
  OK(lxla_reduce(LXLA_REDUCE_SUM, piece, DIMS(0), 1, &sum));
  const lxla_tensor mean = times(all_reduced(LXLA_REDUCE_SUM, own(sum), "a"), 0.125), next = add(piece, mean);
  const lxla_computation body = traces(&piece, 1, &next, 1);
  const lxla_tensor turned = add(mapped_one(body, "a,-", h, "a,-"), k);
  const lxla_tensor ks = SPLIT("-,-", DIMS(3, 2), 1, 2, 3, 4, 5, 6), start = counting(DIMS(8, 2), "a,-");
  scan(traces(TENSORS(h, k), TENSORS(turned, turned)), &start, 1, &ks, 1, 3, 0, &end, &ys, 1);
  float want[16];
  memcpy(want, numbers(), sizeof want);
  for (int turn = 0; turn < 3; turn++)
    for (int c = 0; c < 2; c++) {
      float of_column = 0;
      for (int i = 0; i < 8; i++) of_column += want[2 * i + c];
      for (int i = 0; i < 8; i++) want[2 * i + c] += of_column / 8 + (float)(2 * turn + c + 1);
    }
  HAS_VALUES(end, want, 16);
  HAS_VALUES(row(ys, 2), want, 16);
  const lxla_tensor less = times(x, -1), more = mapped_one(body, "a,-", x, "a,-");
  for (int i = 0; i < 2; i++) {
    OK(lxla_cond(is_above(total(start), i ? 1e6 : 0), traces(&x, 1, &more, 1), traces(&x, 1, &less, 1), &start, 1, r,
                 1));
    for (int m = 0; m < 16; m++) want[m] = i ? -(float)m : (float)m + (float)(7 + m % 2);
    HAS_VALUES(own(r[0]), want, 16);
  }
}

MESH_TEST(m3_equal_bodies_are_one_program, "a=2,b=2") {
  const lxla_tensor x = counting(DIMS(8, 4), "a,b");
  for (int turn = 0; turn < 3; turn++) {
    const lxla_tensor piece = HOLE(DIMS(4, 2)), y = all_reduced(LXLA_REDUCE_MAX, piece, "a");
    lxla_tensor result = mapped_one(traces(&piece, 1, &y, 1), "a,b", x, "-,b");
    if (turn == 0) {
      char *text = text_of(result);
      CHECK(strstr(text, "sdy.manual_computation") && strstr(text, "stablehlo.all_reduce"));
      lxla_string_free(text);
    }
    HAS_VALUES(result, numbers() + 16, 16);
    HAS_SHARDING(result, "-,b");
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(counter(env, "CachedCompile"), 2);
}

// In place: p -= mean gradient of the devices' own rows, a step each.
MESH_TEST(m3_a_training_step_donates_through_a_shard_map, "a=4") {
  const lxla_tensor w = HOLE(DIMS(4)), rows = HOLE(DIMS(2, 4));
  lxla_tensor mine, r[1];
  OK(lxla_reduce(LXLA_REDUCE_SUM, rows, DIMS(0), 0, &mine));
  const lxla_tensor next = subtract(w, times(all_reduced(LXLA_REDUCE_SUM, own(mine), "a"), 0.5));
  const lxla_computation body = traces(TENSORS(w, rows), &next, 1);
  const lxla_tensor p = own(array(F32, DIMS(4), numbers(), 16)), x = counting(DIMS(8, 4), "a,-");
  for (int turn = 0; turn < 3; turn++) {
    OK(lxla_shard_map(body, mesh, TEXTS("", "a,-"), TENSORS(p, x), TEXTS(""), r, 1));
    OK(lxla_tensor_assign(p, r[0]));
    RELEASE(r[0]);
    EQUAL(mesh_step(), 1);
  }
  float want[4];
  for (int c = 0; c < 4; c++) want[c] = (float)c - 3 * 0.5f * (float)(4 * 28 + 8 * c);
  HAS_VALUES(p, want, 4);
  HAS_SHARDING(p, "-");
}

// --- What is refused ---

// Extremes over devices keep NaN, in collectives and in reductions of a split axis.
MESH_TEST(m3_extremes_over_devices_keep_nan, "a=2,b=2") {
  const float in[8] = {1, NAN, 2, 3, 4, 5, NAN, 0};
  const lxla_tensor x = split_of(F32, DIMS(2, 4), in, sizeof in, "-,a+b"), p = HOLE(DIMS(2, 1));
  for (int32_t op = LXLA_REDUCE_MAX; op <= LXLA_REDUCE_MIN; op++) {
    const int is_max = op == LXLA_REDUCE_MAX;
    const lxla_tensor over = all_reduced(op, p, "a+b");
    float v[2], w[2];
    OK(lxla_tensor_read(mapped_one(traces(&p, 1, &over, 1), "-,a+b", x, "-,-"), v, sizeof v));
    lxla_tensor reduced;
    OK(lxla_reduce(op, x, DIMS(1), 0, &reduced));
    OK(lxla_tensor_read(own(reduced), w, sizeof w));
    for (int row = 0; row < 2; row++)
      if (!isnan(v[row]) || !isnan(w[row])) FAIL("op %d, row %d: %g and %g; want NaN", op, row, v[row], w[row]);
    // Without NaN, the sign of infinity and the values stay.
    const float clean[8] = {1, -INFINITY, 2, 3, INFINITY, 5, -6, 0};
    const lxla_tensor y = split_of(F32, DIMS(2, 4), clean, sizeof clean, "-,a+b");
    OK(lxla_reduce(op, y, DIMS(1), 0, &reduced));
    HAS_VALUES(own(reduced), (is_max ? (float[]){3, INFINITY} : (float[]){-INFINITY, -6}), 2);
    HAS_VALUES(mapped_one(traces(&p, 1, &over, 1), "-,a+b", y, "-,-"),
               (is_max ? (float[]){3, INFINITY} : (float[]){-INFINITY, -6}), 2);
  }
}

MESH_TEST(m3_arrays_without_elements, "a=2,b=2") {
  const lxla_tensor x = split_of(F32, DIMS(0, 4), NULL, 0, "-,a"), p = HOLE(DIMS(0, 2));
  const lxla_tensor made[] = {all_reduced(LXLA_REDUCE_SUM, p, "a"), all_gathered(p, "b", 0),
                              reduce_scattered(LXLA_REDUCE_MAX, p, "a", 1), exchanged(p, "a", 1, 0),
                              passed_on(p, "a", 2)};
  const int64_t columns[] = {2, 2, 1, 1, 2};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    const lxla_tensor result = mapped_one(traces(&p, 1, &made[i], 1), "-,a", x, "-,a");
    int64_t dims[2];
    size_t rank;
    OK(lxla_tensor_info(result, NULL, &rank, dims, 2));
    CHECK(rank == 2 && dims[0] == 0);
    EQUAL(dims[1], 2 * columns[i]);
    OK(lxla_tensor_read(result, NULL, 0));
  }
}

MESH_TEST(m3_a_body_without_arguments, "a=2,b=2") {
  lxla_tensor row;
  OK(lxla_reshape(index_over("a+b"), DIMS(1), &row));
  const lxla_computation body = traces(NULL, 0, (lxla_tensor[]){own(row)}, 1);
  lxla_tensor result, wide;
  mapped(body, NULL, NULL, 0, TEXTS("a+b"), &result, 1);
  OK(lxla_convert(result, F32, &wide));
  HAS_VALUES(own(wide), ((float[]){0, 1, 2, 3}), 4);
}

MESH_TEST(m10_a_collective_has_no_value_outside_shard_map, "a=2,b=2") {
  const lxla_tensor x = counting(DIMS(4, 4), "a,b"), apart = plus(x, 1), index = index_over("a+b");
  lxla_tensor refused = {77};
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, x, "a", &refused), LXLA_INVALID_ARGUMENT, "outside of the body");
  REFUSED(lxla_all_gather(apart, "a", 0, &refused), LXLA_INVALID_ARGUMENT, "outside of the body");
  EQUAL(refused.id, 77);
  // A constant may be reduced in a body, so that it has no value outside.
  lxla_tensor ones;
  OK(lxla_tensor_full(env, device, F32, DIMS(4, 4), 1, &ones));
  const lxla_tensor y = all_reduced(LXLA_REDUCE_SUM, own(ones), "a"), on_it = plus(y, 1);
  float v[16] = {42};
  REFUSED(lxla_tensor_read(y, v, sizeof v), LXLA_FAILED_PRECONDITION, "all_reduce has a value only in");
  REFUSED(lxla_tensor_read(on_it, v, sizeof v), LXLA_FAILED_PRECONDITION, "lxla_shard_map");
  REFUSED(lxla_sync(&index, 1), LXLA_FAILED_PRECONDITION, "lxla_shard_map");
  const char *const path = "test_shard_map.safetensors";
  REFUSED(lxla_save(path, TEXTS("y"), &y, 1), LXLA_FAILED_PRECONDITION, "lxla_shard_map");
  EQUAL(v[0], 42);
  // A step leaves it, and runs the rest.
  mesh_step();
  EQUAL(state_of(y), LXLA_STATE_PENDING);
  EQUAL(state_of(apart), LXLA_STATE_READY);
  // The same of a computation that is called, and of one that is called by it: the collective is named.
  const lxla_tensor p = HOLE(DIMS(4, 4)), gathered = all_gathered(p, "b", 0);
  const lxla_computation gathers = traces(&p, 1, &gathered, 1);
  lxla_tensor called, inner;
  apply(gathers, &x, 1, &called, 1);
  const char *const words = "all_gather, in a computation that call applies, has a value only in the body of";
  REFUSED(lxla_tensor_read(called, (float[64]){0}, 32 * sizeof(float)), LXLA_FAILED_PRECONDITION, words);
  const lxla_tensor q = HOLE(DIMS(4, 4));
  apply(gathers, &q, 1, &inner, 1);
  apply(traces(&q, 1, &inner, 1), &x, 1, &called, 1);
  REFUSED(lxla_tensor_read(called, (float[64]){0}, 32 * sizeof(float)), LXLA_FAILED_PRECONDITION, words);
  HAS_VALUES(x, numbers(), 16);
}

MESH_TEST(m10_bad_arguments_of_collectives_are_named, "a=2,b=4") {
  const lxla_tensor x = HOLE(DIMS(4, 6)), n = hole_of(S32, DIMS(4)), near = own(one(env, 1));
  lxla_tensor native, out = {77};
  OK(lxla_tensor_full(env, on_cpu, F32, DIMS(4), 1, &native));
  own(native);
  const double before = live();
  REFUSED(lxla_all_reduce(99, x, "a", &out), BAD, "op");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, x, "c", &out), BAD, "axes");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, x, "a+a", &out), BAD, "axes");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, x, "", &out), BAD, "axes");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, x, "a,b", &out), BAD, "axes");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, x, NULL, &out), LXLA_NULL_ARGUMENT, "axes");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, none, "a", &out), LXLA_INVALID_HANDLE, "x");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, near, "a", &out), BAD, "xla:0");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, native, "a", &out), BAD, "cpu");
  REFUSED(lxla_all_reduce(LXLA_REDUCE_SUM, x, "a", NULL), LXLA_NULL_ARGUMENT, "out_tensor");
  REFUSED(lxla_all_gather(x, "a", 2, &out), BAD, "axis");
  REFUSED(lxla_all_gather(x, "a", -3, &out), BAD, "axis");
  REFUSED(lxla_reduce_scatter(LXLA_REDUCE_SUM, x, "b", 1, &out), BAD, "6");
  REFUSED(lxla_reduce_scatter(LXLA_REDUCE_SUM, n, "a+b", 0, &out), BAD, "8");
  REFUSED(lxla_all_to_all(x, "b", 1, 0, &out), BAD, "6");
  REFUSED(lxla_all_to_all(x, "a", 2, 0, &out), BAD, "split_axis");
  REFUSED(lxla_all_to_all(x, "a", 0, 7, &out), BAD, "concat_axis");
#define PAIRS(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t) / 2
  REFUSED(lxla_collective_permute(x, "b", PAIRS(0, 4), &out), BAD, "pairs");
  REFUSED(lxla_collective_permute(x, "b", PAIRS(-1, 0), &out), BAD, "pairs");
  REFUSED(lxla_collective_permute(x, "b", PAIRS(0, 1, 0, 2), &out), BAD, "pairs");
  REFUSED(lxla_collective_permute(x, "b", PAIRS(0, 1, 2, 1), &out), BAD, "pairs");
  REFUSED(lxla_collective_permute(x, "a+b", PAIRS(0, 1), &out), BAD, "axis");
  REFUSED(lxla_collective_permute(x, "b", NULL, 1, &out), LXLA_NULL_ARGUMENT, "pairs");
  REFUSED(lxla_axis_index(env, XLA(0), "a", &out), BAD, "xla:0");
  REFUSED(lxla_axis_index(env, device, "z", &out), BAD, "axes");
  EQUAL(out.id, 77);
  EQUAL(live(), before);
}

MESH_TEST(m10_bad_arguments_of_shard_map_are_named, "a=2,b=4") {
  const lxla_tensor p = HOLE(DIMS(4, 4)), y = plus(p, 1), x = counting(DIMS(8, 4), "a,-");
  const lxla_computation body = traces(&p, 1, &y, 1);
  const lxla_mesh other = new_mesh("c=2", NULL);
  const lxla_tensor near = own(from_f32(env, DIMS(8, 4), numbers()));
  lxla_tensor out = {77}, two[2];
#define MAP(given, in, args, outs, n) lxla_shard_map(given, mesh, in, args, outs, &out, n)
  OK(MAP(body, TEXTS("a,-"), TENSORS(x), TEXTS("a,-"), 1));
  RELEASE(out);
  out.id = 77;
  const double before = live();
  REFUSED(MAP((lxla_computation){0}, TEXTS("a,-"), TENSORS(x), TEXTS("a,-"), 1), LXLA_INVALID_HANDLE, "body");
  REFUSED(MAP(body, TEXTS("c,-"), TENSORS(x), TEXTS("a,-"), 1), BAD, "in_shardings[0]");
  REFUSED(MAP(body, TEXTS("a"), TENSORS(x), TEXTS("a,-"), 1), BAD, "in_shardings[0]");
  REFUSED(MAP(body, TEXTS("a,-"), TENSORS(x), TEXTS("a,-,-"), 1), BAD, "out_shardings[0]");
  REFUSED(MAP(body, TEXTS("a,-"), TENSORS(x), TEXTS("a,a"), 1), BAD, "out_shardings[0]");
  REFUSED(MAP(body, TEXTS("b,-"), TENSORS(x), TEXTS("a,-"), 1), BAD, "f32[4,4]");
  REFUSED(MAP(body, TEXTS("a,-", "a,-"), TENSORS(x, x), TEXTS("a,-"), 1), BAD, "args");
  REFUSED(MAP(body, TEXTS("a,-"), TENSORS(near), TEXTS("a,-"), 1), BAD, "xla:0");
  REFUSED(MAP(body, TEXTS("a,-"), TENSORS(none), TEXTS("a,-"), 1), LXLA_INVALID_HANDLE, "args[0]");
  REFUSED(MAP(body, NULL, TENSORS(x), TEXTS("a,-"), 1), LXLA_NULL_ARGUMENT, "in_shardings");
  REFUSED(MAP(body, TEXTS(NULL), TENSORS(x), TEXTS("a,-"), 1), LXLA_NULL_ARGUMENT, "in_shardings[0]");
  REFUSED(lxla_shard_map(body, mesh, TEXTS("a,-"), TENSORS(x), TEXTS("a,-", "a,-"), two, 2), BAD, "2 given; want 1");
  REFUSED(lxla_shard_map(body, other, TEXTS("c,-"), TENSORS(x), TEXTS("c,-"), &out, 1), BAD, "mesh");
  const lxla_mesh no_mesh = {0};
  REFUSED(lxla_shard_map(body, no_mesh, TEXTS("a,-"), TENSORS(x), TEXTS("a,-"), &out, 1), LXLA_INVALID_HANDLE, "mesh");
  EQUAL(live(), before);
  // A body for a mesh of other axes.
  const lxla_tensor summed = all_reduced(LXLA_REDUCE_SUM, p, "a"), square = own(from_f32(env, DIMS(4, 4), numbers()));
  const lxla_tensor there = sharded(square, other, "");
  const lxla_computation of_ours = traces(&p, 1, &summed, 1);
  const double before_others = live();
  REFUSED(lxla_shard_map(of_ours, other, TEXTS(""), TENSORS(there), TEXTS(""), &out, 1), BAD, "a=2,b=4");
  REFUSED(lxla_computation_call(of_ours, TENSORS(square), &out, 1), BAD, "a=2,b=4");
  EQUAL(out.id, 77);
  EQUAL(live(), before_others);
  HAS_VALUES(x, numbers(), 32);
  OK(lxla_mesh_release(other));
}
