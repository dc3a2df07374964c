// Makes each call of each plugin function, and each system call on the library's files, fail once, in each kind of
// work. Afterwards every value must be right or report its error, nothing may leak, and further work must succeed. F1
// to F3 and S5 (a full disk) of docs/behaviours.md.
#define _GNU_SOURCE
#define FOLDER "test_faults.folder"
#define LXLA_FAULT_FOLDER FOLDER
#include "fault.h"
#include "folder.h"

static const char PATH[] = FOLDER "/saved", PLANTED[] = "planted by the fault plugin";
static const lxla_device CPU = {LXLA_DEVICE_CPU, 0}, ALL = {LXLA_DEVICE_UNSPECIFIED, 0};

// --- What is tried, and with which fault ---------------------------------------------------------------------------

enum { MOST = 12, SAVED = 4 };

// State that a scenario works with. Tensor 0 is not used by the scenario.
typedef struct {
  lxla_env env;
  lxla_mesh mesh;  // of four devices, which split the rows of all tensors; 0: they are on `device`
  lxla_device device;
  int64_t rows, columns;  // of all its tensors
  lxla_tensor tensors[MOST];
  float wanted[MOST];
  int n;
  int saved;             // whether PATH holds the values of the first tensors after tensor 0,
  float in_file[SAVED];  // which were these
} world;

typedef struct {
  const char *name;
  void (*prepare)(world *);  // runs before anything fails
  void (*work)(world *);     // runs with the fault; may be repeated
  const char *refused;       // a function that fails throughout, so that the library takes another path
  int consumes;              // the first argument of its runs is a donor, which a failed run may have consumed
  int saves, caches;         // whether it saves to PATH; whether it caches in FOLDER
  int keeps_folder;          // keeps FOLDER from one run to the next
  int own_env, alone;        // each run has an environment of its own; `work` uses only what it makes itself
  int on_mesh;               // its tensors are split over four devices, and faults of one device are the third's
} scenario;

static struct {
  const scenario *scenario;
  const char *function;
  int nth, mode, look_first, calls_before, told, code;
} now;
static int defects;

static const char *const modes[] = {"", "fails", "fails later", "", "fails, having consumed an argument", "", "throws"};
static int is_lossy(void) { return now.mode == FAULT_LATER || now.mode == FAULT_CONSUME; }

__attribute__((format(printf, 1, 2))) static int wrong(const char *what, ...) {
  const char *function = now.function ? now.function : "no fault", *way = now.look_first ? ", looked at first" : "";
  printf("%s, %s %d %s%s: ", now.scenario->name, function, now.nth, modes[now.mode], way);
  va_list rest;
  va_start(rest, what);
  vprintf(what, rest);
  va_end(rest);
  printf("\n");
  return defects++, 0;
}

// Functions that can fail: those of the plugin, and system calls.
enum { MOST_FUNCTIONS = 64 };
static const char *functions[MOST_FUNCTIONS];
static int called[MOST_FUNCTIONS], fired[MOST_FUNCTIONS];

static void list_functions(void) {
  int n = 0;
  for (const char *name; (name = FAULT(name)(n));) functions[n++] = name;
  CHECK(n + SYSTEM_CALLS < MOST_FUNCTIONS);
  for (int i = 0; i < SYSTEM_CALLS; i++) functions[n++] = system_names[i];
}

static int calls(const char *function) {
  int call = system_call(function);
  return call < 0 ? FAULT(calls)(function) : on_disk[call].calls;
}

// Makes the nth call from now fail; 0: none. Without a named function, the calls until it is disarmed are recorded.
static void arm(int nth) {
  for (int i = 0; functions[i] && !now.function; i++) called[i] = calls(functions[i]) - (nth ? 0 : called[i]);
  if (!now.function) return;
  int call = system_call(now.function);
  now.calls_before = calls(now.function);
  const int of_plugin = now.mode == FAULT_THROW ? LXLA_INTERNAL : LXLA_ABORTED;
  if (nth) now.code = call < 0 ? of_plugin : LXLA_RESOURCE_EXHAUSTED;
  if (call < 0) FAULT(arm)(now.function, nth, now.mode, LXLA_ABORTED);
  else on_disk[call].armed = nth ? now.calls_before + nth : 0;
}

