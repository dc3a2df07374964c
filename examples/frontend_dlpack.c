// DLPack: arrays exchanged with other libraries without a copy.
#include "frontend.h"

#include <stdatomic.h>
#include <time.h>

// The structs of dlpack.h 1.1 (github.com/dmlc/dlpack). A program that has that header includes it instead.
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
enum { CPU = 1, FLOAT = 2, READ_ONLY = 1, N = 1024 };

// [recipe]
// Memory of the frontend, lent to the library: nobody may change it until the deleter is called.
typedef struct {
  dl_managed managed;
  int64_t shape[1], strides[1];
  float *elements;
} exported_array;

static atomic_int deleted;

static void delete_array(dl_managed *managed) {  // on any thread, with no lock of the library held
  exported_array *array = managed->context;
  free(array->elements);
  free(array);
  deleted++;
}

static dl_managed *export_array(float *elements, int64_t n) {  // takes `elements` over
  exported_array *array = calloc(1, sizeof *array);
  CHECK(array);
  array->elements = elements, array->shape[0] = n, array->strides[0] = 1;
  array->managed = (dl_managed){.major = 1, .minor = 1, .context = array, .deleter = delete_array};
  array->managed.tensor = (dl_tensor){.data = elements,
                                      .device = {CPU, 0},
                                      .ndim = 1,
                                      .dtype = {FLOAT, 32, 1},
                                      .shape = array->shape,
                                      .strides = array->strides};
  return &array->managed;
}
// [recipe end]

int main(void) {
  const lxla_device cpu = {LXLA_DEVICE_CPU, 0};
  float *elements = aligned_alloc(64, N * sizeof *elements), values[N];  // 64 bytes: the CPU plugin shares it as well
  CHECK(elements);
  for (int i = 0; i < N; i++) elements[i] = (float)i;
  void *out;
  lxla_tensor native, lazy;

  // [recipe]
  dl_managed *in = export_array(elements, N);
  if (lxla_tensor_from_dlpack(env, cpu, in, 0, &native) != LXLA_OK) {  // copy 0: share where that is possible
    in->deleter(in);                                                   // on failure the struct is still the caller's
    return 1;
  }
  TRY(lxla_tensor_to_device(native, device, &lazy));  // the CPU plugin uses the same memory
  TRY(lxla_tensor_to_dlpack(native, &out));           // and so does the consumer of the export
  const dl_managed *view = out;
  CHECK(view->tensor.data == elements && (view->flags & READ_ONLY));
  // [recipe end]

  // [recipe]
  // In-place operations go on, into other memory: shared memory is neither donated nor overwritten.
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, native, 2));
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_ADD, lazy, 1));
  TRY(lxla_mark_step(env, device, 1));
  CHECK(counter(env, "DonatedBuffers") == 0 && ((const float *)view->tensor.data)[5] == 5);
  ((dl_managed *)out)->deleter(out);
  // [recipe end]
  TRY(lxla_tensor_read(native, values, sizeof values));
  CHECK(values[5] == 10);
  TRY(lxla_tensor_read(lazy, values, sizeof values));
  CHECK(values[5] == 6);
  RELEASE(native, lazy);
  // The plugin may release the memory a little later, on a thread of its own.
  for (int i = 0; i < 10000 && deleted == 0; i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  CHECK(deleted == 1);
  return 0;
}
