// Arguments beyond the library's limits: sizes that exceed memory, ranks, depths, devices, XLA's own custom call
// targets, programs that do not fit. Each call fails and changes nothing; without the checks the process would end or
// hang.
#include "check.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#define F32 LXLA_DTYPE_F32
#define LARGE ((int64_t)1 << 50)
static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};
static lxla_env env;

static lxla_tensor full_of(lxla_device device, int32_t dtype, const int64_t *dims, size_t rank, double x) {
  lxla_tensor out;
  OK(lxla_tensor_full(env, device, dtype, dims, rank, x, &out));
  return out;
}

static lxla_tensor placeholder_of(const int64_t *dims, size_t rank) {
  lxla_tensor out;
  OK(lxla_tensor_placeholder(env, XLA(0), F32, dims, rank, &out));
  return out;
}

static lxla_computation traced(const lxla_tensor *params, size_t n_params, const lxla_tensor *results,
                               size_t n_results) {
  lxla_computation out;
  OK(lxla_computation_trace(params, n_params, results, n_results, &out));
  return out;
}

// --- Sizes ---

TEST(native_scans_of_any_length_are_refused_for_want_of_memory) {
  env = new_env();
  lxla_tensor p = placeholder_of(DIMS(0)), q = scalar(ADD, p, 1), init = full_of(cpu, F32, DIMS(0), 0),
              out[2] = {none, none};
  lxla_computation body = traced(&p, 1, (lxla_tensor[]){q, q}, 2);
  REFUSED(lxla_scan(body, &init, 1, NULL, 0, (int64_t)1 << 56, 0, out, out + 1, 1), LXLA_RESOURCE_EXHAUSTED,
          "slices of a scan");
  EQUAL(out[0].id, 0);
  OK(lxla_scan(body, &init, 1, NULL, 0, 5, 0, out, out + 1, 1));
  RELEASE(out[0], out[1], p, q, init);
  OK(lxla_computation_release(body));
  OK(lxla_env_release(env));
}

TEST(convolutions_of_an_empty_batch_may_have_any_padding) {
  env = new_env();
  int64_t huge = LARGE;
  lxla_convolution_options options = {.struct_size = sizeof options};
  OK(lxla_convolution_options_init(&options));
  options.spatial_rank = 1, options.padding_low = &huge;
  lxla_tensor kernel = full_of(cpu, F32, DIMS(1, 1, 2), 1), empty = full_of(cpu, F32, DIMS(0, 1, 4), 1), out;
  OK(lxla_convolution(empty, kernel, &options, &out));
  int64_t dims[3];
  OK(lxla_tensor_dims(out, dims, 3));
  CHECK(dims[0] == 0 && dims[2] == LARGE + 3);
  RELEASE(out, empty);
  // Once there are elements, the result does not fit into memory.
  lxla_tensor x = full_of(cpu, F32, DIMS(1, 1, 4), 1);
  REFUSED(lxla_convolution(x, kernel, &options, &out), LXLA_RESOURCE_EXHAUSTED, "bytes");
  // Sorts, transforms and solutions of empty tensors need no memory, however long the other axes are.
  lxla_tensor wide = full_of(cpu, F32, DIMS(0, LARGE), 1);
  OK(lxla_fft(LXLA_FFT_RFFT, wide, DIMS(LARGE), &out));
  RELEASE(out);
  OK(lxla_argsort(wide, 1, 0, 1, LXLA_DTYPE_S64, &out));
  RELEASE(out, wide, x, kernel);
  wide = full_of(cpu, F32, DIMS(0, 1 << 28, 1 << 28), 1);
  OK(lxla_cholesky(wide, 1, &out));
  RELEASE(out, wide);
  OK(lxla_env_release(env));
}

TEST(a_cache_of_any_capacity_takes_memory_as_it_fills) {
  lxla_env_options options = default_options();
  options.cache_capacity = SIZE_MAX;
  OK(lxla_env_create(&options, &env));
  lxla_tensor x = one(env, 2), y = scalar(MUL, x, 3);
  EQUAL(value(y), 6);
  RELEASE(x, y);
  OK(lxla_env_release(env));
}

// The structs of dlpack.h 1.1.
typedef struct dl_managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct dl_managed *);
  uint64_t flags;
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_managed;

static _Alignas(64) float memory[64];
static int64_t shape[65], strides[65];
static int deleted;
static lxla_tensor released_by_deleter;

