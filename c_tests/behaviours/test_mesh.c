// Tensors on meshes: M1 of docs/behaviours.md. Results on a mesh are compared with those on xla:0.
#include "mesh.h"

// --- Made, moved, read ---

MESH_TEST(m1_a_tensor_from_the_host_has_a_copy_on_each_device, "data=2,model=4") {
  const lxla_tensor t = own(array(F32, DIMS(2, 3), numbers(), 6 * sizeof(float)));
  lxla_device on;
  OK(lxla_tensor_device(t, &on));
  CHECK(on.kind == LXLA_DEVICE_MESH && on.ordinal == 0);
  EQUAL(state_of(t), LXLA_STATE_READY);
  HAS_SHARDING(t, "-,-");
  HAS_VALUES(t, numbers(), 6);
  HAS_PIECES(t, numbers(), "-,-");
  EQUAL(counter(env, "LiveBytes"), DEVICES * 6 * sizeof(float));
  // Constants are recorded, as on any device.
  lxla_tensor ones;
  OK(lxla_tensor_full(env, device, F32, DIMS(4, 4), 1, &ones));
  EQUAL(state_of(own(ones)), LXLA_STATE_PENDING);
  EQUAL(mesh_step(), 0);
  EQUAL(value(total(ones)), 16);
  const lxla_tensor scalar_tensor = own(at(F32, 3));
  EQUAL(value(scalar_tensor), 3);
  HAS_SHARDING(scalar_tensor, "");
}

// Without a sharding attribute, Shardy refuses the call. With the configuration of the typed FFI it ended the process.
MESH_TEST(m1_a_custom_call_of_sharding_is_refused_or_computed, "data=2,model=4") {
  lxla_tensor t = own(array(F32, DIMS(2, 3), numbers(), 6 * sizeof(float))), out;
  OK(lxla_custom_call("Sharding", &t, 1, (int32_t[]){F32}, (size_t[]){2}, (int64_t[]){2, 3}, 1, NULL, &out));
  const lxla_status status = lxla_sync(&out, 1);
  EQUAL(state_of(out), status == LXLA_OK ? LXLA_STATE_READY : LXLA_STATE_PENDING);
  RELEASE(out);
  HAS_VALUES(t, numbers(), 6);
}

static const char *const SHARDINGS[] = {"data,model",   "model,data", "data+model,-", "model+data,-", "-,data+model",
                                        "-,model+data", "data,-",     "-,model",      "-,data",       "-,-"};

MESH_TEST(m1_each_device_gets_its_piece_of_a_split_tensor, "data=2,model=4") {
  for (size_t i = 0; i < sizeof SHARDINGS / sizeof *SHARDINGS; i++) {
    const uint64_t sent = counter(env, "OutboundBytes"), live_before = counter(env, "LiveBytes");
    const lxla_tensor t = counting(DIMS(8, 16), SHARDINGS[i]);
    // Pieces of the text's first axes are not sent whole: each device gets its own bytes only.
    int64_t offsets[2], piece[2];
    piece_at(&axes, 0, SHARDINGS[i], (int64_t[]){8, 16}, 2, offsets, piece);
    const double held = (double)(DEVICES * elements(piece, 2) * sizeof(float));
    EQUAL(counter(env, "OutboundBytes") - sent, held);
    EQUAL(counter(env, "LiveBytes") - live_before, held);
    HAS_SHARDING(t, SHARDINGS[i]);
    HAS_VALUES(t, numbers(), 8 * 16);
    HAS_PIECES(t, numbers(), SHARDINGS[i]);
  }
  HAS_SHARDING(counting(DIMS(4, 2), ""), "-,-");
  const lxla_tensor cube = counting(DIMS(2, 3, 4), "data,-,model");
  HAS_PIECES(cube, numbers(), "data,-,model");
  HAS_VALUES(cube, numbers(), 24);
}

