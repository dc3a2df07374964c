// Shared by the files of liblazyxla_mpi: the processes of an environment, and one collective among them.
#ifndef LAZYXLA_MPI_GROUP_H
#define LAZYXLA_MPI_GROUP_H

#pragma GCC visibility push(default)
#include "lazyxla_mpi.h"
#pragma GCC visibility pop

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

// Kinds of kernels.
enum { ALLREDUCE, GATHER, SUM_SCATTER, BROADCAST, SUM_TO_ROOT, SEND_RECEIVE, KINDS };

// A collective. Arguments that its kind does not have are 0.
typedef struct {
  int32_t kind;
  int32_t reduce;    // ALLREDUCE: LXLA_REDUCE_*
  int32_t root;      // BROADCAST, SUM_TO_ROOT
  int32_t to, from;  // SEND_RECEIVE: -1 for none
  int32_t order;     // of the derivatives that its computation has: less in those of a derivative
} collective;

// How the processes of a host find each other.
typedef struct {
  uint64_t host;  // equal for processes that see each other's process ids
  int64_t pid, started;
  char name[64];
} process;

enum { MOST_TEXT = 512, MOST_COMPUTATIONS = 512 };

struct group;
// The user pointer of the kernel of one kind.
typedef struct {
  struct group *group;
  int32_t kind;
} kernel_user;

// The attributes of a kernel's call, for printf and scanf: the rank of x without batches, then the fields from
// `reduce`.
#define COLLECTIVE_JSON "{\"rank\": %d, \"reduce\": %d, \"root\": %d, \"to\": %d, \"from\": %d, \"order\": %d}"

// A computation that applies a collective, with its derivatives up to `order`.
typedef struct {
  collective what;
  int32_t dtype;
  size_t rank;
  int64_t dims[64];
  lxla_computation computation;
} known_computation;

// The processes that run collectives in one environment.
typedef struct group {
  lxla_env env;
  MPI_Comm data, notices;
  int32_t rank, size;
  double timeout;
  process self, *processes;  // `self`: sent from here when the group starts
  kernel_user users[KINDS];
  atomic_int references;  // the list of groups, and each kernel
  // Held by the kernel that runs; guards the fields up to `buffer_size`.
  pthread_mutex_t turn;
  _Atomic int64_t calls;  // collectives that this process has joined; recording reads it without `turn`
  int32_t broken;         // status of the failure after which nothing runs any more; 0: none
  char why[MOST_TEXT];
  int32_t left;  // a process that is in its exit handlers, or -1
  char *notice;  // received into
  MPI_Request receiving;
  char *buffer;
  size_t buffer_size;
  // Guards what follows.
  pthread_mutex_t recording;
  known_computation *computations;
  size_t n_computations;
  // The number of the last recorded collective since one ran, and how many had run then. Equal steps have equal
  // numbers.
  int32_t site;
  int64_t calls_at_site;
  struct group *next;
} group;

// One call of a kernel that runs, and where its message goes.
typedef struct {
  group *group;
  const char *name;
  char *error;
  size_t error_size;
} running;

// --- collective.c: names and dtypes ---

const char *name_of(int32_t kind);
const char *name_of_reduce(int32_t reduce);
const char *name_of_dtype(int32_t dtype);
size_t size_of_dtype(int32_t dtype);

// --- start.c ---

// Returns the group of an environment, or NULL.
group *group_of(lxla_env env);
// Drops a reference; the last one frees the group.
void group_drop(group *g);
// Makes lxla_last_error_message() a message of this function. Returns `status`.
lxla_status refuse(const char *function, lxla_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Makes the message of a failed call of lazyxla.h one of this function, whose callers did not make that call, and,
// where `argument` is not NULL, of its argument. Returns `status`, LXLA_OK too.
lxla_status passed_on(const char *function, const char *argument, lxla_status status);

// --- exchange.c: MPI with timeouts. All MPI calls of the library are made under one lock. ---

void mpi_lock(void);
void mpi_unlock(void);
// Posts the receive of notices of failures.
void listen_for_notices(group *g);
// Tells the others that this process ends: those that wait for it give up.
void leave(group *g);
// Stops listening.
void stop_listening(group *g);
// Waits for requests. Returns 0, or the status of a failure: then the group is broken, and the requests stay pending.
int32_t wait_for(running *call, MPI_Request *requests, int n);
// Notes that a group of this process has failed: MPI_Finalize would wait for the others.
void give_up_mpi(void);
// Whether any group of this process has failed.
int group_was_broken(void);
// Compares the collective, and the number of its recording, with those of the other processes. The last `rank` axes of
// x are the collective's own, those before are batches.
int32_t agree(running *call, const collective *what, int32_t site, const lxla_buffer_view *x, int rank);
// Returns the broken group's status, with its message.
int32_t refuse_broken(running *call);
// Breaks the group because this process has no memory.
int32_t no_memory(running *call, size_t size);
// Breaks the group because of a code that MPI returned.
int32_t mpi_failed(running *call, int code);
// Returns memory of the group; NULL if there is none.
char *buffer_of(group *g, size_t size);
// Writes how this process finds itself.
void describe_self(process *self);

// --- kernels.c ---

int32_t run_collective(const lxla_kernel_call *call, void *user);
// Creates MPI's operations, once.
void make_operations(void);

// --- rules.c ---

// Records a collective, with derivatives up to its order. `site` is the number of the recording, an s32.
lxla_status apply_collective(group *g, const collective *what, lxla_tensor x, lxla_tensor site, lxla_tensor *out);
void forget_computations(group *g);

#endif
