// Damaged programs: import_fuzz [-n programs] [-s seed] [-i first program] [-m most bytes of a sample] FOLDER ...
//
// Samples from the folders are changed, cut, repeated and mixed. Each result is imported, and every fourth is
// described, which reads it in the same way. A refusal is INVALID_ARGUMENT, UNIMPLEMENTED or RESOURCE_EXHAUSTED with a
// message; nothing panics, hangs, or takes more memory than a multiple of the program's size. The damaged program of a
// failure is in the file `damaged_program` of the current folder, also when it ends the process.
#define _GNU_SOURCE
#include "lazyxla.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SAMPLES = 4096, MOST_BYTES = 1 << 20, MOST_SECONDS = 60 };

// Bytes that a call may take for each byte of a program, and for any program: constants of up to 1024 equal elements
// are written out.
enum { MOST_FACTOR = 1000, MOST_BYTES_OF_ANY = 64 << 20 };

static unsigned long long number;
#define STOP(...) (fprintf(stderr, __VA_ARGS__), fprintf(stderr, " (program %llu)\n", number), exit(1))

// --- Memory that the library holds, and the most that it held ---

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), __libc_free(void *);
static _Atomic size_t held, most;

static void *counted(void *made) {
  size_t now = atomic_fetch_add(&held, malloc_usable_size(made)) + malloc_usable_size(made);
  if (now > atomic_load(&most)) atomic_store(&most, now);
  return made;
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **out, size_t alignment, size_t size) {
  void *made = memalign(alignment, size);
  if (made) *out = made;
  return made ? 0 : ENOMEM;
}

void free(void *made) {
  atomic_fetch_sub(&held, malloc_usable_size(made));
  __libc_free(made);
}

void *realloc(void *from, size_t size) {
  size_t before = malloc_usable_size(from);
  void *made = __libc_realloc(from, size);
  if (!made && size) return NULL;
  atomic_fetch_sub(&held, before);
  return counted(made);
}

// --- Samples ---

typedef struct {
  char *path;
  unsigned char *bytes;
  size_t size;
} sample;

static sample samples[MOST_SAMPLES];
static int count;
static size_t most_of_a_sample = 20000;

static int is_program(const char *path) {
  static const char *ends[] = {".jax", ".mlirbc", ".mlir", ".bytecode"};
  const char *end = strrchr(path, '.');
  for (size_t i = 0; end && i < sizeof ends / sizeof *ends; i++)
    if (!strcmp(end, ends[i])) return 1;
  return 0;
}

static int add(const char *path, const struct stat *found, int kind, struct FTW *place) {
  (void)place;
  if (kind != FTW_F || !is_program(path) || (size_t)found->st_size > most_of_a_sample || !found->st_size) return 0;
  if (count == MOST_SAMPLES) STOP("more than %d samples", MOST_SAMPLES);
  sample made = {strdup(path), malloc((size_t)found->st_size), (size_t)found->st_size};
  FILE *file = fopen(path, "rb");
  if (!file || fread(made.bytes, 1, made.size, file) != made.size) STOP("%s: it cannot be read", path);
  fclose(file);
  samples[count++] = made;
  return 0;
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const sample *)a)->path, ((const sample *)b)->path);
}

// --- Random changes ---

static uint64_t state;

