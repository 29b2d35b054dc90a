/* SPDX-License-Identifier: MIT */
/* Walking tables of options, and a value's way from its text into a field. */
#include "cli-option.h"

#include <errno.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"

static gboolean is_end(const CliOption *option) {
  return option->kind == 0;
}

static gboolean is_called(const CliOption *option, const char *name) {
  if (option->name == NULL)
    return FALSE;
  if (g_str_has_prefix(name, "--"))
    return strcmp(option->name, name + 2) == 0;
  return option->letter != 0 && name[1] == option->letter && name[2] == '\0';
}

const CliOption *cli_option_find(const CliOption *options, const char *name, const CliOption **ret_table,
                                 gsize *ret_base) {
  for (const CliOption *option = options; !is_end(option); option++) {
    if (is_called(option, name)) {
      *ret_table = options;
      *ret_base = 0;
      return option;
    }
    const CliOption *inner =
        option->kind == CLI_GROUP ? cli_option_find(option->group, name, ret_table, ret_base) : NULL;
    if (inner != NULL) {
      *ret_base += option->offset;
      return inner;
    }
  }
  return NULL;
}

static gboolean set_number(const CliOption *option, const char *text, int *field, GError **error) {
  char *end;
  errno = 0;
  gint64 number = g_ascii_strtoll(text, &end, 10), most = option->most > 0 ? option->most : G_MAXINT;
  if (end == text || *end != '\0' || errno != 0 || number < option->least || number > most) {
    g_autofree char *limit = option->most > 0 ? g_strdup_printf(", at most %d", option->most) : g_strdup("");
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--%s: expected a number from %d on%s, found %s", option->name,
                option->least, limit, text);
    return FALSE;
  }
  *field = (int)number;
  return TRUE;
}

static gboolean set_choice(const CliOption *option, const char *text, int *field, GError **error) {
  int index = base_names_find(option->choices, text);
  if (index < 0) {
    g_autofree char *advice = base_names_advice(option->choices, text);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--%s: no such choice \"%s\"%s", option->name, text, advice);
    return FALSE;
  }
  *field = index;
  return TRUE;
}

static gboolean set_file(const CliOption *option, const char *text, const char **field, GError **error) {
  if (option->least > 0 && *text == '\0') {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "-%c: expected the name of a file, found nothing", option->letter);
    return FALSE;
  }
  *field = text;
  return TRUE;
}

static void add_text(const char *text, const char ***field) {
  guint n = *field != NULL ? g_strv_length((char **)*field) : 0;
  *field = g_renew(const char *, *field, n + 2);
  (*field)[n] = text;
  (*field)[n + 1] = NULL;
}

gboolean cli_option_set(const CliOption *option, const char *text, gpointer field, GError **error) {
  g_autofree char *name = option->kind == CLI_READ ? g_strconcat("--", option->name, NULL) : NULL;
  switch (option->kind) {
  case CLI_FLAG:
    *(gboolean *)field = TRUE;
    return TRUE;
  case CLI_FILE:
    return set_file(option, text, field, error);
  case CLI_TEXTS:
  case CLI_FILES:
    add_text(text, field);
    return TRUE;
  case CLI_NUMBER:
    return set_number(option, text, field, error);
  case CLI_CHOICE:
    return set_choice(option, text, field, error);
  case CLI_READ:
    return option->read(name, text, field, error);
  case CLI_TEXT:
  case CLI_WORD:
  case CLI_GROUP:
  case CLI_GIVEN:
    break;
  }
  *(const char **)field = text;
  return TRUE;
}

void cli_option_clear(const CliOption *options, gpointer values) {
  for (; !is_end(options); options++) {
    gpointer field = (char *)values + options->offset;
    if (options->kind == CLI_GROUP)
      cli_option_clear(options->group, field);
    else if (options->kind == CLI_TEXTS || options->kind == CLI_FILES)
      g_clear_pointer((char ***)field, g_free);
  }
}

char *cli_option_argument(const CliOption *option) {
  return option->kind == CLI_CHOICE ? g_strjoinv("|", (char **)option->choices) : g_strdup(option->argument);
}
