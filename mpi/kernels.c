// The collectives as kernels. Data travels in chunks through a buffer of the group, not in the program's own memory: if
// a wait fails, MPI may still write to it later.
#include "group.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Bytes of a chunk, times the number of processes where they are gathered or scattered.
enum { CHUNK_BYTES = 4 << 20, LEAST_CHUNK_BYTES = 64 << 10 };

// --- MPI's operations and types ---

// NaN if one is; of zeros, the positive one is the larger: the result has equal bits in all processes, in whatever
// order MPI combines them.
#define EXTREMUM(name, type, is_better)                                        \
  static void name(void *in, void *inout, int *length, MPI_Datatype *unused) { \
    (void)unused;                                                              \
    for (int i = 0; i < *length; i++) {                                        \
      type a = ((const type *)in)[i], *to = (type *)inout + i, b = *to;        \
      if (isnan(a) || isnan(b)) *to = (type)NAN;                               \
      else if (is_better) *to = a;                                             \
    }                                                                          \
  }
EXTREMUM(max_f32, float, a > b || (a == b && signbit(b)))
EXTREMUM(min_f32, float, a < b || (a == b && signbit(a)))
EXTREMUM(max_f64, double, a > b || (a == b && signbit(b)))
EXTREMUM(min_f64, double, a < b || (a == b && signbit(a)))

static MPI_Op extremum[2][2];  // [is f64][is max]

void make_operations(void) {
  static int are_made;
  mpi_lock();
  if (!are_made) {
    MPI_Op_create(min_f32, 1, &extremum[0][0]);
    MPI_Op_create(max_f32, 1, &extremum[0][1]);
    MPI_Op_create(min_f64, 1, &extremum[1][0]);
    MPI_Op_create(max_f64, 1, &extremum[1][1]);
    are_made = 1;
  }
  mpi_unlock();
}

// Sums of signed integers are those of unsigned ones, whose overflow is defined.
static MPI_Datatype type_of(int32_t dtype, int32_t reduce) {
  int wraps = reduce == LXLA_REDUCE_SUM || reduce == LXLA_REDUCE_PRODUCT;
  switch (dtype) {
    case LXLA_DTYPE_S8: return wraps ? MPI_UINT8_T : MPI_INT8_T;
    case LXLA_DTYPE_S16: return wraps ? MPI_UINT16_T : MPI_INT16_T;
    case LXLA_DTYPE_S32: return wraps ? MPI_UINT32_T : MPI_INT32_T;
    case LXLA_DTYPE_S64: return wraps ? MPI_UINT64_T : MPI_INT64_T;
    case LXLA_DTYPE_PRED:
    case LXLA_DTYPE_U8: return MPI_UINT8_T;
    case LXLA_DTYPE_U16: return MPI_UINT16_T;
    case LXLA_DTYPE_U32: return MPI_UINT32_T;
    case LXLA_DTYPE_U64: return MPI_UINT64_T;
    case LXLA_DTYPE_F32: return MPI_FLOAT;
    case LXLA_DTYPE_F64: return MPI_DOUBLE;
    case LXLA_DTYPE_C64: return MPI_C_FLOAT_COMPLEX;
    case LXLA_DTYPE_C128: return MPI_C_DOUBLE_COMPLEX;
    default: return MPI_DATATYPE_NULL;
  }
}

static MPI_Op operation_of(int32_t dtype, int32_t reduce) {
  int is_float = dtype == LXLA_DTYPE_F32 || dtype == LXLA_DTYPE_F64, is_max = reduce == LXLA_REDUCE_MAX;
  switch (reduce) {
    case LXLA_REDUCE_SUM: return MPI_SUM;
    case LXLA_REDUCE_PRODUCT: return MPI_PROD;
    default: return is_float ? extremum[dtype == LXLA_DTYPE_F64][is_max] : is_max ? MPI_MAX : MPI_MIN;
  }
}

// --- Chunks ---

// The arrays of a call, as `batches` times `each` elements; the side with a piece of every process is `processes` times
// as long in each batch.
typedef struct {
  const char *in;
  char *out;
  size_t element, batches, each, processes;
} arrays;

// Copies elements `first` to `first + count` (counted without the axis of processes) between an array with that axis,
// where this is the piece of process `p`, and contiguous memory.
static void copy_piece(const arrays *of, char *with_axis, char *packed, size_t p, size_t first, size_t count,
                       int is_packing) {
  while (count > 0) {
    size_t batch = first / of->each, at = first % of->each, run = of->each - at < count ? of->each - at : count;
    char *place = with_axis + ((batch * of->processes + p) * of->each + at) * of->element;
    size_t bytes = run * of->element;
    if (is_packing) memcpy(packed, place, bytes);
    else memcpy(place, packed, bytes);
    packed += bytes, first += run, count -= run;
  }
}