MESH_TEST(m1_tensors_of_every_dtype_are_split, "data=2,model=4") {
  const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
  unsigned char data[16 * 16], got[16 * 16];
  for (int32_t dtype = PRED; dtype <= C128; dtype++) {
    for (size_t i = 0; i < sizeof data; i++) data[i] = dtype == PRED ? i & 1 : (unsigned char)(i * 53 % 64 + 1);
    const size_t bytes = 16 * sizes[dtype];
    const lxla_tensor t = split_of(dtype, DIMS(8, 2), data, bytes, "model,data");
    OK(lxla_tensor_read(t, got, bytes));
    CHECK(memcmp(got, data, bytes) == 0);
    // The device at data 0, model 1 holds rows 2 and 3 of column 0.
    OK(lxla_tensor_shard_read(t, 1, got, 2 * sizes[dtype], NULL, NULL, 0));
    CHECK(memcmp(got, data + 4 * sizes[dtype], sizes[dtype]) == 0);
    CHECK(memcmp(got + sizes[dtype], data + 6 * sizes[dtype], sizes[dtype]) == 0);
  }
}

MESH_TEST(m1_tensors_move_between_all_places, "data=2,model=4") {
  const int32_t other_ordinals[] = {7, 1, 5, 3};
  const lxla_mesh other = new_mesh("x=4", other_ordinals);
  const mesh_axes other_axes = parse_axes("x=4");
  lxla_tensor native, near, far;
  OK(lxla_tensor_from_host(env, on_cpu, F32, DIMS(8, 4), numbers(), 32 * sizeof(float), &native));
  OK(lxla_tensor_from_host(env, XLA(1), F32, DIMS(8, 4), numbers(), 32 * sizeof(float), &near));
  far = own(scalar(ADD, own(near), 0));  // pending
  own(native);
  // To the mesh: whole, and split.
  const lxla_tensor sources[] = {native, near, far};
  for (int i = 0; i < 3; i++) {
    const lxla_tensor whole = moved(sources[i], device), part = sharded(sources[i], mesh, "model,data");
    HAS_SHARDING(whole, "-,-");
    HAS_VALUES(whole, numbers(), 32);
    HAS_SHARDING(part, "model,data");
    HAS_PIECES(part, numbers(), "model,data");
    EQUAL(state_of(part), LXLA_STATE_READY);
  }
  // From the mesh: to cpu, to a device, to another mesh, pending too.
  const lxla_tensor part = sharded(native, mesh, "model,data"), sum = plus(part, 1);
  float more[32];
  for (int i = 0; i < 32; i++) more[i] = (float)i + 1;
  const lxla_device targets[] = {on_cpu, XLA(2), place_of(other)};
  for (int i = 0; i < 3; i++) {
    const lxla_tensor there = moved(part, targets[i]), later = moved(sum, targets[i]);
    lxla_device on;
    OK(lxla_tensor_device(there, &on));
    CHECK(on.kind == targets[i].kind && on.ordinal == targets[i].ordinal);
    HAS_VALUES(there, numbers(), 32);
    HAS_VALUES(later, more, 32);
  }
  const lxla_tensor across = sharded(sum, other, "-,x");
  HAS_SHARDING(across, "-,x");
  has_pieces(__FILE__, __LINE__, across, more, &other_axes, other_ordinals, "-,x");
  HAS_VALUES(sharded(across, mesh, "data+model,-"), more, 32);
  // On its own mesh, a snapshot, and a constraint.
  HAS_SHARDING(moved(part, device), "model,data");
  const lxla_tensor again = sharded(part, mesh, "data,-");
  EQUAL(state_of(again), LXLA_STATE_PENDING);
  HAS_SHARDING(again, "data,-");
  HAS_PIECES(again, numbers(), "data,-");
  OK(lxla_mesh_release(other));
}

