// Failures of the plugin in work on a mesh of four devices, of all of them or of one: M4 of docs/behaviours.md, with
// the fault plugin. A failed call gives every piece back, or says what is lost.
#include "fault.h"
#include "mesh.h"

static const char PLANTED[] = "planted by the fault plugin";
enum { FAULTY = 2 };  // position of the device that fails

static int alive_before;

static void start_faulty(void) {
  lxla_env_options options = eight_devices();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  alive_before = FAULT(alive)();
  FAULT(device)(FAULTY);
  start_with(&options, "data=4");
}

static void finish_faulty(void) {
  finish();
  EQUAL(FAULT(alive)(), alive_before);
}

#define FAULTY_TEST(name)                                        \
  static void name##_body(void);                                 \
  TEST(name) { start_faulty(), name##_body(), finish_faulty(); } \
  static void name##_body(void)

static void has_all(const char *file, int line, lxla_tensor t, float factor, float offset) {
  float want[16];
  for (int i = 0; i < 16; i++) want[i] = (float)i * factor + offset;
  has_values(file, line, t, want, 16);
}
// Compares a tensor of 16 elements with i * factor + offset.
#define HAS_ALL(t, factor, offset) has_all(__FILE__, __LINE__, t, factor, offset)

// Two updates in place and a sum of the old values.
typedef struct {
  lxla_tensor a, b, sum;
} work;

static work updates(void) {
  work w = {counting(DIMS(4, 4), "data,-"), counting(DIMS(4, 4), "-,data"), none};
  w.sum = add(w.a, w.b);
  OK(lxla_binary_scalar_inplace(MUL, w.a, 3));
  OK(lxla_binary_scalar_inplace(ADD, w.b, 5));
  return w;
}

static void are_updated(const work *w) {
  HAS_ALL(w->a, 3, 0);
  HAS_ALL(w->b, 1, 5);
  HAS_ALL(w->sum, 2, 0);
}

FAULTY_TEST(m4_a_failed_compile_leaves_everything_pending) {
  const char *const functions[] = {"Client_Compile", "LoadedExecutable_GetExecutable", "Executable_NumOutputs",
                                   "Executable_OptimizedProgram"};
  for (int i = 0; i < 4; i++) {
    const lxla_tensor x = counting(DIMS(4, i + 1), "data,-"), y = plus(x, 1);
    OK(lxla_binary_scalar_inplace(MUL, x, 2));
    const uint64_t held = counter(env, "LiveBytes");
    FAULT(arm)(functions[i], 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
    REFUSED(lxla_mark_step(env, device, 1), LXLA_RESOURCE_EXHAUSTED, PLANTED);
    EQUAL(state_of(x), LXLA_STATE_PENDING);
    EQUAL(state_of(y), LXLA_STATE_PENDING);
    EQUAL(counter(env, "LiveBytes"), held);
    EQUAL(mesh_step(), 1);
    EQUAL(value(total(subtract(times(y, 2), x))), 2 * 4 * (i + 1));
  }
}

FAULTY_TEST(m4_a_failed_execute_gives_every_piece_back) {
  const work w = updates();
  const uint64_t held = counter(env, "LiveBytes");
  for (int i = 0; i < 3; i++) {
    FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_ABORTED);
    REFUSED(lxla_mark_step(env, device, 1), LXLA_ABORTED, "step");
    CHECK(strstr(lxla_last_error_message(), "on mesh:0") && strstr(lxla_last_error_message(), PLANTED));
    EQUAL(state_of(w.a), LXLA_STATE_PENDING);
    EQUAL(state_of(w.sum), LXLA_STATE_PENDING);
    EQUAL(counter(env, "LiveBytes"), held);
    EQUAL(counter(env, "DonatedBuffers"), 0);
  }
  EQUAL(mesh_step(), 2);
  EQUAL(counter(env, "UncachedCompile"), 1);
  are_updated(&w);
}

// If one device's piece of one argument is lost, that tensor is lost and reports it; no other tensor is.
FAULTY_TEST(m4_a_piece_that_was_consumed_is_told) {
  const work w = updates();
  const lxla_tensor apart = plus(counting(DIMS(4, 4), ""), 1);
  float v[16];
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_CONSUME, LXLA_ABORTED);
  REFUSED(lxla_mark_step(env, device, 1), LXLA_ABORTED, PLANTED);
  REFUSED(lxla_tensor_read(w.a, v, sizeof v), LXLA_FAILED_PRECONDITION, "was consumed by step");
  OK(lxla_mark_step(env, device, 1));
  EQUAL(state_of(w.a), LXLA_STATE_FAILED);
  char *text;
  REFUSED(lxla_tensor_read(w.a, v, sizeof v), LXLA_FAILED_PRECONDITION, "was consumed by step");
  REFUSED(lxla_tensor_shard_read(w.a, 0, v, 16, NULL, NULL, 0), LXLA_FAILED_PRECONDITION, "was consumed by step");
  REFUSED(lxla_tensor_sharding(w.a, &text), LXLA_FAILED_PRECONDITION, "was consumed by step");
  REFUSED(lxla_tensor_read(w.sum, v, sizeof v), LXLA_FAILED_PRECONDITION, "was consumed by step");
  HAS_ALL(w.b, 1, 5);
  HAS_ALL(apart, 1, 1);
  // A new value makes the tensor usable again.
  OK(lxla_tensor_write(w.a, numbers(), 64));
  OK(lxla_binary_scalar_inplace(ADD, w.a, 1));
  EQUAL(mesh_step(), 1);
  HAS_ALL(w.a, 1, 1);
}

