/* SPDX-License-Identifier: MIT */
/* A command line is read twice: GOption splits it by the options of all kinds, then each value goes where the chosen
 * kind wants it. */
#include "cli-verb.h"

#include "cli-help.h"

#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli-version.h"

typedef struct {
  gboolean help, help_twins, help_all, version;
} Common;

#define TWINS_HELP 2 /* rows about switches of developers, which not every verb has */

const CliOption cli_verb_common[] = {
    {"help-twins", 0, CLI_FLAG, offsetof(Common, help_twins), NULL, "print the switches of developers"},
    {"help-all", 0, CLI_FLAG, offsetof(Common, help_all), NULL, "print these and the switches of developers"},
    {"version", 0, CLI_FLAG, offsetof(Common, version), NULL, "print the version"},
    {"help", 'h', CLI_FLAG, offsetof(Common, help), NULL, "print this"},
    {NULL}};

/* An option as it stood on the command line. */
typedef struct {
  const CliOption *option;
  char *value; /* NULL: a flag */
} Given;

/* What GOption made of it. */
typedef struct {
  GPtrArray *options; /* CliOption: of the verb, and the common ones */
  GArray *given;      /* Given, in order */
  char **words;
} Line;

static void given_clear(gpointer given) {
  g_free(((Given *)given)->value);
}

static void line_clear(Line *line) {
  g_ptr_array_unref(line->options);
  g_array_unref(line->given);
  g_strfreev(line->words);
}

const char **cli_verb_names(const CliVerb *const *verbs) {
  GPtrArray *names = g_ptr_array_new();
  for (; *verbs != NULL; verbs++)
    g_ptr_array_add(names, (gpointer)(*verbs)->name);
  g_ptr_array_add(names, NULL);
  return (const char **)g_ptr_array_free(names, FALSE);
}

static gboolean is_listed(const GPtrArray *list, const CliOption *option) {
  for (guint i = 0; i < list->len; i++)
    if (strcmp(((const CliOption *)list->pdata[i])->name, option->name) == 0)
      return TRUE;
  return FALSE;
}

static void add_missing(GPtrArray *list, const CliOption *options, gboolean hidden) {
  for (; options->kind != 0; options++)
    if (options->kind == CLI_GROUP)
      add_missing(list, options->group, hidden);
    else if (options->name != NULL && (hidden || !options->hidden) && !is_listed(list, options))
      g_ptr_array_add(list, (gpointer)options);
}

static GPtrArray *list_options(const CliVerb *verb, gboolean hidden) {
  GPtrArray *list = g_ptr_array_new();
  for (const CliVerb *const *kind = verb->kinds; kind != NULL && *kind != NULL; kind++)
    add_missing(list, (*kind)->options, hidden);
  if (verb->options != NULL)
    add_missing(list, verb->options, hidden);
  return list;
}

GPtrArray *cli_verb_options(const CliVerb *verb) {
  return list_options(verb, FALSE);
}

static gboolean take(const char *name, const char *value, gpointer data, GError **error) {
  (void)error;
  Line *line = data;
  for (guint i = 0; i < line->options->len; i++) {
    const CliOption *option = line->options->pdata[i];
    if (name[1] == '-' ? strcmp(name + 2, option->name) == 0 : name[1] == option->letter) {
      Given given = {option, g_strdup(value)};
      g_array_append_val(line->given, given);
    }
  }
  return TRUE;
}

static int flags_of(const CliOption *option) {
  return (option->kind == CLI_FLAG ? G_OPTION_FLAG_NO_ARG : 0) |
         (option->kind == CLI_FILE || option->kind == CLI_FILES ? G_OPTION_FLAG_FILENAME : 0) |
         (option->hidden ? G_OPTION_FLAG_HIDDEN : 0);
}

