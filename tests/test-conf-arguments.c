/* SPDX-License-Identifier: MIT */
/* Shell scripts and lists of arguments as trees: what variables stand for, which branch runs, and what is refused. */
#include <string.h>

#include "conf-tree.h"
#include "harness.h"

static ConfTree *parse(const char *data, GError **error) {
  return conf_tree_parse("s.sh", CONF_SYNTAX_ARGUMENTS, data, strlen(data), error);
}

/* "path=text" of every node in order, lists as *. Caller frees. */
static char *flat(const char *data) {
  g_autoptr(GError) error = NULL;
  g_autoptr(ConfTree) tree = parse(data, &error);
  if (tree == NULL)
    return g_strdup(error->message);
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < conf_tree_length(tree); i++) {
    const ConfTreeNode *node = conf_tree_at(tree, i);
    g_string_append_printf(text, "%s%s=%s", i > 0 ? " " : "", node->path, node->text != NULL ? node->text : "*");
  }
  return g_string_free(text, FALSE);
}

static const struct {
  const char *script, *expected;
} rows[] = {
    /* a mere list, on one line or many, commented */
    {"--a 1 --b --c=x", "--a=1 --b=true --c=x"},
    {"--a 1 \\\n  --b # why\n--list 1 2 'x y'\n", "--a=1 --b=true --list=* --list.0=1 --list.1=2 --list.2=x y"},
    {"--a -1 --a 2", "--a=2"}, /* the last holds */
    {"", ""},
    {"python t.py --a 1 --b 2 \"$@\"\n", "launcher.program=t.py --a=1 --b=2"}, /* none are known */
    {"--a $@ --b x$@", "--a=true --b=x${@}"},
    /* variables */
    {"X=3\n--a $X --b ${X} --c \"$X$X\"", "--a=3 --b=3 --c=33"},
    {"--a ${1:-7} --b ${GONE} --c $1", "--a=7 --b=${GONE} --c=${1}"},
    {"N=4; M=$((N * 2 + (6 - 4) / 2))\n--a $M --b $((GONE + 1)) --c $((1/0))", "--a=9 --b=${GONE + 1} --c=${1/0}"},
    {"A=(--x 1 \"--y 2\")\nA+=(--z)\npython t.py ${A[@]} \"${A[@]}\"", "launcher.program=t.py --x=1 --y=2 --z=true"},
    {"O=\" --x 1 \\\n --y 2\"\nO=\"$O --z\"\npython -u t.py ${O}", "launcher.program=t.py --x=1 --y=2 --z=true"},
    {"C=\"python t.py --x 1\"\nsrun --gpus 8 sh -c \"${C}\"", "launcher.program=t.py launcher.--gpus=8 --x=1"},
    {"H=$(hostname)\n--a $H --b `date`", "--a=${hostname} --b=${date}"},
    /* the program with most options, and its launcher */
    {"python prep.py --in x\ntorchrun --nnodes 2 --nproc 8 /opt/p.py --a 1 --b 2 2>&1 | tee log",
     "launcher.program=p.py launcher.--nnodes=2 launcher.--nproc=8 --a=1 --b=2"},
    /* conditions */
    {"D=fp8\nA=(--x)\nif [[ \"$D\" == \"fp8\" ]]; then\nA+=(--y)\nelse\nA+=(--z)\nfi\npython t.py ${A[@]}",
     "launcher.program=t.py --x=true --y=true"},
    {"N=8\nif [ $N -gt 8 ] || [ -z \"$N\" ]; then A=(--x); elif [[ $N -le 8 && ! -n \"\" ]]; then A=(--y); fi\n"
     "python t.py ${A[@]}",
     "launcher.program=t.py --y=true"},
    {"if [ -f x ]; then\necho hello\nB=2\nfi\nB=${B:-1}\n--a 1", "--a=1"},
    {"if [ -f x ]; then exit 1; fi\nuse() { echo \"it's --x\"; }\n--a 1", "--a=1"},
    {"if [ -f x ]; then A+=(--b); fi\n--a", "s.sh:1:19: has options inside a condition, loop or function that is not "
                                            "evaluated; keep the branch that is meant"},
    {"for i in 1 2; do\n python t.py --a $i\ndone",
     "s.sh:2:2: has options inside a condition, loop or function that is not evaluated; keep the branch that is meant"},
    /* what nothing closes */
    {"--a 'x", "s.sh:1:5: is a bracket or quote that nothing closes"},
    {"A=(--x", "s.sh:1:3: is a bracket that nothing closes"},
    {"--a \"x", "s.sh:1:5: is a quote that nothing closes"},
};

static void scripts(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *found = flat(rows[i].script);
    if (strcmp(found, rows[i].expected) != 0)
      printf("\n    %s\n    gives    %s\n    expected %s\n", rows[i].script, found, rows[i].expected);
    CU_ASSERT_STRING_EQUAL(found, rows[i].expected);
  }
}

/* A word stands where it is written, be it in a variable; a line break within a text counts. */
static void places(void) {
  g_autoptr(ConfTree) tree = parse("A=(\n  --x 1\n)\nB=\"--y 1 \\\n  --z 2\"\npython t.py --w ${A[@]} $B\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  static const struct {
    const char *path;
    guint line, column;
  } expected[] = {{"--w", 6, 13}, {"--x", 2, 3}, {"--y", 4, 4}, {"--z", 5, 3}};
  for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
    const ConfTreeNode *node = conf_tree_find(tree, expected[i].path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    CU_ASSERT_EQUAL(node->line, expected[i].line);
    CU_ASSERT_EQUAL(node->column, expected[i].column);
  }
}

/* Each line doubles a text or a list: 2^60 of them end in an error, not in memory; likewise deep brackets. */
static void hostile(void) {
  g_autoptr(GString) text = g_string_new("A=--x\nL=(--y)\n"), deep = g_string_new("--a $((");
  for (int i = 0; i < 60; i++)
    g_string_append(text, "A=\"$A$A\"\nL=(${L[@]} ${L[@]})\n");
  for (int i = 0; i < 100000; i++)
    g_string_append_c(deep, '(');
  GError *error = NULL;
  HARNESS_FAILS(parse(text->str, &error), error, "too long a text");
  error = NULL;
  HARNESS_FAILS(parse(deep->str, &error), error, "nothing closes");
}

int main(void) {
  return harness_run("conf-arguments",
                     (HarnessCase[]){{"scripts", scripts}, {"places", places}, {"hostile", hostile}, {NULL, NULL}});
}
