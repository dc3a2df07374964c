// The folder that a test writes in: FOLDER, defined before.
#ifndef LXLA_TEST_FOLDER_H
#define LXLA_TEST_FOLDER_H

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// How many files have this in their names.
static inline int files(const char *part) {
  int n = 0;
  DIR *folder = opendir(FOLDER);
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));)
    n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && strstr(entry->d_name, part);
  closedir(folder);
  return n;
}

// Whatever is in the folder, but the file of this name, is gone.
static inline void clear(const char *kept) {
  CHECK(mkdir(FOLDER, 0700) == 0 || errno == EEXIST);
  DIR *folder = opendir(FOLDER);
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));)
    if (strcmp(entry->d_name, kept) != 0) unlinkat(dirfd(folder), entry->d_name, 0);
  closedir(folder);
}

static inline void remove_folder(void) {
  clear("");
  CHECK(rmdir(FOLDER) == 0);
}

#endif
