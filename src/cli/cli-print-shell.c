/* SPDX-License-Identifier: MIT */
/* Completion for bash and zsh: verbs, kinds, options, and of each option the values that its table names. */
#include <string.h>

#include "cli-print.h"
#include "cli.h"

/* The row of the words of a verb; NULL: it takes none. */
static const CliOption *words_of(const CliVerb *verb) {
  for (const CliOption *row = verb->options; row != NULL && row->kind != 0; row++)
    if (row->kind == CLI_WORD && row->most > 0)
      return row;
  return NULL;
}

/* What completes a value, as words of a shell; NULL: files, where files are meant. */
static char *values_of(const CliOption *row) {
  if (row->listed != NULL) /* the first column, without its head */
    return g_strdup_printf("$(foretrain list %s 2>/dev/null | tail -n +2 | cut -d\\  -f1)", row->listed);
  return row->choices != NULL ? g_strjoinv(" ", (char **)row->choices) : NULL;
}

static gboolean takes_file(const CliOption *row) {
  gboolean assignment = row->argument != NULL && strchr(row->argument, '=') != NULL;
  return !assignment && row->choices == NULL &&
         (row->kind == CLI_FILE || row->kind == CLI_FILES || row->kind == CLI_WORD);
}

typedef void (*Each)(GString *text, const char *name, const CliVerb *verb);

/* Every verb that has options of its own, by its whole name: "plot memory". */
static void for_each(GString *text, Each each) {
  for (const CliVerb *const *verb = cli_verbs; *verb != NULL; verb++) {
    for (const CliVerb *const *kind = (*verb)->kinds; kind != NULL && *kind != NULL; kind++) {
      g_autofree char *name = g_strjoin(" ", (*verb)->name, (*kind)->name, NULL);
      each(text, name, *kind);
    }
    if ((*verb)->kinds == NULL)
      each(text, (*verb)->name, *verb);
  }
}

static char *join_names(const CliVerb *const *verbs) {
  g_autofree const char **names = cli_verb_names(verbs);
  return g_strjoinv(" ", (char **)names);
}

static void bash_value(GString *text, const char *name, const CliOption *row) {
  g_autofree char *values = values_of(row);
  g_autofree char *letter = row->letter != 0 ? g_strdup_printf("|\"%s -%c\"", name, row->letter) : g_strdup("");
  g_string_append_printf(text, "    \"%s --%s\"%s) ", name, row->name, letter);
  if (values != NULL)
    g_string_append_printf(text, "words=\"%s\"%s ;;\n", values, takes_file(row) ? " files=yes" : "");
  else
    g_string_append(text, takes_file(row) ? "files=yes ;;\n" : ";;\n");
}

static void bash_values(GString *text, const char *name, const CliVerb *verb) {
  g_autoptr(GPtrArray) options = cli_verb_options(verb);
  for (guint i = 0; i < options->len; i++) {
    const CliOption *option = options->pdata[i];
    if (option->kind != CLI_FLAG)
      bash_value(text, name, option);
  }
}

static void bash_words(GString *text, const char *name, const CliVerb *verb) {
  g_autoptr(GPtrArray) options = cli_verb_options(verb);
  const CliOption *row = words_of(verb);
  g_autofree char *values = row != NULL ? values_of(row) : NULL;
  g_string_append_printf(text, "    \"%s\") options=\"", name);
  for (guint i = 0; i < options->len; i++)
    g_string_append_printf(text, "--%s ", ((const CliOption *)options->pdata[i])->name);
  for (const CliOption *option = cli_verb_common; option->kind != 0; option++)
    g_string_append_printf(text, "--%s ", option->name);
  g_string_append_c(text, '"');
  if (values != NULL)
    g_string_append_printf(text, " words=\"%s\"", values);
  g_string_append(text, row != NULL && takes_file(row) ? " files=yes ;;\n" : " ;;\n");
}

static void bash_kinds(GString *text) {
  for (const CliVerb *const *verb = cli_verbs; *verb != NULL; verb++)
    if ((*verb)->kinds != NULL) {
      g_autofree char *kinds = join_names((*verb)->kinds);
      g_string_append_printf(text, "    %s) kinds=\"%s\" ;;\n", (*verb)->name, kinds);
    }
}

