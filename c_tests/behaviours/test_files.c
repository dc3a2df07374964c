// Saves and loads on every kind of file: access rights, links, special files, temporary files of killed processes,
// folders and names at their limits, damaged and huge files. All tensors are native, so no plugin is needed.
#define _GNU_SOURCE
#define FOLDER "test_files.folder"
#include "folder.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

static const char PATH[] = FOLDER "/saved";
static const lxla_device CPU = {LXLA_DEVICE_CPU, 0};

static lxla_env start(void) {
  alarm(120);  // a hang ends the test
  clear("");
  return new_env();
}

static void finish(lxla_env env) {
  OK(lxla_env_release(env));
  remove_folder();
}

static lxla_status save(lxla_env env, const char *path, float value) {
  lxla_tensor t;
  const char *name = "t";
  OK(lxla_tensor_full(env, CPU, LXLA_DTYPE_F32, DIMS(2), value, &t));
  lxla_status status = lxla_save(path, &name, &t, 1);
  RELEASE(t);
  return status;
}

static float saved(lxla_env env, const char *path) {
  lxla_tensor t;
  float values[2];
  OK(lxla_load(env, CPU, path, "t", &t));
  read_f32(t, values, 2);
  RELEASE(t);
  return values[0];
}

static struct stat about(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) FAIL("%s: %s", path, strerror(errno));
  return info;
}

static void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

// --- Access rights ---------------------------------------------------------------------------------------------------

TEST(a_save_keeps_the_mode_of_the_file_that_it_replaces) {
  lxla_env env = start();
  mode_t modes[] = {0600, 0640, 0660, 0604, 0666, 0400, 0755};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    OK(save(env, PATH, 1));
    CHECK(chmod(PATH, modes[i]) == 0);
    OK(save(env, PATH, 2));
    EQUAL(about(PATH).st_mode & 07777, modes[i]);
    EQUAL(saved(env, PATH), 2);
  }
  finish(env);
}

TEST(a_new_file_has_the_mode_that_the_umask_leaves) {
  lxla_env env = start();
  for (mode_t mask = 0; mask <= 077; mask += 025) {
    mode_t before = umask(mask);
    OK(save(env, PATH, 1));
    umask(before);
    EQUAL(about(PATH).st_mode & 07777, 0666 & ~mask);
    CHECK(unlink(PATH) == 0);
  }
  finish(env);
}

TEST(a_save_by_root_keeps_the_owner) {
  if (geteuid() != 0) return;
  lxla_env env = start();
  OK(save(env, PATH, 1));
  CHECK(chown(PATH, 1234, 4321) == 0 && chmod(PATH, 0640) == 0);
  OK(save(env, PATH, 2));
  struct stat info = about(PATH);
  EQUAL(info.st_uid, 1234);
  EQUAL(info.st_gid, 4321);
  EQUAL(info.st_mode & 07777, 0640);
  finish(env);
}

// The access control list user::rw-, user:1234:r--, group::---, mask::r--, other::---, encoded as the extended
// attribute.
static const struct {
  uint32_t version;
  struct {
    uint16_t tag, rights;
    uint32_t id;
  } entries[5];
} acl = {2, {{1, 6, ~0u}, {2, 4, 1234}, {4, 0, ~0u}, {16, 4, ~0u}, {32, 0, ~0u}}};

TEST(a_save_keeps_the_access_control_list) {
  lxla_env env = start();
  char list[256];
  OK(save(env, PATH, 1));
  if (setxattr(PATH, "system.posix_acl_access", &acl, sizeof acl, 0) == 0) {
    OK(save(env, PATH, 2));
    EQUAL(getxattr(PATH, "system.posix_acl_access", list, sizeof list), sizeof acl);
    CHECK(memcmp(list, &acl, sizeof acl) == 0);
    // A save over a file without an access control list does not take the folder's default one.
    CHECK(removexattr(PATH, "system.posix_acl_access") == 0 && chmod(PATH, 0660) == 0);
    CHECK(setxattr(FOLDER, "system.posix_acl_default", &acl, sizeof acl, 0) == 0);
    OK(save(env, PATH, 3));
    CHECK(getxattr(PATH, "system.posix_acl_access", list, sizeof list) < 0 && errno == ENODATA);
    EQUAL(about(PATH).st_mode & 07777, 0660);
    CHECK(unlink(PATH) == 0);
    OK(save(env, PATH, 4));
    EQUAL(getxattr(PATH, "system.posix_acl_access", list, sizeof list), sizeof acl);
  } else {
    printf("  no access control lists here: %s\n", strerror(errno));
  }
  finish(env);
}