// Starts MPI's part for a chunk of `n` elements in the buffer. Returns MPI's code.
static int start_chunk(const group *g, const collective *what, int32_t dtype, char *buffer, int n, size_t bytes,
                       MPI_Request *requests, int *n_requests) {
  MPI_Datatype type = type_of(dtype, what->kind == ALLREDUCE ? what->reduce : LXLA_REDUCE_SUM);
  *n_requests = 1;
  switch (what->kind) {
    case ALLREDUCE:
      return MPI_Iallreduce(MPI_IN_PLACE, buffer, n, type, operation_of(dtype, what->reduce), g->data, requests);
    case GATHER:
      return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, (int)bytes, MPI_BYTE, g->data, requests);
    case SUM_SCATTER:
      return MPI_Ireduce_scatter_block(buffer, buffer + bytes * (size_t)g->size, n, type, MPI_SUM, g->data, requests);
    case BROADCAST: return MPI_Ibcast(buffer, (int)bytes, MPI_BYTE, what->root, g->data, requests);
    case SUM_TO_ROOT: {
      const void *sent = g->rank == what->root ? MPI_IN_PLACE : buffer;
      return MPI_Ireduce(sent, buffer, n, type, MPI_SUM, what->root, g->data, requests);
    }
    default: {
      *n_requests = 0;
      int code = MPI_SUCCESS;
      if (what->from >= 0)
        code = MPI_Irecv(buffer + bytes, (int)bytes, MPI_BYTE, what->from, 0, g->data, &requests[(*n_requests)++]);
      if (code == MPI_SUCCESS && what->to >= 0)
        code = MPI_Isend(buffer, (int)bytes, MPI_BYTE, what->to, 0, g->data, &requests[(*n_requests)++]);
      return code;
    }
  }
}

// Fills the buffer with what this process gives.
static void pack(const group *g, const collective *what, const arrays *of, char *buffer, size_t first, size_t n) {
  size_t bytes = n * of->element, size = (size_t)g->size, rank = (size_t)g->rank;
  const char *in = of->in + first * of->element;
  if (what->kind == GATHER) memcpy(buffer + rank * bytes, in, bytes);
  else if (what->kind == SUM_SCATTER)
    for (size_t p = 0; p < size; p++) copy_piece(of, (char *)of->in, buffer + p * bytes, p, first, n, 1);
  else memcpy(buffer, in, bytes);
}

// Writes the chunk of the result.
static void unpack(const group *g, const collective *what, const arrays *of, char *buffer, size_t first, size_t n) {
  size_t bytes = n * of->element, size = (size_t)g->size;
  char *out = of->out + first * of->element;
  int is_zero = (what->kind == SUM_TO_ROOT && g->rank != what->root) || (what->kind == SEND_RECEIVE && what->from < 0);
  if (what->kind == GATHER)
    for (size_t p = 0; p < size; p++) copy_piece(of, of->out, buffer + p * bytes, p, first, n, 0);
  else if (is_zero) memset(out, 0, bytes);
  else if (what->kind == SUM_SCATTER) memcpy(out, buffer + size * bytes, bytes);
  else memcpy(out, buffer + (what->kind == SEND_RECEIVE ? bytes : 0), bytes);
}

static int32_t exchange(running *call, const collective *what, int32_t dtype, const arrays *of) {
  group *g = call->group;
  size_t size = (size_t)g->size, total = of->batches * of->each;
  size_t parts = what->kind == GATHER         ? size
                 : what->kind == SUM_SCATTER  ? size + 1
                 : what->kind == SEND_RECEIVE ? 2
                                              : 1;
  size_t chunk_bytes = CHUNK_BYTES / parts > LEAST_CHUNK_BYTES ? CHUNK_BYTES / parts : LEAST_CHUNK_BYTES;
  size_t chunk = chunk_bytes / of->element < total ? chunk_bytes / of->element : total;
  char *buffer = buffer_of(g, chunk * of->element * parts);
  if (!buffer) return no_memory(call, chunk * of->element * parts);
  for (size_t first = 0; first < total; first += chunk) {
    size_t n = total - first < chunk ? total - first : chunk;
    pack(g, what, of, buffer, first, n);
    MPI_Request requests[2];
    int n_requests;
    mpi_lock();
    int code = start_chunk(g, what, dtype, buffer, (int)n, n * of->element, requests, &n_requests);
    mpi_unlock();
    if (code != MPI_SUCCESS) return mpi_failed(call, code);
    int32_t status = wait_for(call, requests, n_requests);
    if (status) return status;
    unpack(g, what, of, buffer, first, n);
  }
  return 0;
}

