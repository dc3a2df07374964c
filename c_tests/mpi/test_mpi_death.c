// A process is killed, does not come, or ends; the others report it: HOW=killed|late|ended|unstarted
// test_mpi_death. Each of them prints a line "saw it" if its step fails as it should, and its values are as before.
#include "processes.h"

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

static lxla_tensor weight;

// Records weight = weight + the sum of all. Returns the status of the step.
static lxla_status step_of_all(void) {
  lxla_tensor y = sum_of_all(weight);
  OK(lxla_binary_inplace(ADD, weight, y));
  RELEASE(y);
  return lxla_mark_step(env, device, 1);
}

// Checks that the last call failed, and says why in these words.
static void check_failure(lxla_status status, lxla_status wanted, const char *words) {
  char of_last[32];
  snprintf(of_last, sizeof of_last, "process %d (pid ", size - 1);
  char message[1024];
  snprintf(message, sizeof message, "%s", lxla_last_error_message());
  if (status != wanted || !strstr(message, words) || !strstr(message, of_last))
    FAIL("%s: %s; want %s, \"%s\" and \"%s\"", lxla_status_name(status), message, lxla_status_name(wanted), words,
         of_last);
  // Later collectives fail at once with the same reason, on cpu too, and other operations go on.
  lxla_tensor x, y, doubled;
  OK(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_CPU, 0}, F32, NULL, 0, 3, &x));
  REFUSED(lxla_mpi_allreduce(x, LXLA_REDUCE_SUM, &y), wanted, of_last);
  OK(lxla_binary_scalar(MUL, x, 2, &doubled));
  HAS_F32(doubled, SCALAR, 6);
  printf("process %d saw it: %s\n", rank, message);
}

static void part(const char *how) {
  int is_last = rank == size - 1;
  if (!is_last) {
    if (!strcmp(how, "killed")) check_failure(step_of_all(), LXLA_UNAVAILABLE, "has ended");
    else if (!strcmp(how, "ended")) check_failure(step_of_all(), LXLA_UNAVAILABLE, "ends its program");
    else check_failure(step_of_all(), LXLA_DEADLINE_EXCEEDED, "not all processes joined within 2 seconds");
    return;
  }
  if (!strcmp(how, "killed")) {
    usleep(300000);  // the others wait
    raise(SIGKILL);
  }
  if (!strcmp(how, "ended")) exit(0);
  usleep(5000000);
  lxla_status status = step_of_all();
  CHECK(status == LXLA_DEADLINE_EXCEEDED);
  printf("process %d saw it: %s\n", rank, lxla_last_error_message());
}

// The last process initialises MPI only. The others leave by exit, which must not wait for it.
static void unstarted(lxla_mpi_options *options) {
  options->timeout_seconds = 1;
  if (atoi(getenv("OMPI_COMM_WORLD_RANK")) + 1 == atoi(getenv("OMPI_COMM_WORLD_SIZE"))) {
    int level;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    usleep(4000000);
    _exit(0);
  }
  REFUSED(lxla_mpi_start(env, options), LXLA_DEADLINE_EXCEEDED, "not all processes called it within 1 seconds");
  REFUSED(lxla_mpi_start(env, options), LXLA_FAILED_PRECONDITION, "has failed in this process");
  REFUSED(lxla_mpi_rank(env, &rank, &size), LXLA_FAILED_PRECONDITION, "it was not started");
  HAS_F32(F32S(SCALAR, 1), SCALAR, 1);
  OK(lxla_env_release(env));
  REFUSED(lxla_env_release(env), LXLA_INVALID_HANDLE, "env");  // no reference is left
  printf("a process leaves after a start of its own\n");
  exit(0);
}

static const char *how = "late";
TEST(a_process_that_is_missing) {
  env = new_env(), device = XLA(0);
  lxla_mpi_options options = {.struct_size = sizeof options};
  OK(lxla_mpi_options_init(&options));
  if (getenv("HOW")) how = getenv("HOW");
  if (!strcmp(how, "unstarted")) unstarted(&options);
  options.timeout_seconds = strcmp(how, "late") ? 60 : 2;
  OK(lxla_mpi_start(env, &options));
  OK(lxla_mpi_rank(env, &rank, &size));
  weight = F32S(SCALAR, 1);
  for (int i = 0; i < 2; i++) OK(step_of_all());
  part(how);
  fflush(stdout);
  _exit(0);
}
