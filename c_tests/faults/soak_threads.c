// Soak test of H3 in docs/behaviours.md: soak_threads [SECONDS [SEED]]. Eight threads run the actions of soak_actions.h
// on one device. Now and then a step is held in compile, and most threads go on with calls that must not wait for it. A
// seed gives each thread the same choices again.
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Lets only one of several failing threads call exit.
static void exit_once(int code) {
  static atomic_flag leaving = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&leaving)) pause();
  exit(code);
}
#define exit exit_once
#define main tests_main  // renames the main of check.h; the main below takes other arguments, and calls it
#include "fault.h"
#undef main
#include "soak_actions.h"

enum { THREADS = 8 };
// Calls that a thread must complete while a step is held; more would only make the next program long.
enum { HELD_RECORDS = 10, HELD_READS = 8, HELD_SAVES = 1 };
enum { PATIENCE_SECONDS = 120, WARM_AFTER_SECONDS = 10 };
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__  // sanitizers keep memory of their own resident
enum { MOST_GROWTH_KB = 1 << 30 };
#else
enum { MOST_GROWTH_KB = 64 * 1024 };
#endif

static double duration = 60;
static atomic_bool stop, held;
static worker workers[THREADS];
static pthread_t threads[THREADS];

// Runs the calls that must not wait, while a step is held in compile.
static void act_calmly(worker *w) {
  if (!held) {
    usleep(200);
  } else if (w->records < HELD_RECORDS) {
    record(w);
    w->records++;
  } else if (w->reads < HELD_READS) {
    if (choose(w, 2)) {
      release(w->still);
      w->still = from_host(w);
    }
    check(w, "ready", w->still);
    check_and_release(w, "ready, on xla:1", to_device(w->still, 1));
    w->reads++;
  } else if (w->saved < HELD_SAVES) {
    saving s;
    snprintf(s.path, sizeof s.path, "%s", w->path);
    start_save(&s, &w->still, 1);
    finish_save(w, &s, 1);
    OK(lxla_save(w->path, names, &w->still.tensor, 1));
    check_file(w, w->path, &w->still.want, 1);
    w->saved++;
  } else {
    usleep(200);
  }
}

static void be_calm(worker *w) {
  // The step that will be held includes everything that this thread has pending.
  for (int i = 0; i < OWN; i++) {
    OK(lxla_binary_scalar_inplace(ADD, w->own[i].tensor, 1));
    w->own[i].want.start++;
  }
  w->records = w->reads = w->saved = 0;
  w->stream = &w->held_random;
  w->is_calm = true;
  while (w->calm_wanted) act_calmly(w);
  w->is_calm = false;
  w->stream = &w->random;
  for (int i = 0; i < OWN; i++) check(w, "own, recorded during a hold", w->own[i]);
}

static void *work(void *argument) {
  worker *w = argument;
  for (int i = 0; i < OWN; i++) w->own[i] = from_host(w);
  for (int i = 0; i < KEPT; i++) w->kept[i] = snapshot_of(w->own[i % OWN]);
  w->still = from_host(w);
  while (!stop)
    if (w->calm_wanted) be_calm(w);
    else act(w);
  for (int i = 0; i < SAVES; i++) {
    if (w->saves[i].ticket.id) finish_save(w, &w->saves[i], 2);
    remove(w->saves[i].path);
  }
  remove(w->path);
  for (int i = 0; i < OWN; i++) check_and_release(w, "own, at the end", w->own[i]);
  for (int i = 0; i < KEPT; i++) check_and_release(w, "kept, at the end", w->kept[i]);
  check_and_release(w, "ready, at the end", w->still);
  return NULL;
}

static void *step_once(void *unused) {
  OK(lxla_mark_step(env, XLA(0), 1));
  return unused;
}

// --- The main thread -------------------------------------------------------------------------------------------------

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wait_until(const char *what, bool (*is_so)(const worker *), const worker *w) {
  for (double start = seconds(); !is_so(w); usleep(500))
    if (seconds() - start > PATIENCE_SECONDS) {
      FAULT(let_go)();
      FAIL("seed %" PRIu64 ", thread %d, action %" PRIu64
           ": waited in vain until it %s; it has %u records, %u reads, %u saves",
           seed, w->number, w->actions, what, w->records, w->reads, w->saved);
    }
}

static bool is_calm(const worker *w) { return w->is_calm; }
static bool is_itself(const worker *w) { return !w->is_calm; }
static bool has_done_its_share(const worker *w) {
  return w->records == HELD_RECORDS && w->reads == HELD_READS && w->saved == HELD_SAVES;
}

