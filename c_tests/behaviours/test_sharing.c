// Memory shared by native tensors, the CPU plugin and other libraries: D5 of docs/behaviours.md for aliased and
// exported memory.
#include "check.h"

#include <unistd.h>

#define F32 LXLA_DTYPE_F32
enum { N = 1024 };
static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};

// The structs of dlpack.h 1.1 (github.com/dmlc/dlpack).
typedef struct {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct dl_managed *);
  uint64_t flags;
  dl_tensor tensor;
} dl_managed;
enum { READ_ONLY = 1 };

static lxla_tensor counted(lxla_env env, lxla_device device) {
  lxla_tensor t;
  OK(lxla_iota(env, device, F32, DIMS(N), 0, &t));
  return t;
}

static lxla_tensor moved(lxla_tensor t, lxla_device device) {
  lxla_tensor out;
  OK(lxla_tensor_to_device(t, device, &out));
  return out;
}

static void holds(lxla_tensor t, float first, float step) {
  float got[N];
  read_f32(t, got, N);
  for (int i = 0; i < N; i++) EQUAL(got[i], first + step * i);
}

static dl_managed *exported(lxla_tensor t) {
  void *managed;
  OK(lxla_tensor_to_dlpack(t, &managed));
  return managed;
}

static const float *values(const dl_managed *m) { return m->tensor.data; }

TEST(d5_native_memory_is_lent_to_the_plugin_and_never_donated) {
  lxla_env env = new_env();
  lxla_tensor native = counted(env, cpu), lazy = moved(native, XLA(0));
  EQUAL(counter(env, "ZeroCopy"), 1);
  EQUAL(counter(env, "ZeroCopyBytes"), N * sizeof(float));
  EQUAL(counter(env, "OutboundBytes"), 0);
  EQUAL(counter(env, "TransferToDevice"), 0);
  holds(lazy, 0, 1);
  // An update in place must not be written over the memory that the native tensor shares.
  OK(lxla_binary_scalar_inplace(ADD, lazy, 100));
  EQUAL(step(env), 0);
  holds(native, 0, 1);
  holds(lazy, 100, 1);
  // The result of the update has a buffer of its own, which the next step may donate.
  OK(lxla_binary_scalar_inplace(ADD, lazy, 100));
  EQUAL(step(env), 1);
  holds(lazy, 200, 1);
  // The plugin still uses the memory after both tensors are released.
  lxla_tensor again = moved(native, XLA(0)), sum = binary(ADD, again, lazy);
  RELEASE(native);
  OK(lxla_mark_step(env, XLA(0), 0));
  RELEASE(again);
  holds(sum, 200, 2);
  RELEASE(lazy, sum);
  OK(lxla_env_release(env));
}

TEST(d5_the_plugins_memory_becomes_a_native_tensors) {
  lxla_env env = new_env();
  lxla_tensor lazy = counted(env, XLA(0)), native = moved(lazy, cpu);
  EQUAL(state_of(native), LXLA_STATE_NATIVE);
  EQUAL(counter(env, "ZeroCopy"), 1);
  EQUAL(counter(env, "InboundBytes"), 0);
  OK(lxla_binary_scalar_inplace(MUL, lazy, 2));
  EQUAL(step(env), 0);
  holds(native, 0, 1);
  holds(lazy, 0, 2);
  // Moves it back again: three tensors share one memory.
  lxla_tensor back = moved(native, XLA(0));
  RELEASE(native);
  OK(lxla_binary_scalar_inplace(ADD, back, 1));
  EQUAL(step(env), 0);
  holds(back, 1, 1);
  OK(lxla_binary_scalar_inplace(MUL, lazy, 2));
  EQUAL(step(env), 1);
  holds(lazy, 0, 4);
  lxla_tensor kept = moved(lazy, cpu);
  RELEASE(lazy, back);
  OK(lxla_env_release(env));
  holds(kept, 0, 4);
  RELEASE(kept);
}

TEST(d5_exported_memory_is_not_donated_while_its_consumer_holds_it) {
  lxla_env env = new_env();
  for (int lazily = 0; lazily < 2; lazily++) {
    lxla_tensor t = counted(env, lazily ? XLA(0) : cpu), doubled = scalar(MUL, t, 2);
    dl_managed *m = exported(doubled);
    EQUAL(m->major, 1);
    EQUAL(m->flags, READ_ONLY);
    EQUAL(m->tensor.device.type, 1);
    EQUAL(m->tensor.dtype.code, 2);
    EQUAL(m->tensor.dtype.bits, 32);
    EQUAL(m->tensor.ndim, 1);
    EQUAL(m->tensor.shape[0], N);
    EQUAL(m->tensor.strides[0], 1);
    OK(lxla_binary_scalar_inplace(ADD, doubled, 1));
    EQUAL(step(env), 0);
    for (int i = 0; i < N; i++) EQUAL(values(m)[i], 2 * i);
    holds(doubled, 1, 2);
    m->deleter(m);
    OK(lxla_binary_scalar_inplace(ADD, doubled, 1));
    EQUAL(step(env), lazily);
    // The exported memory outlives its tensor.
    m = exported(doubled);
    RELEASE(t, doubled);
    EQUAL(values(m)[3], 8);
    m->deleter(m);
  }
  lxla_tensor p;
  void *none_managed = NULL;
  OK(lxla_tensor_placeholder(env, XLA(0), F32, DIMS(2), &p));
  REFUSED(lxla_tensor_to_dlpack(p, &none_managed), LXLA_FAILED_PRECONDITION, "placeholder f32[2]");
  REFUSED(lxla_tensor_to_dlpack(none, &none_managed), LXLA_INVALID_HANDLE, "tensor");
  REFUSED(lxla_tensor_to_dlpack(p, NULL), LXLA_NULL_ARGUMENT, "out_managed");
  CHECK(!none_managed);
  RELEASE(p);
  OK(lxla_env_release(env));
}

