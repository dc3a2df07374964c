// Being told: callbacks when a value is there, and when a device lacks memory.
#define _GNU_SOURCE
#include "fault.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <unistd.h>

static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};

// --- A value that is there ---

// Counts the calls of a callback, and keeps the arguments of the last one.
typedef struct {
  sem_t calls;
  _Atomic int count;
  lxla_status status;
  char message[512];
  pthread_t thread;
} told;

static void begin(told *t) {
  memset(t, 0, sizeof *t);
  CHECK(sem_init(&t->calls, 0, 0) == 0);
}

static void tell(lxla_status status, const char *message, void *user) {
  told *t = user;
  t->status = status;
  t->thread = pthread_self();
  snprintf(t->message, sizeof t->message, "%s", message);
  t->count++;
  sem_post(&t->calls);
}

// Waits for the next call, at most 30 seconds.
static void wait_for_call(told *t) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 30;
  if (sem_timedwait(&t->calls, &until) != 0) FAIL("nobody was told");
}

// The callbacks that are due come one after another: when a new one has come, those before it have.
static void all_told(lxla_env env) {
  told last;
  begin(&last);
  lxla_tensor x;
  OK(lxla_tensor_full(env, cpu, LXLA_DTYPE_F32, NULL, 0, 1, &x));
  OK(lxla_tensor_on_ready(x, tell, &last));
  wait_for_call(&last);
  RELEASE(x);
}

// Registers a callback, and checks that it is called once, with success, on another thread.
static void is_told(lxla_env env, lxla_tensor x) {
  told t;
  begin(&t);
  OK(lxla_tensor_on_ready(x, tell, &t));
  wait_for_call(&t);
  all_told(env);
  EQUAL(t.count, 1);
  EQUAL(t.status, LXLA_OK);
  CHECK(t.message[0] == 0 && !pthread_equal(t.thread, pthread_self()));
}

TEST(b1_values_of_every_state_are_told) {
  lxla_env env = fault_env();
  lxla_tensor native;
  OK(lxla_tensor_full(env, cpu, LXLA_DTYPE_F32, DIMS(3), 1, &native));
  is_told(env, native);
  lxla_tensor x = one(env, 2), pending = scalar(ADD, x, 1), empty;
  is_told(env, x);
  is_told(env, pending);
  EQUAL(state_of(pending), LXLA_STATE_READY);
  EQUAL(value(pending), 3);
  is_told(env, pending);
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(0, 4), 1, &empty));
  is_told(env, empty);
  lxla_tensor large;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(40000), 1, &large));
  is_told(env, large);
  RELEASE(native, x, pending, empty, large);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// The plugin holds the news back: meanwhile the tensor is released, its value donated, its environment released.
TEST(b1_what_happens_to_the_tensor_changes_nothing) {
  for (int what = 0; what < 3; what++) {
    lxla_env env = fault_env();
    lxla_tensor x = one(env, 2), y = scalar(MUL, x, 3);
    OK(lxla_sync(&y, 1));
    told t;
    begin(&t);
    FAULT(arm)("Event_OnReady", 1, FAULT_LINGER, 0);
    OK(lxla_tensor_on_ready(y, tell, &t));
    CHECK(lxla_tensor_on_ready(x, NULL, NULL) == LXLA_NULL_ARGUMENT);
    if (what == 1) {
      lxla_tensor z = scalar(ADD, y, 1);
      RELEASE(y);
      EQUAL(step(env), 1);
      EQUAL(value(z), 7);
      RELEASE(x, z);
    } else {
      RELEASE(x, y);
    }
    if (what == 2) OK(lxla_env_release(env));
    EQUAL(t.count, 0);
    FAULT(let_go)();
    wait_for_call(&t);
    EQUAL(t.status, LXLA_OK);
    if (what != 2) {
      no_live_bytes(env);
      OK(lxla_env_release(env));
    }
    EQUAL(t.count, 1);
  }
}