MESH_TEST(m1_a_piece_can_be_read_alone, "data=2,model=4") {
  const lxla_tensor pending = times(counting(DIMS(4, 4), "-,model"), 2), t = constrained(pending, "data,model");
  float piece[2], untouched[2] = {-1, -1};
  int64_t offsets[3] = {-1, -1, -1}, dims[3] = {-1, -1, -1};
  // Device 6 is at data 1, model 2.
  OK(lxla_tensor_shard_read(t, 6, piece, sizeof piece, offsets, dims, 3));
  EQUAL(piece[0], 2 * 10);
  EQUAL(piece[1], 2 * 14);
  CHECK(offsets[0] == 2 && offsets[1] == 2 && offsets[2] == -1 && dims[0] == 2 && dims[1] == 1 && dims[2] == -1);
  OK(lxla_tensor_shard_read(t, 5, NULL, 0, offsets, NULL, 2));
  CHECK(offsets[0] == 2 && offsets[1] == 1);
  OK(lxla_tensor_shard_read(t, 5, piece, sizeof piece, NULL, dims, 2));
  EQUAL(piece[0], 2 * 9);
  REFUSED(lxla_tensor_shard_read(t, 8, untouched, 8, NULL, NULL, 0), BAD, "ordinal: 8 given");
  REFUSED(lxla_tensor_shard_read(t, -1, untouched, 8, NULL, NULL, 0), BAD, "ordinal: -1 given");
  REFUSED(lxla_tensor_shard_read(t, 0, untouched, 4, NULL, NULL, 0), BAD, "size_bytes: 4 given; the piece is f32[2,1]");
  REFUSED(lxla_tensor_shard_read(t, 0, untouched, 8, offsets, dims, 1), BAD, "capacity: 1 given; x has 2 axes");
  REFUSED(lxla_tensor_shard_read(t, 0, NULL, 8, NULL, NULL, 0), LXLA_NULL_ARGUMENT, "dst");
  CHECK(untouched[0] == -1 && untouched[1] == -1);
}

MESH_TEST(m1_the_devices_of_a_mesh_are_in_the_order_of_the_caller, "a=2") {
  const int32_t reversed[] = {6, 4, 2, 0};
  const mesh_axes square = parse_axes("a=2,b=2");
  const lxla_mesh kept = mesh;
  mesh = new_mesh("a=2,b=2", reversed);
  const lxla_device first = device;
  device = place_of(mesh);
  CHECK(device.kind == LXLA_DEVICE_MESH && device.ordinal == 1);
  const lxla_tensor t = counting(DIMS(4, 4), "a,b"), y = constrained(plus(t, 1), "b,-");
  float want[16];
  for (int i = 0; i < 16; i++) want[i] = (float)i + 1;
  has_pieces(__FILE__, __LINE__, t, numbers(), &square, reversed, "a,b");
  has_pieces(__FILE__, __LINE__, y, want, &square, reversed, "b,-");
  REFUSED(lxla_tensor_shard_read(t, 1, want, 16, NULL, NULL, 0), BAD, "ordinal: 1 given");
  lxla_device parsed;
  OK(lxla_device_parse("mesh:1", &parsed));
  CHECK(parsed.kind == device.kind && parsed.ordinal == device.ordinal);
  OK(lxla_mesh_release(mesh));
  mesh = kept, device = first;
}

MESH_TEST(m1_a_mesh_tells_its_axes_and_devices, "data=2,model=4") {
  char *json;
  OK(lxla_mesh_info(mesh, &json));
  CHECK(strstr(json, "\"axes\":[{\"name\":\"data\",\"size\":2},{\"name\":\"model\",\"size\":4}]"));
  CHECK(strstr(json, "\"ordinals\":[0,1,2,3,4,5,6,7]") && strstr(json, "\"devices\":8"));
  lxla_string_free(json);
}

// --- Work ---

// Results of a record, at most MOST.
enum { MOST = 12 };
typedef struct {
  lxla_tensor results[MOST];
  int n;
} recorded;

static void put(recorded *r, lxla_tensor x) {
  CHECK(r->n < MOST);
  r->results[r->n++] = x;
}

// Makes the inputs of a record on `device`: x, f32[8,16], and w, f32[16,8]. On the mesh they are split.
static void inputs(const char *of_x, const char *of_w, lxla_tensor *x, lxla_tensor *w) {
  static float a[128], b[128];
  for (int i = 0; i < 128; i++) a[i] = (float)(i * 37 % 101) / 32 - 1, b[i] = (float)(i * 53 % 97) / 64 - 0.5f;
  const int is_mesh = device.kind == LXLA_DEVICE_MESH;
  *x = is_mesh ? split_of(F32, DIMS(8, 16), a, sizeof a, of_x) : own(array(F32, DIMS(8, 16), a, sizeof a));
  *w = is_mesh ? split_of(F32, DIMS(16, 8), b, sizeof b, of_w) : own(array(F32, DIMS(16, 8), b, sizeof b));
}