static int deleted;
static void count_deletion(dl_managed *m) {
  (void)m;
  deleted++;
}

static _Alignas(64) float memory[N];
static int64_t shape[2], strides[2];

static dl_managed foreign(int64_t rows, int64_t columns) {
  for (int i = 0; i < N; i++) memory[i] = (float)i;
  shape[0] = rows, shape[1] = columns, strides[0] = columns, strides[1] = 1;
  deleted = 0;
  return (dl_managed){
      .major = 1,
      .minor = 1,
      .deleter = count_deletion,
      .tensor = {.data = memory, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape, .strides = strides}};
}

TEST(imports_share_and_delete_once) {
  lxla_env env = new_env();
  for (int lazily = 0; lazily < 2; lazily++)
    for (int copy = 0; copy < 2; copy++) {
      dl_managed m = foreign(4, N / 4);
      lxla_tensor t;
      OK(lxla_tensor_from_dlpack(env, lazily ? XLA(0) : cpu, &m, copy, &t));
      EQUAL(deleted, copy);
      dl_managed *out = exported(t);
      EQUAL(values(out) == memory, !copy);
      out->deleter(out);
      lxla_tensor sum = scalar(ADD, t, 1);
      holds(sum, 1, 1);
      RELEASE(t, sum);
      OK(lxla_mark_step(env, XLA(0), 1));
      for (int i = 0; i < 1000 && !deleted; i++) usleep(1000);
      EQUAL(deleted, 1);
      for (int i = 0; i < N; i++) EQUAL(memory[i], i);
    }
  OK(lxla_env_release(env));
}

TEST(imports_of_any_strides_offsets_and_alignments) {
  lxla_env env = new_env();
  dl_managed m = foreign(2, 3);
  lxla_tensor t;
  float got[6];
  // Strides in column-major order, with the second axis reversed, from an offset.
  strides[0] = 1, strides[1] = -2;
  m.tensor.byte_offset = 9 * sizeof(float);
  OK(lxla_tensor_from_dlpack(env, cpu, &m, 0, &t));
  EQUAL(deleted, 1);
  read_f32(t, got, 6);
  const float want[] = {9, 7, 5, 10, 8, 6};
  for (int i = 0; i < 6; i++) EQUAL(got[i], want[i]);
  RELEASE(t);
  // No strides: row-major. The memory is 4 bytes off an alignment boundary: a native tensor shares it, the plugin may
  // copy it.
  m = foreign(2, 3);
  m.tensor.strides = NULL, m.tensor.byte_offset = sizeof(float);
  OK(lxla_tensor_from_dlpack(env, XLA(0), &m, 0, &t));
  read_f32(t, got, 6);
  for (int i = 0; i < 6; i++) EQUAL(got[i], i + 1);
  RELEASE(t);
  m = foreign(2, 0);
  m.tensor.data = NULL;
  OK(lxla_tensor_from_dlpack(env, cpu, &m, 0, &t));
  RELEASE(t);
  EQUAL(deleted, 1);
  OK(lxla_env_release(env));
}

TEST(what_cannot_be_imported_stays_its_owners) {
  lxla_env env = new_env();
  lxla_tensor t = {77};
  dl_managed m = foreign(2, 3);
#define BAD(change, status, words)                                        \
  do {                                                                    \
    m = foreign(2, 3);                                                    \
    change;                                                               \
    REFUSED(lxla_tensor_from_dlpack(env, cpu, &m, 0, &t), status, words); \
    EQUAL(t.id, 77);                                                      \
    EQUAL(deleted, 0);                                                    \
  } while (0)
  BAD(m.major = 2, LXLA_UNIMPLEMENTED, "DLPack 2.1");
  BAD(m.tensor.device.type = 2, LXLA_UNIMPLEMENTED, "device type 2");
  BAD(m.tensor.dtype.lanes = 4, LXLA_UNIMPLEMENTED, "4 lanes");
  BAD(m.tensor.data = NULL, LXLA_NULL_ARGUMENT, "f32[2,3]");
  BAD(m.tensor.ndim = -1, LXLA_INVALID_ARGUMENT, "rank -1");
  BAD(m.tensor.shape = NULL, LXLA_NULL_ARGUMENT, "shape");
  BAD(shape[0] = -2, LXLA_INVALID_ARGUMENT, "-2");
  BAD((m.tensor.dtype.code = 6, m.tensor.dtype.bits = 8, ((uint8_t *)memory)[3] = 7), LXLA_INVALID_ARGUMENT,
      "pred takes 0 or 1");
  REFUSED(lxla_tensor_from_dlpack(env, cpu, NULL, 0, &t), LXLA_NULL_ARGUMENT, "managed");
  REFUSED(lxla_tensor_from_dlpack(env, cpu, &m, 2, &t), LXLA_INVALID_ARGUMENT, "copy: 2");
  m = foreign(2, 3);
  REFUSED(lxla_tensor_from_dlpack(env, XLA(5), &m, 0, &t), LXLA_INVALID_ARGUMENT, "5");
  EQUAL(deleted, 0);
  OK(lxla_env_release(env));
}

