// The functions that record collectives.
#include "group.h"

#include <string.h>

enum { ORDERS = 3 };  // of derivatives

#define TRY(call) \
  if ((status = (call)) != LXLA_OK) goto failed

// The operand of a public function: its group and type. Axes are split into two, so that there is room for one more.
typedef struct {
  const char *function;
  group *g;
  int32_t dtype;
  size_t rank;
  int64_t dims[65];
} operand;

static lxla_status find_operand(const char *function, lxla_tensor x, const void *out, operand *of) {
  lxla_env env;
  of->function = function;
  lxla_status status = lxla_tensor_env(x, &env);
  if (status == LXLA_OK) status = lxla_tensor_info(x, &of->dtype, &of->rank, of->dims, 64);
  if (status != LXLA_OK) return passed_on(function, "x", status);
  if (!out) return refuse(function, LXLA_NULL_ARGUMENT, "out_tensor: it is NULL");
  of->g = group_of(env);
  if (of->g) return LXLA_OK;
  return refuse(function, LXLA_FAILED_PRECONDITION, "x: its environment has no processes; call lxla_mpi_start before");
}

// The number of a collective that is recorded now. The processes compare it when it runs: collectives of a backward
// pass that do not depend on each other might run in another order. It starts again at 0 after a program has run, so
// that equal steps are equal programs: collectives are not recorded while a step or sync with some of them runs.
static lxla_status site_of(group *g, lxla_tensor x, lxla_tensor *out) {
  lxla_device device;
  int64_t calls = atomic_load(&g->calls);
  g->site = calls == g->calls_at_site ? g->site + 1 : 0, g->calls_at_site = calls;
  lxla_status status = lxla_tensor_device(x, &device);
  lxla_scalar number = {.dtype = LXLA_DTYPE_S32};
  number.value.i = g->site;
  return status == LXLA_OK ? lxla_tensor_full_with_scalar(g->env, device, LXLA_DTYPE_S32, NULL, 0, &number, out)
                           : status;
}

// Records and drops the group.
static lxla_status recorded(const operand *of, collective what, lxla_tensor x, lxla_tensor *out) {
  lxla_tensor site = {0};
  group *g = of->g;
  what.order = ORDERS;
  pthread_mutex_lock(&g->recording);
  lxla_status status = site_of(g, x, &site);
  if (status == LXLA_OK) status = apply_collective(g, &what, x, site, out);
  pthread_mutex_unlock(&g->recording);
  lxla_tensor_release(site);
  group_drop(g);
  return passed_on(of->function, NULL, status);
}

// Refuses an argument of the operand's function, and drops the group.
#define REFUSE(of, ...) \
  return refuse((of).function, LXLA_INVALID_ARGUMENT, __VA_ARGS__), group_drop((of).g), LXLA_INVALID_ARGUMENT

// Records x in s64.
static lxla_status counted(lxla_tensor x, lxla_tensor *out) { return lxla_convert(x, LXLA_DTYPE_S64, out); }

lxla_status lxla_mpi_allreduce(lxla_tensor x, int32_t reduce, lxla_tensor *out_tensor) {
  operand of;
  lxla_status status = find_operand(__func__, x, out_tensor, &of);
  if (status != LXLA_OK) return status;
  int is_sum = reduce == LXLA_REDUCE_SUM || reduce == LXLA_REDUCE_PRODUCT;
  if (!is_sum && reduce != LXLA_REDUCE_MAX && reduce != LXLA_REDUCE_MIN)
    REFUSE(of, "reduce: %d given; want LXLA_REDUCE_SUM, PRODUCT, MAX or MIN", reduce);
  if (!is_sum && (of.dtype == LXLA_DTYPE_C64 || of.dtype == LXLA_DTYPE_C128))
    REFUSE(of, "x: %s has no order; want a real dtype for %s", name_of_dtype(of.dtype), name_of_reduce(reduce));
  collective what = {.kind = ALLREDUCE, .reduce = reduce};
  if (!is_sum || of.dtype != LXLA_DTYPE_PRED) return recorded(&of, what, x, out_tensor);
  lxla_tensor number;
  status = counted(x, &number);
  if (status != LXLA_OK) return group_drop(of.g), passed_on(of.function, NULL, status);
  status = recorded(&of, what, number, out_tensor);
  lxla_tensor_release(number);
  return status;
}

// Reads an axis; returns -1 if it is none of x.
static int64_t axis_of(int32_t axis, size_t rank) {
  int64_t at = axis < 0 ? axis + (int64_t)rank : axis;
  return at < (int64_t)rank ? at : -1;
}