static void count_deletion(dl_managed *m) {
  deleted++;
  (void)m;
}

static void release_another(dl_managed *m) {
  count_deletion(m);
  OK(lxla_tensor_release(released_by_deleter));
}

static dl_managed foreign(int64_t size, int64_t stride) {
  shape[0] = size, strides[0] = stride, deleted = 0;
  return (dl_managed){.major = 1,
                      .minor = 1,
                      .deleter = count_deletion,
                      .data = memory,
                      .device_type = 1,
                      .ndim = 1,
                      .code = 2,
                      .bits = 32,
                      .lanes = 1,
                      .shape = shape,
                      .strides = strides};
}

TEST(dlpack_of_broadcast_memory_is_refused_for_want_of_memory) {
  env = new_env();
  lxla_tensor t = none;
  dl_managed m = foreign(LARGE, 0);
  REFUSED(lxla_tensor_from_dlpack(env, cpu, &m, 0, &t), LXLA_RESOURCE_EXHAUSTED,
          "managed: a copy of f32[1125899906842624]");
  REFUSED(lxla_tensor_from_dlpack(env, XLA(0), &m, 1, &t), LXLA_RESOURCE_EXHAUSTED, "4503599627370496 bytes");
  // The check for bytes that are not valid booleans ends in reasonable time.
  m.code = 6, m.bits = 8;
  REFUSED(lxla_tensor_from_dlpack(env, cpu, &m, 0, &t), LXLA_RESOURCE_EXHAUSTED, "pred[1125899906842624]");
  EQUAL(deleted, 0);
  m = foreign(5, 0);
  memory[0] = 3;
  OK(lxla_tensor_from_dlpack(env, cpu, &m, 0, &t));
  float got[5];
  read_f32(t, got, 5);
  for (int i = 0; i < 5; i++) EQUAL(got[i], 3);
  RELEASE(t);
  OK(lxla_env_release(env));
}

// --- Locks ---

// A DLPack deleter that calls the library must not run under its lock: it would deadlock when a trace is dropped.
TEST(deleters_run_outside_of_locks) {
  alarm(120);
  env = new_env();
  OK(lxla_env_set_option(env, "max_pending_ops", "16"));
  dl_managed m = foreign(64, 1);
  m.deleter = release_another;
  released_by_deleter = one(env, 1);
  lxla_tensor kept = one(env, 2), sum = scalar(ADD, kept, 1), x;
  OK(lxla_tensor_from_dlpack(env, XLA(0), &m, 0, &x));
  lxla_tensor dead = scalar(ADD, x, 1);
  RELEASE(x, dead);
  // Only a leaf of the trace refers to the memory now. At max_pending_ops operations, the trace drops dead nodes.
  for (int i = 0; i < 100 && !deleted; i++) {
    lxla_tensor next = scalar(ADD, sum, 1);
    RELEASE(next);
  }
  for (int i = 0; i < 1000 && !deleted; i++) usleep(1000);
  EQUAL(deleted, 1);
  EQUAL(value(sum), 3);
  RELEASE(kept, sum);
  OK(lxla_env_release(env));
  alarm(0);
}

// --- Ranks ---

static void ranks_on(lxla_device device) {
  int64_t ones[65];
  for (int i = 0; i < 65; i++) ones[i] = 1;
  const char *words = "want at most 64";
  lxla_tensor x = full_of(device, F32, ones, 64, 1), at = full_of(device, LXLA_DTYPE_S32, ones, 64, 0), out = none;
  REFUSED(lxla_tensor_full(env, device, F32, ones, 65, 1, &out), LXLA_INVALID_ARGUMENT, words);
  REFUSED(lxla_expand_dims(x, DIMS(0), &out), LXLA_INVALID_ARGUMENT, words);
  REFUSED(lxla_stack(&x, 1, 0, &out), LXLA_INVALID_ARGUMENT, words);
  REFUSED(lxla_one_hot(at, 3, -1, F32, &out), LXLA_INVALID_ARGUMENT, words);
  REFUSED(lxla_bitcast_convert(x, LXLA_DTYPE_U8, &out), LXLA_INVALID_ARGUMENT, words);
  REFUSED(lxla_take(x, at, 0, &out), LXLA_INVALID_ARGUMENT, words);
  REFUSED(lxla_reshape(x, ones, 65, &out), LXLA_INVALID_ARGUMENT, words);
  REFUSED(lxla_broadcast_to(x, ones, 65, &out), LXLA_INVALID_ARGUMENT, words);
  lxla_tensor p = placeholder_of(ones, 64), q = scalar(ADD, p, 1), stacks[2];
  lxla_computation body = traced(&p, 1, (lxla_tensor[]){q, q}, 2);
  REFUSED(lxla_scan(body, &x, 1, NULL, 0, 2, 0, stacks, stacks + 1, 1), LXLA_INVALID_ARGUMENT, words);
  EQUAL(out.id, 0);
  // Rank 64 itself is allowed.
  OK(lxla_binary_scalar(ADD, x, 1, &out));
  EQUAL(value(out), 2);
  RELEASE(out, x, at, p, q);
  OK(lxla_computation_release(body));
}

