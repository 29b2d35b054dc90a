/* SPDX-License-Identifier: MIT */
/* Versions to numbers and back. */
#include "base-version.h"

#define PARTS 3
#define MOST  1000

/* Digits below 1000; *text behind them. */
static gboolean read_number(const char **text, guint32 *ret) {
  guint32 number = 0;
  const char *p = *text;
  for (; g_ascii_isdigit(*p) && number < MOST; p++)
    number = number * 10 + (guint32)(*p - '0');
  gboolean good = p > *text && number < MOST;
  *text = p;
  *ret = number;
  return good;
}

gboolean base_version_parse(const char *text, guint32 *ret) {
  const char *p = text + (*text == 'v');
  guint32 version = 0, number = 0;
  int parts = 0;
  for (gboolean more = TRUE; more && parts < PARTS; parts++) {
    if (!read_number(&p, &number))
      return FALSE;
    version = version * MOST + number;
    more = *p == '.';
    p += more && parts + 1 < PARTS;
  }
  gboolean build = (*p == '-' || *p == '+') && parts > 1;
  if (*p != '\0' && !build)
    return FALSE;
  for (; parts < PARTS; parts++)
    version *= MOST;
  *ret = version;
  return TRUE;
}

char *base_version_text(guint32 version) {
  return g_strdup_printf("%u.%u.%u", version / MOST / MOST, version / MOST % MOST, version % MOST);
}

char *base_version_minor_text(guint32 version) {
  return g_strdup_printf("%u.%u", version / MOST / MOST, version / MOST % MOST);
}
