/* SPDX-License-Identifier: MIT */
/* JSON texts: what is taken beyond the standard, typed values by path, and the message of each mistake. */
#include <string.h>

#include "conf-json.h"
#include "harness.h"

static ConfJson *parse(const char *data, GError **error) {
  return conf_json_parse("m.json", data, strlen(data), error);
}

static void takes_what_people_write(void) {
  static const char data[] = "\xef\xbb\xbf// head\r\n"
                             "{ /* one\n two */ \"layers\": 32, # after\r\n"
                             "  \"url\": \"http://a/#b\",\r\n"
                             "  \"rope\": {\"factor\": 8.0, \"type\": \"linear\",},\n"
                             "  \"betas\": [0.9, 0.95, ],\n"
                             "  \"limits\": [0.0, Infinity, -Infinity, NaN],\n"
                             "  \"caf\\u00e9\": true,\n"
                             "} // end";
  g_autoptr(GError) error = NULL;
  g_autoptr(ConfJson) json = parse(data, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(json);
  guint64 layers = 0;
  double factor = 0, beta = 0;
  const char *url = NULL;
  gboolean coffee = FALSE;
  CU_ASSERT_TRUE(conf_json_count(json, "layers", &layers, NULL) && layers == 32);
  CU_ASSERT_TRUE(conf_json_number(json, "rope.factor", &factor, NULL) && factor == 8);
  CU_ASSERT_TRUE(conf_json_number(json, "betas.1", &beta, NULL) && beta == 0.95);
  CU_ASSERT_TRUE(conf_json_string(json, "url", &url, NULL) && strcmp(url, "http://a/#b") == 0);
  CU_ASSERT_TRUE(conf_json_flag(json, "caf\xc3\xa9", &coffee, NULL) && coffee);
  CU_ASSERT_FALSE(conf_json_has(json, "betas.2"));
  CU_ASSERT_FALSE(conf_json_has(json, "rope.x"));
  g_autofree char *keys = g_strjoinv(" ", (char **)conf_json_keys(json));
  CU_ASSERT_STRING_EQUAL(keys, "layers url rope betas limits caf\xc3\xa9");
  BasePlace place;
  conf_json_place(json, "rope.type", &place);
  CU_ASSERT_EQUAL(place.line, 5);    /* the comment of two lines keeps its line break */
  CU_ASSERT_EQUAL(place.column, 27); /* after two spaces, "rope": (3 to 9), {"factor": (11 to 20) and 8.0, (22 to 25) */
  GError *refused = NULL;
  HARNESS_FAILS(conf_json_number(json, "limits.1", &beta, &refused), refused,
                "m.json:7:19: limits.1: expected a number, found Infinity");
}

static void counts_are_exact(void) {
  static const struct {
    const char *text;
    guint64 value;
  } counts[] = {{"4096", 4096},
                {"\"4096\"", 4096},
                {"5e8", 500000000},
                {"\"5e8\"", 500000000},
                {"4096.0", 4096},
                {"1.5e1", 15},
                {"0", 0},
                {"9223372036854775807", G_MAXINT64},
                {"9007199254740993", 9007199254740993}}; /* 2^53 + 1: no double holds it */
  for (gsize i = 0; i < G_N_ELEMENTS(counts); i++) {
    g_autofree char *data = g_strdup_printf("{\"n\": %s}", counts[i].text);
    g_autoptr(ConfJson) json = parse(data, NULL);
    guint64 value = 1;
    CU_ASSERT_TRUE(json != NULL && conf_json_count(json, "n", &value, NULL));
    CU_ASSERT_EQUAL(value, counts[i].value);
  }
}

static void flags(void) {
  g_autoptr(ConfJson) json = parse("{\"a\": true, \"b\": \"False\", \"c\": 1, \"d\": \"auto\"}", NULL);
  gboolean flag = FALSE;
  GError *error = NULL;
  CU_ASSERT_TRUE(conf_json_flag(json, "a", &flag, NULL) && flag);
  CU_ASSERT_TRUE(conf_json_flag(json, "b", &flag, NULL) && !flag);
  CU_ASSERT_TRUE(conf_json_flag(json, "c", &flag, NULL) && flag);
  HARNESS_FAILS(conf_json_flag(json, "d", &flag, &error), error,
                "m.json:1:35: d: expected true or false, found \"auto\"");
}

typedef enum { COUNT, NUMBER, STRING } Asked;

static const struct {
  const char *data, *path;
  Asked asked;
  const char *message;
} wrong_values[] = {
    {"{\"num_layers\": 3}", "num_layer", COUNT,
     "m.json:1:1: num_layer: is missing: expected a whole number; did you mean \"num_layers\"?"},
    {"{\"a\": {\n \"factor\": 2}}", "a.factr", NUMBER,
     "m.json:1:2: a.factr: is missing: expected a number; did you mean \"factor\"?"},
    {"{\"n\": null}", "n", COUNT, "m.json:1:2: n: expected a whole number, found null"},
    {"{\"n\": 4.5}", "n", COUNT, "m.json:1:2: n: expected a whole number, found \"4.5\""},
    {"{\"n\": -1}", "n", COUNT, "m.json:1:2: n: expected a whole number, found \"-1\""},
    {"{\"n\": \"64k\"}", "n", COUNT, "m.json:1:2: n: expected a whole number, found \"64k\": leave out \"k\""},
    {"{\"n\": \"0x1000\"}", "n", COUNT,
     "m.json:1:2: n: expected a whole number, found \"0x1000\": write it in decimal, 4096"},
    {"{\r\"n\": 4.5}", "n", COUNT, "m.json:2:1: n: expected a whole number, found \"4.5\""},
    {"{\"n\": true}", "n", COUNT, "m.json:1:2: n: expected a whole number, found \"true\""},
    {"{\"n\": [0, 1, 2]}", "n", COUNT, "m.json:1:2: n: expected a whole number, found [0, 1, 2]"},
    {"{\"n\": {\"a\": 1}}", "n", NUMBER, "m.json:1:2: n: expected a number, found an object"},
    {"{\"n\": 9223372036854775808}", "n", COUNT,
     "m.json:1:2: n: expected a whole number, found \"9223372036854775808\": more than 9223372036854775807"},
    {"{\"n\": 1e400}", "n", NUMBER, "m.json:1:2: n: expected a number, found 1e400"},
    {"{\"n\": \"auto\"}", "n", NUMBER, "m.json:1:2: n: expected a number, found \"auto\""},
    {"{\"n\": 12}", "n", STRING, "m.json:1:2: n: expected a text in quotes, found 12"},
};

static void words_wrong_values(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(wrong_values); i++) {
    g_autoptr(ConfJson) json = parse(wrong_values[i].data, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    GError *error = NULL;
    guint64 count = 7;
    double number = 7;
    const char *string = NULL;
    const char *path = wrong_values[i].path;
    gboolean read = wrong_values[i].asked == COUNT    ? conf_json_count(json, path, &count, &error)
                    : wrong_values[i].asked == NUMBER ? conf_json_number(json, path, &number, &error)
                                                      : conf_json_string(json, path, &string, &error);
    HARNESS_FAILS(read, error, wrong_values[i].message);
    CU_ASSERT_TRUE(count == 7 && number == 7 && string == NULL);
  }
  g_autoptr(ConfJson) json = parse("{\"model_type\": \"bert\"}", NULL);
  GError *error = NULL;
  HARNESS_FAILS(conf_json_fail(json, "model_type", &error, "%s is not modelled", "bert"), error,
                "m.json:1:2: model_type: bert is not modelled");
}

static const struct {
  const char *data, *message;
} mistakes[] = {
    {"", "m.json:1:1: expected \"{\", the beginning of a JSON object, found the end of the file"},
    {"[1]", "m.json:1:1: expected \"{\", the beginning of a JSON object, found \"[\""},
    {"{\"a\": 1}\n{", "m.json:2:1: expected the end of the file after the object, found \"{\""},
    {"{\n  \"o\": {\n    \"a\": 1\n  }\n  \"b\": 2\n}",
     "m.json:5:3: expected \",\" or \"}\", found \"b\"; is a comma missing at the end of line 4?"},
    {"{\"o\": {\"a\": 1,, \"b\": 2}}", "m.json:1:15: o: expected a key, found \",\""},
    {"{\"a\": [1, 2}", "m.json:1:12: a: expected \",\" or \"]\", found \"}\"; \"]\" closes what begins at line 1"},
    {"{\n\"a\": {\"b\": 1", "m.json:2:13: a: the file ends where \"}\" should close what begins at line 2"},
    {"{\"stage\": ${zero_stage}}",
     "m.json:1:11: stage: expected a value, found \"${zero_stage}\"; fill in the template"},
    {"{\"a\": {{ stage }} }", "m.json:1:8: a: expected a key, found \"{\"; fill in the template"},
    {"{\"a\": True}", "m.json:1:7: a: expected a value, found \"True\"; JSON writes true, false and null"},
    {"{\"a\": 'x'}", "m.json:1:7: a: expected a value, found \"'x'\"; write \" in place of '"},
    {"{\"a\": bf16}", "m.json:1:7: a: expected a value, found \"bf16\"; a text needs quotes"},
    {"{\"a\": CONFIG_SIZE}", "m.json:1:7: a: expected a value, found \"CONFIG_SIZE\"; fill in the template"},
    {"{\"a\": 0x10}", "m.json:1:7: a: expected a value, found \"0x10\"; JSON writes numbers as 0.5, 10 or 1e9"},
    {"{\"a\": 012}", "m.json:1:7: a: expected a value, found \"012\"; JSON writes numbers as 0.5, 10 or 1e9"},
    {"{\"a\": }", "m.json:1:7: a: expected a value, found \"}\""},
    {"{a: 1}", "m.json:1:2: expected a key, found \"a\"; a key needs double quotes"},
    {"{\"\": 1}", "m.json:1:2: expected a key, found an empty one"},
    {"{\"a\" 1}", "m.json:1:6: a: expected \":\" after the key, found \"1\""},
    {"{\"a\": \"x\n\"}", "m.json:1:7: a: the quote that opens here is not closed on its line"},
    {"{\"a\": \"C:\\q\"}", "m.json:1:10: a: \"\\q\" is no escape of JSON here; write \"\\\\\" for a backslash"},
    {"{\"a\": \"\\ud800x\"}", "m.json:1:8: a: \"\\u\" is no escape of JSON here; write \"\\\\\" for a backslash"},
    {"{\"a\": \"\t\"}", "m.json:1:8: a: a text cannot hold the raw control character 0x09"},
    {"{\"a\": 1, /* b", "m.json:1:10: the comment that begins here is not closed"},
    {"{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2}}", "m.json:2:16: b.c: given twice, first at line 2"},
    {"{\"a\": 1,\n \"\\u0061\": 2}", "m.json:2:2: a: given twice, first at line 1"},
    {"{\"a\": \xff}", "m.json:1:7: is not UTF-8 text here (found the byte 0xff)"},
};

static void words_mistakes(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++) {
    GError *error = NULL;
    g_autoptr(ConfJson) json = parse(mistakes[i].data, &error);
    HARNESS_FAILS(json != NULL, error, mistakes[i].message);
  }
}