// --- The kernel ---

// The arrays of a call whose collective is of arrays of rank `rank`; axes before these are batches.
static arrays arrays_of(const group *g, int32_t kind, const lxla_kernel_call *call, int rank) {
  const lxla_buffer_view *x = &call->inputs[0], *y = &call->outputs[0];
  arrays of = {x->data, y->data, size_of_dtype(x->dtype), 1, 1, (size_t)g->size};
  for (int i = 0; i < x->rank; i++) {
    int is_batch = i < x->rank - rank, is_process = kind == SUM_SCATTER && i == x->rank - rank;
    if (is_batch) of.batches *= (size_t)x->dims[i];
    else if (!is_process) of.each *= (size_t)x->dims[i];
  }
  return of;
}

// Whether the arguments are in their ranges.
static int is_valid_collective(const group *g, const collective *what, int32_t dtype) {
  int32_t reduce = what->reduce;
  int is_sum = reduce == LXLA_REDUCE_SUM || reduce == LXLA_REDUCE_PRODUCT;
  int is_complex = dtype == LXLA_DTYPE_C64 || dtype == LXLA_DTYPE_C128;
  int has_mpi_type = type_of(dtype, LXLA_REDUCE_SUM) != MPI_DATATYPE_NULL;
  switch (what->kind) {
    case ALLREDUCE:
      return has_mpi_type && (is_sum || (!is_complex && (reduce == LXLA_REDUCE_MAX || reduce == LXLA_REDUCE_MIN)));
    case SUM_SCATTER: return has_mpi_type;
    case SUM_TO_ROOT: return has_mpi_type && what->root >= 0 && what->root < g->size;
    case BROADCAST: return what->root >= 0 && what->root < g->size;
    case SEND_RECEIVE: return what->to >= -1 && what->to < g->size && what->from >= -1 && what->from < g->size;
    default: return what->kind == GATHER;
  }
}

// Whether a call, which any program can record by lxla_kernel_apply, has the arrays that the collective reads and
// writes. `rank` is that of x without batches.
static int is_valid(const group *g, const collective *what, const lxla_kernel_call *call, int rank) {
  if (call->n_inputs != 2 || call->n_outputs != 1) return 0;
  const lxla_buffer_view *x = &call->inputs[0], *site = &call->inputs[1], *y = &call->outputs[0];
  int is_scatter = what->kind == SUM_SCATTER;
  if (site->dtype != LXLA_DTYPE_S32 || site->size_bytes < sizeof(int32_t) || y->dtype != x->dtype) return 0;
  if (rank < is_scatter || rank > x->rank || !is_valid_collective(g, what, x->dtype)) return 0;
  if (is_scatter && x->dims[x->rank - rank] != g->size) return 0;
  arrays of = arrays_of(g, what->kind, call, rank);
  size_t bytes = of.batches * of.each * of.element, size = (size_t)g->size;
  size_t read = is_scatter ? x->size_bytes / size : x->size_bytes;
  size_t written = what->kind == GATHER ? y->size_bytes / size : y->size_bytes;
  return read >= bytes && written >= bytes;
}

static int32_t run_in_turn(running *to, const lxla_kernel_call *call, const collective *what, int rank) {
  int32_t site = *(const int32_t *)call->inputs[1].data;
  group *g = to->group;
  if (g->broken) return refuse_broken(to);
  int32_t status = agree(to, what, site, &call->inputs[0], rank);
  if (status) return status;
  arrays of = arrays_of(g, what->kind, call, rank);
  return exchange(to, what, call->inputs[0].dtype, &of);
}

int32_t run_collective(const lxla_kernel_call *call, void *user) {
  const kernel_user *own = user;
  group *g = own->group;
  collective what = {.kind = own->kind};
  int rank = 0;
  running to = {g, name_of(own->kind), call->error, call->error_size};
  int n = sscanf(call->attributes_json, COLLECTIVE_JSON, &rank, &what.reduce, &what.root, &what.to, &what.from,
                 &what.order);
  if (n != 6 || !is_valid(g, &what, call, rank)) {
    snprintf(call->error, call->error_size, "attributes %s, %zu inputs, %zu outputs: not recorded by lazyxla_mpi",
             call->attributes_json, call->n_inputs, call->n_outputs);
    return LXLA_INVALID_ARGUMENT;
  }
  pthread_mutex_lock(&g->turn);
  int32_t status = run_in_turn(&to, call, &what, rank);
  pthread_mutex_unlock(&g->turn);
  return status;
}
