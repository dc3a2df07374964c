//go:build lazyxla_test

package lazyxla

/*
#include "shim.h"

typedef struct {
  char text[64];
  size_t size;
} answer;

static void keep(void *to, const void *bytes, size_t size) {
  answer *a = to;
  a->size = size < sizeof a->text ? size : sizeof a->text;
  if (size > 0) memcpy(a->text, bytes, a->size);
}

// Asks a store as a plugin does. 0: get, 1: try_get, 2: put.
static lxla_status ask(const lxla_key_value_store *s, int how, const char *key, size_t key_size, const char *value,
                       size_t size, answer *a) {
  if (how == 0) return s->get(s->user, key, key_size, 10, keep, a);
  if (how == 1) return s->try_get(s->user, key, key_size, keep, a);
  return s->put(s->user, key, key_size, value, size, keep, a);
}
*/
import "C"

import "unsafe"

// askStore calls a store through C: files of tests must not use cgo.
func askStore(store KeyValueStore, how, key, value string) (string, Status) {
	var s scratch
	defer s.free()
	a := (*C.answer)(s.zeroed(C.sizeof_answer))
	a.size = C.sizeof_answer // no reply
	k, v := s.copied([]byte(key)), s.copied([]byte(value))
	code := C.ask(storeOf(store, &s), C.int(map[string]int{"get": 0, "try_get": 1, "put": 2}[how]), (*C.char)(k),
		C.size_t(len(key)), (*C.char)(v), C.size_t(len(value)), a)
	if a.size == C.sizeof_answer {
		return "no reply", Status(code)
	}
	return C.GoStringN((*C.char)(unsafe.Pointer(&a.text)), C.int(a.size)), Status(code)
}
