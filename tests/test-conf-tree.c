/* SPDX-License-Identifier: MIT */
/* One tree from three syntaxes: the same values at their places, and what each reader refuses. */
#include <glib/gstdio.h>
#include <string.h>

#include "conf-tree.h"
#include "harness.h"

static ConfTree *parse(ConfSyntax syntax, const char *data, GError **error) {
  return conf_tree_parse("r", syntax, data, strlen(data), error);
}

/* "path=text" of every node in order, with + for maps, * for lists and ~ for null. Caller frees. */
static char *flat(const ConfTree *tree) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < conf_tree_length(tree); i++) {
    const ConfTreeNode *node = conf_tree_at(tree, i);
    static const char *const kinds[] = {"+", "*", "\"", "", "", "~"};
    g_string_append_printf(text, "%s%s=%s%s", i > 0 ? " " : "", node->path, kinds[node->kind],
                           node->text != NULL ? node->text : "");
  }
  return g_string_free(text, FALSE);
}

static void one_tree_from_three(void) {
  static const char *const texts[] = {
      [CONF_SYNTAX_JSON] =
          "{\"zero\": {\"stage\": 3, \"size\": 5e8, \"on\": true}, // why\n \"betas\": [0.9, \"x y\",],}",
      [CONF_SYNTAX_YAML] = "zero:\n  stage: 3  # why\n  size: 5e8\n  on: true\nbetas: [0.9, 'x y']\n",
      [CONF_SYNTAX_TOML] =
          "zero.stage = 3 # why\nzero.size = 5e8\nzero.on = true\nbetas = [0.9, # nine tenths\n 'x y',]\n"};
  for (int syntax = CONF_SYNTAX_JSON; syntax <= CONF_SYNTAX_TOML; syntax++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTree) tree = parse(syntax, texts[syntax], &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
    g_autofree char *found = flat(tree);
    CU_ASSERT_STRING_EQUAL(found, "zero=+ zero.stage=3 zero.size=5e8 zero.on=true betas=* betas.0=0.9 betas.1=\"x y");
    guint64 size = 0;
    gboolean on = FALSE;
    CU_ASSERT_TRUE(conf_tree_count(tree, conf_tree_find(tree, "zero.size"), &size, NULL) && size == 500000000);
    CU_ASSERT_TRUE(conf_tree_flag(tree, conf_tree_find(tree, "zero.on"), &on, NULL) && on);
  }
}

/* Lines and columns count from 1, in characters: the key's, or an element's own. */
static void places(void) {
  static const struct {
    ConfSyntax syntax;
    const char *text, *path;
    guint line, column;
  } rows[] = {{CONF_SYNTAX_JSON, "{\n  \"a\": {\"b\": 1}}", "a.b", 2, 9},
              {CONF_SYNTAX_JSON, "{\"a\": [1,\n  2]}", "a.1", 2, 3},
              {CONF_SYNTAX_YAML, "a:\n  \"\xc3\xa9\": 1\n  b: 2\n", "a.b", 3, 3},
              {CONF_SYNTAX_YAML, "a:\n - 1\n - 2\n", "a.1", 3, 4},
              {CONF_SYNTAX_TOML, "[a]\n  b = 1\n", "a.b", 2, 3},
              {CONF_SYNTAX_TOML, "a = {x = '\xc3\xa9', b = 1}\n", "a.b", 1, 15},
              {CONF_SYNTAX_TOML, "a = [\r\n  1,\r\n  2\r\n]\r\n", "a.1", 3, 3}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(ConfTree) tree = parse(rows[i].syntax, rows[i].text, NULL);
    const ConfTreeNode *node = tree != NULL ? conf_tree_find(tree, rows[i].path) : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    CU_ASSERT_EQUAL(node->line, rows[i].line);
    CU_ASSERT_EQUAL(node->column, rows[i].column);
  }
}