void cli_print_bash(GString *text) {
  g_autofree char *verbs = join_names(cli_verbs);
  g_string_append_printf(text,
                         "# bash completion of foretrain, made by foretrain --print bash\n"
                         "_foretrain() {\n"
                         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                         "  local verb=${COMP_WORDS[1]} options= words= kinds= files=\n"
                         "  COMPREPLY=()\n"
                         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                         "    COMPREPLY=($(compgen -W \"%s --help --version\" -- \"$current\"))\n"
                         "    return\n"
                         "  fi\n"
                         "  # Readline cuts --option=value at the sign.\n"
                         "  if [ \"$current\" = \"=\" ]; then current=; elif [ \"$before\" = \"=\" ]; then "
                         "before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
                         "  case $verb in\n",
                         verbs);
  bash_kinds(text);
  g_string_append(text, "  esac\n"
                        "  if [ -n \"$kinds\" ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n"
                        "    COMPREPLY=($(compgen -W \"$kinds --help\" -- \"$current\"))\n"
                        "    return\n"
                        "  fi\n"
                        "  [ -z \"$kinds\" ] || verb=\"$verb ${COMP_WORDS[2]}\"\n"
                        "  case \"$verb $before\" in\n");
  for_each(text, bash_values);
  g_string_append(text, "    *) case \"$verb\" in\n");
  for_each(text, bash_words);
  g_string_append(text, "    esac ;;\n"
                        "  esac\n"
                        "  if [[ $current == -* ]]; then words=$options files=; fi\n"
                        "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                        "  [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$current\"))\n"
                        "}\n"
                        "complete -o filenames -F _foretrain foretrain\n");
}

/* Inside quotes and a description of zsh's _arguments. */
static void zsh_plain(GString *text, const char *words) {
  for (; *words != '\0'; words++)
    if (*words == '\'')
      g_string_append(text, "'\\''");
    else if (strchr("[]:\\", *words) != NULL)
      g_string_append_printf(text, "\\%c", *words);
    else
      g_string_append_c(text, *words);
}

static void zsh_action(GString *text, const CliOption *row) {
  g_autofree char *values = values_of(row);
  g_string_append_c(text, ':');
  zsh_plain(text, row->argument != NULL ? row->argument : row->name);
  g_string_append_c(text, ':');
  if (values != NULL)
    g_string_append_printf(text, row->listed != NULL ? "{compadd -- %s; _files}" : "(%s)", values);
  else if (takes_file(row))
    g_string_append(text, "_files");
}

static void zsh_spelling(GString *text, const CliOption *option, const char *spelling) {
  gboolean many = option->kind == CLI_TEXTS || option->kind == CLI_FILES;
  g_string_append_printf(text, " \\\n        '%s%s[", many ? "*" : "", spelling);
  zsh_plain(text, option->help);
  g_string_append_c(text, ']');
  if (option->kind != CLI_FLAG)
    zsh_action(text, option);
  g_string_append_c(text, '\'');
}

static void zsh_option(GString *text, const CliOption *option) {
  g_autofree char *name = g_strdup_printf("--%s%s", option->name, option->kind != CLI_FLAG ? "=" : "");
  g_autofree char *letter = g_strdup_printf("-%c%s", option->letter, option->kind != CLI_FLAG ? "+" : "");
  zsh_spelling(text, option, name);
  if (option->letter != 0)
    zsh_spelling(text, option, letter);
}

static void zsh_verb(GString *text, const char *name, const CliVerb *verb) {
  g_autoptr(GPtrArray) options = cli_verb_options(verb);
  const CliOption *row = words_of(verb);
  g_string_append_printf(text, "    \"%s\")\n      _arguments", name);
  for (guint i = 0; i < options->len; i++)
    zsh_option(text, options->pdata[i]);
  for (const CliOption *option = cli_verb_common; option->kind != 0; option++)
    zsh_option(text, option);
  if (row != NULL) {
    g_string_append(text, " \\\n        '*");
    zsh_action(text, row);
    g_string_append_c(text, '\'');
  }
  g_string_append(text, " ;;\n");
}

static void zsh_describe(GString *text, const char *indent, const CliVerb *const *verbs) {
  g_string_append_printf(text, "%snames=(", indent);
  for (; *verbs != NULL; verbs++) {
    g_string_append_printf(text, "\n%s  '%s:", indent, (*verbs)->name);
    zsh_plain(text, (*verbs)->summary);
    g_string_append_c(text, '\'');
  }
  g_string_append_printf(text, ")\n");
}

void cli_print_zsh(GString *text) {
  g_string_append(text, "#compdef foretrain\n# zsh completion of foretrain, made by foretrain --print zsh\n"
                        "_foretrain() {\n"
                        "  local -a names\n"
                        "  local verb=$words[2]\n"
                        "  if (( CURRENT == 2 )); then\n");
  zsh_describe(text, "    ", cli_verbs);
  g_string_append(text, "    _describe verb names\n    return\n  fi\n  case $verb in\n");
  for (const CliVerb *const *verb = cli_verbs; *verb != NULL; verb++)
    if ((*verb)->kinds != NULL) {
      g_string_append_printf(text, "    %s)\n", (*verb)->name);
      zsh_describe(text, "      ", (*verb)->kinds);
      g_string_append(text, "      if (( CURRENT == 3 )); then _describe kind names; return; fi\n"
                            "      verb=\"$verb $words[3]\"\n      shift words; (( CURRENT-- )) ;;\n");
    }
  g_string_append(text, "  esac\n  shift words\n  (( CURRENT-- ))\n  case $verb in\n");
  for_each(text, zsh_verb);
  g_string_append(text, "  esac\n}\n_foretrain \"$@\"\n");
}
