// Waiting for other processes: every wait polls, so that it can end when a process has died, has given up, or does not
// come. A process that gives up tells the others, which then give up too.
#include "group.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mpi = PTHREAD_MUTEX_INITIALIZER;
void mpi_lock(void) { pthread_mutex_lock(&mpi); }
void mpi_unlock(void) { pthread_mutex_unlock(&mpi); }

// Seconds between looks at the processes of this host, and for which a process that gives up waits for answers. After
// a process is seen dead, or has said that it ends, what it has sent may still arrive.
static const double LOOK_SECONDS = 0.1, ANSWER_SECONDS = 1, LATE_SECONDS = 0.5, LEFT_SECONDS = 3;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// --- Processes of this host ---

static uint64_t hashed(uint64_t hash, const char *text) {
  while (*text) hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;  // FNV-1a
  return hash;
}

// Returns the start time of a process, in ticks since boot; -1 if it has ended.
static int64_t start_of(int64_t pid) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  FILE *file = fopen(path, "r");
  if (!file) return -1;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  // Fields 3 and 22, after the name in parentheses.
  char *at = strrchr(text, ')');
  if (!at || !at[1] || at[2] == 'Z' || at[2] == 'X') return -1;
  at += 2;
  for (int field = 3; field < 22 && at; field++) at = strchr(at + 1, ' ');
  return at ? atoll(at) : -1;
}

void describe_self(process *self) {
  memset(self, 0, sizeof *self);
  char text[256] = "";
  FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (boot && !fgets(text, sizeof text, boot)) text[0] = 0;
  if (boot) fclose(boot);
  char space[64] = "";
  ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
  self->pid = getpid();
  self->started = start_of(self->pid);
  // Without /proc, every process is alone: nothing is known of the others.
  self->host = text[0] && length > 0 && self->started >= 0 ? hashed(hashed(0xcbf29ce484222325u, text), space) : 0;
  gethostname(self->name, sizeof self->name - 1);
}

// Returns a process of this host that has ended; -1 if none has.
static int ended(const group *g) {
  const process *self = &g->processes[g->rank];
  for (int i = 0; self->host && i < g->size; i++) {
    const process *other = &g->processes[i];
    if (i != g->rank && other->host == self->host && start_of(other->pid) != other->started) return i;
  }
  return -1;
}

// --- Notices of failures ---

typedef struct {
  int64_t call;
  int32_t status, from;
  char why[MOST_TEXT];
} notice;

void listen_for_notices(group *g) {
  if (!g->notice) g->notice = malloc(sizeof(notice));
  g->receiving = MPI_REQUEST_NULL;
  if (!g->notice) return;
  mpi_lock();
  MPI_Irecv(g->notice, sizeof(notice), MPI_BYTE, MPI_ANY_SOURCE, 0, g->notices, &g->receiving);
  mpi_unlock();
}

void stop_listening(group *g) {
  mpi_lock();
  if (g->receiving != MPI_REQUEST_NULL && MPI_Cancel(&g->receiving) == MPI_SUCCESS)
    MPI_Wait(&g->receiving, MPI_STATUS_IGNORE);
  mpi_unlock();
  free(g->notice);
  g->notice = NULL;
}