static void yaml_as_python_reads_it(void) {
  static const char text[] = "# head\n"
                             "a: no\nb: 'no'\nc: ~\nd:\ne: 1.0e-4\nf: .5\ng: 2021-01-01\nh: \"1e6\"\n"
                             "base: &base {x: 1}\ncopy: *base\n"
                             "{flow}: 1\n";
  GError *error = NULL;
  HARNESS_FAILS(parse(CONF_SYNTAX_YAML, text, &error), error, "r:12:1: expected a word as key; is a template");
  g_autofree char *good = g_strndup(text, strlen(text) - strlen("{flow}: 1\n"));
  g_autoptr(ConfTree) tree = parse(CONF_SYNTAX_YAML, good, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  g_autofree char *found = flat(tree);
  CU_ASSERT_STRING_EQUAL(found, "a=no b=\"no c=~ d=~ e=1.0e-4 f=.5 g=\"2021-01-01 h=\"1e6 base=+ base.x=1 copy=+ "
                                "copy.x=1");
  CU_ASSERT_EQUAL(conf_tree_find(tree, "a")->kind, CONF_TREE_FLAG);
  CU_ASSERT_PTR_NULL(conf_tree_given(tree, "d"));
  /* JSON is YAML too, but for what people write into both */
  g_autoptr(ConfTree) json = parse(CONF_SYNTAX_YAML, "{\n  # comment\n  \"a\": True,\n}\n", NULL);
  CU_ASSERT_PTR_NOT_NULL(json);
}

static void refusals(void) {
  static const struct {
    ConfSyntax syntax;
    const char *text, *fragment;
  } rows[] = {
      {CONF_SYNTAX_JSON, "{\"a\": 1\n \"b\": 2}", "r:2:2: expected \",\" or \"}\", found \"b\"; is a comma missing"},
      {CONF_SYNTAX_JSON, "{\"a\": ${stage}}", "r:1:7: a: expected a value, found \"${stage}\"; fill in the template"},
      {CONF_SYNTAX_JSON, "{\"a\": 1, \"a\": 2}", "r:1:10: a: given twice, first at line 1"},
      {CONF_SYNTAX_YAML, "a: 1\nb: 2\na: 3\n", "r:3:1: a: is given already at line 1"},
      {CONF_SYNTAX_YAML, "a: [1, 2\n", "r:2:1: "},
      {CONF_SYNTAX_YAML, "a: 1\n\tb: 2\n", "r:2:1: "},
      {CONF_SYNTAX_YAML, "", "is empty"},
      {CONF_SYNTAX_YAML, "- a\n", "r:1:1: expected lines of \"key: value\", found a list"},
      {CONF_SYNTAX_YAML, "just words\n", "found a text"},
      {CONF_SYNTAX_YAML, "a: 1\n---\nb: 1\n", "r:3:1: a second document begins here"},
      {CONF_SYNTAX_YAML, "x: &x {a: 1}\ny:\n  <<: *x\n", "r:3:3: y: merge keys (<<) are not read"},
      {CONF_SYNTAX_YAML, "a: !!python/tuple [1]\n", "the tag \"tag:yaml.org,2002:python/tuple\" is not read"},
      {CONF_SYNTAX_YAML, "a: &a [*a]\n", "does a reference (*) name what it stands in?"},
      {CONF_SYNTAX_YAML, "a: *b\n", "undefined alias"},
      {CONF_SYNTAX_TOML, "[a]\nx 1\n", "r:2:3: a.x: expected \"=\" after the key, found \"1\""},
      {CONF_SYNTAX_TOML, "x = 1 2\n", "r:1:7: expected the end of the line, found \"2\""},
      {CONF_SYNTAX_TOML, "x = 1\nx = 2\n", "r:2:1: x: is given already at line 1"},
      {CONF_SYNTAX_TOML, "[a]\nx = 1\n[a]\n", "r:3:1: a: is given already at line 1"},
      {CONF_SYNTAX_TOML, "x = 1\n[x]\n", "r:2:1: x: is given already at line 1"},
      {CONF_SYNTAX_TOML, "x = 1\nx.y = 2\n", "r:2:1: x.y: \"x\" is a value since line 1"},
      {CONF_SYNTAX_TOML, "d = 2024-04-01\n", "r:1:5: d: expected a value, found \"2024-04-01\"; dates"},
      {CONF_SYNTAX_TOML, "x = 0x10\n", "numbers are read as 10, 1_000"},
      {CONF_SYNTAX_TOML, "x = 1__0\n", "numbers are read as 10, 1_000"},
      {CONF_SYNTAX_TOML, "x = 010\n", "numbers are read as 10, 1_000"},
      {CONF_SYNTAX_TOML, "x = True\n", "TOML writes true and false"},
      {CONF_SYNTAX_TOML, "x = word\n", "a text needs quotes"},
      {CONF_SYNTAX_TOML, "x =\n", "r:1:4: x: expected a value, found the end of the line"},
      {CONF_SYNTAX_TOML, "x = \"a\n", "r:1:5: x: the quote that opens here is not closed on its line"},
      {CONF_SYNTAX_TOML, "x = \"\"\"a\n\"\"\"\n", "strings of several lines are not read"},
      {CONF_SYNTAX_TOML, "x = \"\\u00e9\"\n", "this escape is not read"},
      {CONF_SYNTAX_TOML, "[[x]]\n", "r:1:1: lists of tables"},
      {CONF_SYNTAX_TOML, "[x\n", "expected \"]\" after the table's name, found the end of the line"},
      {CONF_SYNTAX_TOML, "x = [1, 2\n", "r:2:1: x: expected \",\" or \"]\" for what begins at line 1, found the end"},
      {CONF_SYNTAX_TOML, "x = [1 2]\n", "r:1:8: x: expected \",\" or \"]\""},
      {CONF_SYNTAX_TOML, "x = {a = 1\n",
       "expected \",\" or \"}\" for what begins at line 1, found the end of the line"},
      {CONF_SYNTAX_TOML, "= 1\n", "r:1:1: expected a key, found \"=\""},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    HARNESS_FAILS(parse(rows[i].syntax, rows[i].text, &error), error, rows[i].fragment);
  }
}

static void toml_values(void) {
  g_autoptr(ConfTree) tree = parse(CONF_SYNTAX_TOML,
                                   "n = 8_192\nf = -1.5e-4\n'quoted key' = \"tab\\t \\\"q\\\" # no comment\"\n"
                                   "[a.b]\nenable=false\nl = [] # empty\n[a]\nm = {}\nraw = 'C:\\x'",
                                   NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  g_autofree char *found = flat(tree);
  CU_ASSERT_STRING_EQUAL(found, "n=8192 f=-1.5e-4 quoted key=\"tab\t \"q\" # no comment a=+ a.b=+ a.b.enable=false "
                                "a.b.l=* a.m=+ a.raw=\"C:\\x");
  CU_ASSERT_TRUE(conf_tree_is_empty(tree, conf_tree_find(tree, "a.b.l")));
  CU_ASSERT_TRUE(conf_tree_is_empty(tree, conf_tree_find(tree, "a.m")));
  CU_ASSERT_FALSE(conf_tree_is_empty(tree, conf_tree_find(tree, "a")));
  CU_ASSERT_FALSE(conf_tree_is_empty(tree, conf_tree_find(tree, "n")));
}

static void typed_values(void) {
  g_autoptr(ConfTree) tree = parse(CONF_SYNTAX_YAML, "n: '5e8'\nword: many\nflag: \"True\"\nlist: [1]\nnone:\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  guint64 count = 7;
  gboolean flag = FALSE;
  GError *error = NULL;
  CU_ASSERT_TRUE(conf_tree_count(tree, conf_tree_find(tree, "n"), &count, NULL) && count == 500000000);
  CU_ASSERT_TRUE(conf_tree_flag(tree, conf_tree_find(tree, "flag"), &flag, NULL) && flag);
  HARNESS_FAILS(conf_tree_count(tree, conf_tree_find(tree, "word"), &count, &error), error,
                "r:2:1: word: expected a whole number, found \"many\"");
  HARNESS_FAILS(conf_tree_count(tree, conf_tree_find(tree, "list"), &count, &error), error, "found a list");
  HARNESS_FAILS(conf_tree_flag(tree, conf_tree_find(tree, "none"), &flag, &error), error, "found null");
  CU_ASSERT_EQUAL(count, 500000000);
}

/* Without an ending that tells, the first letter does. */
static void loads_by_ending(void) {
  static const struct {
    const char *name, *text;
  } files[] = {{"r.json", "{\"a\": 1}"}, {"r.yml", "{a: 1}"},      {"r.YAML", "a: 1"},
               {"r.toml", "a = 1"},      {"bare1", " {\"a\": 1}"}, {"bare2", "a: 1"}};
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(folder, files[i].name, NULL);
    g_file_set_contents(path, files[i].text, -1, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTree) tree = conf_tree_load(path, &error);
    CU_ASSERT_PTR_NOT_NULL(tree);
    CU_ASSERT_TRUE(tree != NULL && conf_tree_find(tree, "a") != NULL);
    remove(path);
  }
  g_rmdir(folder);
  GError *error = NULL;
  HARNESS_FAILS(conf_tree_load("tests/nothing.yaml", &error), error, "no file \"tests/nothing.yaml\"");
}

/* What gzip packed is read as what it is; other archives are named. */
static void packed(void) {
  static const char gzip[] = /* of {"a": 7} and a line feed */
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\x54\xb2\x52\x30\xaf\xe5\x02"
      "\x00\x48\xdd\xca\x58\x09\x00\x00\x00";
  static const struct {
    const char *bytes, *fragment;
    gsize length;
  } archives[] = {{"PK\x03\x04rest", "is a zip archive; unpack it (unzip)", 8},
                  {"\x28\xb5\x2f\xfdrest", "is packed; unpack it first (unzstd)", 8},
                  {"\x1f\x8b\x08rest", "is packed by gzip and broken", 7}};
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "a.json", NULL);
  GError *error = NULL;
  g_file_set_contents(path, gzip, sizeof gzip - 1, NULL);
  g_autoptr(ConfTree) tree = conf_tree_load(path, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_STRING_EQUAL(conf_tree_find(tree, "a")->text, "7");
  for (gsize i = 0; i < G_N_ELEMENTS(archives); i++) {
    g_file_set_contents(path, archives[i].bytes, (gssize)archives[i].length, NULL);
    HARNESS_FAILS(conf_tree_load(path, &error), error, archives[i].fragment);
  }
  g_remove(path);
  g_rmdir(folder);
}

/* An error quotes some of a line of a million characters, not all of it. */
static void long_quotes_are_cut(void) {
  GError *error = NULL;
  g_autofree char *long_name = g_strnfill(1000000, 'x');
  base_error_set_at(&error, &(BasePlace){.file = "f"}, "found %s; say why", long_name);
  CU_ASSERT_TRUE(strlen(error->message) < 1300);
  CU_ASSERT_TRUE(g_str_has_prefix(error->message, "f: found xxx"));
  CU_ASSERT_TRUE(g_str_has_suffix(error->message, "xxx; say why"));
  g_clear_error(&error);
}

int main(void) {
  return harness_run("conf-tree", (HarnessCase[]){{"one tree from three syntaxes", one_tree_from_three},
                                                  {"places", places},
                                                  {"YAML as Python reads it", yaml_as_python_reads_it},
                                                  {"TOML values", toml_values},
                                                  {"typed values", typed_values},
                                                  {"refusals", refusals},
                                                  {"loads by ending", loads_by_ending},
                                                  {"packed", packed},
                                                  {"long quotes are cut", long_quotes_are_cut},
                                                  {NULL, NULL}});
}