static int strictly(lxla_status status) {
  if (status == LXLA_OK) return 1;
  return wrong("%s: %s", lxla_status_name(status), lxla_last_error_message());
}

// Checks that a call succeeds, or fails with the planted error while one is armed.
static int tried(lxla_status status) {
  if (status == LXLA_OK || !now.function) return strictly(status);
  now.told++;
  const char *message = lxla_last_error_message();
  int consumed = now.mode == FAULT_CONSUME && status == LXLA_FAILED_PRECONDITION && strstr(message, "was consumed by");
  int planted = status == now.code && strstr(message, system_call(now.function) < 0 ? PLANTED : PATH);
  return consumed || planted ? 0 : strictly(status);
}

// --- Tensors, all of whose elements are equal ----------------------------------------------------------------------

static size_t size_of(const world *w) { return (size_t)(w->rows * w->columns); }

static lxla_status make(const world *w, const float *data, lxla_tensor *made) {
  const int64_t dims[] = {w->rows, w->columns};
  const size_t bytes = size_of(w) * sizeof *data;
  if (w->mesh.id) return lxla_tensor_from_host_sharded(w->mesh, LXLA_DTYPE_F32, dims, 2, data, bytes, "data,-", made);
  return lxla_tensor_from_host(w->env, w->device, LXLA_DTYPE_F32, dims, 2, data, bytes, made);
}

static lxla_status fill(world *w, float value, lxla_tensor *into, lxla_tensor *made) {
  size_t n = size_of(w);
  float *data = malloc(n * sizeof *data);
  for (size_t i = 0; i < n; i++) data[i] = value;
  lxla_status status = into ? lxla_tensor_write(*into, data, n * sizeof *data) : make(w, data, made);
  free(data);
  return status;
}

static lxla_tensor keep(world *w, lxla_tensor t, float wanted) {
  CHECK(w->n < MOST);
  w->tensors[w->n] = t;
  w->wanted[w->n++] = wanted;
  return t;
}

static lxla_tensor filled(world *w, float value) {
  lxla_tensor t = none;
  strictly(fill(w, value, NULL, &t));
  return keep(w, t, value);
}

static void in_place(world *w, int32_t op, int i, float by) {
  strictly(lxla_binary_scalar_inplace(op, w->tensors[i], by));
  w->wanted[i] = op == MUL ? w->wanted[i] * by : w->wanted[i] + by;
}

static void has(const world *w, lxla_tensor t, float wanted, int (*may)(lxla_status)) {
  size_t n = size_of(w);
  float *data = calloc(n, sizeof *data);
  if (may(lxla_tensor_read(t, data, n * sizeof *data)))
    for (size_t i = 0; i < n; i++)
      if (data[i] != wanted && !wrong("a value is %g, want %g", data[i], wanted)) break;
  free(data);
}

// --- The scenarios -------------------------------------------------------------------------------------------------

static void updates(world *w) {
  lxla_tensor a = filled(w, 1), b = filled(w, 2);
  keep(w, binary(ADD, a, b), 3);
  in_place(w, MUL, 1, 3);
  in_place(w, ADD, 2, 10);
}

static void step_on(world *w) { tried(lxla_mark_step(w->env, w->device, 1)); }

// Runs the same program three times, so that the scalar is known to vary and becomes a parameter.
static void varying(world *w) {
  static float scalar;
  filled(w, 0);
  for (int i = 0; i < 3; i++) {
    in_place(w, ADD, 1, ++scalar);
    if (i < 2) strictly(lxla_mark_step(w->env, w->device, 1));
  }
}