// Records the same on the mesh, with several shardings, and on xla:0; steps, and compares all results.
static void equals_one_device(void (*record)(lxla_tensor x, lxla_tensor w, recorded *out)) {
  const char *const shardings[][2] = {
      {"data,-", ""}, {"data,model", "model,-"}, {"-,data+model", "data,model"}, {"", "-,model"}};
  const lxla_device place = device;
  lxla_tensor x, w;
  recorded want = {.n = 0};
  device = XLA(0);
  inputs(NULL, NULL, &x, &w);
  record(x, w, &want);
  OK(lxla_mark_step(env, device, 1));
  device = place;
  for (int i = 0; i < 4; i++) {
    recorded got = {.n = 0};
    inputs(shardings[i][0], shardings[i][1], &x, &w);
    record(x, w, &got);
    OK(lxla_mark_step(env, device, 1));
    CHECK(got.n == want.n);
    for (int k = 0; k < got.n; k++) SAME_NEAR(got.results[k], want.results[k]);
  }
}

static void operations(lxla_tensor x, lxla_tensor w, recorded *out) {
  lxla_tensor r[2];
  put(out, add(tanh_of(x), transposed(w)));
  put(out, product(x, w));
  put(out, total(mul(x, x)));
  OK(lxla_softmax(x, -1, &r[0]));
  put(out, own(r[0]));
  OK(lxla_reduce(LXLA_REDUCE_MAX, x, DIMS(0), 0, &r[0]));
  put(out, own(r[0]));
  OK(lxla_cumulative(LXLA_REDUCE_SUM, x, 1, 0, &r[0]));
  put(out, own(r[0]));
  OK(lxla_sort_along(x, 0, 1, 1, &r[0]));
  put(out, own(r[0]));
  OK(lxla_reshape(x, DIMS(4, 32), &r[0]));
  put(out, times(own(r[0]), 3));
  OK(lxla_concatenate((lxla_tensor[]){x, transposed(w)}, 2, 0, &r[0]));
  put(out, own(r[0]));
  OK(lxla_take(x, own(ARRAY(S32, int32_t, DIMS(5), 7, 0, 3, 3, 1)), 0, &r[0]));
  put(out, own(r[0]));
  OK(lxla_slice(x, (int64_t[]){1, 3}, (int64_t[]){6, 14}, (int64_t[]){2, 3}, 2, &r[0]));
  put(out, own(r[0]));
  const lxla_tensor key = own(ARRAY(U32, uint32_t, DIMS(2), 1, 2));
  OK(lxla_random_uniform(LXLA_RNG_THREE_FRY, key, F32, DIMS(8, 16), 0, 1, &r[0]));
  put(out, add(own(r[0]), x));
}

MESH_TEST(m1_operations_equal_those_of_one_device, "data=2,model=4") { equals_one_device(operations); }

// A scan over the rows of x with w captured, a branch, a call, a loop.
static void control(lxla_tensor x, lxla_tensor w, recorded *out) {
  const lxla_tensor h = HOLE(DIMS(8)), row = HOLE(DIMS(16)), next = tanh_of(add(h, product(row, w)));
  const lxla_computation body = traces(TENSORS(h, row), TENSORS(next, next));
  lxla_tensor carry, ys, zero, r[2];
  OK(lxla_tensor_full(env, device, F32, DIMS(8), 0, &zero));
  own(zero);
  for (int reverse = 0; reverse < 2; reverse++) {
    scan(body, &zero, 1, &x, 1, 8, reverse, &carry, &ys, 1);
    put(out, carry), put(out, ys);
  }
  const lxla_tensor a = HOLE(DIMS(8, 16));
  const lxla_computation twice = traces(&a, 1, (lxla_tensor[]){add(a, transposed(w))}, 1);
  const lxla_computation less = traces(&a, 1, (lxla_tensor[]){times(a, -0.5)}, 1);
  for (int i = 0; i < 2; i++) {
    OK(lxla_cond(is_above(total(x), i ? 1e9 : -1e9), twice, less, &x, 1, r, 1));
    put(out, own(r[0]));
  }
  apply(twice, &x, 1, r, 1);
  put(out, r[0]);
  const lxla_computation go_on = traces(&a, 1, (lxla_tensor[]){is_above(total(mul(a, a)), 0.01)}, 1);
  OK(lxla_while(go_on, less, &x, 1, r));
  put(out, own(r[0]));
}

