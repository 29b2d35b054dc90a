/* SPDX-License-Identifier: MIT */
/* Brackets are remembered in a stack; a comma precedes every value but the first. */
#include "base-json.h"

#include <math.h>
#include <string.h>

#include "base-error.h"

struct BaseJson {
  GString *text;
  BaseJsonStyle style;
  gboolean first, broken; /* nothing stands yet in the innermost bracket; a new line is wanted */
  guint depth;
  char closing[BASE_JSON_DEPTH_MAX];
};

BaseJson *base_json_new(GString *text, BaseJsonStyle style) {
  BaseJson *json = g_new0(BaseJson, 1);
  *json = (BaseJson){.text = text, .style = style, .first = TRUE};
  return json;
}

void base_json_free(BaseJson *json) {
  g_free(json);
}

static void append_valid(GString *text, const char *value) {
  static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  g_string_append_c(text, '"');
  for (const char *p = value; *p != '\0'; p++) {
    const char *found = strchr(escaped, *p);
    if (found != NULL)
      g_string_append_printf(text, "\\%c", letters[found - escaped]);
    else if ((guchar)*p < 0x20 || *p == 0x7f)
      g_string_append_printf(text, "\\u%04x", (guint)*p);
    else
      g_string_append_c(text, *p);
  }
  g_string_append_c(text, '"');
}

static void append_quoted(GString *text, const char *value) {
  g_autofree char *valid = g_utf8_validate(value, -1, NULL) ? NULL : g_utf8_make_valid(value, -1);
  append_valid(text, valid != NULL ? valid : value);
}

static void new_line(BaseJson *json) {
  g_string_append_c(json->text, '\n');
  for (guint i = 0; json->style == BASE_JSON_SPREAD && i < json->depth; i++)
    g_string_append(json->text, "  ");
  json->broken = FALSE;
}

/* What stands before a value: comma, line, key. */
static void begin(BaseJson *json, const char *key) {
  gboolean in_map = json->depth > 0 && json->closing[json->depth - 1] == '}';
  sim_require((key != NULL) == in_map && (json->depth > 0 || json->first), 0, NULL, "JSON: a value has no place");
  if (!json->first)
    g_string_append_c(json->text, ',');
  if (json->broken || (json->style == BASE_JSON_SPREAD && json->depth > 0))
    new_line(json);
  json->first = FALSE;
  if (key == NULL)
    return;
  append_quoted(json->text, key);
  g_string_append(json->text, json->style == BASE_JSON_SPREAD ? " : " : ":");
}

static void open_bracket(BaseJson *json, const char *key, const char *both) {
  begin(json, key);
  sim_require(json->depth < BASE_JSON_DEPTH_MAX, 0, NULL, "JSON: too deep");
  g_string_append_c(json->text, both[0]);
  json->closing[json->depth++] = both[1];
  json->first = TRUE;
}

void base_json_map(BaseJson *json, const char *key) {
  open_bracket(json, key, "{}");
}

void base_json_list(BaseJson *json, const char *key) {
  open_bracket(json, key, "[]");
}

void base_json_end(BaseJson *json) {
  sim_require(json->depth > 0, 0, NULL, "JSON: nothing to end");
  char closing = json->closing[--json->depth];
  if (json->broken || (json->style == BASE_JSON_SPREAD && !json->first))
    new_line(json);
  g_string_append_c(json->text, closing);
  json->first = FALSE;
  if (json->depth == 0 && json->style == BASE_JSON_SPREAD)
    g_string_append_c(json->text, '\n');
}

void base_json_digits(BaseJson *json, const char *key, const char *digits) {
  begin(json, key);
  g_string_append(json->text, digits);
}

void base_json_null(BaseJson *json, const char *key) {
  base_json_digits(json, key, "null");
}

void base_json_text(BaseJson *json, const char *key, const char *value) {
  begin(json, key);
  if (value != NULL)
    append_quoted(json->text, value);
  else
    g_string_append(json->text, "null");
}

void base_json_integer(BaseJson *json, const char *key, gint64 value) {
  begin(json, key);
  g_string_append_printf(json->text, "%" G_GINT64_FORMAT, value);
}

void base_json_number(BaseJson *json, const char *key, double value) {
  char digits[G_ASCII_DTOSTR_BUF_SIZE + 2];
  g_ascii_dtostr(digits, G_ASCII_DTOSTR_BUF_SIZE, value);
  if (digits[strspn(digits, "0123456789-")] == '\0')
    g_strlcat(digits, ".0", sizeof digits);
  base_json_digits(json, key, isfinite(value) ? digits : "null");
}

void base_json_break(BaseJson *json) {
  json->broken = TRUE;
}