// Runs three programs: the first argument of each is the chain's value made by the program before.
static void long_chain(world *w) {
  OK(lxla_env_set_option(w->env, "max_program_ops", "4"));
  lxla_tensor x = filled(w, 1);
  for (int i = 0; i < 9; i++) {
    in_place(w, ADD, 1, 1);
    if (i == 1) keep(w, snapshot(x), 3);
  }
  keep(w, scalar(MUL, w->tensors[2], 3), 9);
}

static void pending(world *w) { keep(w, scalar(MUL, filled(w, 2), 3), 6); }

static void read_it(world *w) { has(w, w->tensors[2], 6, tried); }

static void to_other_device(world *w) {
  lxla_tensor made;
  if (tried(lxla_tensor_to_device(w->tensors[2], XLA(1), &made))) keep(w, made, 6);
}

static void native(world *w) {
  lxla_tensor t;
  OK(lxla_tensor_full(w->env, CPU, LXLA_DTYPE_F32, DIMS(w->rows, w->columns), 6, &t));
  keep(w, t, 6);
}

static void share(world *w, int i, lxla_device device) {
  lxla_tensor made;
  uint64_t shared = counter(w->env, "ZeroCopy");
  if (!tried(lxla_tensor_to_device(w->tensors[i], device, &made))) return;
  keep(w, made, 6);
  if (!now.function) EQUAL(counter(w->env, "ZeroCopy"), shared + 1);
}

static void lend(world *w) { share(w, 1, XLA(0)); }

static void borrow(world *w) { share(w, 2, CPU); }

static void transfer(world *w) {
  lxla_tensor made;
  if (tried(fill(w, 4, NULL, &made))) keep(w, made, 4);
}

static void ready(world *w) { filled(w, 1); }

static void write_over(world *w) {
  if (tried(fill(w, 5, &w->tensors[1], NULL))) w->wanted[1] = 5;
}

static void statistics(world *w) {
  char *json;
  FAULT(memory_is)((fault_memory){.bytes_in_use = 1, .peak_bytes_in_use = 2, .bytes_limit = 3});
  if (tried(lxla_device_memory_stats(w->env, XLA(0), &json))) lxla_string_free(json);
}

static const char *const NAMES[SAVED] = {"a", "b", "c", "d"};

static void half_pending(world *w) {
  for (int i = 0; i < SAVED; i++) filled(w, (float)i + 1);
  in_place(w, MUL, 3, 10);
  in_place(w, MUL, 4, 10);
}

static void save(world *w) {
  if (!tried(lxla_save(PATH, NAMES, w->tensors + 1, SAVED))) return;
  w->saved = 1;
  memcpy(w->in_file, w->wanted + 1, sizeof w->in_file);
}

static void save_and_go_on(world *w) {
  lxla_save_ticket ticket;
  if (!tried(lxla_save_async(PATH, NAMES, w->tensors + 1, SAVED, &ticket))) return;
  float of_the_call[SAVED];
  memcpy(of_the_call, w->wanted + 1, sizeof of_the_call);
  for (int i = 1; i <= SAVED; i++) in_place(w, ADD, i, 100);
  step_on(w);
  if (tried(lxla_save_wait(ticket))) {
    w->saved = 1;
    memcpy(w->in_file, of_the_call, sizeof of_the_call);
  }
  strictly(lxla_save_ticket_release(ticket));
}

static void make_file(world *w) {
  filled(w, 6);
  strictly(lxla_save(PATH, NAMES, w->tensors + 1, 1));
}

static void load(world *w) {
  lxla_tensor made;
  if (tried(lxla_load(w->env, XLA(0), PATH, NAMES[0], &made))) keep(w, made, 6);
}

static void open_env(lxla_env *env, int (*may)(lxla_status)) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.device_count = now.scenario->on_mesh ? 4 : 2;
  if (now.scenario->caches) options.cache_dir = FOLDER;
  may(lxla_env_create(&options, env));
}

