/* JSON read from front to back, value by value, for files that are too large to be held as a tree.
 *
 *   ImportScan scan;
 *   import_scan_begin(&scan, "trace.json", data, length);
 *   if (!import_scan_enter(&scan, '{', error)) return FALSE;
 *   for (gboolean first = TRUE; import_scan_next(&scan, '}', &first, &more, error) && more;)
 *     … import_scan_key(&scan, key, error), then import_scan_text, import_scan_skip or import_scan_enter …
 *
 * The data is the caller's and outlives the scan. Errors (SIM_ERROR_INPUT) name file and line. Cost: one pass, no memory but
 * what the caller gives. Private to this floor. */
#pragma once

#include "base-error.h"

typedef struct {
  const char *file, *data, *at, *end;
  guint depth;
} ImportScan;

void import_scan_begin(ImportScan *scan, const char *file, const char *data, gsize length);
/* The next character that is no space; '\0' at the end. */
char import_scan_peek(ImportScan *scan);
/* What a map '{' or a list '[' begins with. */
gboolean import_scan_enter(ImportScan *scan, char open, GError **error);
/* Whether there is another member before `close`; passes the comma, or the end. `first`: TRUE before the first. */
gboolean import_scan_next(ImportScan *scan, char close, gboolean *first, gboolean *ret_more, GError **error);
/* A member's name and its colon. `text` is emptied first. */
gboolean import_scan_key(ImportScan *scan, GString *text, GError **error);
/* Both, inside an object: the next member's key, where there is one more. */
gboolean import_scan_member(ImportScan *scan, GString *key, gboolean *first, gboolean *ret_more, GError **error);
/* A text, a number or a word (true, null) as it stands; FALSE with no error set never happens. Of maps and lists: "". */
gboolean import_scan_text(ImportScan *scan, GString *text, GError **error);
gboolean import_scan_skip(ImportScan *scan, GError **error);
/* SIM_ERROR_INPUT at the place; FALSE. */
gboolean import_scan_fail(const ImportScan *scan, GError **error, const char *what);
