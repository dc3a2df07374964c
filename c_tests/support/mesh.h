// Helpers for tests of meshes: an environment with eight devices, the mesh of a test, tensors on it, and the pieces
// that its devices should hold, computed from the text of a sharding.
#ifndef LXLA_TEST_MESH_H
#define LXLA_TEST_MESH_H

#include "derivatives.h"

enum { DEVICES = 8, MOST_AXES = 4, MOST_RANK = 4, MOST_ELEMENTS = 4096 };

static const lxla_device on_cpu = {LXLA_DEVICE_CPU, 0}, everywhere = {LXLA_DEVICE_UNSPECIFIED, 0};

// --- The mesh of a test ---

// Names and sizes of axes, major to minor.
typedef struct {
  size_t rank;
  char names[MOST_AXES][16];
  int64_t sizes[MOST_AXES];
} mesh_axes;

// Mesh of the running test, its axes, and its device, `device`.
static lxla_mesh mesh;
static mesh_axes axes;

// Parses a text such as "data=2,model=4".
static inline mesh_axes parse_axes(const char *text) {
  mesh_axes out = {0};
  for (int used = 0; *text; text += used + (text[used] == ',')) {
    long long size;
    CHECK(out.rank < MOST_AXES);
    CHECK(sscanf(text, "%15[^=]=%lld%n", out.names[out.rank], &size, &used) == 2);
    out.sizes[out.rank++] = size;
  }
  return out;
}

static inline int64_t devices_of(const mesh_axes *of) {
  int64_t n = 1;
  for (size_t i = 0; i < of->rank; i++) n *= of->sizes[i];
  return n;
}

// Creates a mesh in the environment of the test. With `ordinals` NULL, of the first devices.
static inline lxla_mesh new_mesh(const char *text, const int32_t *ordinals) {
  const mesh_axes of = parse_axes(text);
  const char *names[MOST_AXES];
  for (size_t i = 0; i < of.rank; i++) names[i] = of.names[i];
  lxla_mesh made;
  OK(lxla_mesh_create(env, names, of.sizes, of.rank, ordinals, &made));
  return made;
}

static inline lxla_device place_of(lxla_mesh of) {
  lxla_device place;
  OK(lxla_mesh_device(of, &place));
  return place;
}

static inline lxla_env_options eight_devices(void) {
  lxla_env_options options = default_options();
  options.device_count = DEVICES;
  return options;
}

// Opens an environment, and a mesh on its first devices.
static inline void start_with(const lxla_env_options *options, const char *text) {
  OK(lxla_env_create(options, &env));
  axes = parse_axes(text);
  mesh = new_mesh(text, NULL);
  device = place_of(mesh);
}

static inline void start_on(const char *text) {
  const lxla_env_options options = eight_devices();
  start_with(&options, text);
}

static inline void finish(void) {
  release_all();
  no_live_bytes(env);
  OK(lxla_mesh_release(mesh));
  OK(lxla_env_release(env));
}