MESH_TEST(m1_computations_loops_and_branches_equal_those_of_one_device, "data=2,model=4") {
  equals_one_device(control);
}

static void derivatives(lxla_tensor x, lxla_tensor w, recorded *out) {
  // Of pending tensors.
  lxla_tensor d[2], r[4];
  const lxla_tensor y = tanh_of(product(x, w)), loss = total(mul(y, y)), xs[] = {x, w};
  gradients(&loss, 1, NULL, xs, 2, d);
  put(out, loss), put(out, d[0]), put(out, d[1]);
  // Of a computation with a scan that captures w, which is a parameter too; checkpointed.
  const lxla_tensor px = HOLE(DIMS(8, 16)), h = HOLE(DIMS(8)), row = HOLE(DIMS(16)),
                    next = tanh_of(add(h, product(row, w)));
  lxla_tensor zero, carry, ys;
  OK(lxla_tensor_full(env, device, F32, DIMS(8), 0, &zero));
  const lxla_computation body = traces(TENSORS(h, row), TENSORS(next, next));
  scan(body, (lxla_tensor[]){own(zero)}, 1, &px, 1, 8, 0, &carry, &ys, 1);
  const lxla_computation f = traces(&px, 1, (lxla_tensor[]){total(mul(ys, ys))}, 1);
  lxla_vjp_options options = vjp_defaults();
  options.captured = LXLA_ON, options.checkpoint = LXLA_CHECKPOINT_SAVE_NONE;
  apply(value_and_grad_by(f, &options), &x, 1, r, 3);
  put(out, r[0]), put(out, r[1]), put(out, r[2]);
  apply(jvp(f, NULL, 0), TENSORS(x, tanh_of(x)), r, 2);
  put(out, r[1]);
  // A gradient for each row.
  const lxla_tensor one_row = HOLE(DIMS(16));
  const lxla_tensor of_row = tanh_of(product(one_row, w));
  const lxla_computation each = value_and_grad(traces(&one_row, 1, (lxla_tensor[]){total(mul(of_row, of_row))}, 1));
  apply(vmap(each, LIST(int64_t, 0), LIST(int64_t, 0, 0), 8), &x, 1, r, 2);
  put(out, r[0]), put(out, r[1]);
}

MESH_TEST(m1_derivatives_and_batches_equal_those_of_one_device, "data=2,model=4") { equals_one_device(derivatives); }

MESH_TEST(m1_a_step_on_no_device_named_steps_meshes_too, "data=4") {
  const lxla_mesh other = new_mesh("x=2,y=2", (int32_t[]){4, 5, 6, 7});
  const lxla_device places[] = {XLA(0), device, place_of(other)};
  lxla_tensor t[3];
  for (int i = 0; i < 3; i++) OK(lxla_tensor_full(env, places[i], F32, DIMS(4), i + 1, &t[i]));
  OK(lxla_mark_step(env, everywhere, 0));
  uint64_t enqueued;
  OK(lxla_enqueued(&enqueued));
  const lxla_device waited[] = {everywhere, device, XLA(0)};
  for (int i = 0; i < 3; i++) {
    int32_t done = 0;
    OK(lxla_wait_for(env, waited[i], enqueued, INT64_MAX, &done));
    EQUAL(done, 1);
  }
  OK(lxla_wait(env, everywhere));
  for (int i = 0; i < 3; i++) {
    EQUAL(state_of(t[i]), LXLA_STATE_READY);
    int32_t ready = 0;
    OK(lxla_tensor_wait_for(t[i], 0, &ready));
    EQUAL(ready, 1);
    float got[4];
    read_f32(t[i], got, 4);
    for (int k = 0; k < 4; k++) EQUAL(got[k], i + 1);
  }
  // A step of one mesh leaves the others' work.
  for (int i = 0; i < 3; i++) OK(lxla_binary_scalar_inplace(ADD, t[i], 1));
  OK(lxla_mark_step(env, device, 1));
  const int32_t states[] = {LXLA_STATE_PENDING, LXLA_STATE_READY, LXLA_STATE_PENDING};
  for (int i = 0; i < 3; i++) EQUAL(state_of(t[i]), states[i]);
  // One sync of tensors on all places.
  OK(lxla_sync(t, 3));
  for (int i = 0; i < 3; i++) EQUAL(state_of(t[i]), LXLA_STATE_READY);
  OK(lxla_tensor_release_many(t, 3));
  OK(lxla_mesh_release(other));
}

