// Functions of C for calls.h and the Go files: they copy the error message within the call that failed, forward
// callbacks to Go, and keep the number of the Tidy scope of each thread.
#ifndef LAZYXLA_GO_SHIM_H
#define LAZYXLA_GO_SHIM_H

#include <lazyxla.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Copies the message of a failed call, on the thread that it belongs to.
static inline lxla_status go_done(lxla_status status, char **why) {
  if (status != LXLA_OK) *why = strdup(lxla_last_error_message());
  return status;
}

// A cgo.Handle as the pointer that C passes to callbacks.
static inline void *lxla_go_user(uintptr_t user) { return (void *)user; }

// Functions of C that call one of Go: `user` is its cgo.Handle.
void lxla_go_log(int32_t level, const char *message, void *user);
int32_t lxla_go_memory(uint64_t bytes, void *user);
void lxla_go_release(void *user);
void lxla_go_ready(lxla_status status, const char *message, void *user);
lxla_status lxla_go_kernel(const lxla_kernel_call *call, void *user);
void lxla_go_store(lxla_key_value_store *store, uintptr_t user);
void lxla_go_reply(lxla_key_value_reply_fn reply, void *to, uint8_t *bytes, size_t size);

// Sets the Tidy scope of the calling thread; 0: none. Returns the previous scope.
uint64_t lxla_go_scope(uint64_t scope);

// Facts about a new tensor: the bytes of its value, whether it is eager, and the Tidy scope of the calling thread.
typedef struct {
  uint64_t scope;
  int64_t bytes;
  int32_t is_eager;
} lxla_go_facts;

void lxla_go_made(uint64_t tensor, lxla_go_facts *facts);

// Releases tensors; if `keep_pending` is 1, moves those that are pending to the front instead. Returns their number.
size_t lxla_go_sweep(uint64_t *tensors, size_t n, int32_t keep_pending);

#endif
