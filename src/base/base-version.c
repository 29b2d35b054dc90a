/* Versions to numbers and back. */
#include "base-version.h"

#define PARTS 3
#define MOST  1000

gboolean base_version_parse(const char *text, guint32 *ret) {
  g_auto(GStrv) parts = g_strsplit(text[0] == 'v' ? text + 1 : text, ".", -1);
  if (g_strv_length(parts) < 1 || g_strv_length(parts) > PARTS)
    return FALSE;
  guint32 version = 0;
  gboolean over = FALSE;
  for (guint i = 0; i < PARTS; i++) {
    over |= parts[i] == NULL;
    guint64 number = 0;
    if (!over && !g_ascii_string_to_unsigned(parts[i], 10, 0, MOST - 1, &number, NULL))
      return FALSE;
    version = version * MOST + (guint32)number;
  }
  *ret = version;
  return TRUE;
}

char *base_version_text(guint32 version) {
  return g_strdup_printf("%u.%u.%u", version / MOST / MOST, version / MOST % MOST, version % MOST);
}

char *base_version_minor_text(guint32 version) {
  return g_strdup_printf("%u.%u", version / MOST / MOST, version / MOST % MOST);
}
