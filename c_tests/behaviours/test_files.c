// Saves to every kind of file: access rights, links, special files, names at their limits; the length of messages.
#define _GNU_SOURCE
#define FOLDER "test_files.folder"
#include "saved_files.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>

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

// --- Links, and what is not a regular file
// ------------------------------------------------------------------------------

TEST(symbolic_links_are_followed) {
  lxla_env env = start();
  CHECK(mkdir(FOLDER "/inner", 0700) == 0);
  CHECK(symlink("inner/file", FOLDER "/link") == 0);  // to nothing, so far
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
  for (unsigned minor = 3; mknod(FOLDER "/device", S_IFCHR | 0600, minor == 3 ? 0x103 : 0x500) == 0 && minor < 5;
       minor++) {
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
