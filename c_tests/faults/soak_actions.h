// Actions of the threads in soak_threads.c. Every value is known at any time: element i of a tensor is slope * i +
// start, modulo 2^32; additions and multiplications update slope and start.
#ifndef LXLA_SOAK_ACTIONS_H
#define LXLA_SOAK_ACTIONS_H

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { N = 1 << 13, OWN = 4, KEPT = 4, SHARED = 4, SAVES = 2, BYTES = N * 4 };

typedef struct {
  uint32_t slope, start;
} line;

typedef struct {
  lxla_tensor tensor;
  line want;
} known;

// An asynchronous save whose result has not been checked yet: of a tensor of this thread and of a shared one.
typedef struct {
  lxla_save_ticket ticket;
  line want[2];
  char path[64];
} saving;

typedef struct {
  int number;
  uint64_t random;
  uint64_t held_random;  // a separate random stream, since the scheduler decides how often it is used
  uint64_t *stream;
  known own[OWN], kept[KEPT];
  known still;  // always has its buffer: reading and saving it needs no step
  saving saves[SAVES];
  char path[64];
  int32_t values[N];
  uint64_t actions;
  // Handshake of a hold: the main thread asks for calm, this thread confirms, and once the step is held, counts the
  // calls that it completes.
  atomic_bool calm_wanted, is_calm;
  atomic_uint records, reads, saved;
} worker;

static lxla_env env;
static uint64_t seed = 1;
static struct {
  pthread_mutex_t lock;
  known now;
} shared[SHARED];
// Counter to which every thread adds 1, in all elements, without a lock. A read must be between the number of additions
// completed before it began and the number of additions begun before it ended.
static lxla_tensor tally;
static atomic_uint tally_begun, tally_done;

static uint32_t choose(worker *w, uint32_t n) {
  *w->stream += 0x9E3779B97F4A7C15u;
  uint64_t z = *w->stream;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (uint32_t)((z ^ (z >> 31)) >> 33) % n;
}

static void check_line(worker *w, const char *what, line want, int from, int n) {
  for (int i = 0; i < n; i++) {
    uint32_t wanted = want.slope * (uint32_t)(from + i) + want.start;
    if ((uint32_t)w->values[i] != wanted)
      FAIL("seed %" PRIu64 ", thread %d, action %" PRIu64 ", %s: element %d is %d, want %d", seed, w->number,
           w->actions, what, i, w->values[i], (int32_t)wanted);
  }
}

static void check(worker *w, const char *what, known k) {
  OK(lxla_tensor_read(k.tensor, w->values, BYTES));
  check_line(w, what, k.want, 0, N);
}

static void release(known k) { OK(lxla_tensor_release(k.tensor)); }

static void check_and_release(worker *w, const char *what, known k) {
  check(w, what, k);
  release(k);
}

static line random_line(worker *w) { return (line){choose(w, 1000), choose(w, 1000000)}; }

static void fill(worker *w, line want) {
  for (uint32_t i = 0; i < N; i++) w->values[i] = (int32_t)(want.slope * i + want.start);
}

static known from_host(worker *w) {
  known k = {.want = random_line(w)};
  fill(w, k.want);
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_S32, DIMS(N), w->values, BYTES, &k.tensor));
  return k;
}

static known snapshot_of(known k) { return (known){snapshot(k.tensor), k.want}; }

static known shared_snapshot(worker *w) {
  int i = (int)choose(w, SHARED);
  CHECK(pthread_mutex_lock(&shared[i].lock) == 0);
  known k = snapshot_of(shared[i].now);
  CHECK(pthread_mutex_unlock(&shared[i].lock) == 0);
  return k;
}

static line plus(line a, line b) { return (line){a.slope + b.slope, a.start + b.start}; }
static line minus(line a, line b) { return (line){a.slope - b.slope, a.start - b.start}; }

// --- Recording: never waits for a step -------------------------------------------------------------------------------

