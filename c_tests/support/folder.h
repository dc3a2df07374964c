// Functions for the test's folder. The test defines its path as FOLDER before it includes this file.
#ifndef LXLA_TEST_FOLDER_H
#define LXLA_TEST_FOLDER_H

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// Counts the files in the folder and its subfolders whose names contain `part`. With `remove_them`, removes them and
// the subfolders, except for the file named `kept`.
static inline int walk_folder(int folder, const char *part, const char *kept, int remove_them) {
  int n = 0;
  DIR *entries = fdopendir(folder);
  CHECK(entries);
  for (struct dirent *entry; (entry = readdir(entries));) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, kept) == 0) continue;
    int inner = openat(dirfd(entries), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0) n += walk_folder(inner, part, kept, remove_them);
    else n += strstr(name, part) != NULL;
    if (remove_them) unlinkat(dirfd(entries), name, inner >= 0 ? AT_REMOVEDIR : 0);
  }
  closedir(entries);
  return n;
}

static inline int open_folder(void) {
  int folder = open(FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(folder >= 0);
  return folder;
}

// Counts the files whose names contain `part`.
static inline int files(const char *part) { return walk_folder(open_folder(), part, "", 0); }

// Removes everything in the folder except the file `kept`. Creates the folder if it does not exist.
static inline void clear(const char *kept) {
  CHECK(mkdir(FOLDER, 0700) == 0 || errno == EEXIST);
  walk_folder(open_folder(), "", kept, 1);
}

static inline void remove_folder(void) {
  clear("");
  CHECK(rmdir(FOLDER) == 0);
}

#endif