// MESH_TEST(name, "data=2,model=4") { ... }: a test on this mesh. Releases the tensors and computations that the test
// owns.
#define MESH_TEST(name, text)                             \
  static void name##_body(void);                          \
  TEST(name) { start_on(text), name##_body(), finish(); } \
  static void name##_body(void)

// Runs a step of the mesh and waits for it. Returns the increase of the counter DonatedBuffers.
static inline uint64_t mesh_step(void) {
  uint64_t before = counter(env, "DonatedBuffers");
  OK(lxla_mark_step(env, device, 1));
  return counter(env, "DonatedBuffers") - before;
}

// --- What each device should hold ---

static inline size_t elements(const int64_t *dims, size_t rank) {
  size_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  return n;
}

// Returns the number of the axis whose name starts at `name` and ends before one of "+,".
static inline size_t axis_named(const mesh_axes *of, const char *name) {
  const size_t length = strcspn(name, "+,");
  for (size_t i = 0; i < of->rank; i++)
    if (strlen(of->names[i]) == length && strncmp(of->names[i], name, length) == 0) return i;
  FAIL("no axis of the mesh: %s", name);
}

static inline int64_t coordinate(const mesh_axes *of, int64_t position, size_t axis) {
  for (size_t i = of->rank - 1; i > axis; i--) position /= of->sizes[i];
  return position % of->sizes[axis];
}

// Returns the index of a position along a list of axes ("data+model", major to minor) that ends at a comma or at the
// end of the text. Writes the number of indices to `count`.
static inline int64_t index_along(const mesh_axes *of, int64_t position, const char *list, int64_t *count) {
  int64_t index = 0;
  *count = 1;
  for (const char *at = list;; at++) {
    const size_t axis = axis_named(of, at);
    index = index * of->sizes[axis] + coordinate(of, position, axis);
    *count *= of->sizes[axis];
    at += strcspn(at, "+,");
    if (*at != '+') return index;
  }
}

// Computes the offsets and the sizes of the piece at a position.
static inline void piece_at(const mesh_axes *of, int64_t position, const char *sharding, const int64_t *dims,
                            size_t rank, int64_t *offsets, int64_t *piece) {
  for (size_t i = 0; i < rank; i++) {
    int64_t index = 0, count = 1;
    if (*sharding && *sharding != '-') index = index_along(of, position, sharding, &count);
    piece[i] = dims[i] / count, offsets[i] = index * piece[i];
    sharding += strcspn(sharding, ",");
    sharding += *sharding == ',';
  }
}

// --- Tensors ---

static inline lxla_tensor split_of(int32_t dtype, const int64_t *dims, size_t rank, const void *data, size_t size,
                                   const char *sharding) {
  lxla_tensor t;
  OK(lxla_tensor_from_host_sharded(mesh, dtype, dims, rank, data, size, sharding, &t));
  return own(t);
}
// Makes an f32 tensor on the mesh from a list of values: SPLIT("data,-", DIMS(2, 2), 1, 2, 3, 4)
#define SPLIT(sharding, dims, ...) split_of(F32, dims, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}), sharding)

// Returns 0, 1, 2, ...
static inline const float *numbers(void) {
  static float values[MOST_ELEMENTS];
  for (int i = 0; i < MOST_ELEMENTS; i++) values[i] = (float)i;
  return values;
}

// Makes an f32 tensor on the mesh with the values 0, 1, 2, ...
static inline lxla_tensor counting(const int64_t *dims, size_t rank, const char *sharding) {
  CHECK(elements(dims, rank) <= MOST_ELEMENTS);
  return split_of(F32, dims, rank, numbers(), elements(dims, rank) * sizeof(float), sharding);
}

static inline lxla_tensor moved(lxla_tensor x, lxla_device to) {
  lxla_tensor out;
  OK(lxla_tensor_to_device(x, to, &out));
  return own(out);
}

static inline lxla_tensor sharded(lxla_tensor x, lxla_mesh over, const char *sharding) {
  lxla_tensor out;
  OK(lxla_tensor_shard(x, over, sharding, &out));
  return own(out);
}

static inline lxla_tensor constrained(lxla_tensor x, const char *sharding) {
  lxla_tensor out;
  OK(lxla_sharding_constraint(x, sharding, &out));
  return own(out);
}

// --- Comparison ---

static inline void has_values(const char *file, int line, lxla_tensor t, const float *want, size_t n) {
  float got[MOST_ELEMENTS];
  CHECK(n <= MOST_ELEMENTS);
  read_f32(t, got, n);
  for (size_t i = 0; i < n; i++)
    if (got[i] != want[i])
      FAIL("%s:%d: element %zu is %.9g, want %.9g", file, line, i, (double)got[i], (double)want[i]);
}
// Compares an f32 tensor with a C array.
#define HAS_VALUES(t, want, n) has_values(__FILE__, __LINE__, t, want, n)

static inline void has_sharding(const char *file, int line, lxla_tensor t, const char *want) {
  char *text;
  OK(lxla_tensor_sharding(t, &text));
  if (strcmp(text, want) != 0) FAIL("%s:%d: the sharding is \"%s\", want \"%s\"", file, line, text, want);
  lxla_string_free(text);
}
#define HAS_SHARDING(t, want) has_sharding(__FILE__, __LINE__, t, want)

// Checks the piece of each device. `whole` are the values of the whole f32 tensor, `over` the mesh's axes, `ordinals`
// its devices (NULL: the first ones).
static inline void has_pieces(const char *file, int line, lxla_tensor t, const float *whole, const mesh_axes *over,
                              const int32_t *ordinals, const char *sharding) {
  int64_t dims[MOST_RANK], offsets[MOST_RANK], piece[MOST_RANK], got_offsets[MOST_RANK], got_dims[MOST_RANK];
  size_t rank;
  OK(lxla_tensor_info(t, NULL, &rank, dims, MOST_RANK));
  for (int64_t p = 0; p < devices_of(over); p++) {
    float got[MOST_ELEMENTS];
    piece_at(over, p, sharding, dims, rank, offsets, piece);
    const int32_t ordinal = ordinals ? ordinals[p] : (int32_t)p;
    const size_t n = elements(piece, rank);
    OK(lxla_tensor_shard_read(t, ordinal, got, n * sizeof *got, got_offsets, got_dims, MOST_RANK));
    for (size_t i = 0; i < rank; i++)
      if (got_offsets[i] != offsets[i] || got_dims[i] != piece[i])
        FAIL("%s:%d: device %d, axis %zu: %" PRId64 " from %" PRId64 ", want %" PRId64 " from %" PRId64, file, line,
             ordinal, i, got_dims[i], got_offsets[i], piece[i], offsets[i]);
    for (size_t i = 0; i < n; i++) {
      int64_t at = 0, scale = 1, rest = (int64_t)i;
      for (size_t axis = rank; axis-- > 0; rest /= piece[axis], scale *= dims[axis])
        at += (offsets[axis] + rest % piece[axis]) * scale;
      if (got[i] != whole[at])
        FAIL("%s:%d: device %d, element %zu is %g, want %g", file, line, ordinal, i, (double)got[i], (double)whole[at]);
    }
  }
}
#define HAS_PIECES(t, whole, sharding) has_pieces(__FILE__, __LINE__, t, whole, &axes, NULL, sharding)

// Checks that the results of `record` on the mesh are close to those on xla:0. Results have at most MOST_ELEMENTS
// elements each.
static inline void same_values(const char *file, int line, lxla_tensor t, lxla_tensor want, double tolerance) {
  static float a[MOST_ELEMENTS], b[MOST_ELEMENTS];
  int64_t dims[MOST_RANK], wanted_dims[MOST_RANK];
  size_t rank, wanted_rank;
  OK(lxla_tensor_info(t, NULL, &rank, dims, MOST_RANK));
  OK(lxla_tensor_info(want, NULL, &wanted_rank, wanted_dims, MOST_RANK));
  const int is_same = rank == wanted_rank && memcmp(dims, wanted_dims, rank * sizeof *dims) == 0;
  if (!is_same) FAIL("%s:%d: the shapes differ", file, line);
  const size_t n = elements(dims, rank);
  CHECK(n <= MOST_ELEMENTS);
  lxla_tensor wide[2];
  OK(lxla_convert(t, F32, &wide[0]));
  OK(lxla_convert(want, F32, &wide[1]));
  read_f32(wide[0], a, n);
  read_f32(wide[1], b, n);
  RELEASE(wide[0], wide[1]);
  double largest = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)b[i]));
  for (size_t i = 0; i < n; i++)
    if (!(fabs((double)a[i] - (double)b[i]) <= tolerance * largest))
      FAIL("%s:%d: element %zu is %.9g, want %.9g", file, line, i, (double)a[i], (double)b[i]);
}
// Compares two tensors, which may be on different devices: bit for bit, or within 1e-5 of the largest value.
#define SAME(t, want) same_values(__FILE__, __LINE__, t, want, 0)
#define SAME_NEAR(t, want) same_values(__FILE__, __LINE__, t, want, 1e-5)

#endif