TEST(ranks_end_at_64) {
  env = new_env();
  ranks_on(cpu);
  ranks_on(XLA(0));
  dl_managed m = foreign(1, 1);
  for (int i = 0; i < 65; i++) shape[i] = strides[i] = 1;
  m.ndim = 65;
  lxla_tensor t = none;
  REFUSED(lxla_tensor_from_dlpack(env, cpu, &m, 0, &t), LXLA_INVALID_ARGUMENT, "rank: 65 given");
  OK(lxla_env_release(env));
}

// --- Depths ---

typedef enum { CALL, SCAN, COND } nesting;

// Returns `depth` nested computations of one kind around `innermost`; each level adds 1.
static lxla_computation nested(nesting kind, int depth, lxla_computation innermost) {
  lxla_computation inner = innermost;
  for (int i = 0; i < depth; i++) {
    lxla_tensor p = placeholder_of(DIMS(1)), sum = scalar(ADD, p, 1), out = sum;
    if (inner.id && kind == CALL) OK(lxla_computation_call(inner, &sum, 1, &out, 1));
    if (inner.id && kind == SCAN) OK(lxla_scan(inner, &sum, 1, NULL, 0, 1, 0, &out, NULL, 0));
    if (inner.id && kind == COND) {
      lxla_tensor is_positive, pred;
      OK(lxla_compare_scalar(LXLA_COMPARE_GT, sum, 0, &is_positive));
      OK(lxla_reshape(is_positive, NULL, 0, &pred));
      lxla_tensor other = placeholder_of(DIMS(1)), less = scalar(SUB, other, 1);
      lxla_computation on_false = traced(&other, 1, &less, 1);
      OK(lxla_cond(pred, inner, on_false, &sum, 1, &out, 1));
      OK(lxla_computation_release(on_false));
      RELEASE(is_positive, pred, other, less);
    }
    lxla_computation outer = traced(&p, 1, &out, 1);
    if (out.id != sum.id) RELEASE(out);
    RELEASE(p, sum);
    if (inner.id && inner.id != innermost.id) OK(lxla_computation_release(inner));
    inner = outer;
  }
  return inner;
}

static float applied(lxla_computation f, lxla_device device) {
  lxla_tensor x = full_of(device, F32, DIMS(1), 0), y;
  OK(lxla_computation_call(f, &x, 1, &y, 1));
  float got = value(y);
  RELEASE(x, y);
  return got;
}

static void *deep(void *unused) {
  env = new_env();
  const lxla_computation nothing = {0};
  for (nesting kind = CALL; kind <= COND; kind++) {
    lxla_computation f = nested(kind, kind == CALL ? 850 : 150, nothing);
    EQUAL(applied(f, XLA(0)), kind == CALL ? 850 : 150);
    if (kind == CALL) {
      lxla_computation forward, backward, pushed, batched;
      const int64_t first = 0;
      size_t residuals;
      OK(lxla_computation_jvp(f, NULL, 0, &pushed));
      OK(lxla_computation_vjp(f, NULL, &forward, &backward, &residuals));
      OK(lxla_computation_vmap(f, &first, 1, &first, 1, 2, &batched));
      const lxla_computation made[] = {forward, backward, pushed, batched};
      for (size_t i = 0; i < 4; i++) OK(lxla_computation_release(made[i]));
    }
    lxla_computation most = nested(kind, kind == CALL ? 150 : 850, f);
    EQUAL(applied(most, cpu), 1000);
    lxla_tensor p = placeholder_of(DIMS(1)), out;
    OK(lxla_computation_call(most, &p, 1, &out, 1));
    lxla_computation more = {0};
    REFUSED(lxla_computation_trace(&p, 1, &out, 1, &more), LXLA_INVALID_ARGUMENT, "1001 deep; want at most 1000");
    RELEASE(p, out);
    OK(lxla_computation_release(f));
    OK(lxla_computation_release(most));
  }
  OK(lxla_env_release(env));
  return unused;
}