TEST(b1_a_computation_that_fails_is_told_by_its_status) {
  lxla_env env = fault_env();
  lxla_tensor x = one(env, 2), y = scalar(MUL, x, 3);
  told t;
  begin(&t);
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_LATER, LXLA_DATA_LOSS);
  OK(lxla_tensor_on_ready(y, tell, &t));
  wait_for_call(&t);
  EQUAL(t.status, LXLA_DATA_LOSS);
  CHECK(strstr(t.message, "fault"));
  float v;
  REFUSED(lxla_tensor_read(y, &v, sizeof v), LXLA_DATA_LOSS, t.message);
  // The value is known to be lost from here on.
  OK(lxla_tensor_on_ready(y, tell, &t));
  wait_for_call(&t);
  EQUAL(t.status, LXLA_DATA_LOSS);
  EQUAL(t.count, 2);
  RELEASE(x, y);
  (void)lxla_wait(env, XLA(0));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(b1_what_cannot_be_computed_is_returned_and_not_told) {
  lxla_env env = fault_env();
  told t;
  begin(&t);
  lxla_tensor p, x = one(env, 1), y = scalar(ADD, x, 1);
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &p));
  lxla_tensor q = scalar(ADD, p, 1);
  REFUSED(lxla_tensor_on_ready(p, tell, &t), LXLA_FAILED_PRECONDITION, "placeholder f32[1] has no value");
  REFUSED(lxla_tensor_on_ready(q, tell, &t), LXLA_FAILED_PRECONDITION, "placeholder f32[1] has no value");
  REFUSED(lxla_tensor_on_ready(none, tell, &t), LXLA_INVALID_HANDLE, "tensor");
  REFUSED(lxla_tensor_on_ready(x, NULL, &t), LXLA_NULL_ARGUMENT, "fn: it is NULL");
  OK(lxla_tracing_begin(env, XLA(0)));
  REFUSED(lxla_tensor_on_ready(x, tell, &t), LXLA_FAILED_PRECONDITION, "this thread traces");
  OK(lxla_tracing_abandon());
  FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_INTERNAL);
  REFUSED(lxla_tensor_on_ready(y, tell, &t), LXLA_INTERNAL, "fault");
  EQUAL(state_of(y), LXLA_STATE_PENDING);
  is_told(env, y);
  EQUAL(value(y), 2);
  all_told(env);
  EQUAL(t.count, 0);
  RELEASE(p, q, x, y);
  OK(lxla_env_release(env));
}

// A plugin without callbacks is waited for.
TEST(b1_a_plugin_that_refuses_callbacks_is_waited_for) {
  lxla_env env = fault_env();
  lxla_tensor x = one(env, 2), y = scalar(MUL, x, 3);
  OK(lxla_sync(&y, 1));
  FAULT(arm)("Event_OnReady", 1, FAULT_FAIL, LXLA_UNIMPLEMENTED);
  is_told(env, y);
  FAULT(arm)("Buffer_ReadyEvent", 1, FAULT_FAIL, LXLA_ABORTED);
  told t;
  begin(&t);
  OK(lxla_tensor_on_ready(y, tell, &t));
  wait_for_call(&t);
  EQUAL(t.status, LXLA_ABORTED);
  RELEASE(x, y);
  OK(lxla_env_release(env));
}

// A callback that reads, records, asks to be told again, and releases.
typedef struct {
  lxla_tensor tensor;
  float value;
  told *next;
} reader;

static void read_it(lxla_status status, const char *message, void *user) {
  reader *r = user;
  (void)message;
  CHECK(status == LXLA_OK);
  r->value = value(r->tensor);
  lxla_tensor more = scalar(ADD, r->tensor, 1);
  OK(lxla_tensor_on_ready(more, tell, r->next));
  RELEASE(more, r->tensor);
}

static void *many(void *user) {
  told *t = user;
  for (int i = 0; i < 200; i++) {
    lxla_tensor x;
    OK(lxla_tensor_full(no_env, i % 2 ? XLA(0) : cpu, LXLA_DTYPE_F32, DIMS(2), i, &x));
    OK(lxla_tensor_on_ready(x, tell, t));
    RELEASE(x);
  }
  return NULL;
}

TEST(b1_a_callback_may_call_the_library_and_threads_may_register) {
  lxla_env env = new_env();
  told next, all;
  begin(&next);
  begin(&all);
  reader r = {one(env, 5), 0, &next};
  OK(lxla_tensor_on_ready(r.tensor, read_it, &r));
  wait_for_call(&next);
  EQUAL(r.value, 5);
  EQUAL(next.status, LXLA_OK);
  no_live_bytes(env);
  OK(lxla_env_release(env));
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, many, &all) == 0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < 800; i++) wait_for_call(&all);
  all_told(no_env);
  EQUAL(all.count, 800);
}

