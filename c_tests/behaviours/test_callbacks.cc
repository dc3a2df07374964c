// Callbacks that throw, or end their thread: every callback of the header. The process goes on, and somebody is told.
#include "check.hpp"
#include "fault_plugin.h"

#include <dlfcn.h>
#include <exception>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace {

const lxla_device CPU = {LXLA_DEVICE_CPU, 0}, DEVICE = {LXLA_DEVICE_XLA, 0};
const lxla_env NO_ENV = {0};

void ok_at(int line, lxla_status status) {
  if (status == LXLA_OK) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, lxla_status_name(status), lxla_last_error_message());
  std::exit(1);
}
#define OK(...) ok_at(__LINE__, (__VA_ARGS__))

void fails_at(int line, lxla_status status, lxla_status wanted, const std::string &text) {
  if (status == wanted && lxla_last_error_message() == text) return;
  std::fprintf(stderr, "line %d: %s: \"%s\", want \"%s\"\n", line, lxla_status_name(status), lxla_last_error_message(),
               text.c_str());
  std::exit(1);
}
#define FAILS(wanted, text, ...) fails_at(__LINE__, (__VA_ARGS__), wanted, text)

// Messages of the log so far.
std::string logged;
void note(int32_t, const char *message, void *) { logged += std::string(message) + "\n"; }

// Checks that the log has these lines only, and forgets them.
void has_logged_at(int line, const std::string &wanted) {
  if (logged != wanted)
    std::fprintf(stderr, "line %d: logged \"%s\", want \"%s\"\n", line, logged.c_str(), wanted.c_str());
  if (logged != wanted) std::exit(1);
  logged.clear();
}
#define HAS_LOGGED(wanted) has_logged_at(__LINE__, wanted)

lxla_tensor full(lxla_device device, double value) {
  lxla_tensor t;
  OK(lxla_tensor_full(NO_ENV, device, LXLA_DTYPE_F32, nullptr, 0, value, &t));
  return t;
}

float value_of(lxla_tensor t) {
  float value;
  OK(lxla_tensor_read(t, &value, sizeof value));
  return value;
}

// --- Texts of exceptions -------------------------------------------------------------------------------------------

struct Other {
  virtual ~Other() = default;
  long words[3] = {};
};
struct Late : Other, std::out_of_range {
  Late() : std::out_of_range("the second base") {}
};
struct Shared : virtual std::exception {
  const char *what() const noexcept override { return "a virtual base"; }
};
struct Diamond : Other, Shared {};
struct Plain {};
struct Hidden : private std::runtime_error {
  Hidden() : std::runtime_error("not public") {}
};

void throw_again() {
  std::exception_ptr kept;
  try {
    throw std::runtime_error("again");
  } catch (...) {
    kept = std::current_exception();
  }
  std::rethrow_exception(kept);
}

// What a kernel throws, and the text of the error.
struct Case {
  void (*throws)();
  std::string text;
};
const Case CASES[] = {
    {[] { throw std::runtime_error("the text"); }, "the text"},
    {[] { throw std::bad_alloc(); }, "std::bad_alloc"},
    {[] { throw Late(); }, "the second base"},
    {[] { throw Diamond(); }, "a virtual base"},
    {[] { throw "a string"; }, "a string"},
    {[] { throw 7; }, "of the C++ type i"},
    {[] { throw Hidden(); }, "of the C++ type N12_GLOBAL__N_16HiddenE"},
    {[] { throw Plain(); }, "of the C++ type N12_GLOBAL__N_15PlainE"},
    {throw_again, "again"},
};

int32_t throwing(const lxla_kernel_call *, void *user) {
  static_cast<const Case *>(user)->throws();
  return 0;
}

// Released also if the thread ends: a call that stays pending would be made by the next step.
struct Owned {
  lxla_tensor tensor = {0};
  ~Owned() { lxla_tensor_release(tensor); }
};

lxla_status host_call(lxla_device device, lxla_kernel_fn kernel, void *user) {
  const Owned x = {full(device, 3)};
  Owned y;
  const int32_t f32 = LXLA_DTYPE_F32;
  const size_t rank = 0;
  lxla_status status = lxla_host_call(NO_ENV, kernel, user, nullptr, &x.tensor, 1, &f32, &rank, nullptr, 1, &y.tensor);
  if (status == LXLA_OK && device.kind == LXLA_DEVICE_XLA) status = lxla_mark_step(NO_ENV, device, 1);
  return status;
}