FAULTY_TEST(m4_a_failure_of_one_device_reaches_whoever_reads) {
  const lxla_tensor x = counting(DIMS(4, 4), "data,-"), other = counting(DIMS(4, 4), "data,-");
  OK(lxla_binary_scalar_inplace(MUL, x, 3));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_LATER, LXLA_DATA_LOSS);
  OK(lxla_mark_step(env, device, 0));
  // Pieces of the other devices can be read; the whole tensor cannot.
  float piece[4], v[16] = {42};
  OK(lxla_tensor_shard_read(x, 0, piece, sizeof piece, NULL, NULL, 0));
  EQUAL(piece[3], 9);
  REFUSED(lxla_tensor_shard_read(x, FAULTY, piece, sizeof piece, NULL, NULL, 0), LXLA_DATA_LOSS, PLANTED);
  const lxla_tensor on_it = plus(x, 1);
  OK(lxla_binary_scalar_inplace(ADD, other, 1));
  OK(lxla_mark_step(env, device, 0));
  REFUSED(lxla_tensor_read(x, v, sizeof v), LXLA_DATA_LOSS, PLANTED);
  EQUAL(v[0], 42);
  EQUAL(state_of(x), LXLA_STATE_FAILED);
  REFUSED(lxla_tensor_read(on_it, v, sizeof v), LXLA_DATA_LOSS, PLANTED);
  REFUSED(lxla_wait(env, device), LXLA_DATA_LOSS, PLANTED);
  OK(lxla_wait(env, device));
  // Tensors that do not depend on the failed run keep their values, and the next step runs.
  const lxla_tensor fresh = counting(DIMS(4, 4), "-,data");
  OK(lxla_binary_scalar_inplace(MUL, fresh, 2));
  EQUAL(mesh_step(), 1);
  HAS_ALL(fresh, 2, 0);
  // A step that waits returns it.
  OK(lxla_binary_scalar_inplace(MUL, fresh, 2));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_LATER, LXLA_DATA_LOSS);
  REFUSED(lxla_mark_step(env, device, 1), LXLA_DATA_LOSS, PLANTED);
}