/* The texts of entries are GOption's only by reference: `texts` owns them. */
static void add_entry(GOptionGroup *group, const CliOption *option, GPtrArray *texts) {
  char *argument = cli_option_argument(option);
  g_ptr_array_add(texts, argument);
  const GOptionEntry entries[] = {
      {option->name, option->letter, flags_of(option), G_OPTION_ARG_CALLBACK, (gpointer)take, option->help, argument},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  g_option_group_add_entries(group, entries);
}

/* *ret_twins: borrowed from the context. */
static GOptionContext *context_new(const CliVerb *verb, const char *name, Line *line, GPtrArray *texts,
                                   GOptionGroup **ret_twins) {
  GOptionContext *context = g_option_context_new(NULL);
  g_autofree char *summary = g_strconcat(name, ": ", verb->summary, NULL);
  GOptionGroup *main_group = g_option_group_new("main", "", "", line, NULL);
  GOptionGroup *twins = g_option_group_new("twins", "Switches of developers:", "", line, NULL);
  const GOptionEntry rest[] = {{G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &line->words, NULL, verb->usage},
                               {NULL, 0, 0, 0, NULL, NULL, NULL}};
  for (guint i = 0; i < line->options->len; i++) {
    const CliOption *option = line->options->pdata[i];
    add_entry(option->developer ? twins : main_group, option, texts);
  }
  g_option_group_add_entries(main_group, rest);
  g_option_context_set_summary(context, summary);
  g_option_context_set_help_enabled(context, FALSE);
  g_option_context_set_main_group(context, main_group);
  g_option_context_add_group(context, twins);
  *ret_twins = twins;
  return context;
}

/* In plain letters, whatever the locale: GOption's own words hold an ellipsis. */
static void print_help(GOptionContext *context, gboolean main_only, GOptionGroup *group) {
  g_autofree char *text = g_option_context_get_help(context, main_only, group);
  g_autoptr(GString) plain = g_string_new(text);
  g_string_replace(plain, "\xe2\x80\xa6", "...", 0);
  g_string_replace(plain, "\nApplication Options:\n", "\nOptions:\n", 0);
  g_autofree char *laid = cli_help_laid_out(plain->str);
  fputs(laid, stdout);
}

/* Adds the nearest name to what GOption says of an option that it does not know. */
static void advise(const Line *line, GError **error) {
  const char *found = error != NULL && g_error_matches(*error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION)
                          ? strstr((*error)->message, "--")
                          : NULL;
  if (found == NULL)
    return;
  g_autofree char *name = g_strndup(found + 2, strcspn(found + 2, "="));
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  for (guint i = 0; i < line->options->len; i++)
    g_ptr_array_add(names, (gpointer)((const CliOption *)line->options->pdata[i])->name);
  g_ptr_array_add(names, NULL);
  const char *near = base_names_nearest((const char *const *)names->pdata, name);
  if (near == NULL)
    return;
  char *longer = g_strdup_printf("%s; did you mean \"--%s\"?", (*error)->message, near);
  g_free((*error)->message);
  (*error)->message = longer;
}

/* Common options, which are answered at once. TRUE: one was. */
static gboolean answer(const Line *line, GOptionContext *context, GOptionGroup *twins) {
  Common common = {FALSE};
  const CliOption *table;
  gsize base;
  for (guint i = 0; i < line->given->len; i++) {
    g_autofree char *name = g_strconcat("--", g_array_index(line->given, Given, i).option->name, NULL);
    const CliOption *option = cli_option_find(cli_verb_common, name, &table, &base);
    if (option != NULL)
      cli_option_set(option, NULL, (char *)&common + option->offset, NULL);
  }
  if (common.help || common.help_all)
    print_help(context, !common.help_all, NULL);
  else if (common.help_twins)
    print_help(context, FALSE, twins);
  else if (common.version)
    cli_print_version();
  return common.help || common.help_all || common.help_twins || common.version;
}

static gboolean has_twins(const GPtrArray *options) {
  for (guint i = 0; i < options->len; i++)
    if (((const CliOption *)options->pdata[i])->developer)
      return TRUE;
  return FALSE;
}

/* Splits argv by the options of `verb`. *ret_done: it was a question about the program, answered. */
static gboolean split(const CliVerb *verb, const char *name, int argc, char **argv, Line *line, gboolean *ret_done,
                      GError **error) {
  g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
  GOptionGroup *twins;
  *line = (Line){list_options(verb, TRUE), g_array_new(FALSE, FALSE, sizeof(Given)), NULL};
  g_array_set_clear_func(line->given, given_clear);
  add_missing(line->options, has_twins(line->options) ? cli_verb_common : cli_verb_common + TWINS_HELP, TRUE);
  g_autoptr(GOptionContext) context = context_new(verb, name, line, texts, &twins);
  g_autofree char **copy = g_memdup2(argv, ((gsize)argc + 1) * sizeof *argv);
  char **rest = copy;
  g_set_prgname(name);
  gboolean good = g_option_context_parse(context, &argc, &rest, error);
  if (!good)
    advise(line, error);
  *ret_done = good && answer(line, context, twins);
  return good;
}

/* `one` may be one of its siblings' alone. */
static gboolean put(const CliVerb *verb, const char *name, const Given *one, gpointer values, GError **error) {
  const CliOption *table;
  gsize base;
  g_autofree char *called = g_strconcat("--", one->option->name, NULL);
  const CliOption *option = cli_option_find(verb->options, called, &table, &base);
  if (option == NULL) {
    if (verb->refusal != NULL)
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s %s", name, verb->refusal);
    else
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s does not take %s", name, called);
    return FALSE;
  }
  for (const CliOption *row = table; row->kind != 0; row++)
    if (row->kind == CLI_GIVEN)
      *(gboolean *)((char *)values + base + row->offset) = TRUE;
  return cli_option_set(option, one->value, (char *)values + base + option->offset, error);
}

static gboolean put_words(const CliVerb *verb, char **words, gpointer values, GError **error) {
  static char *none[] = {NULL};
  guint n = words != NULL ? g_strv_length(words) : 0;
  for (const CliOption *row = verb->options; row->kind != 0; row++)
    if (row->kind == CLI_WORD) {
      *(char ***)((char *)values + row->offset) = words != NULL ? words : none;
      if (n >= (guint)row->least && n <= (guint)row->most)
        return TRUE;
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected %s, found %u word%s", row->argument, n,
                  n == 1 ? "" : "s");
      return FALSE;
    }
  return TRUE;
}

