/* SPDX-License-Identifier: MIT */
/* INI texts: what is taken, and the message of each mistake. */
#include <glib/gstdio.h>
#include <string.h>

#include "conf-text.h"
#include "harness.h"

static ConfText *parse(const char *data, GError **error) {
  return conf_text_parse("a.ini", data, strlen(data), error);
}

static void value_is(const char *data, const char *expected) {
  g_autoptr(GError) error = NULL;
  g_autoptr(ConfText) text = parse(data, &error);
  const char *value = text != NULL ? conf_text_get(text, "g", "k") : NULL;
  if (g_strcmp0(value, expected) != 0)
    printf("\n    %s: expected \"%s\", found \"%s\"\n", data, expected, value != NULL ? value : error->message);
  CU_ASSERT_TRUE(g_strcmp0(value, expected) == 0);
}

static void takes_what_people_write(void) {
  value_is("[g]\nk=4096\n", "4096");
  value_is("[g]\nk = 4096", "4096");
  value_is("\xef\xbb\xbf[g]\r\n  k\t=  4096  \r\n", "4096");
  value_is("# all of it\n; and this\n\n[ g ] ; a group\n\tk = 4096 ; a key\n", "4096");
  value_is("[g]# close\nk = 4096\t# tokens ; more\n", "4096");
  value_is("[g]\nk = a;b#c\n", "a;b#c");
  value_is("[g]\nk = a = b\n", "a = b");
  value_is("[g]\nk = \"4096\"\n", "4096");
  value_is("[g]\nk = '4096' ; quoted\n", "4096");
  value_is("[g]\nk = \"a ; b # c\" # d\n", "a ; b # c");
  value_is("[g]\nk = it's\n", "it's");
  value_is("[g]\nk = C:\\new\\s\n", "C:\\new\\s");
  value_is("[g]\nk =\n", "");
  value_is("[g]\nk = ; nothing\n", "");
  value_is("[g]\nk = 2,5 \xc2\xb5s\n", "2,5 \xc2\xb5s");
  value_is("# old Mac\r[g]\r\rk = 4096 ; a key\rother = 1\r", "4096");
  value_is("[g]\nother = 1\n", NULL);
}

static void keeps_order_and_places(void) {
  g_autoptr(ConfText) text = parse("; head\n[b]\n  y = 1\n  x = 2\n\n[a]\n[c]\nz=3\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  g_autofree char *groups = g_strjoinv(" ", (char **)conf_text_groups(text));
  CU_ASSERT_STRING_EQUAL(groups, "b a c");
  g_autofree char *keys = g_strjoinv(" ", (char **)conf_text_keys(text, "b"));
  CU_ASSERT_STRING_EQUAL(keys, "y x");
  CU_ASSERT_PTR_NULL(conf_text_keys(text, "a")[0]);
  CU_ASSERT_PTR_NULL(conf_text_keys(text, "d"));
  CU_ASSERT_STRING_EQUAL(conf_text_file(text), "a.ini");
  BasePlace place;
  conf_text_place(text, "b", "x", &place);
  CU_ASSERT_EQUAL(place.line, 4);
  CU_ASSERT_EQUAL(place.column, 3);
  CU_ASSERT_STRING_EQUAL(place.key, "b.x");
  conf_text_place(text, "a", NULL, &place);
  CU_ASSERT_EQUAL(place.line, 6);
  CU_ASSERT_PTR_NULL(place.key);
}

static const struct {
  const char *data, *message;
} mistakes[] = {
    {"k = 1\n", "a.ini:1:1: the key \"k\" stands before any [group]"},
    {"[g]\n\n  nonsense  # here\n", "a.ini:3:3: expected \"[group]\" or \"key = value\", found \"nonsense\""},
    {"[g]\nk: 4\n",
     "a.ini:2:1: expected \"[group]\" or \"key = value\", found \"k: 4\"; write \"=\" in place of \":\""},
    {"{\n", "a.ini:1:1: expected \"[group]\" or \"key = value\", found \"{\"; is this a JSON file?"},
    {"<system>\n", "a.ini:1:1: expected \"[group]\" or \"key = value\", found \"<system>\"; is this an XML file?"},
    {"[g]\n= 4\n", "a.ini:2:1: expected \"key = value\", found \"= 4\""},
    {"[g]\nk <= 4\n", "a.ini:2:1: expected \"key = value\", found \"k <= 4\""},
    {"[g\nk = 1\n", "a.ini:1:1: expected \"]\" at the end of the group \"[g\""},
    {"[g] k = 1\n", "a.ini:1:5: expected the end of the line after \"[g]\", found \"k = 1\""},
    {"[]\n", "a.ini:1:1: expected the name of a group in [ ], found \"\""},
    {"[a[b]\n", "a.ini:1:1: expected the name of a group in [ ], found \"a[b\""},
    {"[g]\nk = 1\n[h]\n[g]\n", "a.ini:4:1: the group [g] began already at line 1; keep its keys together there"},
    {"[g]\nk = 1\n  k = 2\n", "a.ini:3:3: g.k: given twice, first at line 2 (1)"},
    {"[g]\nk = \"4096\n", "a.ini:2:5: g.k: the quote that opens here is not closed on its line"},
    {"[g]\nk = \"a\" b\n", "a.ini:2:9: g.k: expected the end of the line after \"a\", found \"b\""},
    {"[g]\n\xc2\xb5\xc2\xb5 = 1 \xff\n", "a.ini:2:8: is not UTF-8 text here (found the byte 0xff)"},
    {"[g]\rk = 1\rk = 2\r", "a.ini:3:1: g.k: given twice, first at line 2 (1)"},
    {"\xff\xfe[", "a.ini: is UTF-16 text; save it as UTF-8"},
};

static void words_mistakes(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++) {
    GError *error = NULL;
    g_autoptr(ConfText) text = parse(mistakes[i].data, &error);
    HARNESS_FAILS(text != NULL, error, mistakes[i].message);
  }
  GError *error = NULL;
  g_autoptr(ConfText) text = conf_text_parse("a.ini", "[g]\n\0", 5, &error);
  HARNESS_FAILS(text != NULL, error, "a.ini:2:1: is not UTF-8 text here (found the byte 0x00)");
}

