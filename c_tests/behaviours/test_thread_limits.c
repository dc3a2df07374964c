// The option `threads` of environments and `lxla_thread_limit`: who works for native kernels, and that results do not
// depend on it.
#include "check.h"

#include <dirent.h>
#include <math.h>
#include <stddef.h>

static lxla_device cpu(void) { return (lxla_device){LXLA_DEVICE_CPU, 0}; }

// The pool has 7 threads whatever the number of processors.
__attribute__((constructor)) static void choose_pool(void) { setenv("RAYON_NUM_THREADS", "7", 1); }

static int threads_of_process(void) {
  int n = 0;
  DIR *folder = opendir("/proc/self/task");
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));) n += entry->d_name[0] != '.';
  closedir(folder);
  return n;
}

// Numbers from -1 to 1.
static lxla_tensor numbers(lxla_env env, int32_t dtype, const int64_t *dims, size_t rank) {
  size_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  size_t size = n * (dtype == LXLA_DTYPE_F64 ? sizeof(double) : sizeof(float));
  void *values = malloc(size);
  CHECK(values);
  uint32_t state = 7;
  for (size_t i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    double x = state / 2147483648.0 - 1;
    if (dtype == LXLA_DTYPE_F64) ((double *)values)[i] = x;
    else ((float *)values)[i] = (float)x;
  }
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, cpu(), dtype, dims, rank, values, size, &t));
  free(values);
  return t;
}

static lxla_tensor random_normal(lxla_env env) {
  const uint32_t words[2] = {7, 11};
  lxla_tensor key, x;
  OK(lxla_tensor_from_host(env, cpu(), LXLA_DTYPE_U32, DIMS(2), words, sizeof words, &key));
  OK(lxla_random_normal(LXLA_RNG_THREE_FRY, key, LXLA_DTYPE_F64, DIMS(600000), &x));
  RELEASE(key);
  return x;
}

// The same in complex numbers.
static lxla_tensor complex_numbers(lxla_env env, const int64_t *dims, size_t rank) {
  lxla_tensor x = numbers(env, LXLA_DTYPE_F32, dims, rank), y;
  OK(lxla_convert(x, LXLA_DTYPE_C64, &y));
  RELEASE(x);
  return y;
}

static lxla_env env_of(int32_t threads) {
  lxla_env_options options = default_options();
  lxla_env env;
  options.threads = threads;
  OK(lxla_env_create(&options, &env));
  return env;
}

