/* SPDX-License-Identifier: MIT */
/* Whole numbers as people write them, exactly: "4096", "5e8", "4096.0", and with endings "64k", "2T" (decimal).
 *
 *   guint64 count;
 *   if (!base_count_parse("1.5M", TRUE, NULL, &count, error)) return FALSE;      // 1 500 000
 *   // expected a whole number, found "4096 tokens": leave out "tokens"
 */
#pragma once

#include <glib.h>

/* The largest count: what JSON and SQLite can hold too. */
#define BASE_COUNT_MAX ((guint64)G_MAXINT64)

/* `endings`: whether k, M, G or B and T are taken. `expected`: what messages call it ("a whole number from 1 to 8");
 * NULL: "a whole number". Errors: SIM_ERROR_INPUT without a place; *ret is then untouched. */
gboolean base_count_parse(const char *text, gboolean endings, const char *expected, guint64 *ret, GError **error);