static void names_files(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *there = g_build_filename(folder, "llama.ini", NULL);
  g_autofree char *missing = g_build_filename(folder, "lama.ini", NULL);
  g_autofree char *deeper = g_build_filename(folder, "x", "llama.ini", NULL);
  CU_ASSERT_TRUE(g_file_set_contents(there, "[g]\nk = 1\n", -1, NULL));
  g_autofree char *advice = g_strdup_printf("no file \"%s\"; did you mean \"%s\"?", missing, there);
  g_autofree char *no_folder = g_strdup_printf("no file \"%s\"; there is no folder \"%s/x\"", deeper, folder);
  GError *error = NULL;
  HARNESS_FAILS(conf_text_load(missing, &error) != NULL, error, advice);
  HARNESS_FAILS(conf_text_load(deeper, &error) != NULL, error, no_folder);
  HARNESS_FAILS(conf_text_load(folder, &error) != NULL, error, "is a folder; expected a file");
  g_autoptr(ConfText) text = conf_text_load(there, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_STRING_EQUAL(conf_text_get(text, "g", "k"), "1");
  g_remove(there);
  g_rmdir(folder);
}

/* Whatever bytes come: a text, or one error with a message; and a text gives back what it says it has. */
static void survives_mutations(void) {
  static const char seed_text[] =
      "\xef\xbb\xbf; head\r\n[model]\nconfig = models/a.json # b\n\n[training]\nmicro_batch = \"4\" "
      "; c\nsequence_length=4096\nname = '\xc2\xb5 = x'\n[cluster] ; d\nnic = 400 Gb/s\n";
  static const char signs[] = "[]=;#\"' \t\r\n.\\\xc2\xff{:<\0";
  g_autoptr(GRand) random = harness_random();
  guint taken = 0, refused = 0;
  for (int i = 0; i < 6000; i++) {
    gsize length = sizeof seed_text - 1;
    g_autofree char *data = g_memdup2(seed_text, sizeof seed_text);
    for (int n = g_rand_int_range(random, 1, 4); n > 0; n--)
      data[g_rand_int_range(random, 0, (gint32)length)] = signs[g_rand_int_range(random, 0, sizeof signs - 1)];
    length -= g_rand_int_range(random, 0, 4) == 0 ? (gsize)g_rand_int_range(random, 0, (gint32)length) : 0;
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfText) text = conf_text_parse("fuzz", data, length, &error);
    CU_ASSERT_TRUE((text == NULL) == (error != NULL && *error->message != '\0'));
    taken += text != NULL;
    refused += text == NULL;
    for (const char *const *group = text != NULL ? conf_text_groups(text) : NULL; group != NULL && *group; group++)
      for (const char *const *key = conf_text_keys(text, *group); *key != NULL; key++)
        CU_ASSERT_PTR_NOT_NULL(conf_text_get(text, *group, *key));
  }
  CU_ASSERT_TRUE(taken > 500 && refused > 500);
}

int main(void) {
  return harness_run("conf-text", (HarnessCase[]){{"takes what people write", takes_what_people_write},
                                                  {"keeps order and places", keeps_order_and_places},
                                                  {"words mistakes", words_mistakes},
                                                  {"names files", names_files},
                                                  {"survives mutations", survives_mutations},
                                                  {NULL, NULL}});
}