// Kernels of every subject whose work is divided among threads at these sizes.
enum { KERNELS = 19 };
static lxla_tensor kernel(lxla_env env, int which) {
  lxla_tensor x, y, out, other;
  switch (which) {
    case 0:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(3000000));
      OK(lxla_reduce(LXLA_REDUCE_SUM, x, DIMS(0), 0, &out));
      break;
    case 1:
      x = numbers(env, LXLA_DTYPE_F64, DIMS(1500, 1500));
      OK(lxla_reduce(LXLA_REDUCE_SUM, x, DIMS(0), 0, &out));
      break;
    case 2:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(1500, 1500));
      OK(lxla_reduce(LXLA_REDUCE_PRODUCT, x, DIMS(1), 0, &out));
      break;
    case 3:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(400, 400));
      OK(lxla_matmul(x, x, &out));
      break;
    case 4:
      x = numbers(env, LXLA_DTYPE_F64, DIMS(350, 350));
      OK(lxla_matmul(x, x, &out));
      break;
    case 5:
      x = complex_numbers(env, DIMS(340, 340));
      OK(lxla_matmul(x, x, &out));
      break;
    case 6:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(1300, 1000)), y = numbers(env, LXLA_DTYPE_F32, DIMS(1000));
      OK(lxla_matmul(x, y, &out));
      RELEASE(y);
      break;
    case 7:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(700000));
      OK(lxla_sort_along(x, 0, 0, 1, &out));
      break;
    case 8:
      x = numbers(env, LXLA_DTYPE_F64, DIMS(300, 900));
      OK(lxla_argsort(x, 1, 1, 1, LXLA_DTYPE_S32, &out));
      break;
    case 9:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(3000000));
      OK(lxla_cumulative(LXLA_REDUCE_SUM, x, 0, 0, &out));
      break;
    case 10:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(1200, 1000));
      OK(lxla_cumulative(LXLA_REDUCE_PRODUCT, x, 0, 1, &out));
      break;
    case 11:
      x = complex_numbers(env, DIMS(300, 1000));
      OK(lxla_fft(LXLA_FFT_FFT, x, DIMS(1000), &out));
      break;
    case 12:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(1 << 20));
      OK(lxla_fft(LXLA_FFT_RFFT, x, DIMS(1 << 20), &out));
      break;
    case 13: {
      lxla_convolution_options options;
      options.struct_size = sizeof options;
      OK(lxla_convolution_options_init(&options));
      x = numbers(env, LXLA_DTYPE_F32, DIMS(4, 8, 60, 60)), y = numbers(env, LXLA_DTYPE_F32, DIMS(16, 8, 5, 5));
      OK(lxla_convolution(x, y, &options, &out));
      RELEASE(y);
      break;
    }
    case 14:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(2));
      out = random_normal(env);
      break;
    case 15:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(2000000));
      OK(lxla_unary(LXLA_UNARY_TANH, x, &out));
      break;
    case 16:
      x = numbers(env, LXLA_DTYPE_F64, DIMS(60, 40, 40));
      OK(lxla_qr(x, 0, &out, &other));
      RELEASE(other);
      break;
    case 17:
      x = numbers(env, LXLA_DTYPE_F64, DIMS(400, 400));
      OK(lxla_inverse(x, &out));
      break;
    default:
      x = numbers(env, LXLA_DTYPE_F32, DIMS(1000, 1100));
      OK(lxla_transpose(x, DIMS(1, 0), &out));
      break;
  }
  RELEASE(x);
  return out;
}

static size_t bytes_of(lxla_tensor t) {
  static const size_t widths[] = {
      [LXLA_DTYPE_S32] = 4, [LXLA_DTYPE_F32] = 4, [LXLA_DTYPE_F64] = 8, [LXLA_DTYPE_C64] = 8};
  int64_t dims[8];
  size_t rank, n = 1;
  int32_t dtype;
  OK(lxla_tensor_rank(t, &rank));
  OK(lxla_tensor_dims(t, dims, 8));
  OK(lxla_tensor_dtype(t, &dtype));
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  return n * widths[dtype];
}

static unsigned char *values_of(lxla_tensor t, size_t *size) {
  *size = bytes_of(t);
  unsigned char *values = malloc(*size);
  CHECK(values);
  OK(lxla_tensor_read(t, values, *size));
  return values;
}

// First in this file: the pool must not run yet.
TEST(one_thread_is_the_calling_one) {
  lxla_env env = env_of(1), all = env_of(0);
  int32_t before;
  int n = threads_of_process();
  for (int which = 0; which < KERNELS; which++) {
    lxla_tensor t = kernel(env, which);
    if (threads_of_process() != n) FAIL("kernel %d started threads in an environment of one", which);
    RELEASE(t);
    OK(lxla_thread_limit(1, &before));
    EQUAL(before, 0);
    t = kernel(all, which);
    if (threads_of_process() != n) FAIL("kernel %d started threads in a thread that is limited to one", which);
    RELEASE(t);
    OK(lxla_thread_limit(0, &before));
    EQUAL(before, 1);
  }
  // A limit of the thread comes before the environment's.
  OK(lxla_thread_limit(2, &before));
  lxla_tensor t = kernel(env, 3);
  EQUAL(threads_of_process(), n + 7);
  RELEASE(t);
  OK(lxla_thread_limit(0, &before));
  OK(lxla_env_release(env));
  OK(lxla_env_release(all));
}

