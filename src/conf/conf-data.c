/* SPDX-License-Identifier: MIT */
/* Files to bytes: mapped, or unpacked by zlib, by their first bytes. */
#include "conf-data.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "conf-file.h"
#include "conf-tar.h"

#define UNPACKED_MOST ((gsize)2 << 30)  /* of a file, and of the parts of an archive together */
#define UNPACKED_ANY  ((gsize)64 << 20) /* however far they unfold */
/* Beyond, what unfolds so far is no text that somebody has: traces pack ten- to fortyfold, one byte over and over a
 * thousandfold (RFC 1951: a copy of 258 bytes in two bits). */
#define UNFOLDED_MOST ((gsize)100)
#define PIECE         ((gsize)1 << 16)

static gboolean begins(const char *data, gsize length, const char *mark, gsize n) {
  return length >= n && memcmp(data, mark, n) == 0;
}

/* Marks of archives: RFC 1952, RFC 8878, and the formats' own documents. */
static gboolean is_gzip(const char *data, gsize length) {
  return begins(data, length, "\x1f\x8b", 2);
}

static gboolean refuse_packed(const char *path, const char *data, gsize length, GError **error) {
  static const struct {
    const char *mark, *advice;
    gsize n;
  } archives[] = {
      {"PK\x03\x04", "is a zip archive; unpack it (unzip) and name a file of it", 4},
      {"\x28\xb5\x2f\xfd", "is packed; unpack it first (unzstd)", 4},
      {"\xfd"
       "7zXZ",
       "is packed; unpack it first (unxz)", 5},
      {"BZh", "is packed; unpack it first (bunzip2)", 3},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(archives); i++)
    if (begins(data, length, archives[i].mark, archives[i].n)) {
      base_error_set_at(error, &(BasePlace){.file = path}, "%s", archives[i].advice);
      return FALSE;
    }
  return TRUE;
}

static gsize most_of(gsize packed) {
  return packed > UNPACKED_MOST / UNFOLDED_MOST ? UNPACKED_MOST : MAX(UNPACKED_ANY, packed * UNFOLDED_MOST);
}

/* At most *left bytes, which it takes from there. */
static gboolean read_all(const char *path, GInputStream *stream, gsize *left, GByteArray *all, GError **error) {
  g_autofree guint8 *piece = g_malloc(PIECE);
  g_autoptr(GError) cause = NULL;
  gssize n;
  while ((n = g_input_stream_read(stream, piece, PIECE, NULL, &cause)) > 0) {
    if ((gsize)n > *left) {
      base_error_set_at(error, &(BasePlace){.file = path},
                        "unpacks to more than 2 GiB, or 100 times what it was; unpack it first (gunzip)");
      return FALSE;
    }
    *left -= (gsize)n;
    g_byte_array_append(all, piece, (guint)n);
  }
  if (n < 0)
    base_error_set_at(error, &(BasePlace){.file = path}, "is packed by gzip and broken: %s", cause->message);
  return n == 0;
}

static GBytes *unpack(const char *path, GBytes *packed, gsize *left, GError **error) {
  g_autoptr(GInputStream) bytes = g_memory_input_stream_new_from_bytes(packed);
  g_autoptr(GConverter) gunzip = G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  g_autoptr(GInputStream) stream = g_converter_input_stream_new(bytes, gunzip);
  GByteArray *all = g_byte_array_new();
  gboolean good =
      read_all(path, stream, left, all, error) && refuse_packed(path, (const char *)all->data, all->len, error);
  GBytes *unpacked = g_byte_array_free_to_bytes(all);
  if (!good)
    g_clear_pointer(&unpacked, g_bytes_unref);
  return unpacked;
}

/* The machine's fault, not that of who named the file. */
static gboolean is_fault(const GError *cause) {
  static const int faults[] = {G_FILE_ERROR_MFILE, G_FILE_ERROR_NFILE, G_FILE_ERROR_NOMEM, G_FILE_ERROR_IO};
  for (gsize i = 0; i < G_N_ELEMENTS(faults); i++)
    if (g_error_matches(cause, G_FILE_ERROR, faults[i]))
      return TRUE;
  return FALSE;
}