TEST(b1_a_tensor_on_a_mesh_is_told_when_all_its_pieces_are_there) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.device_count = 2;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_mesh mesh;
  OK(lxla_mesh_create(env, (const char *[]){"data"}, DIMS(2), NULL, &mesh));
  float v[4] = {1, 2, 3, 4};
  lxla_tensor y;
  OK(lxla_tensor_from_host_sharded(mesh, LXLA_DTYPE_F32, DIMS(4), v, sizeof v, "data", &y));
  is_told(env, y);
  told t;
  begin(&t);
  // The news of the second piece is held back.
  FAULT(arm)("Event_OnReady", 2, FAULT_LINGER, 0);
  OK(lxla_tensor_on_ready(y, tell, &t));
  all_told(env);
  EQUAL(t.count, 0);
  FAULT(let_go)();
  wait_for_call(&t);
  EQUAL(t.status, LXLA_OK);
  RELEASE(y);
  OK(lxla_mesh_release(mesh));
  OK(lxla_env_release(env));
}

// --- Memory ---

// Counts the calls of a memory callback, and holds the tensors that it releases.
typedef struct {
  _Atomic int count;
  uint64_t bytes;
  int answer;
  lxla_tensor garbage[64];
  size_t n;
  int frees_device;  // runs no longer lack memory afterwards
} collector;

static int32_t collect(uint64_t bytes, void *user) {
  collector *c = user;
  c->count++;
  c->bytes = bytes;
  OK(lxla_tensor_release_many(c->garbage, c->n));
  c->n = 0;
  if (c->frees_device) FAULT(refuse)("LoadedExecutable_Execute", 0);
  return c->answer;
}

TEST(b2_an_allocation_that_fails_is_tried_again_after_the_callback) {
  lxla_env env = fault_env();
  collector c = {.answer = 1};
  OK(lxla_env_set_memory_callback(env, collect, &c));
  // A copy to the device, with a value that is released meanwhile.
  c.garbage[0] = one(env, 8), c.n = 1;
  EQUAL(counter(env, "LiveBytes"), 4);
  FAULT(arm)("Client_BufferFromHostBuffer", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  lxla_tensor x = from_f32(env, DIMS(2), (float[]){1, 2});
  EQUAL(c.count, 1);
  EQUAL(c.bytes, 8);
  EQUAL(counter(env, "LiveBytes"), 8);
  // A run, which donates as it would have.
  lxla_tensor y = scalar(ADD, x, 1);
  RELEASE(x);
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  EQUAL(step(env), 1);
  EQUAL(c.count, 2);
  float v[2];
  read_f32(y, v, 2);
  CHECK(v[0] == 2 && v[1] == 3);
  // A run of an executable.
  lxla_tensor p, q;
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(2), &p));
  q = scalar(MUL, p, 2);
  lxla_computation f;
  OK(lxla_computation_trace(&p, 1, &q, 1, &f));
  lxla_executable e;
  OK(lxla_executable_compile(f, XLA(0), NULL, &e));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  lxla_tensor z;
  OK(lxla_executable_run(e, &y, 1, &z, 1));
  EQUAL(c.count, 3);
  read_f32(z, v, 2);
  CHECK(v[0] == 4 && v[1] == 6);
  RELEASE(p, q, y, z);
  OK(lxla_executable_release(e));
  OK(lxla_computation_release(f));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// A callback that does not help, one that says so, errors of other kinds, and no callback: the error is as before.
TEST(b2_what_the_callback_does_not_mend_fails_as_without_it) {
  lxla_env env = fault_env();
  collector c = {.answer = 1};
  OK(lxla_env_set_memory_callback(env, collect, &c));
  lxla_tensor t;
  float v = 1;
  FAULT(refuse)("Client_BufferFromHostBuffer", LXLA_RESOURCE_EXHAUSTED);
  for (int answer = 1; answer >= 0; answer--) {
    c.answer = answer, c.count = 0;
    REFUSED(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, NULL, 0, &v, sizeof v, &t), LXLA_RESOURCE_EXHAUSTED,
            "4 bytes were asked for; live tensors hold 0 bytes");
    EQUAL(c.count, 1);
  }
  FAULT(refuse)("Client_BufferFromHostBuffer", LXLA_INTERNAL);
  c.count = 0;
  REFUSED(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, NULL, 0, &v, sizeof v, &t), LXLA_INTERNAL, "fault");
  EQUAL(c.count, 0);
  FAULT(refuse)("Client_BufferFromHostBuffer", 0);
  // A run that consumed an argument cannot be repeated.
  lxla_tensor x = one(env, 1), y = scalar(ADD, x, 1);
  RELEASE(x);
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_CONSUME, LXLA_RESOURCE_EXHAUSTED);
  c.answer = 1;
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_RESOURCE_EXHAUSTED, "fault");
  EQUAL(c.count, 0);
  RELEASE(y);
  OK(lxla_env_set_memory_callback(env, NULL, NULL));
  FAULT(arm)("Client_BufferFromHostBuffer", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  REFUSED(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, NULL, 0, &v, sizeof v, &t), LXLA_RESOURCE_EXHAUSTED,
          "4 bytes");
  EQUAL(c.count, 0);
  REFUSED(lxla_env_set_memory_callback((lxla_env){77}, collect, &c), LXLA_INVALID_HANDLE, "env");
  OK(lxla_env_release(env));
}

