/* SPDX-License-Identifier: MIT */
/* Files to bytes: mapped, or unpacked by zlib, by their first bytes. */
#include "conf-data.h"

#include <gio/gio.h>
#include <string.h>

#include "conf-file.h"

#define UNPACKED_MOST ((gsize)2 << 30)
#define PIECE         ((gsize)1 << 16)
#define TAR_MARK_AT   257

static gboolean begins(const char *data, gsize length, const char *mark, gsize at, gsize n) {
  return length >= at + n && memcmp(data + at, mark, n) == 0;
}

/* Marks of archives: RFC 1952, RFC 8878, POSIX.1-1988 ustar, and the formats' own documents. */
static gboolean is_gzip(const char *data, gsize length) {
  return begins(data, length, "\x1f\x8b", 0, 2);
}

static gboolean refuse_archive(const char *path, const char *data, gsize length, GError **error) {
  static const struct {
    const char *mark, *advice;
    gsize at, n;
  } archives[] = {
      {"ustar", "is a tar archive; unpack it (tar xf) and name a file of it", TAR_MARK_AT, 5},
      {"PK\x03\x04", "is a zip archive; unpack it (unzip) and name a file of it", 0, 4},
      {"\x28\xb5\x2f\xfd", "is packed; unpack it first (unzstd)", 0, 4},
      {"\xfd"
       "7zXZ",
       "is packed; unpack it first (unxz)", 0, 5},
      {"BZh", "is packed; unpack it first (bunzip2)", 0, 3},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(archives); i++)
    if (begins(data, length, archives[i].mark, archives[i].at, archives[i].n)) {
      base_error_set_at(error, &(BasePlace){.file = path}, "%s", archives[i].advice);
      return FALSE;
    }
  return TRUE;
}

static gboolean read_all(const char *path, GInputStream *stream, GByteArray *all, GError **error) {
  g_autofree guint8 *piece = g_malloc(PIECE);
  g_autoptr(GError) cause = NULL;
  gssize n;
  while ((n = g_input_stream_read(stream, piece, PIECE, NULL, &cause)) > 0) {
    if (all->len + (gsize)n > UNPACKED_MOST) {
      base_error_set_at(error, &(BasePlace){.file = path}, "unpacks to more than 2 GiB; unpack it first (gunzip)");
      return FALSE;
    }
    g_byte_array_append(all, piece, (guint)n);
  }
  if (n < 0)
    base_error_set_at(error, &(BasePlace){.file = path}, "is packed by gzip and broken: %s", cause->message);
  return n == 0;
}

static GBytes *unpack(const char *path, GBytes *packed, GError **error) {
  g_autoptr(GInputStream) bytes = g_memory_input_stream_new_from_bytes(packed);
  g_autoptr(GConverter) gunzip = G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  g_autoptr(GInputStream) stream = g_converter_input_stream_new(bytes, gunzip);
  GByteArray *all = g_byte_array_new();
  gboolean good = read_all(path, stream, all, error) && refuse_archive(path, (const char *)all->data, all->len, error);
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

GBytes *conf_data_load(const char *path, GError **error) {
  if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
    base_error_set_at(error, &(BasePlace){.file = path}, "is a folder; expected a file");
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
  if (is_gzip(data, length))
    return unpack(path, bytes, error);
  return refuse_archive(path, data, length, error) ? g_steal_pointer(&bytes) : NULL;
}

char *conf_data_text(const char *path, gsize *ret_length, GError **error) {
  g_autoptr(GBytes) bytes = conf_data_load(path, error);
  if (bytes == NULL)
    return NULL;
  gsize length;
  const char *data = g_bytes_get_data(bytes, &length);
  char *text = g_malloc(length + 1);
  if (length > 0)
    memcpy(text, data, length);
  text[length] = '\0';
  *ret_length = length;
  return text;
}