static gboolean fail_missing(const char *path, const GError *cause, GError **error) {
  if (is_fault(cause)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s", cause->message);
    return FALSE;
  }
  g_autofree char *advice = conf_file_advice(path);
  if (g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
    base_error_set_at(error, &(BasePlace){0}, "no file \"%s\"%s", path, advice);
  else
    base_error_set_at(error, &(BasePlace){0}, "%s", cause->message);
  return FALSE;
}

/* As it is, or unpacked: a tar archive may be within. */
static GBytes *open_file(const char *path, GError **error) {
  GStatBuf of;
  if (g_stat(path, &of) == 0 && !S_ISREG(of.st_mode)) { /* a pipe that nobody writes to would never open */
    base_error_set_at(error, &(BasePlace){.file = path}, "is a %s; expected a file",
                      S_ISDIR(of.st_mode) ? "folder" : "pipe or a device");
    return NULL;
  }
  g_autoptr(GError) cause = NULL;
  g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, &cause);
  if (file == NULL) {
    fail_missing(path, cause, error);
    return NULL;
  }
  g_autoptr(GBytes) bytes = g_mapped_file_get_bytes(file);
  gsize length;
  const char *data = g_bytes_get_data(bytes, &length);
  gsize left = most_of(length);
  if (is_gzip(data, length))
    return unpack(path, bytes, &left, error);
  return refuse_packed(path, data, length, error) ? g_steal_pointer(&bytes) : NULL;
}

GBytes *conf_data_load(const char *path, GError **error) {
  g_autoptr(GBytes) bytes = open_file(path, error);
  gsize length;
  const char *data = bytes != NULL ? g_bytes_get_data(bytes, &length) : NULL;
  if (bytes != NULL && conf_tar_is(data, length)) {
    base_error_set_at(error, &(BasePlace){.file = path}, "is a tar archive; unpack it (tar xf) and name a file of it");
    return NULL;
  }
  return g_steal_pointer(&bytes);
}

static void part_free(gpointer data) {
  ConfPart *part = data;
  g_bytes_unref(part->bytes);
  g_free(part->path);
  g_free(part);
}

static gboolean unpack_part(ConfPart *part, gsize *left, GError **error) {
  gsize length;
  const char *data = g_bytes_get_data(part->bytes, &length);
  if (!is_gzip(data, length))
    return TRUE;
  GBytes *unpacked = unpack(part->path, part->bytes, left, error);
  if (unpacked == NULL)
    return FALSE;
  g_bytes_unref(part->bytes);
  part->bytes = unpacked;
  return TRUE;
}

GPtrArray *conf_data_parts(const char *path, GError **error) {
  g_autoptr(GBytes) whole = open_file(path, error);
  if (whole == NULL)
    return NULL;
  g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(part_free);
  gsize length;
  const char *data = g_bytes_get_data(whole, &length);
  if (!conf_tar_is(data, length)) {
    ConfPart *part = g_new(ConfPart, 1);
    *part = (ConfPart){g_strdup(path), g_bytes_ref(whole)};
    g_ptr_array_add(parts, part);
    return g_steal_pointer(&parts);
  }
  if (!conf_tar_parts(path, whole, parts, error))
    return NULL;
  gsize left = most_of(length);
  for (guint i = 0; i < parts->len; i++)
    if (!unpack_part(g_ptr_array_index(parts, i), &left, error))
      return NULL;
  if (parts->len == 0)
    base_error_set_at(error, &(BasePlace){.file = path}, "is a tar archive without files");
  return parts->len > 0 ? g_steal_pointer(&parts) : NULL;
}

static char *text_of(GBytes *bytes, gsize *ret_length) {
  gsize length;
  const char *data = g_bytes_get_data(bytes, &length);
  char *text = g_malloc(length + 1);
  if (length > 0)
    memcpy(text, data, length);
  text[length] = '\0';
  *ret_length = length;
  return text;
}

char *conf_data_text(const char *path, gsize *ret_length, GError **error) {
  g_autoptr(GBytes) bytes = conf_data_load(path, error);
  return bytes != NULL ? text_of(bytes, ret_length) : NULL;
}

#define LOOKED_AT ((gsize)1 << 16) /* bytes of the beginning */

char *conf_data_small_text(const char *path, gsize *ret_length, GError **error) {
  g_autoptr(GBytes) bytes = conf_data_load(path, error);
  BasePlace place = {.file = path};
  if (bytes == NULL)
    return NULL;
  gsize length;
  const char *data = g_bytes_get_data(bytes, &length);
  const char *nul = length > 0 ? memchr(data, '\0', MIN(length, LOOKED_AT)) : NULL;
  if (nul != NULL)
    base_error_set_at(error, &place, "is no text: byte %" G_GSIZE_FORMAT " is NUL", (gsize)(nul - data) + 1);
  else if (length > CONF_DATA_MOST)
    base_error_set_at(error, &place, "has more than %" G_GSIZE_FORMAT " MiB; no file of this kind is so large",
                      CONF_DATA_MOST >> 20);
  else
    return text_of(bytes, ret_length);
  return NULL;
}
