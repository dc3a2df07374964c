// Saves that are killed, that run in several processes at once, that the disk refuses, or that run in the background:
// which file is in place afterwards, and which temporary files are left.
#define _GNU_SOURCE
#define FOLDER "test_files_durable.folder"
#include "saved_files.h"

#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

// --- Temporary files -------------------------------------------------------------------------------------------------

// Holds the name of the one temporary file; empty if there is none.
static char temporary[512];

static int find_temporary(void) {
  int n = 0;
  DIR *folder = opendir(FOLDER);
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));)
    if (strstr(entry->d_name, ".tmp")) n += snprintf(temporary, sizeof temporary, FOLDER "/%s", entry->d_name) > 0;
  closedir(folder);
  return n;
}

static pid_t child(const char *test, const char *role) {
  extern char **environ;
  char *argv[] = {"test_files_durable", (char *)test, NULL};
  pid_t pid;
  CHECK(setenv("LXLA_TEST_FILES_ROLE", role, 1) == 0);
  CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
  CHECK(unsetenv("LXLA_TEST_FILES_ROLE") == 0);
  return pid;
}

static int is_child(void) { return getenv("LXLA_TEST_FILES_ROLE") != NULL; }

static int ends(pid_t pid) {
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Starts a save in a child, stops it while it writes, and kills it.
static void leave_temporary(const char *test) {
  pid_t pid = child(test, "writes");
  while (find_temporary() == 0) CHECK(waitpid(pid, NULL, WNOHANG) == 0);
  CHECK(kill(pid, SIGKILL) == 0 && ends(pid) == 128 + SIGKILL);
  EQUAL(find_temporary(), 1);
}

// In a child, the `write` below never returns once this is set.
static _Atomic int writes_stop;

ssize_t write(int file, const void *data, size_t size) {
  char link[64], target[512] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (writes_stop && readlink(link, target, sizeof target - 1) > 0 && strstr(target, ".tmp"))
    for (;;) pause();
  return syscall(SYS_write, file, data, size);
}

TEST(a_save_removes_what_a_killed_save_of_that_name_has_left) {
  if (is_child()) {
    writes_stop = 1;
    save(new_env(), PATH, 2);
    return;
  }
  const char *test = "a_save_removes_what_a_killed_save_of_that_name_has_left";
  lxla_env env = start();
  OK(save(env, PATH, 1));
  leave_temporary(test);
  EQUAL(saved(env, PATH), 1);
  // Saves under another name leave the temporary file alone.
  OK(save(env, FOLDER "/save", 3));
  OK(save(env, FOLDER "/saved.2", 3));
  EQUAL(find_temporary(), 1);
  OK(save(env, PATH, 4));
  EQUAL(find_temporary(), 0);
  EQUAL(files(""), 3);
  // A process that still writes holds a lock on its temporary file, which is then not removed.
  leave_temporary(test);
  int file = open(temporary, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0);
  OK(save(env, PATH, 5));
  EQUAL(find_temporary(), 1);
  CHECK(close(file) == 0);
  OK(save(env, PATH, 5));
  EQUAL(find_temporary(), 0);
  // Locks of another machine may not be visible, so its temporary files are kept for an hour. The third part of the
  // name from the end identifies the machine.
  leave_temporary(test);
  char others[sizeof temporary];
  memcpy(others, temporary, sizeof others);
  char *machine = others + strlen(others) - strlen("01234567.0123456789abcdef.tmp");
  machine[0] = machine[0] == 'f' ? '0' : 'f';
  CHECK(rename(temporary, others) == 0);
  OK(save(env, PATH, 6));
  EQUAL(find_temporary(), 1);
  struct timespec two_hours_ago = {time(NULL) - 7200, 0};
  CHECK(utimensat(AT_FDCWD, others, (struct timespec[]){two_hours_ago, two_hours_ago}, 0) == 0);
  OK(save(env, PATH, 6));
  EQUAL(find_temporary(), 0);
  // Files whose names are only similar to temporary files are left alone.
  const char *theirs[] = {FOLDER "/.saved.tmp", FOLDER "/.saved.1.2.tmp", FOLDER "/saved.tmp"};
  for (int i = 0; i < 3; i++) write_file(theirs[i], "x", 1);
  OK(save(env, PATH, 7));
  for (int i = 0; i < 3; i++) EQUAL(about(theirs[i]).st_size, 1);
  finish(env);
}

TEST(processes_that_save_one_name_at_once_do_no_harm) {
  enum { CHILDREN = 4, SAVES = 60 };
  if (is_child()) {
    lxla_env env = new_env();
    for (int i = 0; i < SAVES; i++) OK(save(env, PATH, (float)i));
    OK(lxla_env_release(env));
    return;
  }
  lxla_env env = start();
  OK(save(env, PATH, 0));
  pid_t children[CHILDREN];
  for (int i = 0; i < CHILDREN; i++) children[i] = child("processes_that_save_one_name_at_once_do_no_harm", "saves");
  for (int i = 0; i < SAVES; i++) saved(env, PATH);
  for (int i = 0; i < CHILDREN; i++) EQUAL(ends(children[i]), 0);
  EQUAL(saved(env, PATH), SAVES - 1);
  EQUAL(files(""), 1);
  finish(env);
}

// --- The disk --------------------------------------------------------------------------------------------------------

// Number of the next fsync of the folder that fails: 1 is the next one.
static _Atomic int failing_fsync;

int fsync(int file) {
  struct stat info;
  if (fstat(file, &info) == 0 && S_ISDIR(info.st_mode) && failing_fsync && --failing_fsync == 0) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_fsync, file);
}