// Takes a notice that has arrived. Returns 0 if there is none.
static int received(group *g, notice *out) {
  int done = 0;
  mpi_lock();
  if (g->receiving != MPI_REQUEST_NULL && MPI_Test(&g->receiving, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) done = 0;
  mpi_unlock();
  if (!done) return 0;
  memcpy(out, g->notice, sizeof *out);
  out->why[MOST_TEXT - 1] = 0;
  listen_for_notices(g);
  return 1;
}

// Takes a notice of a failure that has arrived. Returns 0 if there is none. Notes processes that leave.
static int heard(group *g, notice *out) {
  while (received(g, out)) {
    if (out->status) return 1;
    g->left = out->from;
  }
  return 0;
}

// Tells all processes. The messages stay in memory: a process may never take its own.
static void tell(const group *g) {
  notice *sent = calloc(1, sizeof *sent);
  if (!sent) return;
  sent->call = g->calls, sent->status = g->broken, sent->from = g->rank;
  memcpy(sent->why, g->why, sizeof sent->why);
  mpi_lock();
  for (int i = 0; i < g->size; i++) {
    MPI_Request request;
    if (i != g->rank && MPI_Isend(sent, sizeof *sent, MPI_BYTE, i, 0, g->notices, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
  mpi_unlock();
}

void leave(group *g) {
  if (!g->broken) tell(g);
}

// --- Failures ---

int32_t refuse_broken(running *call) {
  snprintf(call->error, call->error_size, "%s", call->group->why);
  return call->group->broken;
}

// Appends to the reason.
__attribute__((format(printf, 2, 3))) static void because(group *g, const char *format, ...) {
  size_t length = strlen(g->why);
  va_list list;
  va_start(list, format);
  vsnprintf(g->why + length, sizeof g->why - length, format, list);
  va_end(list);
}

static atomic_int any_broken;
void give_up_mpi(void) { any_broken = 1; }
int group_was_broken(void) { return any_broken; }

// Breaks the group: nothing that is still on its way may arrive in memory that is used again.
static void break_group(group *g, int32_t status) {
  g->broken = status;
  give_up_mpi();
  g->buffer = NULL;
  g->buffer_size = 0;
}

int32_t no_memory(running *call, size_t size) {
  break_group(call->group, LXLA_RESOURCE_EXHAUSTED);
  because(call->group, "process %d has no memory for a buffer of %zu bytes", call->group->rank, size);
  tell(call->group);
  return refuse_broken(call);
}

int32_t mpi_failed(running *call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  mpi_lock();
  MPI_Error_string(code, text, &length);
  mpi_unlock();
  break_group(call->group, LXLA_UNAVAILABLE);
  because(call->group, "process %d: MPI: %s", call->group->rank, text);
  tell(call->group);
  return refuse_broken(call);
}

static int32_t gone(running *call, int which, const char *how) {
  group *g = call->group;
  const process *other = &g->processes[which];
  break_group(g, LXLA_UNAVAILABLE);
  because(g, "process %d (pid %lld on %s) %s, in collective %lld (%s) of process %d", which, (long long)other->pid,
          other->name, how, (long long)g->calls, call->name, g->rank);
  tell(g);
  return refuse_broken(call);
}

// Another process has given up for a reason that names a process.
static int32_t told(running *call, const notice *of) {
  group *g = call->group;
  break_group(g, of->status);
  because(g, "%s; told by process %d", of->why, of->from);
  return refuse_broken(call);
}

// Nobody is known to be dead, but some process does not come: those that wait answer each other.
static int32_t timed_out(running *call, const notice *first) {
  group *g = call->group;
  char *is_here = calloc((size_t)g->size, 1);
  break_group(g, LXLA_DEADLINE_EXCEEDED);
  tell(g);
  if (first && is_here) is_here[first->from] = 1;
  int missing = g->size - 1 - (first != NULL);
  double until = now() + ANSWER_SECONDS;
  while (missing > 0 && now() < until) {
    notice other;
    if (!heard(g, &other)) {
      usleep(1000);
      continue;
    }
    if (other.why[0]) {
      free(is_here);
      return told(call, &other);
    }
    if (is_here && other.from >= 0 && other.from < g->size && !is_here[other.from]) is_here[other.from] = 1, missing--;
  }
  because(g, "%s, collective %lld of process %d: not all processes joined within %g seconds", call->name,
          (long long)g->calls, g->rank, g->timeout);
  if (missing > 0 && is_here) because(g, "; no answer from process");
  for (int i = 0; missing > 0 && is_here && i < g->size; i++)
    if (i != g->rank && !is_here[i])
      because(g, " %d (pid %lld on %s)", i, (long long)g->processes[i].pid, g->processes[i].name);
  free(is_here);
  return refuse_broken(call);
}

// --- Waiting ---

// Waits a moment, longer the longer nothing has come: other processes may need this processor. Not by sched_yield,
// after which a busy machine runs something else for milliseconds.
static void pause_for(int64_t rounds) {
  if (rounds > 500) usleep(rounds < 5000 ? 10 : 200);
}

int32_t wait_for(running *call, MPI_Request *requests, int n) {
  group *g = call->group;
  double start = now(), looked = start, seen = 0, left = 0;
  int dead = -1;
  for (int64_t rounds = 0;; rounds++) {
    int done = 0;
    mpi_lock();
    int code = MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
    mpi_unlock();
    if (code != MPI_SUCCESS) return mpi_failed(call, code);
    if (done) return 0;
    pause_for(rounds);
    if (rounds % 16 != 15) continue;
    double time = now();
    notice other;
    if (heard(g, &other)) return other.why[0] ? told(call, &other) : timed_out(call, &other);
    if (dead < 0 && time - looked > LOOK_SECONDS) dead = ended(g), looked = time, seen = time;
    if (dead >= 0 && time - seen > LATE_SECONDS) return gone(call, dead, "has ended");
    if (g->left >= 0 && left == 0) left = time;
    if (left > 0 && time - left > LEFT_SECONDS) return gone(call, g->left, "ends its program");
    if (g->timeout > 0 && time - start > g->timeout) return timed_out(call, NULL);
  }
}

char *buffer_of(group *g, size_t size) {
  if (g->buffer_size >= size && g->buffer) return g->buffer;
  char *grown = realloc(g->buffer, size ? size : 1);
  if (grown) g->buffer = grown, g->buffer_size = size;
  return grown;
}

// --- Agreement ---

// A process sends this header to the others before the data.
enum { SHOWN_DIMS = 8 };
typedef struct {  // without gaps: it is compared as bytes
  collective what;
  int32_t site, dtype;
  int64_t rank, batch_rank, elements, dims[SHOWN_DIMS];  // the axes before x's own are those of batches
  uint64_t hash;                                         // of all dims
} header;
_Static_assert(sizeof(header) == 128, "docs/mpi.md states the size; padding would be compared");

// FNV-1a of the dims, a step for each of their bytes.
static uint64_t hash_of_dims(const int64_t *dims, int32_t rank) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int32_t i = 0; i < rank; i++)
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((uint64_t)dims[i] >> shift & 255)) * 0x100000001b3u;
  return hash;
}

static void describe(char *text, size_t size, const header *of) {
  size_t at = 0;
#define ADD(...) \
  if (at < size) at += (size_t)snprintf(text + at, size - at, __VA_ARGS__)
  ADD("number %d, %s", of->site, name_of(of->what.kind));
  if (of->what.kind == ALLREDUCE) ADD(" %s", name_of_reduce(of->what.reduce));
  if (of->what.kind == BROADCAST || of->what.kind == SUM_TO_ROOT) ADD(" root %d", of->what.root);
  if (of->what.kind == SEND_RECEIVE) ADD(" to %d from %d", of->what.to, of->what.from);
  ADD(" of %s[", name_of_dtype(of->dtype));
  for (int i = 0; i < of->rank && i < SHOWN_DIMS; i++) ADD(i ? ",%lld" : "%lld", (long long)of->dims[i]);
  ADD(of->rank > SHOWN_DIMS ? ",...] (rank %lld, %lld elements, hash of dims %016llx)" : "]", (long long)of->rank,
      (long long)of->elements, (unsigned long long)of->hash);
  if (of->batch_rank > 0) ADD(" with %lld axes of batches", (long long)of->batch_rank);
#undef ADD
}

// Returns whether two headers may meet; targets and sources are compared apart.
static int fit(header a, header b) {
  a.what.to = b.what.to, a.what.from = b.what.from;
  return memcmp(&a, &b, sizeof a) == 0;
}

static int32_t refuse_header(running *call, const header *all, int other) {
  char own[240], others[240];
  describe(own, sizeof own, &all[0]);
  describe(others, sizeof others, &all[other]);
  snprintf(call->error, call->error_size, "the processes differ: process 0 has %s, process %d has %s", own, other,
           others);
  return LXLA_INVALID_ARGUMENT;
}

// Compares all headers. Every process finds the same.
static int32_t compare(running *call, const header *all, int size) {
  for (int i = 1; i < size; i++) {
    if (fit(all[0], all[i])) continue;
    int32_t status = refuse_header(call, all, i);
    // Collectives that do not depend on each other run in another order, and at once: no later one could be trusted.
    if (all[i].site != all[0].site || all[i].what.order != all[0].what.order) {
      snprintf(call->group->why, sizeof call->group->why, "%s", call->error);
      call->group->broken = status;
    }
    return status;
  }
  for (int i = 0; i < size && all[0].what.kind == SEND_RECEIVE; i++) {
    int to = all[i].what.to, from = all[i].what.from;
    if (to >= 0 && all[to].what.from != i) {
      snprintf(call->error, call->error_size, "process %d sends to process %d, which receives from process %d", i, to,
               all[to].what.from);
      return LXLA_INVALID_ARGUMENT;
    }
    if (from >= 0 && all[from].what.to != i) {
      snprintf(call->error, call->error_size, "process %d receives from process %d, which sends to process %d", i, from,
               all[from].what.to);
      return LXLA_INVALID_ARGUMENT;
    }
  }
  return 0;
}

int32_t agree(running *call, const collective *what, int32_t site, const lxla_buffer_view *x, int rank) {
  group *g = call->group;
  atomic_fetch_add(&g->calls, 1);
  notice early;
  if (heard(g, &early)) return early.why[0] ? told(call, &early) : timed_out(call, &early);
  size_t each = sizeof(header);
  header *all = (header *)buffer_of(g, each * (size_t)(g->size + 1));
  if (!all) return no_memory(call, each * (size_t)(g->size + 1));
  header *own = &all[g->size];
  memset(own, 0, each);
  own->what = *what, own->site = site, own->dtype = x->dtype, own->rank = x->rank, own->elements = 1;
  own->batch_rank = x->rank - rank, own->hash = hash_of_dims(x->dims, x->rank);
  for (int i = 0; i < x->rank; i++) {
    own->elements *= x->dims[i];
    if (i < SHOWN_DIMS) own->dims[i] = x->dims[i];
  }
  MPI_Request request;
  mpi_lock();
  int code = MPI_Iallgather(own, (int)each, MPI_BYTE, all, (int)each, MPI_BYTE, g->data, &request);
  mpi_unlock();
  if (code != MPI_SUCCESS) return mpi_failed(call, code);
  int32_t status = wait_for(call, &request, 1);
  return status ? status : compare(call, all, g->size);
}
