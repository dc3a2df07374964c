#include "shim.h"

#include "_cgo_export.h"

enum { MOST_AXES = 64 };

static _Thread_local uint64_t thread_scope;

uint64_t lxla_go_scope(uint64_t scope) {
  uint64_t before = thread_scope;
  thread_scope = scope;
  return before;
}

void lxla_go_made(uint64_t tensor, lxla_go_facts *facts) {
  int32_t dtype, state;
  size_t rank, size;
  int64_t dims[MOST_AXES];
  *facts = (lxla_go_facts){.scope = thread_scope};
  if (lxla_tensor_state((lxla_tensor){tensor}, &state) == LXLA_OK) facts->is_eager = state == LXLA_STATE_NATIVE;
  if (lxla_tensor_info((lxla_tensor){tensor}, &dtype, &rank, dims, MOST_AXES) != LXLA_OK) return;
  if (lxla_dtype_size(dtype, &size) != LXLA_OK) return;
  double bytes = (double)size;  // shapes of placeholders may have more bytes than an int64_t counts
  for (size_t i = 0; i < rank; i++) bytes *= (double)dims[i];
  facts->bytes = bytes < 1e15 ? (int64_t)bytes : (int64_t)1e15;
}

size_t lxla_go_sweep(uint64_t *tensors, size_t n, int32_t keep_pending) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    const lxla_tensor tensor = {tensors[i]};
    int32_t state = LXLA_STATE_READY;
    if (keep_pending && lxla_tensor_state(tensor, &state) == LXLA_OK && state == LXLA_STATE_PENDING)
      tensors[kept++] = tensors[i];
    else lxla_tensor_release(tensor);
  }
  return kept;
}

void lxla_go_log(int32_t level, const char *message, void *user) { lxlaGoLog(level, (char *)message, (uintptr_t)user); }

int32_t lxla_go_memory(uint64_t bytes, void *user) { return lxlaGoMemory(bytes, (uintptr_t)user); }

void lxla_go_release(void *user) { lxlaGoRelease((uintptr_t)user); }

void lxla_go_ready(lxla_status status, const char *message, void *user) {
  lxlaGoReady(status, (char *)message, (uintptr_t)user);
}

lxla_status lxla_go_kernel(const lxla_kernel_call *call, void *user) {
  return lxlaGoKernel((lxla_kernel_call *)call, (uintptr_t)user);
}

static lxla_status get(void *user, const char *key, size_t key_size, int64_t timeout_ms, lxla_key_value_reply_fn reply,
                       void *to) {
  return lxlaGoGet((uintptr_t)user, (char *)key, key_size, timeout_ms, reply, to);
}

static lxla_status put(void *user, const char *key, size_t key_size, const void *value, size_t value_size,
                       lxla_key_value_reply_fn reply, void *to) {
  return lxlaGoPut((uintptr_t)user, (char *)key, key_size, (void *)value, value_size, reply, to);
}

static lxla_status try_get(void *user, const char *key, size_t key_size, lxla_key_value_reply_fn reply, void *to) {
  return lxlaGoTryGet((uintptr_t)user, (char *)key, key_size, reply, to);
}

void lxla_go_store(lxla_key_value_store *store, uintptr_t user) {
  *store = (lxla_key_value_store){sizeof *store, (void *)user, get, put, try_get};
}

void lxla_go_reply(lxla_key_value_reply_fn reply, void *to, uint8_t *bytes, size_t size) { reply(to, bytes, size); }