// Holds a step in compile until most threads have recorded, read and saved. One or two threads run any action, and may
// wait for it.
static void hold_a_step(int number) {
  for (int i = 0; i < THREADS; i++) {
    wait_until("has left the hold before", is_itself, &workers[i]);
    workers[i].calm_wanted = true;
  }
  for (int i = 0; i < THREADS; i++) wait_until("has come to rest", is_calm, &workers[i]);
  lxla_tensor ones, news;  // of a shape of its own, so that the step is a new program
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(number + 1), 1, &ones));
  news = scalar(ADD, ones, number);
  FAULT(arm)("Client_Compile", 1, FAULT_HOLD, 0);
  pthread_t stepper;
  CHECK(pthread_create(&stepper, NULL, step_once, NULL) == 0);
  while (FAULT(held)() == 0) usleep(200);
  workers[number % THREADS].calm_wanted = workers[number * 3 % THREADS].calm_wanted = false;
  held = true;
  for (int i = 0; i < THREADS; i++)
    if (workers[i].calm_wanted)
      wait_until("has recorded, read and saved beside a held step", has_done_its_share, &workers[i]);
  CHECK(FAULT(held)() == 1);
  held = false;
  FAULT(let_go)();
  for (int i = 0; i < THREADS; i++) workers[i].calm_wanted = false;
  CHECK(pthread_join(stepper, NULL) == 0);
  RELEASE(ones, news);
}

// Returns resident memory without the allocator's cached blocks, which are the largest part and vary.
static long resident_kb(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  char text[128];
  long kb = 0;
  FILE *file = fopen("/proc/self/status", "r");
  CHECK(file);
  while (fgets(text, sizeof text, file))
    if (sscanf(text, "VmRSS: %ld", &kb) == 1) break;
  fclose(file);
  return kb;
}

static void start_everything(void) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.device_count = 2;
  options.cache_capacity = 64;  // most steps are new programs, which evict others while those run
  OK(lxla_env_create(&options, &env));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(N), 0, &tally));
  for (int i = 0; i < SHARED; i++) {
    CHECK(pthread_mutex_init(&shared[i].lock, NULL) == 0);
    shared[i].now.want.start = (uint32_t)i;
    OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_S32, DIMS(N), i, &shared[i].now.tensor));
  }
  for (int i = 0; i < THREADS; i++) {
    worker *w = &workers[i];
    w->number = i;
    w->random = seed * THREADS + (uint64_t)i;
    w->held_random = ~w->random;
    w->stream = &w->random;
    snprintf(w->path, sizeof w->path, "soak_threads.%d.%d", (int)getpid(), i);
    for (int k = 0; k < SAVES; k++)
      snprintf(w->saves[k].path, sizeof w->saves[k].path, "soak_threads.%d.%d.%d", (int)getpid(), i, k);
    CHECK(pthread_create(&threads[i], NULL, work, w) == 0);
  }
}

static void end_everything(void) {
  stop = true;
  uint64_t actions = 0;
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    actions += workers[i].actions;
  }
  worker *w = &workers[0];
  for (int i = 0; i < SHARED; i++) check_and_release(w, "shared, at the end", shared[i].now);
  EQUAL(tally_begun, tally_done);
  read_tally(w);
  RELEASE(tally);
  OK(lxla_wait(env, (lxla_device){0, 0}));
  printf("%" PRIu64 " actions", actions);
  const char *const told[] = {"MarkStep", "ExecuteComputation", "UncachedCompile", "CachedCompile", "DonatedBuffers"};
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) printf(", %s %" PRIu64, told[i], counter(env, told[i]));
  printf("\n");
  EQUAL(counter(env, "CreateTensor"), counter(env, "DestroyTensor"));
  EQUAL(counter(env, "LiveBytes"), 0);
}

TEST(h3_eight_threads) {
  printf("seed %" PRIu64 ", %g seconds\n", seed, duration);
  fflush(stdout);
  start_everything();
  double start = seconds();
  long warm = 0;
  int holds = 0;
  while (seconds() - start < duration) {
    usleep(1000000);
    hold_a_step(holds++);
    if (!warm && seconds() - start > WARM_AFTER_SECONDS) warm = resident_kb();
  }
  end_everything();
  long after = resident_kb();
  printf("%d steps held in compile; resident %ld kB when warm, %ld kB at the end\n", holds, warm, after);
  if (warm && after - warm > MOST_GROWTH_KB)
    FAIL("seed %" PRIu64 ": resident memory grew by %ld kB", seed, after - warm);
  OK(lxla_env_release(env));
}

int main(int argc, char **argv) {
  if (argc > 1) duration = atof(argv[1]);
  if (argc > 2) seed = strtoull(argv[2], NULL, 10);
  return tests_main(1, argv);
}
