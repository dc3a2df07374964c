// Measures imports of programs that the library exported: of many operations, in each form, and of large constants
// against copies of as many bytes. bench_import [FOLDER]: where the programs are written (the current folder).
#include "bench.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDTH = 64, LAYER = 4, ROUNDS = 30, CONSTANTS = 200, CONSTANT_ROWS = 1000, CONSTANT_COLUMNS = 250 };

static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};
static const char *folder;
static char path[4096];

static void release(lxla_tensor t) { OK(lxla_tensor_release(t)); }

static lxla_tensor placeholder(lxla_device on, int64_t rows, int64_t columns) {
  lxla_tensor out;
  OK(lxla_tensor_placeholder(env, on, LXLA_DTYPE_F32, (int64_t[]){rows, columns}, 2, &out));
  return out;
}

// Traces layers: a product, a sum, tanh, and a product with a number that differs from layer to layer.
static lxla_computation layers(int operations) {
  lxla_tensor p[] = {placeholder(cpu, 8, WIDTH), placeholder(cpu, WIDTH, WIDTH), placeholder(cpu, 8, WIDTH)}, x = p[0];
  for (int i = 0; i < operations / LAYER; i++) {
    lxla_tensor product, sum, bent, scaled;
    OK(lxla_matmul(x, p[1], &product));
    OK(lxla_binary(LXLA_BINARY_ADD, product, p[2], &sum));
    OK(lxla_unary(LXLA_UNARY_TANH, sum, &bent));
    OK(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, bent, 1 + 1e-3 * i, &scaled));
    if (i > 0) release(x);
    release(product), release(sum), release(bent);
    x = scaled;
  }
  lxla_computation out;
  OK(lxla_computation_trace(p, 3, &x, 1, &out));
  release(x);
  OK(lxla_tensor_release_many(p, 3));
  return out;
}

// Traces a sum of captured arrays of 1 MB.
static lxla_computation constants(void) {
  static float values[CONSTANT_ROWS * CONSTANT_COLUMNS];
  lxla_tensor p = placeholder(cpu, CONSTANT_ROWS, CONSTANT_COLUMNS), x = p;
  for (int i = 0; i < CONSTANTS; i++) {
    for (int j = 0; j < CONSTANT_ROWS * CONSTANT_COLUMNS; j++) values[j] = (float)(i + j);
    lxla_tensor captured, sum;
    OK(lxla_tensor_from_host(env, cpu, LXLA_DTYPE_F32, (int64_t[]){CONSTANT_ROWS, CONSTANT_COLUMNS}, 2, values,
                             sizeof values, &captured));
    OK(lxla_binary(LXLA_BINARY_ADD, x, captured, &sum));
    release(captured);
    if (i > 0) release(x);
    x = sum;
  }
  lxla_computation out;
  OK(lxla_computation_trace(&p, 1, &x, 1, &out));
  release(x), release(p);
  return out;
}

static void export_to(lxla_computation of, uint32_t format, const char *name) {
  lxla_export_options options = {.struct_size = sizeof options};
  OK(lxla_export_options_init(&options));
  options.format = format;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  OK(lxla_computation_export(of, &options, path));
}

static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

// Returns a number of /proc/self/status, in MB.
static double memory(const char *key) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  double kilobytes = 0;
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, key, strlen(key))) kilobytes = atof(line + strlen(key));
  if (file) fclose(file);
  return kilobytes / 1e3;
}

typedef struct {
  double elapsed, processor;  // the median, and the least, in microseconds: other work raises processor time too
} times;

static double least(const double *samples) {
  double found = samples[0];
  for (int i = 1; i < ROUNDS; i++)
    if (samples[i] < found) found = samples[i];
  return found;
}

// Imports the program; or reads it only, where the import ends since there is no function of the name.
static times import(int reads_only) {
  lxla_import_options options = {.struct_size = sizeof options};
  OK(lxla_import_options_init(&options));
  if (reads_only) options.function = "none";
  double elapsed[ROUNDS], processor[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    double start = now(), used = processor_time();
    lxla_computation made;
    lxla_status status = lxla_computation_import_file(env, path, &options, &made);
    elapsed[i] = now() - start, processor[i] = processor_time() - used;
    if (status != (reads_only ? LXLA_INVALID_ARGUMENT : LXLA_OK)) STOP("%s", lxla_last_error_message());
    if (!reads_only) OK(lxla_computation_release(made));
  }
  return (times){median(elapsed, ROUNDS), least(processor)};
}

static double bytes_of(const char *file) {
  struct stat found;
  if (stat(file, &found)) STOP("cannot read %s", file);
  return (double)found.st_size;
}

static void operations(int count) {
  static const struct {
    uint32_t format;
    const char *name, *file, *shown;
  } forms[] = {{LXLA_EXPORT_FOLDER, "bench_import", "/program.mlirbc", "artifact"},
               {LXLA_EXPORT_JAX, "bench_import.jax", "", "file of jax.export"},
               {LXLA_EXPORT_TEXT, "bench_import.mlir", "", "text"}};
  lxla_computation of = layers(count);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    export_to(of, forms[i].format, forms[i].name);
    strncat(path, forms[i].file,
            sizeof path - strlen(path) - 1);  // of a folder, the artifact alone: it has no captured values
    double bytes = bytes_of(path);
    times t = import(0), read = import(1);
    printf("%6d operations, %-18s %8.1f KB  %7.2f ms, processor %7.2f ms; of it reading %6.2f ms, %6.1f MB/s\n", count,
           forms[i].shown, bytes / 1e3, t.elapsed / 1e3, t.processor / 1e3, read.processor / 1e3,
           bytes / read.processor);
  }
  OK(lxla_computation_release(of));
}

// Copies bytes to memory that was not used before, as constants are.
static double copy(size_t bytes) {
  double samples[ROUNDS];
  char *from = malloc(bytes);
  memset(from, 1, bytes);
  for (int i = 0; i < ROUNDS; i++) {
    double start = processor_time();
    volatile char *to = memcpy(malloc(bytes), from, bytes);
    samples[i] = processor_time() - start;
    if (to[bytes / 2] != 1) STOP("the copy differs");
    free((void *)to);
  }
  free(from);
  return least(samples);
}

static void large(void) {
  lxla_computation of = constants();
  export_to(of, LXLA_EXPORT_JAX, "bench_import.jax");
  OK(lxla_computation_release(of));
  double bytes = bytes_of(path), copied = copy((size_t)bytes), before = memory("VmRSS:");
  times t = import(0);
  lxla_computation made;
  OK(lxla_computation_import_file(env, path, NULL, &made));
  printf("%.0f MB of constants: %.0f ms, processor %.0f ms, %.0f MB/s; a copy to fresh memory %.0f ms, %.2f of it\n",
         bytes / 1e6, t.elapsed / 1e3, t.processor / 1e3, bytes / t.processor, copied / 1e3, t.processor / copied);
  printf("resident: %.0f MB before, %.0f MB with the computation\n", before, memory("VmRSS:"));
  OK(lxla_computation_release(made));
}

int main(int argc, char **argv) {
  folder = argc > 1 ? argv[1] : ".";
  for (int count = 100; count <= 10000; count *= 10) operations(count);
  large();
  remove(path);
}
