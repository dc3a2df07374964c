// Collectives as computations: the kernel, with rules for derivatives. A rule applies collectives too; they are of the
// next lower order, down to the bare kernel, which has none.
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Placeholders of the rules are on cpu, so that collectives that are recorded and not run yet, on the device of the
// operands, do not become a part of the rules.
static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};

// Calls of the library in a function with a label `failed`.
#define TRY(call) \
  if ((status = (call)) != LXLA_OK) goto failed

static void release(lxla_tensor *tensors, size_t n) { lxla_tensor_release_many(tensors, n); }

static int is_float(int32_t dtype) {
  return dtype >= LXLA_DTYPE_F16 && dtype != LXLA_DTYPE_PRED;  // all later dtypes are floats or complex
}

// Whether the dtype is summed in f32.
static int is_small_float(int32_t dtype) {
  return is_float(dtype) && dtype != LXLA_DTYPE_F32 && dtype != LXLA_DTYPE_F64 && dtype != LXLA_DTYPE_C64 &&
         dtype != LXLA_DTYPE_C128;
}

static int computes(int32_t kind) { return kind == ALLREDUCE || kind == SUM_SCATTER || kind == SUM_TO_ROOT; }

// The type of a tensor.
typedef struct {
  int32_t dtype;
  size_t rank;
  int64_t dims[64];
} type;

static type result_of(const group *g, const collective *what, const type *x) {
  type y = *x;
  if (what->kind == GATHER) {
    memmove(y.dims + 1, x->dims, x->rank * sizeof *y.dims);
    y.dims[0] = g->size, y.rank++;
  }
  if (what->kind == SUM_SCATTER) {
    y.rank--;
    memmove(y.dims, x->dims + 1, y.rank * sizeof *y.dims);
  }
  return y;
}

// The transpose of a linear collective.
static collective transposed(const collective *of) {
  collective made = *of;
  switch (of->kind) {
    case GATHER: made.kind = SUM_SCATTER; break;
    case SUM_SCATTER: made.kind = GATHER; break;
    case BROADCAST: made.kind = SUM_TO_ROOT; break;
    case SUM_TO_ROOT: made.kind = BROADCAST; break;
    case SEND_RECEIVE: made.to = of->from, made.from = of->to; break;
    default: break;
  }
  return made;
}

// Placeholders for x (and a tangent), and the number of the recording.
static lxla_status placeholder(const group *g, const type *x, lxla_tensor *out) {
  return lxla_tensor_placeholder(g->env, cpu, x->dtype, x->dims, x->rank, out);
}
static const type site_type = {LXLA_DTYPE_S32, 0, {0}};

// The kernel alone: x and number to y.
static lxla_status bare(const group *g, const collective *what, const type *x, lxla_computation *out) {
  lxla_tensor of[3] = {{0}, {0}, {0}};
  lxla_status status;
  type y = result_of(g, what, x);
  char json[160];
  snprintf(json, sizeof json, COLLECTIVE_JSON, (int)x->rank, what->reduce, what->root, what->to, what->from,
           what->order);
  TRY(placeholder(g, x, &of[0]));
  TRY(placeholder(g, &site_type, &of[1]));
  TRY(lxla_kernel_apply(g->env, name_of(what->kind), of, 2, &y.dtype, &y.rank, y.dims, 1, json, &of[2]));
  TRY(lxla_computation_trace(of, 2, &of[2], 1, out));
failed:
  release(of, 3);
  return status;
}

// x, number and tangent to y and its tangent.
static lxla_status tangents(group *g, const collective *what, const type *x, lxla_computation *out) {
  lxla_tensor of[5] = {{0}, {0}, {0}, {0}, {0}};
  lxla_status status;
  TRY(placeholder(g, x, &of[0]));
  TRY(placeholder(g, &site_type, &of[1]));
  TRY(placeholder(g, x, &of[2]));
  TRY(apply_collective(g, what, of[0], of[1], &of[3]));
  TRY(apply_collective(g, what, of[2], of[1], &of[4]));
  TRY(lxla_computation_trace(of, 3, of + 3, 2, out));
failed:
  release(of, 5);
  return status;
}

// x and number to y and, as residual, the number.
static lxla_status forward(group *g, const collective *what, const type *x, lxla_computation *out) {
  lxla_tensor of[4] = {{0}, {0}, {0}, {0}};
  lxla_status status;
  TRY(placeholder(g, x, &of[0]));
  TRY(placeholder(g, &site_type, &of[1]));
  TRY(apply_collective(g, what, of[0], of[1], &of[2]));
  TRY(lxla_tensor_snapshot(of[1], &of[3]));
  TRY(lxla_computation_trace(of, 2, of + 2, 2, out));
failed:
  release(of, 4);
  return status;
}

// Number and cotangent to the cotangent of x.
static lxla_status backward(group *g, const collective *what, const type *x, lxla_computation *out) {
  lxla_tensor of[3] = {{0}, {0}, {0}};
  lxla_status status;
  type y = result_of(g, what, x);
  collective back = transposed(what);
  TRY(placeholder(g, &site_type, &of[0]));
  TRY(placeholder(g, &y, &of[1]));
  TRY(apply_collective(g, &back, of[1], of[0], &of[2]));
  TRY(lxla_computation_trace(of, 2, &of[2], 1, out));
failed:
  release(of, 3);
  return status;
}

