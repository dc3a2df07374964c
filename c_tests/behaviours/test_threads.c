// Threads: K7 and the first part of H3 of docs/behaviours.md, and recording while a step compiles.
#include "fault.h"

#include <pthread.h>
#include <unistd.h>

static lxla_env env;
static lxla_tensor shared_input;

static void *same_program(void *result) {
  lxla_tensor x = scalar(MUL, shared_input, 3), y = scalar(ADD, x, 1);
  OK(lxla_sync(&y, 1));
  *(float *)result = value(y);
  RELEASE(x, y);
  return NULL;
}

TEST(k7_threads_that_meet_one_new_program_compile_it_once) {
  lxla_env_options options = default_options();
  options.device_count = 4;
  OK(lxla_env_create(&options, &env));
  shared_input = one(env, 2);
  pthread_t threads[8];
  float results[8];
  for (int i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, same_program, &results[i]) == 0);
  for (int i = 0; i < 8; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    EQUAL(results[i], 7);
  }
  // One thread's sync may compute the work of several threads, but no program is compiled twice.
  EQUAL(counter(env, "UncachedCompile"), 1);
  RELEASE(shared_input);
  OK(lxla_env_release(env));
}

static void *step_device(void *device) {
  OK(lxla_mark_step(env, *(lxla_device *)device, 1));
  return NULL;
}

// Two devices step the same program; the fault plugin holds the compile until both have asked for it.
TEST(k7_two_devices_one_compile) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.device_count = 2;
  OK(lxla_env_create(&options, &env));
  lxla_device devices[2] = {XLA(0), XLA(1)};
  lxla_tensor t[2];
  for (int i = 0; i < 2; i++) {
    float start = (float)i;
    OK(lxla_tensor_from_host(env, devices[i], LXLA_DTYPE_F32, DIMS(1), &start, sizeof start, &t[i]));
    OK(lxla_binary_scalar_inplace(ADD, t[i], 1));
  }
  FAULT(arm)("Client_Compile", 1, FAULT_HOLD, 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, step_device, &devices[i]) == 0);
  while (FAULT(held)() == 0) usleep(1000);
  usleep(50000);  // time for the second device to ask for the same program
  FAULT(let_go)();
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(counter(env, "CachedCompile"), 1);
  for (int i = 0; i < 2; i++) EQUAL(value(t[i]), i + 1);
  RELEASE(t[0], t[1]);
  OK(lxla_env_release(env));
}

