// Key-value stores for environments that simulate several processes: one in the memory of this process, and one that
// gives fixed replies.
#ifndef LXLA_TEST_KEY_VALUE_STORES_H
#define LXLA_TEST_KEY_VALUE_STORES_H

#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

// --- A store in memory ---

enum { MOST_ENTRIES = 64 };

typedef struct {
  char key[64];
  char *value;
  size_t size;
} memory_entry;

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  memory_entry entries[MOST_ENTRIES];
  int n;
  int calls, waiting;    // calls so far, and gets that wait now
  int64_t last_timeout;  // of a get, in milliseconds
} memory_store;

#define EMPTY_STORE {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}

// Returns the entry of a key; NULL if there is none. The caller holds the lock.
static inline memory_entry *entry_of(memory_store *store, const char *key, size_t key_size) {
  for (int i = 0; i < store->n; i++) {
    memory_entry *entry = &store->entries[i];
    if (strlen(entry->key) == key_size && memcmp(entry->key, key, key_size) == 0) return entry;
  }
  return NULL;
}

static inline lxla_status memory_put(void *user, const char *key, size_t key_size, const void *value, size_t value_size,
                                     lxla_key_value_reply_fn reply, void *to) {
  (void)reply, (void)to;
  memory_store *store = user;
  pthread_mutex_lock(&store->lock);
  store->calls++;
  memory_entry *entry = entry_of(store, key, key_size);
  if (!entry) {
    CHECK(store->n < MOST_ENTRIES && key_size < sizeof entry->key);
    entry = &store->entries[store->n++];
    *entry = (memory_entry){.value = NULL};
    memcpy(entry->key, key, key_size);
  }
  free(entry->value);
  entry->value = malloc(value_size + 1);
  memcpy(entry->value, value, value_size);
  entry->size = value_size;
  pthread_cond_broadcast(&store->changed);
  pthread_mutex_unlock(&store->lock);
  return LXLA_OK;
}

static inline lxla_status memory_get(void *user, const char *key, size_t key_size, int64_t timeout_ms,
                                     lxla_key_value_reply_fn reply, void *to) {
  memory_store *store = user;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  const int64_t nanoseconds = until.tv_nsec + timeout_ms % 1000 * 1000000;
  until.tv_sec += timeout_ms / 1000 + nanoseconds / 1000000000;
  until.tv_nsec = nanoseconds % 1000000000;
  pthread_mutex_lock(&store->lock);
  store->calls++;
  store->last_timeout = timeout_ms;
  store->waiting++;
  memory_entry *entry;
  int waited = 0;
  while (!(entry = entry_of(store, key, key_size)) && waited != ETIMEDOUT)
    waited = pthread_cond_timedwait(&store->changed, &store->lock, &until);
  store->waiting--;
  if (entry) {
    reply(to, entry->value, entry->size);
  } else {
    char message[64];
    const int size = snprintf(message, sizeof message, "nothing came in %d ms", (int)timeout_ms);
    reply(to, message, (size_t)size);
  }
  pthread_mutex_unlock(&store->lock);
  return entry ? LXLA_OK : LXLA_DEADLINE_EXCEEDED;
}

static inline lxla_status memory_try_get(void *user, const char *key, size_t key_size, lxla_key_value_reply_fn reply,
                                         void *to) {
  memory_store *store = user;
  pthread_mutex_lock(&store->lock);
  store->calls++;
  const memory_entry *entry = entry_of(store, key, key_size);
  if (entry) reply(to, entry->value, entry->size);
  pthread_mutex_unlock(&store->lock);
  return entry ? LXLA_OK : LXLA_NOT_FOUND;
}

static inline lxla_key_value_store functions_of(memory_store *store) {
  return (lxla_key_value_store){sizeof(lxla_key_value_store), store, memory_get, memory_put, memory_try_get};
}

// Returns the number of calls of get that are waiting.
static inline int gets_waiting(memory_store *store) {
  pthread_mutex_lock(&store->lock);
  const int n = store->waiting;
  pthread_mutex_unlock(&store->lock);
  return n;
}

static inline void clear_store(memory_store *store) {
  for (int i = 0; i < store->n; i++) free(store->entries[i].value);
  store->n = 0;
}

// --- A store whose functions all do the same ---

// Replies and status codes of the store's callbacks.
typedef struct {
  const char *reply;  // NULL: nothing
  lxla_status status;
} answer;

static inline lxla_status answered(void *user, lxla_key_value_reply_fn reply, void *to) {
  const answer *its = user;
  if (its->reply) reply(to, its->reply, strlen(its->reply));
  return its->status;
}

static inline lxla_status answer_get(void *user, const char *key, size_t key_size, int64_t timeout_ms,
                                     lxla_key_value_reply_fn reply, void *to) {
  (void)key, (void)key_size, (void)timeout_ms;
  return answered(user, reply, to);
}

static inline lxla_status answer_put(void *user, const char *key, size_t key_size, const void *value, size_t value_size,
                                     lxla_key_value_reply_fn reply, void *to) {
  (void)key, (void)key_size, (void)value, (void)value_size;
  return answered(user, reply, to);
}

static inline lxla_status answer_try_get(void *user, const char *key, size_t key_size, lxla_key_value_reply_fn reply,
                                         void *to) {
  (void)key, (void)key_size;
  return answered(user, reply, to);
}

static inline lxla_key_value_store answering(answer *its) {
  return (lxla_key_value_store){sizeof(lxla_key_value_store), its, answer_get, answer_put, answer_try_get};
}

#endif
