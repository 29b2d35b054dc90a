/* SPDX-License-Identifier: MIT */
/* Traps beside a database. */
#include "store-beside.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base-error.h"

static gboolean fail(const char *file, const char *what, GError **error) {
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: %s; SQLite takes it for a part of the database: remove it, or copy the database elsewhere", file,
              what);
  return FALSE;
}

/* Put there by somebody who may put a file beside anybody's database. */
static gboolean is_trap(const char *path, const struct stat *file) {
  g_autofree char *folder = g_path_get_dirname(path);
  struct stat around, database;
  uid_t owner = stat(path, &database) == 0 ? database.st_uid : geteuid();
  return stat(folder, &around) == 0 && (around.st_mode & S_IWOTH) != 0 && file->st_uid != geteuid() &&
         file->st_uid != 0 && file->st_uid != owner;
}

/* It ends as a journal does whose last record is the name of another file. */
static gboolean names_another(const char *journal) {
  static const guint8 mark[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  guint8 end[sizeof mark];
  int file = open(journal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  gboolean names = file >= 0 && lseek(file, -(off_t)sizeof end, SEEK_END) >= 0 &&
                   read(file, end, sizeof end) == sizeof end && memcmp(end, mark, sizeof end) == 0;
  if (file >= 0)
    close(file);
  return names;
}

gboolean store_beside_is_safe(const char *path, GError **error) {
  static const char *const endings[] = {"-journal", "-wal", "-shm"};
  for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
    g_autofree char *file = g_strconcat(path, endings[i], NULL);
    struct stat found;
    if (lstat(file, &found) != 0)
      continue;
    if (!S_ISREG(found.st_mode))
      return fail(file, S_ISLNK(found.st_mode) ? "is a link" : "is no regular file", error);
    if (is_trap(path, &found))
      return fail(file, "belongs to somebody else, in a folder that anybody may write to", error);
    if (i == 0 && names_another(file))
      return fail(file, "names another file, which SQLite would remove", error);
  }
  return TRUE;
}
