/* SPDX-License-Identifier: MIT */
/* Tar archives (POSIX.1-1988 ustar, and GNU's and pax's long names) to the files in them. */
#include "conf-data.h"

#include <string.h>

#include "conf-tar.h"

#define BLOCK ((gsize)512)

/* Where a header's fields stand, and how long they are. */
enum { NAME_AT = 0, NAME = 100, SIZE_AT = 124, SIZE = 12, TYPE_AT = 156, MARK_AT = 257, PREFIX_AT = 345, PREFIX = 155 };

typedef struct {
  const char *path, *data;
  gsize at, length;
} Tar;

gboolean conf_tar_is(const char *data, gsize length) {
  return length >= BLOCK && memcmp(data + MARK_AT, "ustar", 5) == 0;
}

static gboolean fail(const Tar *tar, const char *what, GError **error) {
  base_error_set_at(error, &(BasePlace){.file = tar->path}, "is a broken tar archive: %s", what);
  return FALSE;
}

/* Octal digits, with spaces around; or, of large files, GNU's 256-based number. */
static gboolean read_size(const char *field, gsize *ret) {
  guint64 size = 0;
  gboolean binary = ((guchar)field[0] & 0x80) != 0;
  for (gsize i = binary ? 1 : 0; i < SIZE && (binary || field[i] != '\0'); i++) {
    guint digit = binary ? (guchar)field[i] : (guint)(field[i] - '0');
    if (!binary && field[i] == ' ')
      continue;
    if ((!binary && digit > 7) || size > G_MAXUINT64 >> 8)
      return FALSE;
    size = size * (binary ? 256 : 8) + digit;
  }
  *ret = (gsize)size;
  return TRUE;
}

static char *short_name(const char *header) {
  g_autofree char *name = g_strndup(header + NAME_AT, NAME), *prefix = g_strndup(header + PREFIX_AT, PREFIX);
  gboolean posix = header[MARK_AT + 5] == '\0' && prefix[0] != '\0';
  return posix ? g_strconcat(prefix, "/", name, NULL) : g_steal_pointer(&name);
}

/* Of a pax header: "27 path=worker0/step.json\n". NULL: it names none. */
static char *pax_name(const char *data, gsize length) {
  static const char key[] = " path=";
  const char *found = g_strstr_len(data, (gssize)length, key);
  if (found == NULL)
    return NULL;
  const char *from = found + strlen(key), *end = memchr(from, '\n', length - (gsize)(from - data));
  return g_strndup(from, end != NULL ? (gsize)(end - from) : length - (gsize)(from - data));
}

static gboolean is_empty(const char *header) {
  for (gsize i = 0; i < BLOCK; i++)
    if (header[i] != '\0')
      return FALSE;
  return TRUE;
}

static void add(GPtrArray *parts, const Tar *tar, const char *name, GBytes *whole, gsize from, gsize size) {
  g_autofree char *path = g_strconcat(tar->path, ":", name, NULL);
  ConfPart *part = g_new(ConfPart, 1);
  *part = (ConfPart){g_steal_pointer(&path), g_bytes_new_from_bytes(whole, from, size)};
  g_ptr_array_add(parts, part);
}

gboolean conf_tar_parts(const char *path, GBytes *whole, GPtrArray *parts, GError **error) {
  Tar tar = {.path = path};
  tar.data = g_bytes_get_data(whole, &tar.length);
  g_autofree char *long_name = NULL;
  while (tar.length - tar.at >= BLOCK && !is_empty(tar.data + tar.at)) {
    const char *header = tar.data + tar.at;
    gsize size, from = tar.at + BLOCK;
    if (!conf_tar_is(header, BLOCK))
      return fail(&tar, "a header is none", error);
    if (!read_size(header + SIZE_AT, &size) || size > tar.length - from)
      return fail(&tar, "it ends within a file", error);
    char type = header[TYPE_AT];
    if (type == 'L' || type == 'x') {
      char *name = type == 'L' ? g_strndup(tar.data + from, size) : pax_name(tar.data + from, size);
      g_free(long_name);
      long_name = name;
    } else if (type == '0' || type == '\0') {
      g_autofree char *name = long_name != NULL ? g_steal_pointer(&long_name) : short_name(header);
      add(parts, &tar, name, whole, from, size);
    }
    gsize padded = size + (BLOCK - size % BLOCK) % BLOCK;
    tar.at = MIN(from + padded, tar.length);
  }
  return TRUE;
}
