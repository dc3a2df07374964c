// Compares lxla_graph_hash between processes: K11 of docs/behaviours.md. (Within one process: test_key.c.)
#include "check.h"
#include "hash_programs.h"

static void of_child(const char *command, uint8_t hashes[PROGRAMS][32]) {
  FILE *child = popen(command, "r");
  CHECK(child);
  for (int i = 0; i < PROGRAMS; i++)
    for (int k = 0; k < 32; k++) CHECK(fscanf(child, "%2hhx", &hashes[i][k]) == 1);
  EQUAL(pclose(child), 0);
}

static void same(const char *who, uint8_t want[PROGRAMS][32], uint8_t got[PROGRAMS][32]) {
  for (int i = 0; i < PROGRAMS; i++)
    if (memcmp(want[i], got[i], 32) != 0) FAIL("program %d has another hash %s", i, who);
}

TEST(k11_processes_agree) {
  uint8_t child[PROGRAMS][32], again[PROGRAMS][32], here[PROGRAMS][32];
  of_child(LXLA_HASH_CHILD, child);
  of_child(LXLA_HASH_CHILD, again);
  same("in a second process", child, again);
  hash_all(0, here);
  same("in this process", child, here);
  hash_all(0, here);
  same("in this process, again", child, here);
}

TEST(k11_handles_order_and_values_that_vary_do_not_show) {
  uint8_t plain[PROGRAMS][32], other[PROGRAMS][32];
  hash_all(0, plain);
  of_child(LXLA_HASH_CHILD " other", other);
  same("done in another way, in another process", plain, other);
  hash_all(1, other);
  same("done in another way", plain, other);
}

TEST(k11_what_differs_has_another_hash) {
  uint8_t hashes[PROGRAMS][32];
  hash_all(0, hashes);
  // A step that donates nothing has the same key as a sync of the same work, so the hashes are equal.
  CHECK(memcmp(hashes[SYNC_OF_THE_SAME], hashes[STEP_WITHOUT_DONORS], 32) == 0);
  for (int i = 0; i < PROGRAMS; i++)
    for (int k = 0; k < i; k++)
      if (memcmp(hashes[i], hashes[k], 32) == 0 && !(i == STEP_WITHOUT_DONORS && k == SYNC_OF_THE_SAME))
        FAIL("programs %d and %d have one hash", k, i);
}

static void with_flags(const char *flags, uint8_t hashes[PROGRAMS][32]) {
  char command[1024];
  snprintf(command, sizeof command, "XLA_FLAGS='%s' %s", flags, LXLA_HASH_CHILD);
  of_child(command, hashes);
}

static void write_flags(const char *path, const char *flags) {
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(flags, file) >= 0 && fclose(file) == 0);
}

// Takes each hash in a process of its own, because XLA reads its flags once in a process.
TEST(k6_flags_of_xla_are_in_the_hash_with_the_files_that_they_name) {
  uint8_t plain[PROGRAMS][32], flags[PROGRAMS][32], file[PROGRAMS][32], changed[PROGRAMS][32];
  const char *path = "k6_flags.txt";
  of_child(LXLA_HASH_CHILD, plain);
  with_flags("--xla_cpu_enable_fast_math=false", flags);
  write_flags(path, "--xla_cpu_enable_fast_math=false");
  with_flags(path, file);
  with_flags(path, changed);
  same("with the same file of flags", file, changed);
  write_flags(path, "--xla_cpu_enable_fast_math=true");
  with_flags(path, changed);
  CHECK(remove(path) == 0);
  for (int i = 0; i < PROGRAMS; i++) {
    CHECK(memcmp(plain[i], flags[i], 32) != 0);
    CHECK(memcmp(file[i], changed[i], 32) != 0);
  }
}
