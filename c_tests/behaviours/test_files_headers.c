// Loads of files with unusual headers: tensors and headers that do not fit in memory, too many axes, names out of
// order. A background save that does not fit in memory.
#define _GNU_SOURCE
#define FOLDER "test_files_headers.folder"
#include "saved_files.h"

#include <sys/resource.h>

// Writes a sparse file: this header, then `content` bytes that take no room on the disk.
static void sparse(const char *header, size_t length, uint64_t content) {
  uint64_t bytes = length;
  write_file(PATH, &bytes, sizeof bytes);
  FILE *file = fopen(PATH, "ab");
  CHECK(file && fwrite(header, 1, length, file) == length && fclose(file) == 0);
  if (truncate(PATH, (off_t)(sizeof bytes + length + content)) != 0)
    FAIL("%" PRIu64 " bytes: %s", content, strerror(errno));
}

TEST(a_tensor_that_does_not_fit_memory) {
  lxla_env env = start();
  const uint64_t huge = (uint64_t)8 << 40;
  char header[256];
  snprintf(header, sizeof header,
           "{\"t\":{\"dtype\":\"U8\",\"shape\":[%" PRIu64 "],\"data_offsets\":[0,%" PRIu64
           "]},"
           "\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}}",
           huge, huge, huge, huge + 4);
  sparse(header, strlen(header), huge + 4);
  lxla_tensor t;
  REFUSED(lxla_load(env, CPU, PATH, "t", &t), LXLA_RESOURCE_EXHAUSTED, PATH);
  CHECK(strstr(lxla_last_error_message(), "8796093022208 bytes"));
  OK(lxla_load(env, CPU, PATH, "u", &t));
  EQUAL(value(t), 0);
  RELEASE(t);
  finish(env);
}

// Limits the address space to the present size and `more` bytes. Returns the limit before.
static struct rlimit limit_memory(uint64_t more) {
  unsigned long pages;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0);
  struct rlimit before, limit;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  limit = (struct rlimit){pages * (rlim_t)sysconf(_SC_PAGESIZE) + more, before.rlim_max};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  return before;
}

TEST(headers_that_do_not_fit_memory) {
  lxla_env env = start();
  enum { LENGTH = 90 << 20 };
  static char header[LENGTH];
  lxla_tensor t;
  char *names;
  // One header is long; the other is short, but takes much more memory when parsed: a shape of 45 million axes.
  for (int turn = 0; turn < 2; turn++) {
    memset(header, ' ', LENGTH);
    int start_of_it = sprintf(header, "{\"t\":{\"dtype\":\"U8\",\"data_offsets\":[0,0],\"shape\":[0");
    header[start_of_it] = ' ';
    for (int i = start_of_it; turn && i + 6 < LENGTH; i += 2) memcpy(header + i, ",0", 2);
    memcpy(header + LENGTH - 4, " ]}}", 4);
    sparse(header, LENGTH, 0);
    struct rlimit before = limit_memory((uint64_t)(turn ? 3 * LENGTH : LENGTH / 2));
    lxla_status loaded = lxla_load(env, CPU, PATH, "t", &t), named = lxla_file_names(PATH, &names);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    EQUAL(loaded, LXLA_RESOURCE_EXHAUSTED);
    EQUAL(named, LXLA_RESOURCE_EXHAUSTED);
    CHECK(strstr(lxla_last_error_message(), PATH));
  }
  finish(env);
}

TEST(loads_of_more_than_64_axes_are_refused) {
  lxla_env env = start();
  for (int rank = 64; rank <= 65; rank++) {
    char header[512] = "{\"t\":{\"dtype\":\"U8\",\"shape\":[1";
    for (int i = 1; i < rank; i++) strcat(header, ",1");
    strcat(header, "],\"data_offsets\":[0,1]}}");
    sparse(header, strlen(header), 1);
    lxla_tensor t;
    if (rank == 64) {
      OK(lxla_load(env, CPU, PATH, "t", &t));
      RELEASE(t);
    } else {
      REFUSED(lxla_load(env, CPU, PATH, "t", &t), LXLA_INVALID_ARGUMENT, "rank 65; the library has at most 64");
    }
    char *names;
    OK(lxla_file_names(PATH, &names));
    lxla_string_free(names);
  }
  finish(env);
}

TEST(names_are_in_the_order_of_the_content) {
  lxla_env env = start();
  const char header[] =
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}";
  sparse(header, strlen(header), 5);
  char *names;
  OK(lxla_file_names(PATH, &names));
  CHECK(strcmp(names, "{\"b\":{\"dims\":[3],\"dtype\":\"u8\"},\"a\":{\"dims\":[2],\"dtype\":\"u8\"}}") == 0);
  lxla_string_free(names);
  finish(env);
}

// Saves tensors of an XLA device: the values are copied to host memory before they are written.
TEST(a_save_in_the_background_that_does_not_fit_memory) {
  lxla_env env = start();
  enum { LARGE = 64 << 20 };
  lxla_tensor large, small = one(env, 1);
  lxla_save_ticket ticket;
  const char *name = "t";
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(LARGE), 1, &large));
  OK(lxla_sync(&large, 1));
  OK(lxla_save_async(PATH, &name, &small, 1, &ticket));  // starts the thread
  OK(lxla_save_wait(ticket));
  OK(lxla_save_ticket_release(ticket));
  struct rlimit before = limit_memory(64 << 20);
  OK(lxla_save_async(PATH, &name, &large, 1, &ticket));
  lxla_status status = lxla_save_wait(ticket);
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  EQUAL(status, LXLA_RESOURCE_EXHAUSTED);
  CHECK(strstr(lxla_last_error_message(), "268435456 bytes"));
  OK(lxla_save_ticket_release(ticket));
  EQUAL(files(""), 1);
  OK(lxla_save_async(PATH, &name, &large, 1, &ticket));
  OK(lxla_save_wait(ticket));
  OK(lxla_save_ticket_release(ticket));
  RELEASE(small, large);
  finish(env);
}
