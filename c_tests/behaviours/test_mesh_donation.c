// Donation, saving and loading of tensors on meshes: M4 and M5 of docs/behaviours.md.
#include "mesh.h"
#include "resident.h"

#include <unistd.h>

// --- M4: donation ---

// A network with momentum. Its layers are replicated, split by rows, and split by columns.
MESH_TEST(m4_every_parameter_and_momentum_is_donated_each_step, "data=4") {
  enum { LAYERS = 6, WIDTH = 16, ROWS = 8, STEPS = 100 };
  static const char *const texts[] = {"-,-", "data,-", "-,data"};
  float eye[WIDTH * WIDTH] = {0}, ones[ROWS * WIDTH];
  static const float zeros[WIDTH * WIDTH];
  for (int i = 0; i < WIDTH; i++) eye[i * WIDTH + i] = 1;
  for (int i = 0; i < ROWS * WIDTH; i++) ones[i] = 1;
  const lxla_tensor x = split_of(F32, DIMS(ROWS, WIDTH), ones, sizeof ones, "data,-");
  lxla_tensor w[LAYERS], m[LAYERS];
  double held = ROWS * WIDTH * sizeof(float);
  for (int i = 0; i < LAYERS; i++) {
    w[i] = split_of(F32, DIMS(WIDTH, WIDTH), eye, sizeof eye, texts[i % 3]);
    m[i] = split_of(F32, DIMS(WIDTH, WIDTH), zeros, sizeof zeros, texts[i % 3]);
    held += 2.0 * WIDTH * WIDTH * sizeof(float) * (i % 3 ? 1 : 4);
  }
  EQUAL(counter(env, "LiveBytes"), held);
  OK(lxla_env_metrics_reset(env));
  for (int s = 0; s < STEPS; s++) {
    lxla_tensor h = snapshot(x), sum;
    for (int i = 0; i < LAYERS; i++) {
      lxla_tensor next;
      OK(lxla_matmul(h, w[i], &next));
      RELEASE(h);
      h = next;
    }
    OK(lxla_reduce(LXLA_REDUCE_SUM, h, DIMS(0), 0, &sum));
    for (int i = 0; i < LAYERS; i++) {
      OK(lxla_binary_scalar_inplace(MUL, m[i], 0.5));
      OK(lxla_binary_inplace(ADD, m[i], sum));
      lxla_tensor change = scalar(MUL, m[i], 0.0);
      OK(lxla_binary_inplace(SUB, w[i], change));
      RELEASE(change);
    }
    RELEASE(h, sum);
    EQUAL(mesh_step(), 2 * LAYERS);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(counter(env, "ExecuteComputation"), STEPS);
  EQUAL(counter(env, "LiveBytes"), held);
  EQUAL(counter(env, "PeakLiveBytes"), held);
  for (int i = 0; i < LAYERS; i++) {
    HAS_SHARDING(w[i], texts[i % 3]);
    HAS_SHARDING(m[i], texts[i % 3]);
    HAS_VALUES(w[i], eye, WIDTH * WIDTH);
    float values[WIDTH * WIDTH];
    read_f32(m[i], values, WIDTH * WIDTH);
    CHECK(fabsf(values[0] - 2 * ROWS) < 1e-5f && fabsf(values[WIDTH * WIDTH - 1] - 2 * ROWS) < 1e-5f);
  }
}

// The engine's own memory: each device writes the new values over its pieces of the old ones.
MESH_TEST(m4_momentum_runs_in_place, "data=4") {
  enum { N = 16 << 20 };  // 64 MB, 16 on each device
  lxla_tensor made[2], p, v;
  for (int i = 0; i < 2; i++) OK(lxla_tensor_full(env, device, F32, DIMS(N), 0, &made[i]));
  OK(lxla_sharding_constraint(made[0], "data", &p));
  OK(lxla_sharding_constraint(made[1], "data", &v));
  RELEASE(made[0], made[1]);
  own(p), own(v);
  mesh_step();
  EQUAL(counter(env, "LiveBytes"), 2.0 * N * sizeof(float));
  OK(lxla_env_metrics_reset(env));
  for (int i = 0; i < 4; i++) {
    reset_peak();
    double before = status_bytes("VmRSS:");
    OK(lxla_binary_scalar_inplace(MUL, v, 0.9));
    OK(lxla_binary_inplace(ADD, v, p));
    lxla_tensor change = scalar(MUL, v, 0.1);
    OK(lxla_binary_inplace(SUB, p, change));
    RELEASE(change);
    EQUAL(mesh_step(), 2);
    if (i) CHECK(status_bytes("VmHWM:") - before < 16e6);
  }
  EQUAL(counter(env, "LiveBytes"), 2.0 * N * sizeof(float));
  EQUAL(counter(env, "PeakLiveBytes"), 2.0 * N * sizeof(float));
}

MESH_TEST(m4_donors_are_counted_as_on_one_device, "data=4") {
  // D1: two updates and an old sum.
  const lxla_tensor a = counting(DIMS(4, 4), "data,-"), b = counting(DIMS(4, 4), "-,data"), sum = add(a, b);
  float want[16];
  OK(lxla_binary_scalar_inplace(MUL, a, 2));
  OK(lxla_binary_scalar_inplace(ADD, b, 2));
  EQUAL(mesh_step(), 2);
  for (int i = 0; i < 16; i++) want[i] = (float)i * 2;
  HAS_VALUES(a, want, 16);
  HAS_VALUES(sum, want, 16);
  // D2: a snapshot keeps the old value.
  lxla_tensor kept = snapshot(a);
  OK(lxla_binary_scalar_inplace(ADD, a, 1));
  EQUAL(mesh_step(), 0);
  HAS_VALUES(kept, want, 16);
  RELEASE(kept);
  OK(lxla_binary_scalar_inplace(ADD, a, 1));
  EQUAL(mesh_step(), 1);
  for (int i = 0; i < 16; i++) want[i] += 2;
  HAS_VALUES(a, want, 16);
  // D4: a batch that no output can replace is freed, on every device.
  lxla_tensor batch, of_batch;
  const uint64_t before = counter(env, "LiveBytes"), freed = counter(env, "FreedEarly");
  OK(lxla_tensor_from_host_sharded(mesh, F32, DIMS(1000), numbers(), 4000, "data", &batch));
  EQUAL(counter(env, "LiveBytes") - before, 4000);
  OK(lxla_reduce(LXLA_REDUCE_MAX, batch, NULL, 0, 0, &of_batch));
  RELEASE(batch);
  EQUAL(mesh_step(), 0);
  EQUAL(counter(env, "FreedEarly") - freed, 1);
  EQUAL(value(own(of_batch)), 999);
  EQUAL(counter(env, "LiveBytes") - before, 4 * sizeof(float));
  // D9: a chain in place donates one buffer.
  for (int i = 0; i < 10; i++) OK(lxla_binary_scalar_inplace(ADD, b, 1));
  EQUAL(mesh_step(), 1);
  HAS_SHARDING(b, "-,data");
  // A read and a sync donate nothing.
  const uint64_t donated = counter(env, "DonatedBuffers");
  OK(lxla_binary_scalar_inplace(ADD, b, 1));
  OK(lxla_sync(&b, 1));
  OK(lxla_binary_scalar_inplace(ADD, b, 1));
  EQUAL(value(total(b)), 120 + 16 * 14);
  EQUAL(counter(env, "DonatedBuffers"), donated);
  // A donor whose memory has other pieces than the result: the values are right, wherever XLA writes them.
  lxla_tensor turned = constrained(times(a, 1), "-,data"), old = a;
  OK(lxla_tensor_assign(old, turned));
  mesh_step();
  HAS_SHARDING(a, "-,data");
  HAS_VALUES(a, want, 16);
}

TEST(m4_donation_can_be_turned_off) {
  lxla_env_options options = eight_devices();
  options.donation = LXLA_OFF;
  start_with(&options, "data=2,model=2");
  const lxla_tensor x = counting(DIMS(8, 8), "data,model");
  for (int i = 0; i < 3; i++) {
    OK(lxla_binary_scalar_inplace(MUL, x, 2));
    EQUAL(mesh_step(), 0);
  }
  OK(lxla_env_set_option(env, "donation", "true"));
  OK(lxla_binary_scalar_inplace(MUL, x, 0.125));
  EQUAL(mesh_step(), 1);
  HAS_VALUES(x, numbers(), 64);
  finish();
}

// --- M5: saving and loading ---

static const char *const SAVED = "test_mesh.safetensors", *const SAVED_TOO = "test_mesh_too.safetensors";

static void saved_has(const char *name, const float *want, size_t n) {
  lxla_tensor t;
  OK(lxla_load(env, on_cpu, SAVED, name, &t));
  HAS_VALUES(own(t), want, n);
}

MESH_TEST(m5_a_save_beside_a_step_donates_nothing_and_the_step_does, "data=2,model=2") {
  enum { N = 6 };
  static const char *const names[N] = {"a", "b", "c", "d", "e", "f"};
  static const char *const texts[N] = {"data,-", "-,model", "data,model", "-,-", "data+model,-", "model,data"};
  lxla_tensor t[N];
  float want[N][32];
  for (int i = 0; i < N; i++) {
    t[i] = counting(DIMS(8, 4), texts[i]);
    memcpy(want[i], numbers(), sizeof want[i]);
  }
  for (int turn = 0; turn < 3; turn++) {
    for (int i = 0; i < N; i += 2) OK(lxla_binary_scalar_inplace(ADD, t[i], 10));  // half are pending
    for (int i = 0; i < N; i += 2)
      for (int k = 0; k < 32; k++) want[i][k] += 10;
    const uint64_t donated = counter(env, "DonatedBuffers");
    OK(lxla_save(SAVED, names, t, N));
    EQUAL(counter(env, "DonatedBuffers"), donated);
    for (int i = 0; i < N; i++) saved_has(names[i], want[i], 32);
    for (int i = 0; i < N; i += 2) OK(lxla_binary_scalar_inplace(ADD, t[i], 0));
    EQUAL(mesh_step(), N / 2);
    for (int i = 0; i < N; i++) HAS_VALUES(t[i], want[i], 32);
  }
  CHECK(unlink(SAVED) == 0);
}

static long read_file(const char *path, unsigned char *bytes, size_t most) {
  FILE *file = fopen(path, "rb");
  CHECK(file);
  const size_t n = fread(bytes, 1, most, file);
  CHECK(n < most && fclose(file) == 0);
  return (long)n;
}

MESH_TEST(m5_files_have_whole_tensors_and_load_onto_any_mesh, "data=2,model=4") {
  static const char *const names[] = {"split", "replicated", "pending", "scalar", "bits"};
  static const uint16_t bits[] = {0x7FC1, 0x8000, 0xFF80, 1, 2, 3, 4, 5};
  const lxla_tensor split = counting(DIMS(8, 4), "model,data"), whole = own(array(F32, DIMS(5), numbers(), 20));
  const lxla_tensor on_mesh[] = {split, whole, constrained(times(split, 2), "-,model"), own(at(S32, 7)),
                                 split_of(BF16, DIMS(8), bits, sizeof bits, "data+model")};
  OK(lxla_save(SAVED, names, on_mesh, 5));
  // The file is the same as that of the same tensors on cpu.
  lxla_tensor native[5];
  for (int i = 0; i < 5; i++) native[i] = moved(on_mesh[i], on_cpu);
  OK(lxla_save(SAVED_TOO, names, native, 5));
  static unsigned char a[4096], b[4096];
  const long n = read_file(SAVED, a, sizeof a);
  CHECK(read_file(SAVED_TOO, b, sizeof b) == n && memcmp(a, b, (size_t)n) == 0);
  // Onto the mesh: replicated, or by way of cpu, split. Onto another mesh: likewise.
  const lxla_mesh other = new_mesh("x=2,y=2", (int32_t[]){3, 2, 1, 0});
  float twice[32];
  for (int i = 0; i < 32; i++) twice[i] = (float)i * 2;
  lxla_tensor loaded;
  OK(lxla_load(env, device, SAVED, "pending", &loaded));
  HAS_SHARDING(own(loaded), "-,-");
  HAS_PIECES(loaded, twice, "-,-");
  OK(lxla_load(env, place_of(other), SAVED, "split", &loaded));
  HAS_VALUES(own(loaded), numbers(), 32);
  OK(lxla_load(env, on_cpu, SAVED, "pending", &loaded));
  own(loaded);
  HAS_PIECES(sharded(loaded, mesh, "data+model,-"), twice, "data+model,-");
  const lxla_tensor there = sharded(loaded, other, "y,x");
  HAS_SHARDING(there, "y,x");
  HAS_VALUES(there, twice, 32);
  uint16_t got[8];
  OK(lxla_load(env, device, SAVED, "bits", &loaded));
  OK(lxla_tensor_read(own(loaded), got, sizeof got));
  CHECK(memcmp(got, bits, sizeof bits) == 0);
  // Tensors of several places in one file.
  const lxla_tensor mixed[] = {split, there, native[1], own(one(env, 9))};
  OK(lxla_save(SAVED, names, mixed, 4));
  saved_has("split", numbers(), 32);
  saved_has("replicated", twice, 32);
  saved_has("pending", numbers(), 5);
  saved_has("scalar", (float[]){9}, 1);
  const lxla_tensor waits = hole_of(F32, DIMS(8));
  REFUSED(lxla_save(SAVED, names, &waits, 1), LXLA_FAILED_PRECONDITION, "placeholder f32[8] has no value");
  saved_has("split", numbers(), 32);
  CHECK(unlink(SAVED) == 0 && unlink(SAVED_TOO) == 0);
  OK(lxla_mesh_release(other));
}

MESH_TEST(m5_a_save_in_the_background_holds_the_values_of_the_call, "data=4") {
  enum { N = 1 << 18 };
  static float values[N], got[N];
  for (int i = 0; i < N; i++) values[i] = (float)i;
  const lxla_tensor x = split_of(F32, DIMS(N / 16, 16), values, sizeof values, "-,data");
  const char *name = "x";
  for (int turn = 0; turn < 3; turn++) {
    lxla_save_ticket ticket;
    OK(lxla_save_async(SAVED, &name, &x, 1, &ticket));
    for (int i = 0; i < 2; i++) {
      OK(lxla_binary_scalar_inplace(ADD, x, 0.5));
      OK(lxla_mark_step(env, device, 0));
    }
    OK(lxla_save_wait(ticket));
    uint64_t written, all;
    OK(lxla_save_progress(ticket, &written, &all));
    EQUAL(written, N * sizeof(float));
    EQUAL(all, N * sizeof(float));
    OK(lxla_save_ticket_release(ticket));
    lxla_tensor t;
    OK(lxla_load(env, on_cpu, SAVED, name, &t));
    read_f32(t, got, N);
    RELEASE(t);
    for (int i = 0; i < N; i++) EQUAL(got[i], values[i] + (float)turn);
  }
  CHECK(unlink(SAVED) == 0);
}

// A save needs memory for one whole tensor at a time, not for all of them.
MESH_TEST(m5_a_save_gathers_one_tensor_at_a_time, "data=4") {
  enum { N = 12, EACH = 2 << 20 };  // 8 MB each
  const char *names[N];
  char text[N][4];
  lxla_tensor t[N];
  for (int i = 0; i < N; i++) {
    snprintf(text[i], sizeof text[i], "%d", i);
    names[i] = text[i];
    lxla_tensor full;
    OK(lxla_tensor_full(env, device, F32, DIMS(EACH / 16, 16), i, &full));
    t[i] = constrained(own(full), "-,data");
  }
  mesh_step();
  OK(lxla_save(SAVED, names, t, 1));  // what a first save allocates
  reset_peak();
  const double before = status_bytes("VmRSS:");
  OK(lxla_save(SAVED, names, t, N));
  CHECK(status_bytes("VmHWM:") - before < 4.0 * EACH * sizeof(float));
  lxla_tensor last;
  static float values[EACH];
  OK(lxla_load(env, on_cpu, SAVED, names[N - 1], &last));
  read_f32(last, values, EACH);
  RELEASE(last);
  for (int i = 0; i < EACH; i++) EQUAL(values[i], N - 1);
  CHECK(unlink(SAVED) == 0);
}