// A reduction that is not a sum, as one of gathered values, whose derivatives the library knows.
static lxla_status gathered(group *g, const collective *what, const type *x, lxla_computation *out) {
  lxla_tensor of[4] = {{0}, {0}, {0}, {0}};
  lxla_status status;
  collective gather = {.kind = GATHER, .order = what->order};
  int64_t first = 0;
  TRY(placeholder(g, x, &of[0]));
  TRY(placeholder(g, &site_type, &of[1]));
  TRY(apply_collective(g, &gather, of[0], of[1], &of[2]));
  TRY(lxla_reduce(what->reduce, of[2], &first, 1, 0, &of[3]));
  TRY(lxla_computation_trace(of, 2, &of[3], 1, out));
failed:
  release(of, 4);
  return status;
}

// The kernel with its rules.
static lxla_status with_rules(group *g, const collective *what, const type *x, lxla_computation *out) {
  enum { BARE, PLAIN, JVP, FORWARD, BACKWARD, WITH_JVP, PARTS };
  lxla_computation parts[PARTS] = {{0}};
  lxla_status status;
  size_t residuals;
  collective lower = *what;
  lower.order--;
  TRY(bare(g, what, x, &parts[BARE]));
  if (what->order == 0 || !is_float(x->dtype)) return *out = parts[BARE], LXLA_OK;
  if (what->kind == ALLREDUCE && what->reduce != LXLA_REDUCE_SUM) {
    TRY(gathered(g, what, x, &parts[PLAIN]));
    TRY(lxla_computation_jvp(parts[PLAIN], NULL, 0, &parts[JVP]));
    TRY(lxla_computation_vjp(parts[PLAIN], NULL, &parts[FORWARD], &parts[BACKWARD], &residuals));
  } else {
    // The forward pass has derivatives, too: forward mode of a reverse mode needs them.
    TRY(tangents(g, &lower, x, &parts[JVP]));
    TRY(forward(g, &lower, x, &parts[FORWARD]));
    TRY(backward(g, &lower, x, &parts[BACKWARD]));
  }
  TRY(lxla_computation_with_jvp(parts[BARE], parts[JVP], &parts[WITH_JVP]));
  TRY(lxla_computation_with_vjp(parts[WITH_JVP], parts[FORWARD], parts[BACKWARD], out));
failed:
  for (int i = 0; i < PARTS; i++)
    if (parts[i].id) lxla_computation_release(parts[i]);
  return status;
}

// --- Computations that are kept ---

static known_computation *find(group *g, const collective *what, const type *x) {
  for (size_t i = 0; i < g->n_computations; i++) {
    known_computation *known = &g->computations[i];
    if (memcmp(&known->what, what, sizeof *what) == 0 && known->dtype == x->dtype && known->rank == x->rank &&
        memcmp(known->dims, x->dims, x->rank * sizeof *x->dims) == 0)
      return known;
  }
  return NULL;
}

void forget_computations(group *g) {
  for (size_t i = 0; i < g->n_computations; i++) lxla_computation_release(g->computations[i].computation);
  g->n_computations = 0;
}

// Keeps a computation that captures nothing. Retains it.
static void keep(group *g, const collective *what, const type *x, lxla_computation made) {
  size_t params, results, captured;
  if (lxla_computation_info(made, &params, &results, &captured) != LXLA_OK || captured > 0) return;
  if (!g->computations) g->computations = malloc(MOST_COMPUTATIONS * sizeof *g->computations);
  if (!g->computations || lxla_computation_retain(made) != LXLA_OK) return;
  if (g->n_computations == MOST_COMPUTATIONS) forget_computations(g);
  known_computation *known = &g->computations[g->n_computations++];
  known->what = *what, known->dtype = x->dtype, known->rank = x->rank, known->computation = made;
  memcpy(known->dims, x->dims, sizeof known->dims);
}

// Returns a computation with one reference for the caller.
static lxla_status computation_of(group *g, const collective *what, const type *x, lxla_computation *out) {
  known_computation *known = find(g, what, x);
  if (known) return *out = known->computation, lxla_computation_retain(*out);
  lxla_status status = with_rules(g, what, x, out);
  if (status == LXLA_OK) keep(g, what, x, *out);
  return status;
}

lxla_status apply_collective(group *g, const collective *what, lxla_tensor x, lxla_tensor site, lxla_tensor *out) {
  type of = {0};
  lxla_tensor wide[2] = {{0}, {0}};
  lxla_computation computation = {0};
  lxla_status status;
  TRY(lxla_tensor_info(x, &of.dtype, &of.rank, of.dims, 64));
  int32_t dtype = of.dtype;
  int is_widened = is_small_float(dtype) && computes(what->kind);
  if (is_widened) {
    TRY(lxla_convert(x, LXLA_DTYPE_F32, &wide[0]));
    of.dtype = LXLA_DTYPE_F32;
  }
  TRY(computation_of(g, what, &of, &computation));
  lxla_tensor arguments[2] = {is_widened ? wide[0] : x, site};
  TRY(lxla_computation_call(computation, arguments, 2, is_widened ? &wide[1] : out, 1));
  if (is_widened) TRY(lxla_convert(wide[1], dtype, out));
failed:
  release(wide, 2);
  if (computation.id) lxla_computation_release(computation);
  return status;
}