// Returns an empty world with tensors of the same sizes on a device.
static world like(const world *w, lxla_env env) {
  return (world){.env = env, .device = XLA(0), .rows = w->rows, .columns = w->columns};
}

// Creates an environment, compiles in it, and releases it.
static void live(world *w) {
  world its = like(w, no_env);
  open_env(&its.env, tried);
  if (!its.env.id) return;
  lxla_tensor t;
  if (tried(fill(&its, 1, NULL, &t))) {
    strictly(lxla_binary_scalar_inplace(ADD, t, 1));
    step_on(&its);
    has(&its, t, 2, tried);
    RELEASE(t);
  }
  strictly(lxla_env_release(its.env));
}

// Fills the disk cache with executables of another environment.
static void compiled_before(world *w) {
  if (files(".exec") == 0) {
    world other = like(w, no_env);
    open_env(&other.env, strictly);
    filled(&other, 9);
    updates(&other);
    step(other.env);
    OK(lxla_tensor_release_many(other.tensors, (size_t)other.n));
    OK(lxla_env_release(other.env));
    EQUAL(files(".exec"), 1);
  }
  updates(w);
}

// --- One fault -----------------------------------------------------------------------------------------------------

static void file_has(const world *w, const char *name, float wanted) {
  lxla_tensor t;
  if (!strictly(lxla_load(w->env, XLA(0), PATH, name, &t))) return;
  has(w, t, wanted, strictly);
  RELEASE(t);
}

// Checks that the folder has the expected files, whole, and no temporary ones. With `look_first` the old file exists.
static void look_at_folder(const world *w) {
  int whole = now.scenario->saves ? w->saved || now.look_first : files("");
  if (files("") != whole || files("tmp") != 0) wrong("%d files are there, %d temporary", files(""), files("tmp"));
  if (!now.scenario->saves || !whole) return;
  for (int i = 0; i < SAVED; i++) file_has(w, NAMES[i], w->saved ? w->in_file[i] : 77);
}

static void look(const world *w) {
  for (int i = 0; i < w->n; i++) has(w, w->tensors[i], w->wanted[i], i > 0 && is_lossy() ? tried : strictly);
  look_at_folder(w);
}

static void old_file(const world *w) {
  world old = like(w, w->env);
  for (int i = 0; i < SAVED; i++) filled(&old, 77);
  strictly(lxla_save(PATH, NAMES, old.tensors, SAVED));
  OK(lxla_tensor_release_many(old.tensors, SAVED));
}

static void step_afresh(world *w) {
  w->columns = 1;
  filled(w, 1);
  in_place(w, ADD, w->n - 1, 1);
  uint64_t donated = counter(w->env, "DonatedBuffers");
  strictly(lxla_mark_step(w->env, w->device, 1));
  donated = counter(w->env, "DonatedBuffers") - donated;
  if (donated != 1) wrong("the next step donated %d buffers, want 1", (int)donated);
  has(w, w->tensors[w->n - 1], 2, strictly);
}

static int has_new_env(void) { return now.scenario->own_env || now.scenario->alone; }

// Returns whether the function is called only for programs that are not compiled yet.
static int compiles(void) {
  return !now.function || strcmp(now.function, "Client_Compile") == 0 || strstr(now.function, "GetExecutable") ||
         strncmp(now.function, "Executable_", strlen("Executable_")) == 0;
}

// Returns the number of columns: a new one where the run must compile, a large one where it must write in many calls.
static int64_t columns(void) {
  static int64_t next = 2;
  if (compiles() && !has_new_env()) return next++;
  return now.scenario->saves && now.function && strcmp(now.function, "write") == 0 ? 1 << 17 : 1;
}