TEST(results_do_not_depend_on_the_number_of_threads) {
  const int32_t counts[] = {0, 1, 2, 3, 8};
  for (int which = 0; which < KERNELS; which++) {
    unsigned char *wanted = NULL;
    size_t wanted_size = 0;
    for (int i = 0; i < 5; i++) {
      lxla_env env = env_of(counts[i]);
      lxla_tensor t = kernel(env, which);
      size_t size;
      unsigned char *values = values_of(t, &size);
      if (i == 0) wanted = values, wanted_size = size;
      EQUAL(size, wanted_size);
      if (memcmp(values, wanted, size) != 0) FAIL("kernel %d differs with %d threads", which, counts[i]);
      if (i > 0) free(values);
      RELEASE(t);
      OK(lxla_env_release(env));
    }
    free(wanted);
  }
}

TEST(numbers_of_threads_are_checked) {
  lxla_env_options options = default_options();
  lxla_env env;
  options.threads = -1;
  REFUSED(lxla_env_create(&options, &env), LXLA_INVALID_ARGUMENT, "options.threads: -1 given; want 0 or more");
  env = env_of(3);
  char *text;
  OK(lxla_env_get_option(env, "threads", &text));
  CHECK(strcmp(text, "3") == 0);
  lxla_string_free(text);
  REFUSED(lxla_env_set_option(env, "threads", "-2"), LXLA_INVALID_ARGUMENT, "want a number of at least 0");
  OK(lxla_env_set_option(env, "threads", "0"));
  int32_t before;
  REFUSED(lxla_thread_limit(-3, &before), LXLA_INVALID_ARGUMENT, "n: -3 given; want 0 or more");
  REFUSED(lxla_thread_limit(1, NULL), LXLA_NULL_ARGUMENT, "out_before");
  OK(lxla_thread_limit(0, &before));
  EQUAL(before, 0);
  OK(lxla_env_release(env));
}

// A shorter struct, of a caller that was built before the field existed, has the default.
TEST(structs_without_the_field_limit_nothing) {
  lxla_env_options options = default_options();
  options.threads = 5;
  options.struct_size = offsetof(lxla_env_options, threads);
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  char *text;
  OK(lxla_env_get_option(env, "threads", &text));
  CHECK(strcmp(text, "0") == 0);
  lxla_string_free(text);
  OK(lxla_env_release(env));
}

// An executable on cpu, and a program that a plugin calls native kernels from.
TEST(executables_and_programs_compute_the_same_with_limits) {
  double wanted[8], got[8];
  for (int32_t threads = 0; threads <= 3; threads++) {
    lxla_env env = env_of(threads);
    for (int lazily = 0; lazily < 2; lazily++) {
      lxla_device device = lazily ? XLA(0) : cpu();
      lxla_tensor p, square, small, one, shifted, inverse, some;
      OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F64, DIMS(300, 300), &p));
      OK(lxla_matmul(p, p, &square));
      OK(lxla_binary_scalar(MUL, square, 1e-3, &small));
      OK(lxla_eye(env, device, LXLA_DTYPE_F64, 300, 300, 0, &one));
      OK(lxla_binary(ADD, small, one, &shifted));
      OK(lxla_inverse(shifted, &inverse));
      OK(lxla_reduce(LXLA_REDUCE_SUM, inverse, DIMS(0, 1), 0, &some));
      lxla_computation f;
      OK(lxla_computation_trace(&p, 1, &some, 1, &f));
      lxla_executable e;
      OK(lxla_executable_compile(f, device, NULL, &e));
      lxla_tensor x = numbers(env, LXLA_DTYPE_F64, DIMS(300, 300)), y = x;
      if (lazily) OK(lxla_tensor_to_device(x, device, &y));
      lxla_tensor out;
      OK(lxla_executable_run(e, &y, 1, &out, 1));
      OK(lxla_tensor_read(out, threads == 0 ? &wanted[lazily] : &got[lazily], sizeof(double)));
      // A plugin computes the products with its own threads.
      if (threads > 0) CHECK(fabs(wanted[lazily] - got[lazily]) <= lazily * 1e-9 * fabs(wanted[lazily]));
      if (lazily) RELEASE(y);
      RELEASE(p, square, small, one, shifted, inverse, some, x, out);
      OK(lxla_executable_release(e));
      OK(lxla_computation_release(f));
    }
    OK(lxla_env_release(env));
  }
}