static void nesting_ends(void) {
  g_autoptr(GString) data = g_string_new("{\"a\": ");
  for (int i = 0; i < 100000; i++)
    g_string_append_c(data, '[');
  GError *error = NULL;
  HARNESS_FAILS(conf_json_parse("deep", data->str, data->len, &error) != NULL, error, "nested deeper than 100");
}

/* Whatever bytes come: a value or one error. What the first pass takes, json-glib takes (its own errors carry no line).
 */
static void survives_mutations(void) {
  static const char seed_text[] =
      "{ // c\n \"a\": {\"b\": [1, 2.5e-3, true,], \"c\": \"x\\u00e9\\n\"},\n \"n\": 4096, /* d */ "
      "\"s\": \"5e8\", # e\n \"z\": null, \"i\": [Infinity, -1]\n}";
  static const char signs[] = "{}[]:,\"\\/#*'\n\r u0e+-.5NItfn\xc3\xff\0";
  g_autoptr(GRand) random = harness_random();
  guint taken = 0, refused = 0;
  for (int i = 0; i < 8000; i++) {
    gsize length = sizeof seed_text - 1;
    g_autofree char *data = g_memdup2(seed_text, sizeof seed_text);
    for (int n = g_rand_int_range(random, 1, 4); n > 0; n--)
      data[g_rand_int_range(random, 0, (gint32)length)] = signs[g_rand_int_range(random, 0, sizeof signs - 1)];
    length -= g_rand_int_range(random, 0, 8) == 0 ? (gsize)g_rand_int_range(random, 0, (gint32)length) : 0;
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfJson) json = conf_json_parse("fuzz", data, length, &error);
    CU_ASSERT_TRUE((json == NULL) == (error != NULL && g_str_has_prefix(error->message, "fuzz:")));
    if (error != NULL && !g_ascii_isdigit(error->message[5]))
      printf("\n    no line: %s\n    %.*s\n", error->message, (int)length, data);
    CU_ASSERT_TRUE(error == NULL || g_ascii_isdigit(error->message[5]));
    taken += json != NULL;
    refused += json == NULL;
    static const char *const paths[] = {"a", "a.b", "a.b.0", "a.c", "n", "s", "z", "i.1"};
    for (gsize p = 0; json != NULL && p < G_N_ELEMENTS(paths); p++) {
      g_autoptr(GError) wrong = NULL;
      guint64 count = 0;
      gboolean read = conf_json_count(json, paths[p], &count, &wrong);
      CU_ASSERT_TRUE(read == (wrong == NULL));
      CU_ASSERT_TRUE(!read || conf_json_has(json, paths[p]));
    }
  }
  CU_ASSERT_TRUE(taken > 500 && refused > 500);
}

int main(void) {
  return harness_run("conf-json", (HarnessCase[]){{"takes what people write", takes_what_people_write},
                                                  {"counts are exact", counts_are_exact},
                                                  {"flags", flags},
                                                  {"words wrong values", words_wrong_values},
                                                  {"words mistakes", words_mistakes},
                                                  {"nesting ends", nesting_ends},
                                                  {"survives mutations", survives_mutations},
                                                  {NULL, NULL}});
}