// Runs the scenario with one fault; returns whether the armed call took place.
static int run_with_fault(lxla_env *env) {
  const scenario *s = now.scenario;
  int defects_before = defects, told_before = now.told;
  if (!s->keeps_folder) clear("");
  if (!env->id && !s->alone) open_env(env, strictly);
  world w = {.env = s->alone ? no_env : *env, .device = XLA(0), .rows = s->on_mesh ? 4 : 2, .columns = columns()};
  if (s->on_mesh) {
    OK(lxla_mesh_create(*env, (const char *[]){"data"}, (int64_t[]){4}, 1, NULL, &w.mesh));
    OK(lxla_mesh_device(w.mesh, &w.device));
  }
  if (s->saves && now.look_first) old_file(&w);
  if (!s->alone) filled(&w, 9);
  if (s->prepare) s->prepare(&w);
  if (s->refused) FAULT(refuse)(s->refused, LXLA_UNIMPLEMENTED);
  arm(now.nth);
  s->work(&w);
  int there = now.function && calls(now.function) >= now.calls_before + now.nth;
  arm(0);
  // Waits for work that was not waited for before.
  if (w.env.id) tried(lxla_wait(w.env, ALL));
  if (!is_lossy()) now.code = LXLA_OK;
  if (now.look_first) look(&w);
  if (!is_lossy()) s->work(&w);
  if (!env->id) open_env(env, strictly);
  w.env = *env;
  look(&w);
  if (is_lossy()) tried(lxla_wait(w.env, ALL));
  if (is_lossy() && there && now.told == told_before) wrong("nobody was told");
  if (s->refused) FAULT(refuse)(s->refused, LXLA_OK);
  now.code = LXLA_OK;
  step_afresh(&w);
  OK(lxla_tensor_release_many(w.tensors, (size_t)w.n));
  OK(lxla_mesh_release(w.mesh));
  if (counter(w.env, "LiveBytes") != 0) wrong("%d bytes are never freed", (int)counter(w.env, "LiveBytes"));
  if (s->own_env || defects > defects_before) {
    OK(lxla_env_release(*env));
    *env = no_env;
  }
  return there;
}

// --- All faults ----------------------------------------------------------------------------------------------------

static int scenarios, scenarios_run;

static int can(const char *function, int mode) {
  if (mode == FAULT_FAIL) return 1;
  // A value that waits for an event is not freed if the registration of its callback threw: see test_failure.c.
  if (mode == FAULT_THROW) return system_call(function) < 0 && strcmp(function, "Event_OnReady") != 0;
  int runs = strcmp(function, "LoadedExecutable_Execute") == 0;
  if (mode == FAULT_CONSUME) return runs && now.scenario->consumes;
  return mode == FAULT_LATER &&
         (runs || strcmp(function, "Client_BufferFromHostBuffer") == 0 ||
          strcmp(function, "Buffer_ToHostBuffer") == 0 || strcmp(function, "Buffer_CopyToDevice") == 0);
}

// Makes the first call of a function fail, then the second, and so on, as long as there is one.
static int each_call(int function, lxla_env *env) {
  int n = 0;
  for (now.nth = 1, now.function = functions[function];; now.nth++) {
    int there = 0;
    // New environments and compiles are slow, so the two ways alternate.
    int slow = has_new_env() || compiles();
    for (int way = 0; way < 2; way++)
      if (!slow || way == now.nth % 2) {
        now.look_first = way;
        there |= run_with_fault(env);
      }
    if (!there) return n;
    n++;
    fired[function]++;
    if (now.nth > 200) return wrong("there is no end of calls");
  }
}

static void go_through(const scenario *s) {
  alarm(120);  // a hang ends the test
  memset(&now, 0, sizeof now);
  now.scenario = s;
  clear("");
  list_functions();
  FAULT(device)(s->on_mesh ? 2 : 0);
  int alive = FAULT(alive)(), faults = 0;
  lxla_env env = no_env;
  now.mode = FAULT_FAIL;
  if (s->alone) faults += each_call(0, &env);  // calls made once in a process must be first
  now.function = NULL;
  now.nth = 1;
  run_with_fault(&env);
  for (int i = 0; functions[i]; i++)
    for (now.mode = FAULT_FAIL; now.mode <= FAULT_THROW; now.mode++)
      if (called[i] && can(functions[i], now.mode)) faults += each_call(i, &env);
  OK(lxla_env_release(env));
  now.function = NULL;
  now.mode = now.nth = now.look_first = 0;
  if (FAULT(alive)() != alive) wrong("%d things of the plugin are never freed", FAULT(alive)() - alive);
  printf("  %d faults, %d times told\n", faults, now.told);
  scenarios_run++;
  remove_folder();
  EQUAL(defects, 0);
  CHECK(now.told > 0);
}