static CliExit run(const CliVerb *verb, const char *name, const Line *line, char **words, GError **error) {
  g_autofree gpointer values = g_malloc0(verb->size);
  if (verb->defaults != NULL)
    memcpy(values, verb->defaults, verb->size);
  gboolean good = put_words(verb, words, values, error);
  for (guint i = 0; good && i < line->given->len; i++)
    good = put(verb, name, &g_array_index(line->given, Given, i), values, error);
  CliExit status = good ? verb->run(values, error) : CLI_INPUT;
  cli_option_clear(verb->options, values);
  return status;
}

static const CliVerb *find_kind(const CliVerb *verb, const char *name, GError **error) {
  g_autofree const char **names = cli_verb_names(verb->kinds);
  int index = name != NULL ? base_names_find(names, name) : -1;
  if (index >= 0)
    return verb->kinds[index];
  g_autofree char *joined = base_names_join(names);
  if (name == NULL) {
    g_autofree char *wants = g_strdup_printf(verb->wants, joined);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected %s, found 0 words", wants);
  } else {
    g_autofree char *advice = base_names_advice(names, name);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s \"%s\"%s", verb->unknown, name, advice);
  }
  return NULL;
}

/* A kind's own help is that of its options alone. NULL: none is asked for. */
static const CliVerb *kind_asked(const CliVerb *verb, int argc, char **argv) {
  g_autofree const char **names = verb->kinds != NULL ? cli_verb_names(verb->kinds) : NULL;
  if (names == NULL || argc < 3 || !g_str_has_prefix(argv[2], "--help"))
    return NULL;
  int index = base_names_find(names, argv[1]);
  return index >= 0 ? verb->kinds[index] : NULL;
}

CliExit cli_verb_run(const CliVerb *verb, int argc, char **argv, GError **error) {
  Line line;
  gboolean done = FALSE;
  g_autofree char *name = g_strconcat("foretrain ", verb->name, NULL);
  const CliVerb *kind = kind_asked(verb, argc, argv);
  if (kind != NULL) {
    g_autofree char *longer = g_strconcat(name, " ", kind->name, NULL);
    gboolean good = split(kind, longer, argc - 1, argv + 1, &line, &done, error);
    line_clear(&line);
    return good ? CLI_DONE : CLI_INPUT;
  }
  CliExit status = CLI_INPUT;
  kind = verb;
  if (split(verb, name, argc, argv, &line, &done, error) && !done && verb->kinds != NULL)
    kind = find_kind(verb, line.words != NULL ? line.words[0] : NULL, error);
  if (done)
    status = CLI_DONE;
  else if (*error == NULL && kind == verb)
    status = run(verb, verb->name, &line, line.words, error);
  else if (*error == NULL && kind != NULL) {
    g_autofree char *longer = g_strconcat(verb->name, " ", kind->name, NULL);
    status = run(kind, longer, &line, line.words + 1, error);
  }
  line_clear(&line);
  return status;
}
