/* SPDX-License-Identifier: MIT */
/* The writer of JSON: its layout, and that what it writes is JSON whatever the values (json-glib reads it back). */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "base-json.h"
#include "harness.h"

static void lays_out(void) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_map(json, NULL);
  base_json_text(json, "name", "a \"b\"");
  base_json_list(json, "values");
  base_json_integer(json, NULL, G_MININT64);
  base_json_number(json, NULL, 2);
  base_json_number(json, NULL, INFINITY);
  base_json_end(json);
  base_json_map(json, "none");
  base_json_end(json);
  base_json_text(json, "null", NULL);
  base_json_digits(json, "ts", "12.000345");
  base_json_end(json);
  CU_ASSERT_STRING_EQUAL(text->str,
                         "{\n  \"name\" : \"a \\\"b\\\"\",\n  \"values\" : [\n    -9223372036854775808,\n    2.0,\n"
                         "    null\n  ],\n  \"none\" : {},\n  \"null\" : null,\n  \"ts\" : 12.000345\n}\n");
}

static void lays_out_compactly(void) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_COMPACT);
  base_json_map(json, NULL);
  base_json_list(json, "a");
  base_json_break(json);
  base_json_null(json, NULL);
  base_json_break(json);
  base_json_integer(json, NULL, 1);
  base_json_break(json);
  base_json_end(json);
  base_json_end(json);
  CU_ASSERT_STRING_EQUAL(text->str, "{\"a\":[\nnull,\n1\n]}");
}

/* What a text becomes when it is written and read back. Caller frees. */
static char *back(const char *value) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_COMPACT);
  base_json_list(json, NULL);
  base_json_text(json, NULL, value);
  base_json_end(json);
  CU_ASSERT_TRUE(g_utf8_validate(text->str, -1, NULL));
  g_autoptr(JsonNode) root = json_from_string(text->str, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  return g_strdup(json_array_get_string_element(json_node_get_array(root), 0));
}

/* Every byte but NUL, alone and between letters: those below 0x80 come back, the others are no UTF-8 and become
 * U+FFFD. */
static void escapes_every_byte(void) {
  for (int byte = 1; byte < 256; byte++) {
    char value[] = {'a', (char)byte, 'z', '\0'};
    g_autofree char *read = back(value);
    CU_ASSERT_STRING_EQUAL(read, byte < 0x80 ? value : "a\xef\xbf\xbdz");
  }
  g_autofree char *umlaut = back("h\xc3\xb6her");
  CU_ASSERT_STRING_EQUAL(umlaut, "h\xc3\xb6her");
}

int main(void) {
  return harness_run("base-json", (HarnessCase[]){{"layout", lays_out},
                                                  {"compact", lays_out_compactly},
                                                  {"every byte", escapes_every_byte},
                                                  {NULL, NULL}});
}