// A callback within a step must not compute: its thread is in the sync of the device.
static int32_t compute(uint64_t bytes, void *user) {
  lxla_env env = {*(uint64_t *)user};
  (void)bytes;
  const char *words = "in a memory callback, which may release values, not compute any";
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_FAILED_PRECONDITION, words);
  lxla_tensor x = one(env, 1), y = scalar(ADD, x, 1);
  REFUSED(lxla_sync(&y, 1), LXLA_FAILED_PRECONDITION, words);
  REFUSED(lxla_step_tensors(&y, 1, 1), LXLA_FAILED_PRECONDITION, words);
  float v;
  REFUSED(lxla_tensor_read(y, &v, sizeof v), LXLA_FAILED_PRECONDITION, words);
  // An allocation that fails here asks nobody.
  FAULT(arm)("Client_BufferFromHostBuffer", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  lxla_tensor t;
  REFUSED(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, NULL, 0, &v, sizeof v, &t), LXLA_RESOURCE_EXHAUSTED,
          "4 bytes");
  RELEASE(x, y);
  return 1;
}

TEST(b2_a_memory_callback_computes_nothing_and_deadlocks_nothing) {
  lxla_env env = fault_env();
  OK(lxla_env_set_memory_callback(env, compute, &env.id));
  lxla_tensor x = one(env, 1), y = scalar(ADD, x, 1);
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  OK(lxla_mark_step(env, XLA(0), 1));
  EQUAL(value(y), 2);
  RELEASE(x, y);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// Loops of a language whose handles only a collector releases, on devices with memory for a few values.
TEST(b2_a_loop_whose_handles_only_the_callback_frees_goes_on_on_xla) {
  lxla_env env = fault_env();
  collector c = {.answer = 1, .frees_device = 1};
  OK(lxla_env_set_memory_callback(env, collect, &c));
  lxla_tensor x = one(env, 0);
  for (int i = 0; i < 100; i++) {
    if (c.n == 10) FAULT(refuse)("LoadedExecutable_Execute", LXLA_RESOURCE_EXHAUSTED);
    lxla_tensor next = scalar(ADD, x, 1);
    OK(lxla_sync(&next, 1));
    c.garbage[c.n++] = x;
    x = next;
  }
  EQUAL(value(x), 100);
  EQUAL(c.count, 9);
  OK(lxla_tensor_release_many(c.garbage, c.n));
  RELEASE(x);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(b2_a_loop_whose_handles_only_the_callback_frees_goes_on_on_cpu) {
  enum { ELEMENTS = 4 << 20, BYTES = 4 * ELEMENTS };
  lxla_env env = new_env();
  collector c = {.answer = 1};
  OK(lxla_env_set_memory_callback(env, collect, &c));
  lxla_tensor x;
  OK(lxla_tensor_full(env, cpu, LXLA_DTYPE_F32, DIMS(ELEMENTS), 0, &x));
  // Address space for some ten values more.
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%ld", &pages) == 1);
  fclose(f);
  struct rlimit before, limit;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  limit = (struct rlimit){(rlim_t)pages * 4096 + 12ULL * BYTES, before.rlim_max};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  for (int i = 0; i < 60; i++) {
    lxla_tensor next = scalar(ADD, x, 1);
    CHECK(c.n < 64);
    c.garbage[c.n++] = x;
    x = next;
  }
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(c.count >= 3 && c.bytes == BYTES);
  float *values = malloc(BYTES);
  read_f32(x, values, ELEMENTS);
  CHECK(values[0] == 60 && values[ELEMENTS - 1] == 60);
  free(values);
  OK(lxla_tensor_release_many(c.garbage, c.n));
  RELEASE(x);
  OK(lxla_env_release(env));
}