MESH_TEST(m1_native_tensors_mix_as_with_one_device, "data=4") {
  const lxla_tensor x = counting(DIMS(4), "data");
  lxla_tensor rate, four, on_zero, out = {77};
  OK(lxla_tensor_full(env, on_cpu, F32, NULL, 0, 0.5, &rate));
  OK(lxla_tensor_full(env, on_cpu, F32, DIMS(4), 10, &four));
  OK(lxla_tensor_from_host(env, XLA(0), F32, DIMS(4), numbers(), 16, &on_zero));
  own(rate), own(four), own(on_zero);
  HAS_VALUES(mul(x, rate), ((float[]){0, 0.5, 1, 1.5}), 4);
  REFUSED(lxla_binary(ADD, x, four, &out), BAD, "lhs is on mesh:0 and rhs is on cpu");
  REFUSED(lxla_binary(ADD, on_zero, x, &out), BAD, "lhs is on xla:0 and rhs is on mesh:0");
  EQUAL(out.id, 77);
  OK(lxla_env_set_option(env, "mixed_device_policy", "copy"));
  HAS_VALUES(add(x, four), ((float[]){10, 11, 12, 13}), 4);
  HAS_VALUES(add(x, on_zero), ((float[]){0, 2, 4, 6}), 4);
}

MESH_TEST(t10_a_path_through_a_mesh_is_refused, "data=4") {
  lxla_tensor x, out = {77};
  OK(lxla_tensor_from_host(env, XLA(0), F32, DIMS(4), numbers(), 16, &x));
  own(x);
  for (int i = 0; i < 2; i++) {
    const lxla_tensor there = i == 0 ? sharded(x, mesh, "data") : moved(x, device),
                      back = moved(mul(there, there), XLA(0));
    const lxla_tensor y = total(mul(back, x)), fixed = total(mul(stopped(back), x));
    REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, &out), LXLA_FAILED_PRECONDITION,
            "a path from xs[0] to ys goes through a copy from xla:0 to mesh:0");
    HAS_VALUES(gradient(fixed, x), ((float[]){0, 1, 4, 9}), 4);
    HAS_VALUES(gradient(y, back), ((float[]){0, 1, 2, 3}), 4);
  }
  EQUAL(out.id, 77);
}

MESH_TEST(m1_programs_may_be_cut, "data=2,model=4") {
  OK(lxla_env_set_option(env, "max_program_ops", "4"));
  const lxla_tensor x = counting(DIMS(8, 4), "data,model");
  lxla_tensor early = none;
  float want[32], want_early[32] = {0};
  for (int i = 0; i < 10; i++) {
    OK(lxla_binary_scalar_inplace(i % 2 ? MUL : ADD, x, i % 2 ? 2 : 1));
    if (i == 2) early = own(snapshot(x));
  }
  for (int k = 0; k < 32; k++) {
    want[k] = (float)k;
    for (int i = 0; i < 10; i++) {
      want[k] = i % 2 ? want[k] * 2 : want[k] + 1;
      if (i == 2) want_early[k] = want[k];
    }
  }
  mesh_step();
  CHECK(counter(env, "ExecuteComputation") >= 3);
  HAS_VALUES(x, want, 32);
  HAS_VALUES(early, want_early, 32);
  HAS_SHARDING(x, "data,model");
}