// Each transfer to one device of four fails once.
FAULTY_TEST(m4_failed_transfers_make_nothing_and_lose_nothing) {
  const lxla_tensor t = counting(DIMS(4, 4), "data,-");
  lxla_tensor native, near;
  OK(lxla_tensor_from_host(env, on_cpu, F32, DIMS(4, 4), numbers(), 64, &native));
  OK(lxla_tensor_from_host(env, XLA(5), F32, DIMS(4, 4), numbers(), 64, &near));
  own(native), own(near);
  const uint64_t held = counter(env, "LiveBytes");
  const double tensors_before = live();
  for (int nth = 1; nth <= 4; nth++) {
    lxla_tensor made = {77};
    float v[16] = {1};
#define FAIL_THE_TRANSFER() FAULT(arm)("Client_BufferFromHostBuffer", nth, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED)
    FAIL_THE_TRANSFER();
    REFUSED(lxla_tensor_from_host_sharded(mesh, F32, DIMS(4, 4), v, sizeof v, "-,data", &made), LXLA_RESOURCE_EXHAUSTED,
            PLANTED);
    FAIL_THE_TRANSFER();
    REFUSED(lxla_tensor_from_host(env, device, F32, DIMS(4, 4), v, sizeof v, &made), LXLA_RESOURCE_EXHAUSTED, PLANTED);
    FAIL_THE_TRANSFER();
    REFUSED(lxla_tensor_shard(native, mesh, "data,-", &made), LXLA_RESOURCE_EXHAUSTED, PLANTED);
    FAIL_THE_TRANSFER();
    REFUSED(lxla_tensor_shard(near, mesh, "data,-", &made), LXLA_RESOURCE_EXHAUSTED, PLANTED);
    FAULT(arm)("Buffer_CopyToDevice", nth, FAULT_FAIL, LXLA_ABORTED);
    REFUSED(lxla_tensor_to_device(near, device, &made), LXLA_ABORTED, PLANTED);
    FAIL_THE_TRANSFER();
    REFUSED(lxla_tensor_write(t, v, sizeof v), LXLA_RESOURCE_EXHAUSTED, PLANTED);
    EQUAL(made.id, 77);
    HAS_ALL(t, 1, 0);
    HAS_PIECES(t, numbers(), "data,-");
    EQUAL(counter(env, "LiveBytes"), held);
    EQUAL(live(), tensors_before);
    // A read that cannot ask one device fails, or needs no answer.
    FAULT(arm)("Buffer_ReadyEvent", nth, FAULT_FAIL, LXLA_INTERNAL);
    const lxla_status status = lxla_tensor_read(t, v, sizeof v);
    CHECK(status == LXLA_OK || (status == LXLA_INTERNAL && strstr(lxla_last_error_message(), PLANTED)));
    FAULT(arm)("Buffer_ReadyEvent", 0, FAULT_FAIL, LXLA_INTERNAL);
    HAS_ALL(t, 1, 0);
  }
  HAS_VALUES(near, numbers(), 16);
}

// A transfer that fails later makes the piece of its device fail.
FAULTY_TEST(m4_a_piece_that_failed_to_come_is_told_by_the_read) {
  lxla_tensor t;
  float v[16];
  FAULT(arm)("Client_BufferFromHostBuffer", 3, FAULT_LATER, LXLA_DATA_LOSS);
  OK(lxla_tensor_from_host_sharded(mesh, F32, DIMS(4, 4), numbers(), 64, "data,-", &t));
  const lxla_tensor on_it = constrained(plus(own(t), 1), "data,-");
  OK(lxla_mark_step(env, device, 0));
  OK(lxla_tensor_shard_read(on_it, 1, v, 16, NULL, NULL, 0));
  EQUAL(v[0], 5);
  REFUSED(lxla_tensor_shard_read(on_it, 2, v, 16, NULL, NULL, 0), LXLA_DATA_LOSS, PLANTED);
  REFUSED(lxla_tensor_read(t, v, sizeof v), LXLA_DATA_LOSS, PLANTED);
  REFUSED(lxla_tensor_read(on_it, v, sizeof v), LXLA_DATA_LOSS, PLANTED);
  (void)lxla_wait(env, everywhere);
  OK(lxla_mark_step(env, device, 1));
  EQUAL(value(total(counting(DIMS(4), "data"))), 6);
}