static void change(worker *w, known *k) {
  int32_t by = (int32_t)choose(w, 100) - 50;
  switch (choose(w, 12)) {
    case 0:
      OK(lxla_binary_scalar_inplace(MUL, k->tensor, 3));
      k->want = (line){3 * k->want.slope, 3 * k->want.start};
      break;
    case 1:
      k->want = random_line(w);
      fill(w, k->want);
      OK(lxla_tensor_write(k->tensor, w->values, BYTES));
      break;
    case 2: {
      known other = w->own[choose(w, OWN)];
      if (by & 1) {
        OK(lxla_binary_inplace(SUB, k->tensor, other.tensor));
        k->want = minus(k->want, other.want);
      } else {
        OK(lxla_tensor_assign(k->tensor, other.tensor));
        k->want = other.want;
      }
      break;
    }
    default:  // the usual case, so that steps are often programs that are cached already
      OK(lxla_binary_scalar_inplace(ADD, k->tensor, by));
      k->want.start += (uint32_t)by;
  }
}

static void change_shared(worker *w) {
  int i = (int)choose(w, SHARED);
  CHECK(pthread_mutex_lock(&shared[i].lock) == 0);
  if (choose(w, 8) == 0) {  // takes another handle, so that one thread releases what another made
    release(shared[i].now);
    shared[i].now = snapshot_of(w->own[choose(w, OWN)]);
  }
  change(w, &shared[i].now);
  CHECK(pthread_mutex_unlock(&shared[i].lock) == 0);
}

static void add_to_tally(void) {
  atomic_fetch_add(&tally_begun, 1);
  OK(lxla_binary_scalar_inplace(ADD, tally, 1));
  atomic_fetch_add(&tally_done, 1);
}

// Replaces a tensor of this thread by another handle.
static void renew(worker *w, known *k) {
  known new_one = {0};
  switch (choose(w, 5)) {
    case 0: new_one = from_host(w); break;
    case 1:
      new_one.want = (line){1, 0};
      OK(lxla_iota(env, XLA(0), LXLA_DTYPE_S32, DIMS(N), 0, &new_one.tensor));
      break;
    case 2:
      new_one.want.start = choose(w, 1000);
      OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_S32, DIMS(N), new_one.want.start, &new_one.tensor));
      break;
    case 3: new_one = shared_snapshot(w); break;
    default: {
      known a = w->own[choose(w, OWN)], b = shared_snapshot(w);
      new_one = (known){binary(ADD, a.tensor, b.tensor), plus(a.want, b.want)};
      release(b);
    }
  }
  release(*k);
  *k = new_one;
}

static void record(worker *w) {
  known *k = &w->own[choose(w, OWN)];
  switch (choose(w, 16)) {
    case 0: renew(w, k); break;
    case 1: change_shared(w); break;
    case 2: add_to_tally(); break;
    case 3: {
      known s = shared_snapshot(w);
      OK(lxla_tensor_retain(k->tensor));
      OK(lxla_binary_inplace(ADD, k->tensor, s.tensor));
      k->want = plus(k->want, s.want);
      RELEASE(s.tensor, k->tensor);
      break;
    }
    case 4: {  // recorded, then released at once
      known old = snapshot_of(*k);
      change(w, k);
      release(old);
      break;
    }
    default: change(w, k);
  }
}

// --- Files and copies ------------------------------------------------------------------------------------------------

static const char *const names[] = {"own", "shared"};

static void check_file(worker *w, const char *path, const line *want, size_t n) {
  for (size_t i = 0; i < n; i++) {
    known loaded = {.want = want[i]};
    OK(lxla_load(env, XLA(0), path, names[i], &loaded.tensor));
    check_and_release(w, "loaded", loaded);
  }
}

static void start_save(saving *s, const known *list, size_t n) {
  for (size_t i = 0; i < n; i++) s->want[i] = list[i].want;
  lxla_tensor tensors[2] = {list[0].tensor, list[n - 1].tensor};
  OK(lxla_save_async(s->path, names, tensors, n, &s->ticket));
}

static void finish_save(worker *w, saving *s, size_t n) {
  OK(lxla_save_wait(s->ticket));
  int32_t done;
  uint64_t written, total;
  OK(lxla_save_done(s->ticket, &done));
  OK(lxla_save_progress(s->ticket, &written, &total));
  CHECK(done == 1 && written == total && total == n * BYTES);
  OK(lxla_save_ticket_release(s->ticket));
  s->ticket.id = 0;
  check_file(w, s->path, s->want, n);
}