lxla_status lxla_mpi_allgather(lxla_tensor x, int32_t axis, lxla_tensor *out_tensor) {
  operand of;
  int64_t perm[64];
  lxla_status status = find_operand(__func__, x, out_tensor, &of);
  if (status != LXLA_OK) return status;
  int64_t at = axis_of(axis, of.rank);
  if (at < 0) REFUSE(of, "axis: %d given for rank %zu; want -rank to rank - 1", axis, of.rank);
  if (of.rank > 63) REFUSE(of, "x: rank %zu given; want at most 63", of.rank);
  int32_t size = of.g->size;
  lxla_tensor made[2] = {{0}, {0}};
  collective what = {.kind = GATHER};
  TRY(recorded(&of, what, x, &made[0]));  // the processes are the first axis
  for (size_t i = 0; i <= of.rank; i++) perm[i] = (int64_t)i < at ? (int64_t)i + 1 : (int64_t)i == at ? 0 : (int64_t)i;
  TRY(lxla_transpose(made[0], perm, of.rank + 1, &made[1]));
  of.dims[at] *= size;
  TRY(lxla_reshape(made[1], of.dims, of.rank, out_tensor));
failed:
  passed_on(of.function, NULL, status);
  lxla_tensor_release_many(made, 2);
  return status;
}

lxla_status lxla_mpi_reduce_scatter(lxla_tensor x, int32_t axis, lxla_tensor *out_tensor) {
  operand of;
  int64_t perm[64];
  lxla_status status = find_operand(__func__, x, out_tensor, &of);
  if (status != LXLA_OK) return status;
  int64_t at = axis_of(axis, of.rank);
  if (at < 0) REFUSE(of, "axis: %d given for rank %zu; want -rank to rank - 1", axis, of.rank);
  if (of.rank > 63) REFUSE(of, "x: rank %zu given; want at most 63", of.rank);
  if (of.dims[at] % of.g->size)
    REFUSE(of, "axis: size %lld of axis %lld is not divisible by %d processes", (long long)of.dims[at], (long long)at,
           of.g->size);
  lxla_tensor made[3] = {{0}, {0}, {0}};
  collective what = {.kind = SUM_SCATTER};
  // The axis becomes two, of which the processes become the first axis.
  memmove(of.dims + at + 1, of.dims + at, (of.rank - (size_t)at) * sizeof *of.dims);
  of.dims[at] = of.g->size, of.dims[at + 1] /= of.g->size;
  for (size_t i = 0; i <= of.rank; i++) perm[i] = i == 0 ? at : (int64_t)i <= at ? (int64_t)i - 1 : (int64_t)i;
  status = of.dtype == LXLA_DTYPE_PRED ? counted(x, &made[0]) : lxla_tensor_snapshot(x, &made[0]);
  if (status == LXLA_OK) status = lxla_reshape(made[0], of.dims, of.rank + 1, &made[1]);
  if (status == LXLA_OK) status = lxla_transpose(made[1], perm, of.rank + 1, &made[2]);
  if (status == LXLA_OK) status = recorded(&of, what, made[2], out_tensor);
  else group_drop(of.g), passed_on(of.function, NULL, status);
  lxla_tensor_release_many(made, 3);
  return status;
}

lxla_status lxla_mpi_broadcast(lxla_tensor x, int32_t root, lxla_tensor *out_tensor) {
  operand of;
  lxla_status status = find_operand(__func__, x, out_tensor, &of);
  if (status != LXLA_OK) return status;
  if (root < 0 || root >= of.g->size) REFUSE(of, "root: %d given; want 0 to %d", root, of.g->size - 1);
  collective what = {.kind = BROADCAST, .root = root};
  return recorded(&of, what, x, out_tensor);
}

lxla_status lxla_mpi_send_receive(lxla_tensor x, int32_t to, int32_t from, lxla_tensor *out_tensor) {
  operand of;
  lxla_status status = find_operand(__func__, x, out_tensor, &of);
  if (status != LXLA_OK) return status;
  if (to < -1 || to >= of.g->size) REFUSE(of, "to: %d given; want -1 to %d", to, of.g->size - 1);
  if (from < -1 || from >= of.g->size) REFUSE(of, "from: %d given; want -1 to %d", from, of.g->size - 1);
  collective what = {.kind = SEND_RECEIVE, .to = to, .from = from};
  return recorded(&of, what, x, out_tensor);
}