static uint64_t bits(void) {  // SplitMix64
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static size_t below(size_t end) { return end ? bits() % end : 0; }

// The damaged program: shared with a file, which outlives the process.
static unsigned char *data;
static size_t size;

// Replaces `length` bytes at `at` by `n` others.
static void replace(size_t at, size_t length, const void *by, size_t n) {
  if (size - length + n > MOST_BYTES) return;
  unsigned char kept[256];
  if (n > sizeof kept) n = sizeof kept;
  memcpy(kept, by, n);
  memmove(data + at + n, data + at + length, size - at - length);
  memcpy(data + at, kept, n);
  size += n - length;
}

static int in_word(unsigned char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
         byte == '.' || byte == '%';
}

// Finds the word around an offset.
static size_t word(const unsigned char *bytes, size_t n, size_t *at) {
  size_t start = *at, end = *at;
  while (start > 0 && *at - start < 60 && in_word(bytes[start - 1])) start--;
  while (end < n && end - *at < 60 && in_word(bytes[end])) end++;
  *at = start;
  return end - start;
}

static void change(const sample *of) {
  static const char *const pieces[] = {"tensor<?xf32>",
                                       "tensor<?xf32, #stablehlo.bounds<8>>",
                                       "#stablehlo.bounds<?, 3>",
                                       "array<i1: true>",
                                       "array<f32: 1.0, 0x7FC00000>",
                                       "array<i64>",
                                       "-1",
                                       "0",
                                       "9223372036854775807",
                                       "dense<",
                                       "dense<\"0x",
                                       "{",
                                       "}",
                                       "(",
                                       ")",
                                       "<",
                                       ">",
                                       "[",
                                       "]",
                                       "%arg0",
                                       "i1",
                                       "ui4",
                                       "complex<f32>",
                                       "tensor<f32>",
                                       "stablehlo.add",
                                       "^bb0",
                                       "func.call @main(%arg0)",
                                       "dense_resource<a>",
                                       "loc(#a)",
                                       "\"x\"",
                                       "sdy.mesh @m = <[\"x\"=2]>"};
  static const size_t lengths[] = {1, 1, 2, 8, 64};
  const sample *other = below(2) ? of : &samples[below((size_t)count)];
  size_t at = below(size + 1), length = lengths[below(5)];
  if (length > size - at) length = size - at;
  size_t kind = below(9);
  if (kind < 3 && length == 0) return;
  if (kind == 0) data[at] ^= (unsigned char)(1 << below(8));
  if (kind == 1) data[at] = (unsigned char[]){0, 1, 0x7F, 0x80, 0xFF, '<', '(', '9'}[below(8)];
  // A number of one byte in bytecode, or a digit.
  if (kind == 2) data[at] = (unsigned char)(data[at] + (int[]){-4, -2, -1, 1, 2, 4}[below(6)]);
  if (kind == 3) replace(at, length, "", 0);
  if (kind == 4)
    for (size_t times = (size_t[]){1, 2, 50}[below(3)]; times > 0; times--) replace(at, 0, data + at, length);
  if (kind == 5) {
    const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
    replace(at, length, piece, strlen(piece));
  }
  if (kind == 6) {
    size_t from = below(other->size), n = length < other->size - from ? length : other->size - from;
    replace(at, length, other->bytes + from, n);
  }
  if (kind == 7) {
    size_t from = below(other->size), n = word(other->bytes, other->size, &from), old = word(data, size, &at);
    replace(at, old, other->bytes + from, n);
  }
  if (kind == 8 && below(4) == 0) size = at;
}

static void damage(void) {
  const sample *of = &samples[below((size_t)count)];
  memcpy(data, of->bytes, size = of->size);
  for (size_t times = (size_t[]){1, 1, 1, 2, 4, 16}[below(6)]; times > 0; times--) change(of);
}

// --- One program ---

static lxla_env env;
static double slowest;
static size_t largest;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int refused(const char *call, lxla_status status) {
  if (status == LXLA_OK) return 0;
  int known = status == LXLA_INVALID_ARGUMENT || status == LXLA_UNIMPLEMENTED || status == LXLA_RESOURCE_EXHAUSTED;
  const char *message = lxla_last_error_message();
  if (!known || !*message) STOP("%s: %s: %s", call, lxla_status_name(status), message);
  return 1;
}

// Imports the damaged program, and describes some. Returns whether it was imported.
static int used(const lxla_import_options *options) {
  size_t before = atomic_load(&held);
  atomic_store(&most, before);
  double start = now();
  alarm(MOST_SECONDS);
  char *text;
  if (below(4) == 0 && !refused("lxla_module_describe", lxla_module_describe(data, size, &text)))
    lxla_string_free(text);
  lxla_computation made;
  int imported = !refused("lxla_computation_import", lxla_computation_import(env, data, size, options, &made));
  if (imported) {
    size_t counts[3];
    if (lxla_computation_info(made, &counts[0], &counts[1], &counts[2])) STOP("%s", lxla_last_error_message());
    if (lxla_computation_release(made)) STOP("%s", lxla_last_error_message());
  }
  double took = now() - start;
  size_t bytes = atomic_load(&most) - before;
  if (took > slowest) slowest = took;
  if (bytes > largest) largest = bytes;
  if (bytes > MOST_BYTES_OF_ANY + MOST_FACTOR * size) STOP("%zu bytes of memory for %zu bytes", bytes, size);
  if (took > 2) STOP("%.1f seconds for %zu bytes", took, size);
  return imported;
}

int main(int argc, char **argv) {
  unsigned long long programs = 100000, seed = 1, imported = 0, first = 0;
  int option;
  while ((option = getopt(argc, argv, "n:s:m:i:")) != -1) {
    if (option == 'i') first = strtoull(optarg, NULL, 10);
    if (option == 'n') programs = strtoull(optarg, NULL, 10);
    if (option == 's') seed = strtoull(optarg, NULL, 10);
    if (option == 'm') most_of_a_sample = strtoull(optarg, NULL, 10);
  }
  for (int i = optind; i < argc; i++)
    if (nftw(argv[i], add, 20, FTW_PHYS)) STOP("%s: it cannot be listed", argv[i]);
  if (count < 8) STOP("%d samples", count);
  qsort(samples, (size_t)count, sizeof *samples, by_path);
  int file = open("damaged_program", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, MOST_BYTES)) STOP("damaged_program: %s", strerror(errno));
  data = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) STOP("damaged_program: %s", strerror(errno));
  if (lxla_env_create(NULL, &env)) STOP("%s", lxla_last_error_message());
  lxla_import_options shapes = {.struct_size = sizeof shapes};
  if (lxla_import_options_init(&shapes)) STOP("%s", lxla_last_error_message());
  shapes.ranks = (size_t[]){2, 2}, shapes.dims = (int64_t[]){3, 4, 4, 3}, shapes.n_parameters = 2;
  for (unsigned long long i = first; i < first + programs; i++) {
    state = seed << 32 ^ i;
    number = i;
    // The file has the size of the program, so that what is left of it after an end of the process is the program.
    if (ftruncate(file, MOST_BYTES)) STOP("damaged_program: %s", strerror(errno));
    damage();
    if (ftruncate(file, (off_t)size)) STOP("damaged_program: %s", strerror(errno));
    imported += (unsigned long long)used(below(3) ? NULL : &shapes);
    if ((i + 1) % 1000000 == 0)
      printf("%llu programs, %llu imported, at most %.2f s and %zu KB\n", i + 1, imported, slowest, largest / 1000),
          fflush(stdout);
  }
  printf("%llu damaged programs of %d samples, %llu of them imported; at most %.3f s and %zu KB for one\n", programs,
         count, imported, slowest, largest / 1000);
  unlink("damaged_program");
  return programs > 1000 && !(imported > 0 && imported < programs);
}