FAULTY_TEST(m4_a_scalar_that_varies_cannot_be_sent_to_one_device) {
  const lxla_tensor t = counting(DIMS(4, 4), "data,-");
  float offset = 0;
  for (int i = 1; i < 7; i++) {
    OK(lxla_binary_scalar_inplace(ADD, t, i));
    offset += (float)i;
    if (i >= 3) {
      FAULT(arm)("Client_BufferFromHostBuffer", i - 2, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
      REFUSED(lxla_mark_step(env, device, 1), LXLA_RESOURCE_EXHAUSTED, PLANTED);
      EQUAL(state_of(t), LXLA_STATE_PENDING);
    }
    EQUAL(mesh_step(), 1);
    HAS_ALL(t, 1, offset);
  }
}

// Programs that are cut: what the first ones computed is kept, and the next step goes on from there.
FAULTY_TEST(m4_a_later_program_of_a_step_fails) {
  OK(lxla_env_set_option(env, "max_program_ops", "4"));
  const lxla_tensor kept = counting(DIMS(4, 4), "data,-"), x = own(snapshot(kept)), y = counting(DIMS(4, 4), "-,data");
  for (int i = 0; i < 10; i++) {
    OK(lxla_binary_scalar_inplace(ADD, x, 1));
    OK(lxla_binary_scalar_inplace(ADD, y, 2));
  }
  FAULT(arm)("LoadedExecutable_Execute", 3, FAULT_FAIL, LXLA_ABORTED);
  REFUSED(lxla_mark_step(env, device, 1), LXLA_ABORTED, PLANTED);
  EQUAL(state_of(x), LXLA_STATE_PENDING);
  OK(lxla_mark_step(env, device, 1));
  HAS_ALL(x, 1, 10);
  HAS_ALL(y, 1, 20);
  HAS_ALL(kept, 1, 0);
}

// A save whose copy from one device fails keeps the old file, and the tensors.
FAULTY_TEST(m5_a_save_that_cannot_read_one_device_keeps_the_old_file) {
  const char *const path = "test_mesh_faults.safetensors", *const names[] = {"t", "u"};
  const lxla_tensor list[] = {counting(DIMS(4, 4), "data,-"), counting(DIMS(4, 4), "-,data")};
  const lxla_tensor pending = constrained(plus(list[0], 1), "data,-");
  OK(lxla_save(path, names, list, 2));
  const lxla_tensor next[] = {pending, list[1]};
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_LATER, LXLA_DATA_LOSS);
  REFUSED(lxla_save(path, names, next, 2), LXLA_DATA_LOSS, PLANTED);
  CHECK(strstr(lxla_last_error_message(), "\"t\""));
  for (int i = 0; i < 2; i++) {
    lxla_tensor loaded;
    OK(lxla_load(env, on_cpu, path, names[i], &loaded));
    HAS_ALL(own(loaded), 1, 0);
    HAS_ALL(list[i], 1, 0);
  }
  CHECK(remove(path) == 0);
  (void)lxla_wait(env, everywhere);
}

// Exchanges between the devices: a step with an all_reduce fails as one that has none.
FAULTY_TEST(m4_a_failed_step_with_collectives) {
  const lxla_tensor x = counting(DIMS(4, 4), "data,-");
  lxla_tensor sum;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, DIMS(0), 0, &sum));
  OK(lxla_binary_inplace(ADD, x, own(sum)));
  const int modes[] = {FAULT_FAIL, FAULT_FAIL, FAULT_LATER};
  for (int i = 0; i < 2; i++) {
    FAULT(arm)("LoadedExecutable_Execute", 1, modes[i], LXLA_ABORTED);
    REFUSED(lxla_mark_step(env, device, 1), LXLA_ABORTED, PLANTED);
  }
  EQUAL(mesh_step(), 1);
  float want[16];
  for (int i = 0; i < 16; i++) want[i] = (float)(i + 24 + 4 * (i % 4));
  HAS_VALUES(x, want, 16);
  HAS_VALUES(sum, ((float[]){24, 28, 32, 36}), 4);
  OK(lxla_binary_scalar_inplace(ADD, x, 1));
  FAULT(arm)("LoadedExecutable_Execute", 1, modes[2], LXLA_ABORTED);
  REFUSED(lxla_mark_step(env, device, 1), LXLA_ABORTED, PLANTED);
  REFUSED(lxla_tensor_read(x, want, sizeof want), LXLA_ABORTED, PLANTED);
}
