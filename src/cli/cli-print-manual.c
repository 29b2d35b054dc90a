/* SPDX-License-Identifier: MIT */
/* The manual page, in the macros of man(7). */
#include <string.h>

#include "cli-print.h"
#include "cli.h"

/* Minus signs stay minus signs, and nothing begins a request. */
static void add_plain(GString *text, const char *words) {
  if (*words == '.' || *words == '\'')
    g_string_append(text, "\\&");
  for (; *words != '\0'; words++)
    if (*words == '\\')
      g_string_append(text, "\\e");
    else if (*words == '-')
      g_string_append(text, "\\-");
    else
      g_string_append_c(text, *words);
}

static void add_line(GString *text, const char *request, const char *words) {
  g_string_append(text, request);
  add_plain(text, words);
  g_string_append_c(text, '\n');
}

static void add_option(GString *text, const CliOption *option) {
  g_autofree char *argument = cli_option_argument(option);
  g_autofree char *letter = option->letter != 0 ? g_strdup_printf("-%c, ", option->letter) : g_strdup("");
  g_autofree char *head =
      g_strconcat(letter, "--", option->name, argument != NULL ? "=" : "", argument != NULL ? argument : "", NULL);
  g_string_append(text, ".TP\n");
  add_line(text, ".B ", head);
  add_line(text, "", option->help);
}

/* Switches of developers by name alone: a section of their own says what each is. */
static void add_options(GString *text, const CliVerb *verb) {
  g_autoptr(GPtrArray) options = cli_verb_options(verb);
  g_autoptr(GString) twins = g_string_new(NULL);
  for (guint i = 0; i < options->len; i++) {
    const CliOption *option = options->pdata[i];
    if (option->developer)
      g_string_append_printf(twins, "%s--%s", twins->len > 0 ? ", " : "", option->name);
    else
      add_option(text, option);
  }
  if (twins->len > 0)
    add_line(text, ".PP\nSwitches of developers: ", twins->str);
}

/* `of`: the verb that it is a kind of; NULL: it is a verb. */
static void add_verb(GString *text, const CliVerb *verb, const CliVerb *of) {
  g_autofree char *head = g_strjoin(" ", of != NULL ? of->name : verb->name, of != NULL ? verb->name : verb->usage,
                                    of != NULL ? verb->usage : NULL, NULL);
  add_line(text, ".SS ", head);
  add_line(text, "", verb->summary);
  for (const CliVerb *const *kind = verb->kinds; kind != NULL && *kind != NULL; kind++)
    add_verb(text, *kind, verb);
  if (verb->kinds == NULL)
    add_options(text, verb);
}

static void add_twins(GString *text) {
  for (const CliOption *option = cli_twins_options; option->kind != 0; option++)
    if (option->name != NULL)
      add_option(text, option);
}

static void add_common(GString *text) {
  for (const CliOption *option = cli_verb_common; option->kind != 0; option++)
    add_option(text, option);
}

void cli_print_manual(GString *text) {
  g_string_append_printf(
      text,
      ".TH FORETRAIN 1 \"\" \"foretrain %s\" \"User Commands\"\n"
      ".SH NAME\nforetrain \\- foretell a training step\n"
      ".SH SYNOPSIS\n.B foretrain\n.I VERB\n[...] [\\fIOPTION\\fR...]\n"
      ".SH DESCRIPTION\n"
      "Given a model, a training recipe and a cluster as files, foretrain plays training on a\n"
      "discrete-event model of the cluster, and says how long a step takes, which communication hides\n"
      "behind compute, and what sits in the memory of every GPU at each moment.\n"
      ".PP\nRUN is a run id, the beginning of a run key, \"last\", or a workload, which is then run.\n"
      ".SH VERBS\n",
      FORETRAIN_VERSION);
  for (const CliVerb *const *verb = cli_verbs; *verb != NULL; verb++)
    add_verb(text, *verb, NULL);
  g_string_append(text, ".SH OPTIONS OF ALL VERBS\n");
  add_common(text);
  g_string_append(text, ".SH SWITCHES OF DEVELOPERS\nPlain ways beside clever ones, and what must not matter.\n");
  add_twins(text);
  g_string_append(text,
                  ".SH EXIT STATUS\n"
                  ".TP\n.B 0\ndone; an out\\-of\\-memory verdict is done\n"
                  ".TP\n.B 1\na check failed, or \\-\\-require\\-fit met an out\\-of\\-memory\n"
                  ".TP\n.B 2\nthe input is at fault\n"
                  ".TP\n.B 3\nthe fault is foretrain's or the machine's\n"
                  ".TP\n.B 130\nstopped by Ctrl\\-C, what was begun being finished\n"
                  ".SH ENVIRONMENT\n"
                  ".TP\n.B FORETRAIN_DB\nthe database where \\-\\-db is not given\n"
                  ".TP\n.B FORETRAIN_DATA\nfolders, with colons between them, that are searched first for topologies "
                  "and workloads\n"
                  ".TP\n.B XDG_DATA_HOME, XDG_DATA_DIRS\nfolders whose folder foretrain is searched last\n"
                  ".TP\n.B NO_COLOR\nplain text\n");
}
