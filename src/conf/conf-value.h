/* One value of one key: text to a checked value and its canonical text. For this room alone.
 *
 *   ConfValue value;
 *   if (!conf_value_parse(key, "400 Gb/s", &value, error)) return FALSE;   // value.text "50000000000 B/s", number 5e10
 *   conf_value_clear(&value);
 *
 * Paths are not resolved here. */
#pragma once

#include "conf-schema.h"

typedef struct {
  char *text;    /* canonical; NULL: no value (a CONF_LATER key without initial) */
  double number; /* CONF_NUMBER and those with units, SI */
  guint64 count; /* CONF_COUNT */
  int index;     /* CONF_NAME; CONF_FLAG: 0 or 1 */
} ConfValue;

/* Errors: SIM_ERROR_INPUT without a place; *ret is then untouched. */
gboolean conf_value_parse(const ConfKey *key, const char *text, ConfValue *ret, GError **error);
void conf_value_clear(ConfValue *value);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ConfValue, conf_value_clear)

/* FALSE where the text is no flag. */
gboolean conf_value_flag(const char *text, gboolean *ret);

/* What the key takes, for messages and the reference: "a whole number from 1 to 8", "one of adam, adamw", "yes or no",
 * "a time such as 2.5 us, at least 0 s". Caller frees. */
char *conf_value_expected(const ConfKey *key);