// Runs on the stack size of the JVM's threads, and on a smaller one.
TEST(computations_may_be_deep_on_small_stacks) {
  for (size_t size = 1 << 20; size >= 256 << 10; size /= 4) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, size) == 0);
    CHECK(pthread_create(&thread, &attributes, deep, NULL) == 0 && pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
  }
}

// Each computation applies the one before it twice: 2^70 operations in all. Counts must not wrap.
TEST(operations_are_counted_up_to_the_end_of_numbers) {
  env = new_env();
  lxla_computation f = {0};
  for (int i = 0; i < 70; i++) {
    lxla_tensor p = placeholder_of(DIMS(1)), once, twice;
    if (f.id) {
      OK(lxla_computation_call(f, &p, 1, &once, 1));
      OK(lxla_computation_call(f, &once, 1, &twice, 1));
    } else {
      once = scalar(ADD, p, 1), twice = scalar(ADD, once, 1);
    }
    lxla_computation next = traced(&p, 1, &twice, 1);
    RELEASE(p, once, twice);
    OK(lxla_computation_release(f));
    f = next;
  }
  lxla_computation transformed = {0};
  const int64_t first = 0;
  REFUSED(lxla_computation_jvp(f, NULL, 0, &transformed), LXLA_RESOURCE_EXHAUSTED, "f: a computation has ");
  REFUSED(lxla_computation_vmap(f, &first, 1, &first, 1, 2, &transformed), LXLA_RESOURCE_EXHAUSTED,
          "f: a computation has ");
  OK(lxla_computation_release(f));
  OK(lxla_env_release(env));
}

// --- Devices ---

TEST(devices_end_at_1023) {
  lxla_env_options options = default_options();
  for (int32_t count = 1024; count > 0 && count <= 2048; count += 976) {
    options.device_count = count;
    REFUSED(lxla_env_create(&options, &env), LXLA_INVALID_ARGUMENT, "options.device_count");
  }
  options.device_count = INT32_MAX;
  REFUSED(lxla_env_create(&options, &env), LXLA_INVALID_ARGUMENT, "want at most 1023");
  options.device_count = 40;
  OK(lxla_env_create(&options, &env));
  int32_t count;
  OK(lxla_env_device_count(env, &count));
  EQUAL(count, 40);
  OK(lxla_env_release(env));
}

// --- Names of XLA's own ---