TEST(a_folder_that_cannot_be_brought_to_the_disk_is_told_truly) {
  lxla_env env = start();
  OK(save(env, PATH, 1));
  int failed = 0;
  for (int nth = 1; nth < 10; nth++) {
    failing_fsync = nth;
    lxla_status status = save(env, PATH, 2);
    if (failing_fsync) break;
    failed++;
    CHECK(status != LXLA_OK && strstr(lxla_last_error_message(), PATH));
    int is_in_place = strstr(lxla_last_error_message(), "the new file is in place") != NULL;
    EQUAL(saved(env, PATH), is_in_place ? 2 : 1);
    EQUAL(files(""), 1);
    failing_fsync = 0;
    OK(save(env, PATH, 1));
  }
  failing_fsync = 0;
  CHECK(failed >= 1);
  EQUAL(saved(env, PATH), 2);
  finish(env);
}

TEST(a_folder_that_is_writable_but_not_readable) {
  if (geteuid() != 0) return;
  if (is_child()) {  // as a user whom permissions apply to
    CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    lxla_env env = new_env();
    CHECK(open(FOLDER, O_RDONLY) < 0 && errno == EACCES);
    for (int i = 1; i < 3; i++) {
      OK(save(env, PATH, (float)i));
      EQUAL(saved(env, PATH), i);
    }
    OK(lxla_env_release(env));
    return;
  }
  lxla_env env = start();
  CHECK(chown(FOLDER, 65534, 65534) == 0 && chmod(FOLDER, 0300) == 0);
  EQUAL(ends(child("a_folder_that_is_writable_but_not_readable", "nobody")), 0);
  EQUAL(files(""), 1);
  finish(env);
}

TEST(a_save_in_the_background_goes_where_its_path_led_at_the_call) {
  lxla_env env = start();
  enum { LARGE = 16 << 20 };
  lxla_tensor large, small;
  lxla_save_ticket tickets[2];
  const char *name = "t";
  OK(lxla_tensor_full(env, CPU, LXLA_DTYPE_F32, DIMS(LARGE), 1, &large));
  OK(lxla_tensor_full(env, CPU, LXLA_DTYPE_F32, DIMS(2), 7, &small));
  CHECK(mkdir(FOLDER "/inner", 0700) == 0);
  int here = open(".", O_RDONLY | O_CLOEXEC);
  CHECK(here >= 0 && chdir(FOLDER) == 0);
  OK(lxla_save_async("large", &name, &large, 1, &tickets[0]));
  OK(lxla_save_async("small", &name, &small, 1, &tickets[1]));
  CHECK(chdir("inner") == 0);
  for (int i = 0; i < 2; i++) {
    OK(lxla_save_wait(tickets[i]));
    OK(lxla_save_ticket_release(tickets[i]));
  }
  CHECK(fchdir(here) == 0 && close(here) == 0);
  EQUAL(saved(env, FOLDER "/small"), 7);
  CHECK(about(FOLDER "/large").st_size > LARGE * 4);
  RELEASE(large, small);
  finish(env);
}

TEST(a_later_save_is_not_replaced_by_an_earlier_one) {
  lxla_env env = start();
  enum { LARGE = 16 << 20 };
  lxla_tensor large, small;
  lxla_save_ticket tickets[2];
  const char *name = "t";
  OK(lxla_tensor_full(env, CPU, LXLA_DTYPE_F32, DIMS(LARGE), 1, &large));
  OK(lxla_tensor_full(env, CPU, LXLA_DTYPE_F32, DIMS(2), 1, &small));
  OK(lxla_save_async(FOLDER "/large", &name, &large, 1, &tickets[0]));
  OK(lxla_save_async(PATH, &name, &small, 1, &tickets[1]));
  OK(save(env, "./" FOLDER "/./saved", 2));
  for (int i = 0; i < 2; i++) {
    OK(lxla_save_wait(tickets[i]));
    OK(lxla_save_ticket_release(tickets[i]));
  }
  EQUAL(saved(env, PATH), 2);
  RELEASE(large, small);
  finish(env);
}