#define SCENARIO(name_, ...)                                                      \
  __attribute__((constructor)) static void name_##_counted(void) { scenarios++; } \
  TEST(name_) { go_through(&(scenario){.name = #name_, __VA_ARGS__}); }

SCENARIO(an_environment_comes_and_goes, .work = live, .alone = 1)
SCENARIO(a_step_with_donation, .prepare = updates, .work = step_on, .consumes = 1)
SCENARIO(a_step_of_several_programs, .prepare = long_chain, .work = step_on, .consumes = 1)
SCENARIO(a_step_with_a_scalar_that_varies, .prepare = varying, .work = step_on, .consumes = 1)
SCENARIO(a_read_of_a_pending_tensor, .prepare = pending, .work = read_it)
SCENARIO(a_read_by_the_slower_way, .prepare = pending, .work = read_it,
         .refused = "Buffer_OpaqueDeviceMemoryDataPointer")
SCENARIO(a_transfer_from_the_host, .work = transfer)
SCENARIO(a_native_tensor_is_lent, .prepare = native, .work = lend)
SCENARIO(the_plugins_memory_is_borrowed, .prepare = pending, .work = borrow)
SCENARIO(a_tensor_is_written_over, .prepare = ready, .work = write_over)
SCENARIO(a_copy_to_another_device, .prepare = pending, .work = to_other_device)
SCENARIO(statistics_of_a_device, .work = statistics)
SCENARIO(a_save, .prepare = half_pending, .work = save, .saves = 1)
SCENARIO(a_save_by_the_slower_way, .prepare = half_pending, .work = save, .saves = 1,
         .refused = "Buffer_OpaqueDeviceMemoryDataPointer")
SCENARIO(a_save_in_the_background, .prepare = half_pending, .work = save_and_go_on, .saves = 1)
SCENARIO(a_load, .prepare = make_file, .work = load)
SCENARIO(a_cold_disk_cache, .prepare = updates, .work = step_on, .caches = 1, .own_env = 1)
SCENARIO(a_warm_disk_cache, .prepare = compiled_before, .work = step_on, .caches = 1, .own_env = 1, .keeps_folder = 1)
SCENARIO(a_step_on_a_mesh, .prepare = updates, .work = step_on, .consumes = 1, .on_mesh = 1)
SCENARIO(a_step_of_several_programs_on_a_mesh, .prepare = long_chain, .work = step_on, .consumes = 1, .on_mesh = 1)
SCENARIO(a_scalar_that_varies_on_a_mesh, .prepare = varying, .work = step_on, .consumes = 1, .on_mesh = 1)
SCENARIO(a_read_of_a_pending_tensor_on_a_mesh, .prepare = pending, .work = read_it, .on_mesh = 1)
SCENARIO(a_transfer_to_a_mesh, .work = transfer, .on_mesh = 1)
SCENARIO(a_tensor_on_a_mesh_is_written_over, .prepare = ready, .work = write_over, .on_mesh = 1)
SCENARIO(a_save_of_a_mesh, .prepare = half_pending, .work = save, .saves = 1, .on_mesh = 1)
SCENARIO(a_cold_disk_cache_of_a_mesh, .prepare = updates, .work = step_on, .caches = 1, .own_env = 1, .on_mesh = 1)

TEST(every_function_failed_somewhere) {
  if (scenarios_run < scenarios) return;  // some were left out by name
  for (int i = 0; functions[i]; i++)
    if (!fired[i]) FAIL("%s was never called", functions[i]);
}