TEST(custom_calls_of_xlas_own_are_refused) {
  env = new_env();
  static const char *const names[] = {"TopK",
                                      "SliceToDynamic",
                                      "PadToStatic",
                                      "LayoutConstraint",
                                      "MoveToHost",
                                      "MoveToDevice",
                                      "annotate_device_placement",
                                      "AllocateBuffer",
                                      "CreateBuffer",
                                      "SPMDFullToShardShape",
                                      "SPMDShardToFullShape",
                                      "X64SplitLow",
                                      "X64Combine",
                                      "__onednn$matmul",
                                      "__onednn$softmax",
                                      "__onednn$layernorm",
                                      "__cublas$gemm",
                                      "__cudnn$convForward",
                                      "__op$block_scaled_dot",
                                      "xla.sdy.FuncResultSharding",
                                      "xla.sdy.ShardingGroup",
                                      "mhlo.topk",
                                      "chlo.top_k",
                                      "stablehlo.dynamic_reshape",
                                      "LuDecomposition"};
  lxla_tensor x = full_of(XLA(0), F32, DIMS(3, 2), 1), in[2] = {x, x}, out[2] = {none, none};
  const int32_t dtypes[] = {F32, F32};
  const size_t ranks[] = {2, 1};
  const int64_t dims[] = {3, 2, 2};
  for (int32_t version = 1; version <= 4; version++)
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      lxla_custom_call_options options = {.struct_size = sizeof options};
      OK(lxla_custom_call_options_init(&options));
      options.api_version = version;
      REFUSED(lxla_custom_call(names[i], in, 1 + i % 2, dtypes, ranks, dims, 1, &options, out), LXLA_INVALID_ARGUMENT,
              names[i]);
    }
  // Targets that XLA expands on every device accept the arguments they are made for.
  REFUSED(lxla_custom_call("Sharding", in, 2, dtypes, ranks, dims, 1, NULL, out), LXLA_INVALID_ARGUMENT,
          "target: Sharding takes one operand");
  REFUSED(lxla_custom_call("Eigh", in, 1, dtypes, ranks, dims, 2, NULL, out), LXLA_INVALID_ARGUMENT,
          "target: Eigh takes");
  REFUSED(lxla_custom_call("ProductOfElementaryHouseholderReflectors", in, 1, dtypes, ranks, dims, 1, NULL, out),
          LXLA_INVALID_ARGUMENT, "operands are f32[3,2], results f32[3,2]");
  REFUSED(lxla_custom_call("Qr", in, 1, dtypes, ranks, dims, 1, NULL, out), LXLA_INVALID_ARGUMENT, "target: Qr takes");
  EQUAL(out[0].id, 0);
  // A = QR, and Q's columns have length 1: the first column of R is as long as the first column of A.
  OK(lxla_custom_call("Qr", in, 1, dtypes, ranks, dims, 2, NULL, out));
  lxla_tensor q;
  OK(lxla_custom_call("ProductOfElementaryHouseholderReflectors", out, 2, dtypes, ranks, dims, 1, NULL, &q));
  float packed[6], columns[6];
  read_f32(out[0], packed, 6);
  read_f32(q, columns, 6);
  CHECK(fabsf(fabsf(packed[0]) - sqrtf(3)) < 1e-5f);
  for (int i = 0; i < 3; i++) CHECK(fabsf(packed[0] * columns[2 * i] - 1) < 1e-5f);
  RELEASE(out[0], out[1], q);
  // Triton targets are passed on to the plugin; a CPU plugin does not know them, and says so when the program is
  // compiled.
  lxla_custom_call_options triton = {.struct_size = sizeof triton};
  OK(lxla_custom_call_options_init(&triton));
  triton.backend_config = "{name = \"k\", ir = \"module {}\", num_stages = 1 : i32, num_warps = 1 : i32}";
  triton.api_version = 4;
  OK(lxla_custom_call("__gpu$xla.gpu.triton", in, 1, dtypes, ranks, dims, 1, &triton, out));
  CHECK(lxla_sync(out, 1) != LXLA_OK);
  CHECK(strstr(lxla_last_error_message(), "triton"));
  float kept[6];
  read_f32(x, kept, 6);
  CHECK(kept[0] == 1 && kept[5] == 1);
  RELEASE(out[0], x);
  OK(lxla_env_release(env));
}

// --- Memory of programs ---

// Returns the size of the process's address space now.
static rlim_t address_space(void) {
  unsigned long pages;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

TEST(a_program_that_cannot_fit_is_refused_before_it_consumes_anything) {
  env = new_env();
  enum { N = 40000 };
  lxla_tensor x = full_of(XLA(0), F32, DIMS(N, 1), 1), turned, square, again, sum;
  step(env);
  // The transpose needs a temporary of 6.4 GB.
  OK(lxla_transpose(x, DIMS(1, 0), &turned));
  OK(lxla_matmul(x, turned, &square));
  OK(lxla_matmul(square, x, &again));
  OK(lxla_reduce(LXLA_REDUCE_SUM, again, DIMS(0, 1), 0, &sum));
  RELEASE(turned, square, again);
  OK(lxla_binary_scalar_inplace(MUL, x, 2));
  // Compiles the program before the limit is set, as an earlier step with more memory would have done.
  lxla_memory_stats memory;
  memory.struct_size = sizeof memory;
  OK(lxla_compiled_memory(env, XLA(0), NULL, 0, &memory));
  CHECK(memory.temp_bytes >= 4LL * N * N);
  struct rlimit before, less;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  less = before;
  less.rlim_cur = address_space() + ((rlim_t)3 << 30);
  CHECK(setrlimit(RLIMIT_AS, &less) == 0);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_RESOURCE_EXHAUSTED, "RLIMIT_AS");
  CHECK(strstr(lxla_last_error_message(), "bytes, 64") && strstr(lxla_last_error_message(), "live tensors hold"));
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  EQUAL(state_of(x), LXLA_STATE_PENDING);
  RELEASE(sum);
  step(env);
  static float values[N];
  read_f32(x, values, N);
  for (int i = 0; i < N; i++) EQUAL(values[i], 2);
  RELEASE(x);
  OK(lxla_env_release(env));
}