TEST(the_text_of_an_exception_is_in_the_error) {
  for (const Case &one : CASES)
    FAILS(LXLA_INTERNAL, "lxla_host_call: kernel host_call: it threw an exception: " + one.text,
          host_call(CPU, throwing, const_cast<Case *>(&one)));
  CHECK(std::uncaught_exceptions() == 0);
}

// --- Callbacks without a status ------------------------------------------------------------------------------------

int released = 0;
void release_and_throw(void *user) {
  released++;
  throw std::logic_error(static_cast<const char *>(user));
}

TEST(a_release_that_throws_is_logged) {
  alignas(64) static float memory[16] = {5};
  static char text[] = "no release";
  OK(lxla_set_log_callback(note, nullptr));
  for (const lxla_device device : {CPU, DEVICE}) {
    lxla_tensor t;
    const int64_t dims[] = {16};
    OK(lxla_tensor_from_host_borrowed(NO_ENV, device, LXLA_DTYPE_F32, dims, 1, memory, sizeof memory, release_and_throw,
                                      text, &t));
    const int before = released;
    OK(lxla_tensor_release(t));
    for (int waits = 0; released == before && waits < 20000; waits++) usleep(1000);
    OK(lxla_wait(NO_ENV, DEVICE));
    HAS_LOGGED("release of borrowed memory threw an exception: no release\n");
  }
  OK(lxla_set_log_callback(nullptr, nullptr));
  CHECK(released == 2);
}

TEST(a_destroy_that_throws_is_logged) {
  static char text[] = "no destroy";
  OK(lxla_set_log_callback(note, nullptr));
  lxla_kernel_options options;
  options.struct_size = sizeof options;
  OK(lxla_kernel_options_init(&options));
  options.destroy = release_and_throw;
  OK(lxla_kernel_register(NO_ENV, "k", throwing, text, &options));
  OK(lxla_kernel_unregister(NO_ENV, "k"));
  HAS_LOGGED("options.destroy of a kernel threw an exception: no destroy\n");
  OK(lxla_set_log_callback(nullptr, nullptr));
}

// DLPack's structs before version 1.0.
struct Managed {
  void *data;
  int32_t device_type, device_id, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
  void *context;
  void (*deleter)(Managed *);
};

TEST(a_deleter_of_dlpack_that_throws_is_logged) {
  static float memory[1] = {5};
  static int64_t dims[1] = {1};
  Managed managed = {memory, 1, 0, 1, 2, 32, 1, dims, nullptr, 0, nullptr, [](Managed *) { throw std::bad_cast(); }};
  lxla_tensor t;
  OK(lxla_tensor_from_dlpack_unversioned(NO_ENV, CPU, &managed, 0, &t));
  OK(lxla_set_log_callback(note, nullptr));
  OK(lxla_tensor_release(t));
  HAS_LOGGED("the deleter of an imported DLPack struct threw an exception: std::bad_cast\n");
  OK(lxla_set_log_callback(nullptr, nullptr));
}

TEST(a_callback_of_a_value_that_throws_is_logged) {
  sem_t called;
  CHECK(sem_init(&called, 0, 0) == 0);
  OK(lxla_set_log_callback(note, nullptr));
  lxla_tensor t = full(CPU, 1);
  OK(lxla_tensor_on_ready(t, [](lxla_status, const char *, void *) { throw std::runtime_error("not now"); }, nullptr));
  // Callbacks come one after another: when this one has come, the one before has ended.
  OK(lxla_tensor_on_ready(
      t, [](lxla_status, const char *, void *user) { sem_post(static_cast<sem_t *>(user)); }, &called));
  CHECK(sem_wait(&called) == 0);
  HAS_LOGGED("fn of lxla_tensor_on_ready threw an exception: not now\n");
  OK(lxla_set_log_callback(nullptr, nullptr));
  OK(lxla_tensor_release(t));
}

