/* SPDX-License-Identifier: MIT */
/* Functions of Python as trees: what is written out becomes values at their places, all else code or an error. */
#include <string.h>

#include "conf-tree.h"
#include "harness.h"

static ConfTree *parse(const char *name, const char *text, GError **error) {
  return conf_tree_parse(name, CONF_SYNTAX_PYTHON, text, strlen(text), error);
}

/* "path=text" of every node in order: + for maps, with what was called, * for lists, ~ for None, ? for code with how
 * it is written. Caller frees. */
static char *flat(const ConfTree *tree) {
  static const char *const kinds[] = {"+", "*", "\"", "", "", "~", "?"};
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < conf_tree_length(tree); i++) {
    const ConfTreeNode *node = conf_tree_at(tree, i);
    const char *said = node->kind == CONF_TREE_CODE  ? node->shown
                       : node->kind == CONF_TREE_MAP ? node->call
                                                     : node->text;
    g_string_append_printf(text, "%s%s=%s%s", i > 0 ? " " : "", node->path, kinds[node->kind],
                           said != NULL ? said : "");
  }
  return g_string_free(text, FALSE);
}

static void expect(const char *name, const char *text, const char *wanted) {
  GError *error = NULL;
  g_autoptr(ConfTree) tree = parse(name, text, &error);
  g_autofree char *found = tree != NULL ? flat(tree) : g_strdup(error->message);
  if (strcmp(found, wanted) != 0)
    printf("\n    %s\n    %s\n", found, wanted);
  CU_ASSERT_STRING_EQUAL(found, wanted);
  g_clear_error(&error);
}

#define F "def f() -> T:\n  return "

static void literals(void) {
  expect("r", F "T(a=8_192, b=3e-4, c=-1, d=True, e=None, f='x' \"y\", g=r'\\.', h='a\\'b')",
         "a=8192 b=3e-4 c=-1 d=true e=~ f=\"xy g=\"\\. h=\"a'b");
  /* A product of whole numbers stands for its value: 8 · 2048. */
  expect("r", F "T(a=8 * 2048, b=(1, 2,), c=[], d={'k': [True]}, e=torch.bfloat16)",
         "a=16384 b=* b.0=1 b.1=2 c=* d=+ d.k=* d.k.0=true e=\"bfloat16");
  expect("r", F "T(\n    a=1,  # one, (\n    b=X.Config(c=2),\n    d=g('8B', e=[Y()]),\n  )  # end\n",
         "a=1 b=+X.Config b.c=2 d=+g d.0=\"8B d.e=* d.e.0=+Y");
}

/* Nothing is evaluated: what would have to be is kept as it is written. */
static void code(void) {
  expect("r",
         F "T(a=n + 1, b=f'{x}', c=[i for i in x], d=g(1).h(), e=x, f=g(**k), s={**k}, t={1, 2}, u=2 ** 3, v=8 / 2)",
         "a=?n + 1 b=?f'{x}' c=* c.0=?i for i in x d=?g(1).h() e=?x f=?g(**k) s=?{**k} t=?{1, 2} u=?2 ** 3 v=?8 / 2");
}

static void assignments(void) {
  expect("r",
         "N = 4\ndef f(x: dict[str, int]):\n  \"\"\"Says:\n  return nothing\"\"\"\n  import y\n  assert x, 'z'\n"
         "  c: T = T(a=A(b=1), n=N)\n  c.a.b = 2\n  c.d.e = 3\n  c.a.f = 4  # four\n  return c\n",
         "a=+A a.b=2 a.f=4 n=4 d=+ d.e=3");
  /* What an expression makes may get keys of its own; a function of the file is followed, then changed. */
  expect("r.py:g",
         "def f():\n  return T(a=1, m=make().it())\n\ndef g():\n  c = f()\n  c.a = A(b=2)\n  c.m.k = 3\n  return c\n",
         "m=+make().it() m.k=3 a=+A a.b=2");
  GError *error = NULL;
  g_autoptr(ConfTree) tree = parse("r", "def f():\n  c = _common()\n  c.a.b = 1\n  return c\n", &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_STRING_EQUAL(conf_tree_root_call(tree), "_common");
  const ConfTreeNode *node = conf_tree_find(tree, "a.b");
  CU_ASSERT_TRUE(node != NULL && node->line == 3 && node->column == 3);
}

static void refusals(void) {
  static const struct {
    const char *name, *text, *why;
  } rows[] = {
      {"r", "x = 1\n", "r:1:1: holds no function"},
      {"r", "def f():\n  return T()\ndef g():\n  return T()\n", "name one behind a colon (FILE.py:NAME): f, g"},
      {"r.py:h", "def f():\n  return T()\n", "r.py:1:1: holds no function \"h\"; it has f"},
      {"r", "def f():\n  c = T()\n  if x:\n    c.a = 1\n  return c\n", "r:3:3: \"if\" begins a statement of Python"},
      {"r", "def f():\n  c = T()\n  change(c)\n  return c\n", "r:3:3: \"change\" begins a statement"},
      {"r", "def f():\n  c = T()\n  c.a += 1\n  return c\n", "r:3:3: \"c.a\" begins a statement"},
      {"r", "def f():\n  d.a = 1\n  return T()\n", "\"d\" is not assigned in this function before"},
      {"r", "def f():\n  c = T(a=1)\n  c.a.b = 1\n  return c\n", "r:3:3: a.b: \"a\" is a value since line 2"},
      {"r", "def f():\n  c = T()\n", "the function f ends without a return"},
      {"r", F "x + 1\n", "expected a call, found another value"},
      {"r", F "f()\n", "f calls itself"},
      {"r.py:g", "def f(x):\n  return T(a=x)\ndef g():\n  return f(1)\n", "arguments of f, a function of this file"},
      {"r", F "T(a=1, a=2)\n", "r:2:17: a: is given already at line 2"},
      {"r", F "T(a=1\n", "the bracket that opens here is not closed"},
      {"r", F "T(a='1\n)\n", "the quote that opens here is not closed"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    HARNESS_FAILS(parse(rows[i].name, rows[i].text, &error) != NULL, error, rows[i].why);
  }
}

/* Brackets in brackets, and names of names, end in an error before the stack does. */
static void depth(void) {
  g_autoptr(GString) text = g_string_new(F "T(a=");
  for (int i = 0; i < 5000; i++)
    g_string_append_c(text, '[');
  for (int i = 0; i < 5000; i++)
    g_string_append_c(text, ']');
  g_string_append(text, ")\n");
  GError *error = NULL;
  HARNESS_FAILS(parse("r", text->str, &error) != NULL, error, "nested deeper than 100");
  /* A name of 100 kB that 500 assignments repeat: 50 MB to be looked at. */
  g_autofree char *large = g_strnfill(100000, 'x');
  g_autoptr(GString) names = g_string_new("def f():\n  c = T()\n");
  g_string_append_printf(names, "  b = [%s]\n  a = A()\n", large);
  for (int i = 0; i < 500; i++)
    g_string_append(names, "  a.k = b\n  c.k = a\n");
  g_string_append(names, "  return c\n");
  HARNESS_FAILS(parse("r", names->str, &error) != NULL, error, "names refer to names too often");
  HARNESS_FAILS(parse("r", "def f():\n  a = a\n  return T(a=a)\n", &error) != NULL, error, "nested deeper than 100");
}

int main(void) {
  return harness_run("conf-python", (HarnessCase[]){{"literals", literals},
                                                    {"code is not evaluated", code},
                                                    {"assignments", assignments},
                                                    {"refusals", refusals},
                                                    {"depth", depth},
                                                    {NULL, NULL}});
}
