/* SPDX-License-Identifier: MIT */
/* A file beside the one that is written, which takes its place at the end. */
#include "base-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base-error.h"

static gboolean fail(const char *path, int cause, GError **error) {
  gboolean theirs = cause == ENOENT || cause == ENOTDIR || cause == EISDIR;
  g_set_error(error, SIM_ERROR, theirs ? SIM_ERROR_INPUT : SIM_ERROR_SYSTEM, "%s: cannot be written: %s", path,
              g_strerror(cause));
  return FALSE;
}

/* Somebody else's, where they could put it in our way. */
static gboolean is_trap(const char *path, const struct stat *link) {
  g_autofree char *folder = g_path_get_dirname(path);
  struct stat around;
  gboolean shared = stat(folder, &around) == 0 && (around.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return shared && link->st_uid != geteuid() && link->st_uid != 0;
}

/* Of a link to what is not there yet. */
static char *read_link(const char *path) {
  g_autofree char *to = g_file_read_link(path, NULL);
  if (to == NULL)
    return g_strdup(path);
  g_autofree char *folder = g_path_get_dirname(path);
  return g_path_is_absolute(to) ? g_strdup(to) : g_build_filename(folder, to, NULL);
}

char *base_file_target(const char *path, GError **error) {
  struct stat link;
  if (lstat(path, &link) != 0 || !S_ISLNK(link.st_mode))
    return g_strdup(path);
  if (is_trap(path, &link)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: is a link that somebody else put into a folder they may write to; name another file", path);
    return NULL;
  }
  char *end = realpath(path, NULL);
  if (end == NULL)
    return read_link(path);
  char *target = g_strdup(end);
  free(end);
  return target;
}

static gboolean write_all(int file, const char *data, gsize length) {
  while (length > 0) {
    gssize written = write(file, data, length);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return FALSE;
    data += written;
    length -= (gsize)written;
  }
  return TRUE;
}

/* errno says why not. */
static gboolean finish(int file, gboolean good) {
  int cause = errno;
  if (close(file) != 0 && good)
    return FALSE;
  errno = cause;
  return good;
}

static gboolean write_in_place(const char *path, const void *data, gsize length) {
  int file = g_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return FALSE;
  if (finish(file, write_all(file, data, length)))
    return TRUE;
  int cause = errno;
  if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
    g_unlink(path);
  errno = cause;
  return FALSE;
}

/* Where its folder takes no new file there is no other way than in place. */
static gboolean write_beside(const char *path, const struct stat *old, const void *data, gsize length) {
  g_autofree char *folder = g_path_get_dirname(path), *name = g_strdup_printf(".foretrain-%d-XXXXXX", (int)getpid());
  g_autofree char *beside = g_build_filename(folder, name, NULL);
  int file = g_mkstemp_full(beside, O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0)
    return (errno == EACCES || errno == EPERM) && write_in_place(path, data, length);
  gboolean good = (old == NULL || fchmod(file, old->st_mode & 07777) == 0) && write_all(file, data, length) &&
                  (old == NULL || fsync(file) == 0);
  if (finish(file, good) && g_rename(beside, path) == 0)
    return TRUE;
  int cause = errno;
  g_unlink(beside);
  errno = cause;
  return FALSE;
}

/* Runs that somebody keeps: no text takes their place. */
static gboolean is_database(const char *path) {
  static const char begin[16] = "SQLite format 3"; /* https://www.sqlite.org/fileformat.html, 1.3 */
  char found[sizeof begin];
  int file = g_open(path, O_RDONLY | O_CLOEXEC, 0);
  gboolean same =
      file >= 0 && read(file, found, sizeof found) == sizeof found && memcmp(found, begin, sizeof begin) == 0;
  if (file >= 0)
    close(file);
  return same;
}

/* Nothing is lost where another file takes this one's place. */
static gboolean is_ours_alone(const struct stat *old) {
  return S_ISREG(old->st_mode) && old->st_uid == geteuid() && old->st_nlink == 1;
}

gboolean base_file_write(const char *path, const void *data, gsize length, GError **error) {
  g_autofree char *target = base_file_target(path, error);
  if (target == NULL)
    return FALSE;
  struct stat old;
  gboolean there = stat(target, &old) == 0,
           stream = g_str_has_prefix(path, "/dev/") || g_str_has_prefix(path, "/proc/");
  if (there && S_ISDIR(old.st_mode))
    return fail(path, EISDIR, error);
  if (there && S_ISREG(old.st_mode) && is_database(target)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is a database, which is not written over; name another file",
                path);
    return FALSE;
  }
  gboolean in_place = stream || (there && !is_ours_alone(&old));
  gboolean written = in_place ? write_in_place(stream ? path : target, data, length)
                              : write_beside(target, there ? &old : NULL, data, length);
  return written || fail(path, errno, error);
}