static int releases;
static lxla_tensor kept_for_release;

// Calls the library: a release function may.
static void count_release(void *user) {
  releases += *(int *)user;
  if (kept_for_release.id) OK(lxla_tensor_release(kept_for_release));
  kept_for_release.id = 0;
}

static void borrowed_on(lxla_env env, lxla_device device, int is_shared) {
  static _Alignas(64) float memory[N + 1];
  int one = 1;
  for (int i = 0; i < N; i++) memory[i] = (float)i;
  releases = 0;
  lxla_tensor t, sum;
  OK(lxla_tensor_from_host_borrowed(env, device, F32, DIMS(N), memory, sizeof(float) * N, count_release, &one, &t));
  EQUAL(releases, !is_shared);
  holds(t, 0, 1);
  // A pending operation on the memory keeps it borrowed; a step does not write to it.
  OK(lxla_binary_scalar(ADD, t, 1, &sum));
  OK(lxla_binary_scalar_inplace(MUL, t, 2));
  if (device.kind == LXLA_DEVICE_XLA) EQUAL(step(env), 0);
  holds(sum, 1, 1);
  holds(t, 0, 2);
  for (int i = 0; i < N; i++) EQUAL(memory[i], i);
  OK(lxla_iota(env, device, F32, DIMS(4), 0, &kept_for_release));
  RELEASE(t, sum);
  if (device.kind == LXLA_DEVICE_XLA) OK(lxla_mark_step(env, device, 1));
  for (int i = 0; i < 2000 && !releases; i++) usleep(1000);
  EQUAL(releases, 1);
  // Memory of no alignment is copied, and released at once; of a failed call it stays the caller's.
  OK(lxla_tensor_from_host_borrowed(env, device, F32, DIMS(2), (char *)memory + 1, 8, count_release, &one, &t));
  EQUAL(releases, 2);
  RELEASE(t);
  lxla_tensor none_made = {0};
  REFUSED(lxla_tensor_from_host_borrowed(env, device, F32, DIMS(2), memory, 4, count_release, &one, &none_made),
          LXLA_INVALID_ARGUMENT, "size_bytes: 4 given; f32[2] has 8 bytes");
  memory[0] = 2;
  REFUSED(
      lxla_tensor_from_host_borrowed(env, device, LXLA_DTYPE_PRED, DIMS(4), memory, 4, count_release, &one, &none_made),
      LXLA_INVALID_ARGUMENT, "pred takes 0 or 1");
  EQUAL(releases, 2);
  // Without a function, nothing is called.
  memory[0] = 0;
  OK(lxla_tensor_from_host_borrowed(env, device, F32, DIMS(N), memory, sizeof(float) * N, NULL, NULL, &t));
  holds(t, 0, 1);
  RELEASE(t);
}

TEST(d5_borrowed_memory_is_used_in_place_and_released_once) {
  lxla_env env = new_env();
  borrowed_on(env, cpu, 1);
  borrowed_on(env, XLA(0), 1);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

static int32_t mark_of(lxla_tensor t) {
  int32_t flag = -1;
  OK(lxla_tensor_requires_grad(t, &flag));
  return flag;
}

TEST(a_snapshot_has_the_mark_of_its_tensor_and_a_copy_has_none) {
  lxla_env env = new_env();
  const lxla_device devices[] = {cpu, XLA(0)};
  for (int i = 0; i < 2; i++) {
    lxla_tensor t = counted(env, devices[i]), snapshot;
    OK(lxla_tensor_set_requires_grad(t, 1));
    OK(lxla_tensor_snapshot(t, &snapshot));
    lxla_tensor same = moved(t, devices[i]), copy = moved(t, devices[1 - i]);
    EQUAL(mark_of(snapshot), 1);
    EQUAL(mark_of(same), 1);
    EQUAL(mark_of(copy), 0);
    holds(same, 0, 1);
    OK(lxla_tensor_set_requires_grad(t, 0));
    lxla_tensor plain = moved(t, devices[i]);
    EQUAL(mark_of(plain), 0);
    EQUAL(mark_of(same), 1);
    RELEASE(t, snapshot, same, copy, plain);
  }
  OK(lxla_env_release(env));
}