TEST(h3_recording_and_reading_go_on_while_a_step_compiles) {
  env = fault_env();
  lxla_tensor ready = one(env, 5), t = one(env, 1), kept = snapshot(t);
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  FAULT(arm)("Client_Compile", 1, FAULT_HOLD, 0);
  pthread_t stepper;
  lxla_device device = XLA(0);
  CHECK(pthread_create(&stepper, NULL, step_device, &device) == 0);
  while (FAULT(held)() == 0) usleep(1000);
  // The step is compiling. Its tensors are in flight, and may be recorded on, snapshot, changed and released.
  EQUAL(state_of(t), LXLA_STATE_READY);
  lxla_tensor on_it = scalar(MUL, t, 10), old = snapshot(t), gone = snapshot(t);
  OK(lxla_binary_scalar_inplace(ADD, t, 100));
  RELEASE(gone);
  EQUAL(state_of(on_it), LXLA_STATE_PENDING);
  EQUAL(value(ready), 5);
  EQUAL(value(kept), 1);
  FAULT(let_go)();
  CHECK(pthread_join(stepper, NULL) == 0);
  EQUAL(value(on_it), 20);
  EQUAL(value(old), 2);
  EQUAL(value(t), 102);
  RELEASE(ready, t, kept, on_it, old);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

static void *failing_step(void *status) {
  *(lxla_status *)status = lxla_mark_step(env, XLA(0), 1);
  return NULL;
}

// A step that fails is compiled in parts. Meanwhile, another thread records, changes and releases its values, and
// leaves so many dead operations that the trace would be compacted.
TEST(f1_a_failing_step_is_divided_while_others_record) {
  env = fault_env();
  enum { N = 16, DEAD = 200000 };
  lxla_tensor t[N], x = one(env, 1), bad;
  for (int i = 0; i < N; i++) t[i] = scalar(ADD, x, i);
  OK(lxla_custom_call("no_such_target", &t[5], 1, (int32_t[]){LXLA_DTYPE_F32}, (size_t[]){0}, NULL, 1, NULL, &bad));
  // The first compile is that of the whole step, the second that of a half.
  FAULT(arm)("Client_Compile", 2, FAULT_HOLD, 0);
  pthread_t stepper;
  lxla_status status = LXLA_OK;
  CHECK(pthread_create(&stepper, NULL, failing_step, &status) == 0);
  while (FAULT(held)() == 0) usleep(1000);
  EQUAL(state_of(t[0]), LXLA_STATE_PENDING);
  for (int i = 0; i < DEAD; i++) {
    lxla_tensor dead = scalar(ADD, x, i);
    RELEASE(dead);
  }
  lxla_tensor on_it = scalar(MUL, t[1], 10), on_bad = scalar(ADD, bad, 1), old = snapshot(t[2]);
  OK(lxla_binary_scalar_inplace(ADD, t[2], 100));
  RELEASE(t[3]);
  EQUAL(state_of(on_it), LXLA_STATE_PENDING);
  FAULT(let_go)();
  CHECK(pthread_join(stepper, NULL) == 0);
  EQUAL(status, LXLA_NOT_FOUND);
  EQUAL(state_of(t[0]), LXLA_STATE_READY);
  EQUAL(state_of(bad), LXLA_STATE_PENDING);
  EQUAL(state_of(on_bad), LXLA_STATE_PENDING);
  for (int i = 0; i < N; i++)
    if (i != 3) EQUAL(value(t[i]), 1 + i + (i == 2 ? 100 : 0));
  EQUAL(value(on_it), 20);
  EQUAL(value(old), 3);
  REFUSED(lxla_sync(&on_bad, 1), LXLA_NOT_FOUND, "no_such_target");
  RELEASE(bad, on_bad);
  OK(lxla_mark_step(env, XLA(0), 1));
  for (int i = 0; i < N; i++)
    if (i != 3) RELEASE(t[i]);
  RELEASE(x, on_it, old);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(f1_what_was_recorded_while_a_failing_step_compiled_is_right) {
  env = fault_env();
  lxla_tensor t = one(env, 1);
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  FAULT(arm)("Client_Compile", 1, FAULT_HOLD, 0);
  FAULT(arm)("Executable_NumOutputs", 1, FAULT_FAIL, LXLA_INTERNAL);
  pthread_t stepper;
  lxla_status status = 0;
  CHECK(pthread_create(&stepper, NULL, failing_step, &status) == 0);
  while (FAULT(held)() == 0) usleep(1000);
  lxla_tensor on_it = scalar(MUL, t, 10), old = snapshot(t);
  OK(lxla_binary_scalar_inplace(ADD, t, 100));
  FAULT(let_go)();
  CHECK(pthread_join(stepper, NULL) == 0);
  EQUAL(status, LXLA_INTERNAL);
  EQUAL(state_of(old), LXLA_STATE_PENDING);
  EQUAL(value(on_it), 20);
  EQUAL(value(old), 2);
  EQUAL(value(t), 102);
  RELEASE(t, on_it, old);
  OK(lxla_env_release(env));
}

// The second of two programs of a step fails, after the first computed `inner`, which no tensor held when the step
// began. A computation captured it meanwhile.
TEST(f1_what_was_captured_while_a_failing_step_compiled_is_right) {
  env = fault_env();
  OK(lxla_env_set_option(env, "max_program_ops", "1"));
  lxla_tensor a = one(env, 3), p;
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &p));
  lxla_tensor inner = scalar(MUL, a, 2), waiting = binary(ADD, p, inner), outer = scalar(ADD, inner, 1);
  RELEASE(inner);
  FAULT(arm)("Client_Compile", 1, FAULT_HOLD, 0);
  FAULT(arm)("LoadedExecutable_Execute", 2, FAULT_FAIL, LXLA_ABORTED);
  pthread_t stepper;
  lxla_status status = 0;
  CHECK(pthread_create(&stepper, NULL, failing_step, &status) == 0);
  while (FAULT(held)() == 0) usleep(1000);
  lxla_computation captures;
  OK(lxla_computation_trace(&p, 1, &waiting, 1, &captures));
  FAULT(let_go)();
  CHECK(pthread_join(stepper, NULL) == 0);
  EQUAL(status, LXLA_ABORTED);
  RELEASE(waiting);
  EQUAL(value(outer), 7);
  RELEASE(outer, a);
  // The next step must neither forget the captured value nor donate it.
  lxla_tensor x = one(env, 100), y;
  OK(lxla_mark_step(env, XLA(0), 1));
  for (int i = 0; i < 3; i++) {
    OK(lxla_computation_call(captures, &x, 1, &y, 1));
    OK(lxla_mark_step(env, XLA(0), 1));
    EQUAL(value(y), 106);
    RELEASE(y);
  }
  RELEASE(x, p);
  OK(lxla_computation_release(captures));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

static void *reader(void *result) {
  lxla_tensor t = *(lxla_tensor *)result;
  float v = value(t);
  CHECK(v == 2);
  return NULL;
}

TEST(h3_readers_of_a_tensor_in_flight_wait_for_it) {
  env = fault_env();
  lxla_tensor t = one(env, 1);
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_HOLD, 0);
  pthread_t stepper, readers[4];
  lxla_device device = XLA(0);
  CHECK(pthread_create(&stepper, NULL, step_device, &device) == 0);
  while (FAULT(held)() == 0) usleep(1000);
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&readers[i], NULL, reader, &t) == 0);
  usleep(20000);
  FAULT(let_go)();
  CHECK(pthread_join(stepper, NULL) == 0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(readers[i], NULL) == 0);
  RELEASE(t);
  OK(lxla_env_release(env));
}