// --- Links, and what is no regular file ------------------------------------------------------------------------------

TEST(symbolic_links_are_followed) {
  lxla_env env = start();
  CHECK(mkdir(FOLDER "/inner", 0700) == 0);
  CHECK(symlink("inner/file", FOLDER "/link") == 0);         // to nothing, so far
  CHECK(symlink("../link", FOLDER "/inner/again") == 0);
  for (int i = 1; i <= 2; i++) {
    OK(save(env, FOLDER "/inner/again", (float)i));
    CHECK(S_ISLNK(about(FOLDER "/link").st_mode) && S_ISLNK(about(FOLDER "/inner/again").st_mode));
    CHECK(S_ISREG(about(FOLDER "/inner/file").st_mode));
    EQUAL(saved(env, FOLDER "/inner/file"), i);
    CHECK(chmod(FOLDER "/inner/file", 0600) == 0);
  }
  EQUAL(about(FOLDER "/inner/file").st_mode & 07777, 0600);
  EQUAL(files(""), 3);
  CHECK(symlink("loop", FOLDER "/loop") == 0);
  CHECK(save(env, FOLDER "/loop", 1) != LXLA_OK && strstr(lxla_last_error_message(), FOLDER "/loop"));
  CHECK(symlink("no/such/folder", FOLDER "/nowhere") == 0);
  REFUSED(save(env, FOLDER "/nowhere", 1), LXLA_NOT_FOUND, FOLDER "/nowhere");
  finish(env);
}

static void refused(lxla_env env, const char *path, const char *kind) {
  lxla_tensor t;
  char *names;
  mode_t mode = about(path).st_mode;
  REFUSED(save(env, path, 1), LXLA_INVALID_ARGUMENT, kind);
  CHECK(strstr(lxla_last_error_message(), path));
  EQUAL(about(path).st_mode, mode);
  REFUSED(lxla_load(env, CPU, path, "t", &t), LXLA_INVALID_ARGUMENT, kind);
  CHECK(strstr(lxla_last_error_message(), path));
  REFUSED(lxla_file_names(path, &names), LXLA_INVALID_ARGUMENT, kind);
}

TEST(what_is_no_regular_file_is_refused_at_once) {
  lxla_env env = start();
  CHECK(mkfifo(FOLDER "/fifo", 0600) == 0 && symlink("fifo", FOLDER "/link") == 0 && mkdir(FOLDER "/inner", 0700) == 0);
  refused(env, FOLDER "/fifo", "it is a FIFO; want a regular file");
  refused(env, FOLDER "/link", "it is a FIFO");
  refused(env, FOLDER "/inner", "it is a directory");
  struct sockaddr_un address = {AF_UNIX, FOLDER "/socket"};
  int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(bind(socket_file, (struct sockaddr *)&address, sizeof address) == 0);
  refused(env, FOLDER "/socket", "it is a socket");
  close(socket_file);
  // Device files with the numbers of /dev/null, then of /dev/tty.
  for (unsigned minor = 3; mknod(FOLDER "/device", S_IFCHR | 0600, minor == 3 ? 0x103 : 0x500) == 0 && minor < 5; minor++) {
    refused(env, FOLDER "/device", "it is a device");
    CHECK(unlink(FOLDER "/device") == 0);
  }
  const char *nameless[] = {FOLDER "/", FOLDER "/new/", ".", "..", "/", ""};
  for (size_t i = 0; i < sizeof nameless / sizeof *nameless; i++)
    REFUSED(save(env, nameless[i], 1), LXLA_INVALID_ARGUMENT, "path");
  finish(env);
}

TEST(another_users_link_in_a_folder_that_is_open_to_all_is_not_followed) {
  if (geteuid() != 0) return;
  lxla_env env = start();
  OK(save(env, PATH, 1));
  CHECK(mkdir(FOLDER "/open", 0700) == 0 && chmod(FOLDER "/open", 01777) == 0);
  CHECK(symlink("../saved", FOLDER "/open/link") == 0 && lchown(FOLDER "/open/link", 1234, 1234) == 0);
  REFUSED(save(env, FOLDER "/open/link", 2), LXLA_PERMISSION_DENIED, FOLDER "/open/link");
  EQUAL(saved(env, PATH), 1);
  CHECK(lchown(FOLDER "/open/link", 0, 0) == 0);
  OK(save(env, FOLDER "/open/link", 2));
  EQUAL(saved(env, PATH), 2);
  finish(env);
}

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
  char *argv[] = {"test_files", (char *)test, NULL};
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