TEST(a_memory_callback_that_throws_is_logged_and_frees_nothing) {
  lxla_env_options options;
  options.struct_size = sizeof options;
  OK(lxla_env_options_init(&options));
  options.plugin_path = LXLA_FAULT_PLUGIN;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  OK(lxla_env_set_memory_callback(
      env, [](uint64_t bytes, void *) -> int32_t { throw std::runtime_error(std::to_string(bytes)); }, nullptr));
  void *plugin = dlopen(LXLA_FAULT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  CHECK(plugin != nullptr);
  const auto arm = reinterpret_cast<fault_arm_fn *>(dlsym(plugin, "fault_arm"));
  arm("Client_BufferFromHostBuffer", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  OK(lxla_set_log_callback(note, nullptr));
  const float value = 1;
  lxla_tensor t;
  CHECK(lxla_tensor_from_host(env, DEVICE, LXLA_DTYPE_F32, nullptr, 0, &value, sizeof value, &t) ==
        LXLA_RESOURCE_EXHAUSTED);
  HAS_LOGGED("fn of lxla_env_set_memory_callback threw an exception: 4\n");
  OK(lxla_set_log_callback(nullptr, nullptr));
  OK(lxla_env_release(env));
}

int told = 0;
void tell_and_throw(int32_t, const char *, void *) {
  told++;
  throw std::runtime_error("a log callback");
}

TEST(a_log_callback_that_throws_changes_nothing) {
  static char text[] = "no release";
  float memory = 5;
  OK(lxla_set_log_callback(tell_and_throw, nullptr));
  for (int i = 1; i <= 2; i++) {
    lxla_tensor t;
    OK(lxla_tensor_from_host_borrowed(NO_ENV, CPU, LXLA_DTYPE_F32, nullptr, 0, &memory, sizeof memory,
                                      release_and_throw, text, &t));
    OK(lxla_tensor_release(t));
    CHECK(told == i);
  }
  OK(lxla_set_log_callback(nullptr, nullptr));
  CHECK(std::uncaught_exceptions() == 0);
}

// --- The key-value store -------------------------------------------------------------------------------------------

void *fault_function(const char *name) {
  void *plugin = dlopen(LXLA_FAULT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  CHECK(plugin != nullptr);
  void *function = dlsym(plugin, name);
  CHECK(function != nullptr);
  return function;
}

lxla_status no_get(void *, const char *, size_t, int64_t, lxla_key_value_reply_fn, void *) {
  throw std::runtime_error("no get");
}
lxla_status no_put(void *, const char *, size_t, const void *, size_t, lxla_key_value_reply_fn, void *) {
  throw std::runtime_error("no put");
}
lxla_status no_try_get(void *, const char *, size_t, lxla_key_value_reply_fn, void *) {
  throw std::runtime_error("no try_get");
}

TEST(a_key_value_store_that_throws_fails_the_plugins_call) {
  const auto on_create = reinterpret_cast<fault_on_create_fn *>(fault_function("fault_on_create"));
  const lxla_key_value_store store = {sizeof store, nullptr, no_get, no_put, no_try_get};
  lxla_env_options options;
  options.struct_size = sizeof options;
  OK(lxla_env_options_init(&options));
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.process_count = 2;
  options.key_value_store = &store;
  const std::pair<int, const char *> functions[] = {{FAULT_GET, "get"}, {FAULT_PUT, "put"}, {FAULT_TRY_GET, "try_get"}};
  for (const auto &[function, name] : functions) {
    fault_store_call call = {};
    call.function = function, call.key = "key", call.value = "value", call.value_size = 5, call.timeout_ms = 10;
    on_create(0, &call, 1);
    lxla_env env;
    CHECK(lxla_env_create(&options, &env) == LXLA_INTERNAL);
    const std::string wanted = std::string("options.key_value_store.") + name + ": it threw an exception: no " + name;
    CHECK(std::strstr(lxla_last_error_message(), wanted.c_str()) != nullptr);
  }
  reinterpret_cast<fault_forget_processes_fn *>(fault_function("fault_forget_processes"))();
}

// --- Ends of threads -----------------------------------------------------------------------------------------------

sem_t is_in;
int32_t exiting(const lxla_kernel_call *, void *user) {
  pthread_exit(user);
  return 0;
}
int32_t waiting(const lxla_kernel_call *, void *) {
  sem_post(&is_in);
  for (;;) pause();
  return 0;
}

// A thread that calls kernels, and what came of it.
struct Caller {
  lxla_device device;
  lxla_kernel_fn kernel;
  bool has_returned, was_unwound, could_call;
};

// Calls the library when the thread ends.
struct AtEnd {
  Caller *caller;
  ~AtEnd() {
    caller->was_unwound = true;
    const lxla_tensor t = full(CPU, 4);
    caller->could_call = value_of(t) == 4 && lxla_tensor_release(t) == LXLA_OK;
  }
};

char exit_value;
void *call_kernel(void *given) {
  Caller *caller = static_cast<Caller *>(given);
  const AtEnd at_end = {caller};
  host_call(caller->device, caller->kernel, &exit_value);
  caller->has_returned = true;
  return nullptr;
}

// After a kernel ended its thread: other calls of kernels and steps work.
void goes_on() {
  const auto copy = [](const lxla_kernel_call *call, void *) -> int32_t {
    std::memcpy(call->outputs[0].data, call->inputs[0].data, call->inputs[0].size_bytes);
    return 0;
  };
  for (const lxla_device device : {CPU, DEVICE}) OK(host_call(device, copy, nullptr));
}

TEST(a_kernel_that_exits_its_thread_ends_that_of_the_caller) {
  Caller caller = {CPU, exiting, false, false, false};
  pthread_t thread;
  void *value = nullptr;
  CHECK(pthread_create(&thread, nullptr, call_kernel, &caller) == 0 && pthread_join(thread, &value) == 0);
  CHECK(value == &exit_value && caller.was_unwound && caller.could_call && !caller.has_returned);
  goes_on();
}

TEST(a_thread_that_is_cancelled_in_a_kernel_ends) {
  CHECK(sem_init(&is_in, 0, 0) == 0);
  Caller caller = {CPU, waiting, false, false, false};
  pthread_t thread;
  void *value = nullptr;
  CHECK(pthread_create(&thread, nullptr, call_kernel, &caller) == 0);
  CHECK(sem_wait(&is_in) == 0);
  CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &value) == 0);
  CHECK(value == PTHREAD_CANCELED && caller.was_unwound && caller.could_call && !caller.has_returned);
  goes_on();
}

// XLA makes some of the calls on the thread of the caller, which then ends, and others on its own, which must go on.
void *call_many(void *given) {
  Caller *caller = static_cast<Caller *>(given);
  const AtEnd at_end = {caller};
  const int32_t f32 = LXLA_DTYPE_F32;
  const int64_t dims[] = {1 << 16};
  const size_t rank = 1;
  Owned x, y[16];
  OK(lxla_tensor_full(NO_ENV, DEVICE, f32, dims, rank, 3, &x.tensor));
  for (Owned &one : y)
    OK(lxla_host_call(NO_ENV, exiting, &exit_value, nullptr, &x.tensor, 1, &f32, &rank, dims, 1, &one.tensor));
  const lxla_status status = lxla_mark_step(NO_ENV, DEVICE, 1);
  caller->has_returned = true;
  CHECK(status == LXLA_INTERNAL);
  const char *text = "it ended its thread (pthread_exit or pthread_cancel)";
  CHECK(std::strstr(lxla_last_error_message(), text) != nullptr);
  return nullptr;
}

TEST(a_kernel_on_a_device_that_exits_its_thread_fails_the_step) {
  for (int i = 0; i < 10; i++) {
    Caller caller = {DEVICE, exiting, false, false, false};
    pthread_t thread;
    void *value = nullptr;
    CHECK(pthread_create(&thread, nullptr, call_many, &caller) == 0 && pthread_join(thread, &value) == 0);
    CHECK(caller.was_unwound && caller.could_call && (value == &exit_value) == !caller.has_returned);
    goes_on();
  }
}

TEST(callbacks_that_exit_their_thread_end_it_after_the_call) {
  static float memory = 5;
  const auto run = [](void *given) -> void * {
    Caller *caller = static_cast<Caller *>(given);
    const AtEnd at_end = {caller};
    lxla_tensor t;
    OK(lxla_tensor_from_host_borrowed(
        NO_ENV, CPU, LXLA_DTYPE_F32, nullptr, 0, &memory, sizeof memory, [](void *user) { pthread_exit(user); },
        &exit_value, &t));
    OK(lxla_tensor_release(t));
    caller->has_returned = true;
    return nullptr;
  };
  Caller caller = {CPU, nullptr, false, false, false};
  pthread_t thread;
  void *value = nullptr;
  CHECK(pthread_create(&thread, nullptr, run, &caller) == 0 && pthread_join(thread, &value) == 0);
  CHECK(value == &exit_value && caller.was_unwound && caller.could_call && !caller.has_returned);
  goes_on();
}

}  // namespace