static void save_async(worker *w) {
  saving *s = &w->saves[choose(w, SAVES)];
  if (s->ticket.id) {
    finish_save(w, s, 2);
    return;
  }
  known list[2] = {w->own[choose(w, OWN)], shared_snapshot(w)};
  start_save(s, list, 2);
  if (choose(w, 4) == 0) {  // releases the ticket of a save that is still writing, and nobody waits for
    OK(lxla_save_ticket_release(s->ticket));
    start_save(s, list, 2);
  }
  release(list[1]);
}

static void save(worker *w) {
  known list[2] = {w->own[choose(w, OWN)], shared_snapshot(w)};
  OK(lxla_save(w->path, names, (lxla_tensor[]){list[0].tensor, list[1].tensor}, 2));
  check_file(w, w->path, (line[]){list[0].want, list[1].want}, 2);
  release(list[1]);
}

static known to_device(known k, int ordinal) {
  known copy = {.want = k.want};
  OK(lxla_tensor_to_device(k.tensor, XLA(ordinal), &copy.tensor));
  return copy;
}

// Copies a tensor to the other device, changes it there, and copies it back.
static void travel(worker *w) {
  known *k = &w->own[choose(w, OWN)], there = to_device(*k, 1);
  OK(lxla_binary_scalar_inplace(ADD, there.tensor, 1));
  there.want.start++;
  known back = to_device(there, 0);
  check_and_release(w, "on xla:1", there);
  release(*k);
  *k = back;
}

// --- Reading ---------------------------------------------------------------------------------------------------------

static void read_tally(worker *w) {
  unsigned done = atomic_load(&tally_done);
  static _Thread_local float values[N];
  OK(lxla_tensor_read(tally, values, BYTES));
  unsigned begun = atomic_load(&tally_begun);
  for (int i = 0; i < N; i++)
    if (values[i] != values[0] || values[i] < (float)done || values[i] > (float)begun)
      FAIL("seed %" PRIu64 ", thread %d: element %d of the tally is %g, the first %g; want one number from %u to %u",
           seed, w->number, i, values[i], values[0], done, begun);
}

static void read_derived(worker *w) {
  known k = choose(w, 2) ? snapshot_of(w->own[choose(w, OWN)]) : shared_snapshot(w), derived = {.want = k.want};
  if (choose(w, 2)) {
    int from = (int)choose(w, N / 2);
    OK(lxla_slice(k.tensor, (int64_t[]){from}, (int64_t[]){from + N / 2}, NULL, 1, &derived.tensor));
    OK(lxla_tensor_read(derived.tensor, w->values, BYTES / 2));
    check_line(w, "slice", k.want, from, N / 2);
  } else {
    OK(lxla_reduce(LXLA_REDUCE_SUM, k.tensor, (int64_t[]){0}, 1, 0, &derived.tensor));
    OK(lxla_tensor_read(derived.tensor, w->values, sizeof *w->values));
    check_line(w, "sum", (line){0, k.want.slope * (N / 2 * (N - 1)) + k.want.start * N}, 0, 1);
  }
  release(derived);
  release(k);
}

static void act(worker *w) {
  w->actions++;
  known *k = &w->own[choose(w, OWN)], *kept = &w->kept[choose(w, KEPT)];
  switch (choose(w, 26)) {
    case 0:
    case 1:
    case 2:
    case 3: OK(lxla_mark_step(env, XLA(0), 0)); break;
    case 4: OK(lxla_mark_step(env, XLA(0), 1)); break;
    case 5: OK(lxla_mark_step(env, (lxla_device){LXLA_DEVICE_UNSPECIFIED, 0}, 0)); break;
    case 6: OK(lxla_wait(env, XLA(0))); break;
    case 7: OK(lxla_sync((lxla_tensor[]){k->tensor, kept->tensor}, 2)); break;
    case 8:
    case 9:
    case 10: check(w, "own", *k); break;
    case 11: check_and_release(w, "shared", shared_snapshot(w)); break;
    case 12:
      check_and_release(w, "kept", *kept);
      *kept = snapshot_of(*k);
      break;
    case 13: read_tally(w); break;
    case 14: read_derived(w); break;
    case 15: travel(w); break;
    case 16: save(w); break;
    case 17:
    case 18: save_async(w); break;
    case 19:
    case 20: OK(lxla_step_tensors((lxla_tensor[]){k->tensor, kept->tensor}, 2, choose(w, 2))); break;
    default: record(w);
  }
}

#endif
