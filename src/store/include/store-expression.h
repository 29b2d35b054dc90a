/* SPDX-License-Identifier: MIT */
/* Expressions over metrics: what sweeps are narrowed by, bests are subject to and budgets are checked against.
 *
 *   g_autoptr(StoreExpression) fits = store_expression_parse("step <= 1.9 s and short_by = 0 GiB", error);
 *   if (store_expression_holds(fits, report)) …
 *
 *   or:         and { "or" and }
 *   and:        not { "and" not }
 *   not:        [ "not" ] ( comparison | "(" or ")" )
 *   comparison: sum ( "<" | "<=" | "=" | "!=" | ">=" | ">" ) sum
 *   sum:        product { ( "+" | "-" ) product }
 *   product:    value { ( "*" | "/" ) value }
 *   value:      number [ unit ] | metric | "(" sum ")"
 *
 * A metric is its column without _ps or _bytes (store-metric.h); of text metrics = and != compare with a word or a text
 * in quotes. Values carry their unit ("1.9 s", "74 GiB", "12 %", "3 USD"): comparing or adding different units is an
 * error, so is a bare number where a unit is needed. Times compare in whole picoseconds, sizes in bytes. A metric that
 * a run does not have (a price, of a cluster without one) makes its comparison false. */
#pragma once

#include "store-metric.h"

typedef struct StoreExpression StoreExpression;

/* Errors (SIM_ERROR_INPUT) show where in the text, what was found and what was expected. */
StoreExpression *store_expression_parse(const char *text, GError **error);
void store_expression_free(StoreExpression *expression);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreExpression, store_expression_free)

gboolean store_expression_holds(const StoreExpression *expression, const RunReport *report);
/* As it was written. */
const char *store_expression_text(const StoreExpression *expression);
/* Metrics that it names, in order of the text, NULL-terminated; borrowed. */
const StoreMetric *const *store_expression_metrics(const StoreExpression *expression);

/* Of a run in the database: the value of a metric's column in text, NULL where it is NULL; and of the n-th of the
 * settings that it names, NULL where the run has it not (then its default counts). `setting` may be NULL. */
typedef const char *(*StoreColumn)(const StoreMetric *metric, gpointer user);
typedef const char *(*StoreSettingValue)(guint n, gpointer user);
gboolean store_expression_holds_row(const StoreExpression *expression, StoreColumn column, StoreSettingValue setting,
                                    gpointer user);

/* Expressions over settings too: `find` knows their names ("nics_per_node", "cluster.nics_per_node"), of which kind
 * their values are (STORE_RATE: bytes a second; of flags and names STORE_TEXT) and what they usually are; FALSE: no
 * setting is called so, or several are. A metric of that name goes first. */
typedef struct {
  const char *name; /* "cluster.nics_per_node" */
  StoreUnit unit;
  const char *usual; /* canonical text; NULL: none */
} StoreSettingFound;
typedef gboolean (*StoreFindSetting)(const char *word, StoreSettingFound *ret, gpointer user);
StoreExpression *store_expression_parse_over(const char *text, StoreFindSetting find, gpointer user, GError **error);
/* Those that it names, in order of the text, a name as often as it comes; NULL-terminated, borrowed. */
const char *const *store_expression_settings(const StoreExpression *expression);