// --- Names -----------------------------------------------------------------------------------------------------------

TEST(names_of_255_bytes_and_no_more) {
  lxla_env env = start();
  for (int step = 1; step <= 4; step += 3) {  // letters of one byte, then of four
    char path[sizeof FOLDER + 300] = FOLDER "/";
    size_t length = sizeof FOLDER;
    while (length - sizeof FOLDER + (size_t)step <= 255) {
      memcpy(path + length, step == 1 ? "n" : "\xF0\x9F\x99\x82", (size_t)step);
      length += (size_t)step;
    }
    for (int i = 1; i <= 2; i++) OK(save(env, path, (float)i));
    EQUAL(saved(env, path), 2);
    CHECK(unlink(path) == 0);
    memcpy(path + length, "nnnn", 4);
    REFUSED(save(env, path, 1), LXLA_INVALID_ARGUMENT, path);
    EQUAL(files(""), 0);
  }
  finish(env);
}

TEST(messages_are_bounded) {
  lxla_env env = start();
  enum { MANY = 3000, LONG = 1 << 20 };
  static lxla_tensor t[MANY];
  static char texts[MANY][200], very_long[LONG + 1];
  const char *names[MANY];
  memset(very_long, 'L', LONG);
  for (int i = 0; i < MANY; i++) {
    OK(lxla_tensor_full(env, CPU, LXLA_DTYPE_F32, DIMS(1), i, &t[i]));
    snprintf(texts[i], sizeof texts[i], "n%04d%0150d", i, 0);
    names[i] = texts[i];
  }
  OK(lxla_save(PATH, names, t, MANY));
  lxla_tensor got;
  REFUSED(lxla_load(env, CPU, PATH, "none", &got), LXLA_NOT_FOUND, "n0000");
  CHECK(strstr(lxla_last_error_message(), "n0009") && !strstr(lxla_last_error_message(), "n0010"));
  CHECK(strstr(lxla_last_error_message(), "and 2990 more") && strlen(lxla_last_error_message()) < 2000);
  names[0] = very_long;
  OK(lxla_save(PATH, names, t, MANY));
  REFUSED(lxla_load(env, CPU, PATH, "none", &got), LXLA_NOT_FOUND, "LLLL");
  CHECK(strlen(lxla_last_error_message()) < 2000);
  very_long[0] = 'M';
  REFUSED(lxla_load(env, CPU, PATH, very_long, &got), LXLA_NOT_FOUND, "MLLL");
  CHECK(strlen(lxla_last_error_message()) < 2000);
  REFUSED(lxla_load(env, CPU, very_long, "none", &got), LXLA_INVALID_ARGUMENT, "MLLL");
  CHECK(strlen(lxla_last_error_message()) < 10000);
  names[1] = very_long;
  names[0] = very_long;
  REFUSED(lxla_save(PATH, names, t, 2), LXLA_INVALID_ARGUMENT, "is given twice");
  CHECK(strlen(lxla_last_error_message()) < 2000);
  OK(lxla_tensor_release_many(t, MANY));
  finish(env);
}

// --- Memory ----------------------------------------------------------------------------------------------------------

// Writes a sparse file: this header, then `content` bytes that take no room on the disk.
static void sparse(const char *header, size_t length, uint64_t content) {
  uint64_t bytes = length;
  write_file(PATH, &bytes, sizeof bytes);
  FILE *file = fopen(PATH, "ab");
  CHECK(file && fwrite(header, 1, length, file) == length && fclose(file) == 0);
  if (truncate(PATH, (off_t)(sizeof bytes + length + content)) != 0) FAIL("%" PRIu64 " bytes: %s", content, strerror(errno));
}

TEST(a_tensor_that_does_not_fit_memory) {
  lxla_env env = start();
  const uint64_t huge = (uint64_t)8 << 40;
  char header[256];
  snprintf(header, sizeof header, "{\"t\":{\"dtype\":\"U8\",\"shape\":[%" PRIu64 "],\"data_offsets\":[0,%" PRIu64 "]},"
           "\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}}", huge, huge, huge, huge + 4);
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
  const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]},"
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