// More meshes than there may be at a time, one after another; each has a number of its own.
TEST(m1_meshes_come_and_go) {
  start_on("data=2");
  const lxla_mesh first = mesh;
  for (int i = 1; i <= 1500; i++) {
    mesh = new_mesh(i % 2 ? "data=2" : "x=4,y=2", NULL);
    EQUAL(place_of(mesh).ordinal, i);
    const lxla_tensor t = counting(DIMS(8), i % 2 ? "data" : "y+x");
    if (i % 100 == 0) HAS_VALUES(t, numbers(), 8);
    OK(lxla_mesh_release(mesh));
    release_all();
  }
  mesh = first;
  HAS_VALUES(counting(DIMS(8), "data"), numbers(), 8);
  finish();
}

TEST(m1_a_released_mesh_leaves_its_tensors_readable) {
  start_on("data=2,model=4");
  const lxla_tensor ready = counting(DIMS(4, 2), "model,data"), pending = plus(ready, 41);
  float want[8], piece;
  for (int i = 0; i < 8; i++) want[i] = (float)i + 41;
  OK(lxla_mesh_retain(mesh));
  OK(lxla_mesh_release(mesh));
  CHECK(place_of(mesh).ordinal == 0);
  const lxla_device gone = device;
  OK(lxla_mesh_release(mesh));
  HAS_VALUES(ready, numbers(), 8);
  HAS_VALUES(pending, want, 8);
  HAS_SHARDING(ready, "model,data");
  OK(lxla_tensor_shard_read(pending, 0, NULL, 0, NULL, NULL, 0));
  OK(lxla_tensor_shard_read(ready, 1, &piece, sizeof piece, NULL, NULL, 0));
  EQUAL(piece, 2);
  lxla_tensor out = {77};
  lxla_device place;
  char *text;
  REFUSED(lxla_binary(ADD, ready, pending, &out), LXLA_FAILED_PRECONDITION, "released");
  REFUSED(lxla_binary_scalar_inplace(ADD, ready, 1), LXLA_FAILED_PRECONDITION, "released");
  REFUSED(lxla_sharding_constraint(ready, "data,-", &out), LXLA_FAILED_PRECONDITION, "released");
  REFUSED(lxla_tensor_snapshot(ready, &out), LXLA_FAILED_PRECONDITION, "released");
  REFUSED(lxla_tensor_write(ready, numbers(), 32), LXLA_FAILED_PRECONDITION, "released");
  REFUSED(lxla_tensor_full(env, gone, F32, DIMS(2), 1, &out), BAD, "mesh:0");
  REFUSED(lxla_mark_step(env, gone, 0), BAD, "mesh:0");
  REFUSED(lxla_mesh_device(mesh, &place), LXLA_INVALID_HANDLE, "mesh");
  REFUSED(lxla_mesh_info(mesh, &text), LXLA_INVALID_HANDLE, "mesh");
  REFUSED(lxla_tensor_shard(ready, mesh, "data,-", &out), LXLA_INVALID_HANDLE, "mesh");
  REFUSED(lxla_mesh_release(mesh), LXLA_INVALID_HANDLE, "mesh");
  REFUSED(lxla_mesh_retain((lxla_mesh){0}), LXLA_INVALID_HANDLE, "mesh");
  OK(lxla_mesh_release((lxla_mesh){0}));
  EQUAL(out.id, 77);
  OK(lxla_mark_step(env, everywhere, 1));
  // The next mesh has another number. The environment may go before it.
  mesh = new_mesh("data=8", NULL);
  CHECK(place_of(mesh).ordinal == 1);
  device = place_of(mesh);
  const lxla_tensor t = counting(DIMS(8), "data");
  OK(lxla_env_release(env));
  HAS_VALUES(t, numbers(), 8);
  REFUSED(lxla_mesh_info(mesh, &text), LXLA_INVALID_HANDLE, "environment of the mesh was released");
  OK(lxla_mesh_release(mesh));
  release_all();
}
