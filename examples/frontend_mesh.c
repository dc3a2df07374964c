// A matrix product of split matrices on a mesh of eight devices, and a store for a program of several processes.
// docs/meshes.md shows the parts between the markers.
#include "frontend.h"

// Values in memory, as a server has them for the processes of a program.
typedef struct {
  const char *key;
  uint8_t bytes[8];
  size_t size;
} entry;

static const entry entries[] = {{"cpu:global_topology", {1, 2, 3}, 3}, {"other", {4}, 1}};

static const entry *look_up(void *user, const char *key, size_t key_size) {
  ++*(int *)user;
  for (size_t i = 0; i < 2; i++)
    if (strlen(entries[i].key) == key_size && memcmp(entries[i].key, key, key_size) == 0) return &entries[i];
  return NULL;
}

// [recipe]
static lxla_status server_try_get(void *user, const char *key, size_t key_size, lxla_key_value_reply_fn reply,
                                  void *to) {
  const entry *found = look_up(user, key, key_size);
  if (!found) return LXLA_NOT_FOUND;
  reply(to, found->bytes, found->size);
  return LXLA_OK;
}
// [recipe end]

static lxla_status server_get(void *user, const char *key, size_t key_size, int64_t timeout_ms,
                              lxla_key_value_reply_fn reply, void *to) {
  (void)timeout_ms;
  return server_try_get(user, key, key_size, reply, to);
}

static lxla_status server_put(void *user, const char *key, size_t key_size, const void *bytes, size_t size,
                              lxla_key_value_reply_fn reply, void *to) {
  (void)user, (void)key, (void)key_size, (void)bytes, (void)size, (void)reply, (void)to;
  return LXLA_OK;
}

// Returns the environment of a process among several.
static lxla_env joined(int server, int32_t rank, int32_t ranks) {
  lxla_env_options options = {.struct_size = sizeof options};
  lxla_env env;
  TRY(lxla_env_options_init(&options));
  // [recipe]
  lxla_key_value_store store = {sizeof store, &server, server_get, server_put, server_try_get};
  options.process_id = rank;  // 0 to process_count - 1
  options.process_count = ranks;
  options.key_value_store = &store;      // the struct is copied, `server` is not
  TRY(lxla_env_create(&options, &env));  // may wait for the other processes
  // [recipe end]
  return env;
}

static void keep(void *to, const void *bytes, size_t size) { memcpy(to, bytes, size); }

static void store(void) {
  int looked_up = 0;
  uint8_t got[8] = {0};
  CHECK(server_try_get(&looked_up, "other", 5, keep, got) == LXLA_OK && got[0] == 4);
  CHECK(server_try_get(&looked_up, "othe", 4, keep, got) == LXLA_NOT_FOUND && looked_up == 2);
  TRY(lxla_env_release(joined(0, 0, 1)));
}

int main(void) {
  lxla_env_options options = {.struct_size = sizeof options};
  lxla_env eight;
  TRY(lxla_env_options_init(&options));
  options.device_count = 8;
  TRY(lxla_env_create(&options, &eight));
  TRY(lxla_env_enter(eight));
  // [recipe]
  const char *names[] = {"data", "model"};
  const int64_t sizes[] = {2, 4};
  lxla_mesh mesh;
  lxla_device on_mesh;
  TRY(lxla_mesh_create(env, names, sizes, 2, NULL, &mesh));  // ordinals NULL: xla:0 to xla:7
  TRY(lxla_mesh_device(mesh, &on_mesh));                     // of kind LXLA_DEVICE_MESH
  // [recipe end]
  CHECK(on_mesh.kind == LXLA_DEVICE_MESH);
  device = on_mesh;
  float x_values[8 * 16], w_values[16 * 32], got[8 * 32];
  for (int i = 0; i < 8 * 16; i++) x_values[i] = (float)(i % 5) - 2;
  for (int i = 0; i < 16 * 32; i++) w_values[i] = (float)(i % 7) - 3;
  lxla_tensor x = from_floats(device, DIMS(8, 16), x_values), w = from_floats(device, DIMS(16, 32), w_values), y;
  // [recipe]
  // y = x w, with the columns of x and the rows of w split by `model`: each device multiplies its pieces and adds up.
  lxla_tensor x_piece = placeholder(DIMS(8, 4)), w_piece = placeholder(DIMS(4, 32)), part, sum;
  TRY(lxla_matmul(x_piece, w_piece, &part));
  TRY(lxla_all_reduce(LXLA_REDUCE_SUM, part, "model", &sum));
  lxla_computation body;
  TRY(lxla_computation_trace((lxla_tensor[]){x_piece, w_piece}, 2, &sum, 1, &body));
  const char *in[] = {"-,model", "model,-"}, *out[] = {"-,-"};
  TRY(lxla_shard_map(body, mesh, in, (lxla_tensor[]){x, w}, 2, out, &y, 1));  // x: f32[8,16], w: f32[16,32]
  // [recipe end]
  TRY(lxla_tensor_read(y, got, sizeof got));
  for (int row = 0; row < 8; row++) {
    for (int column = 0; column < 32; column++) {
      float want = 0;
      for (int k = 0; k < 16; k++) want += x_values[row * 16 + k] * w_values[k * 32 + column];
      CHECK(got[row * 32 + column] == want);
    }
  }
  RELEASE(x, w, y, x_piece, w_piece, part, sum);
  TRY(lxla_computation_release(body));
  TRY(lxla_mesh_release(mesh));
  TRY(lxla_env_exit(eight));
  TRY(lxla_env_release(eight));
  store();
  return 0;
}