static void *upload(void *out) {
  float v = 8;
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &v, sizeof v, out));
  return NULL;
}

// A released environment's devices are not reused by another environment while a call in it is under way.
TEST(e7_released_while_a_transfer_is_under_way) {
  env = fault_env();
  lxla_env kept = env;
  lxla_tensor t;
  FAULT(arm)("Client_BufferFromHostBuffer", 1, FAULT_HOLD, 0);
  pthread_t uploader;
  CHECK(pthread_create(&uploader, NULL, upload, &t) == 0);
  while (FAULT(held)() == 0) usleep(1000);
  OK(lxla_env_release(kept));
  lxla_env other = new_env();
  FAULT(let_go)();
  CHECK(pthread_join(uploader, NULL) == 0);
  lxla_env of_t;
  OK(lxla_tensor_env(t, &of_t));
  CHECK(of_t.id == kept.id);
  EQUAL(value(t), 8);
  lxla_tensor mine = one(other, 1), bad;
  REFUSED(lxla_binary(ADD, mine, t, &bad), LXLA_INVALID_ARGUMENT, "two environments");
  RELEASE(t, mine);
  OK(lxla_env_release(other));
}

enum { WORKERS = 8 };

// Updates a counter tensor of its own while other threads do the same, and checks it now and then.
static void *worker(void *seed) {
  unsigned state = (unsigned)(uintptr_t)seed * 2654435761u + 1;
  float expected = 0;
  lxla_tensor t = one(env, 0);
  for (int i = 0; i < 400; i++) {
    state = state * 1664525u + 1013904223u;
    switch (state >> 29) {
      case 0: OK(lxla_mark_step(env, XLA(0), 0)); break;
      case 1: EQUAL(value(t), expected); break;
      case 2: {
        lxla_tensor old = snapshot(t);
        OK(lxla_binary_scalar_inplace(ADD, t, 1));
        OK(lxla_sync(&t, 1));
        EQUAL(value(old), expected);
        expected += 1;
        RELEASE(old);
        break;
      }
      case 3: {
        lxla_tensor sum = binary(ADD, t, shared_input);
        EQUAL(value(sum), expected + 1000);
        RELEASE(sum);
        break;
      }
      default: OK(lxla_binary_scalar_inplace(ADD, t, 2)); expected += 2;
    }
  }
  EQUAL(value(t), expected);
  RELEASE(t);
  return NULL;
}

TEST(h3_many_threads_on_one_device) {
  env = new_env();
  shared_input = one(env, 1000);
  pthread_t threads[WORKERS];
  for (uintptr_t i = 0; i < WORKERS; i++) CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
  for (int i = 0; i < WORKERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  RELEASE(shared_input);
  EQUAL(counter(env, "CreateTensor"), counter(env, "DestroyTensor"));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

static void *find_default(void *out) {
  OK(lxla_env_default((lxla_env *)out));
  return NULL;
}

enum { COPIES = 20000 };

// Copies a tensor to the other device again and again; `from` is the number of the tensor's device.
static void *copy_to_the_other(void *from) {
  int32_t here = *(int32_t *)from;
  float start = (float)here;
  lxla_tensor x, copy;
  OK(lxla_tensor_from_host(env, XLA(here), LXLA_DTYPE_F32, DIMS(1), &start, sizeof start, &x));
  for (int i = 0; i < COPIES; i++) {
    OK(lxla_tensor_to_device(x, XLA(1 - here), &copy));
    if (i % 1000 == 0) EQUAL(value(copy), start);
    OK(lxla_tensor_release(copy));
  }
  OK(lxla_tensor_release(x));
  return NULL;
}

// Two threads copy between two devices in opposite directions. A deadlock would show that one holds a device's lock
// while it waits for the other device.
TEST(copies_in_opposite_directions_do_not_deadlock) {
  lxla_env_options options = default_options();
  options.device_count = 2;
  OK(lxla_env_create(&options, &env));
  int32_t devices[2] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, copy_to_the_other, &devices[i]) == 0);
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  OK(lxla_wait(env, XLA(0)));
  OK(lxla_wait(env, XLA(1)));
  OK(lxla_env_release(env));
}

TEST(e4_one_default_environment) {
  pthread_t threads[32];
  lxla_env found[32];
  for (int i = 0; i < 32; i++) CHECK(pthread_create(&threads[i], NULL, find_default, &found[i]) == 0);
  for (int i = 0; i < 32; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 1; i < 32; i++) CHECK(found[i].id == found[0].id && found[i].id != 0);
  REFUSED(lxla_env_release(found[0]), LXLA_FAILED_PRECONDITION, "default environment");
  lxla_tensor t = one(no_env, 3);
  lxla_env of_t;
  OK(lxla_tensor_env(t, &of_t));
  CHECK(of_t.id == found[0].id);
  RELEASE(t);
}
