/* SPDX-License-Identifier: MIT */
/* The structure of JSON: spaces and comments, maps and lists, keys. Texts and words are read by conf-pull-value.c. */
#include "conf-pull.h"

#include <string.h>

#include "conf-pull-private.h"

void conf_pull_begin(ConfPull *pull, const char *file, const char *data, gsize length, GString *path) {
  pull->file = file;
  pull->data = pull->at = pull->line_start = pull->token = pull->token_line_start = data;
  pull->end = data != NULL ? data + length : NULL;
  pull->line = pull->last_line = pull->token_line = 1;
  pull->path = path;
  pull->depth = 0;
}

gboolean conf_pull_fail(const ConfPull *pull, const char *at, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place = {.file = pull->file,
                     .line = pull->line,
                     .column = (guint)g_utf8_pointer_to_offset(pull->line_start, at) + 1,
                     .key = pull->path != NULL && pull->path->len > 0 ? pull->path->str : NULL};
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

static void new_line(ConfPull *pull) {
  pull->line++;
  pull->line_start = pull->at + 1;
}

static char sign_at(const ConfPull *pull, gsize ahead) {
  return ahead < (gsize)(pull->end - pull->at) ? pull->at[ahead] : '\0';
}

/* FALSE where it is not closed: `at` stays at its beginning. */
static gboolean skip_comment(ConfPull *pull) {
  if (*pull->at == '#' || sign_at(pull, 1) == '/') {
    const char *feed = memchr(pull->at, '\n', (gsize)(pull->end - pull->at));
    pull->at = feed != NULL ? feed : pull->end;
    return TRUE;
  }
  const char *close = g_strstr_len(pull->at + 2, pull->end - pull->at - 2, "*/");
  if (close == NULL)
    return FALSE;
  for (; pull->at < close + 2; pull->at++)
    if (*pull->at == '\n')
      new_line(pull);
  return TRUE;
}

/* To the next token or the end; FALSE at a comment that is not closed. */
static gboolean skip_space(ConfPull *pull) {
  for (;;) {
    char sign = sign_at(pull, 0);
    if (sign == '\n')
      new_line(pull);
    if (sign == ' ' || sign == '\t' || sign == '\r' || sign == '\n')
      pull->at++;
    else if (sign != '#' && !(sign == '/' && (sign_at(pull, 1) == '/' || sign_at(pull, 1) == '*')))
      return TRUE;
    else if (!skip_comment(pull))
      return FALSE;
  }
}

gboolean conf_pull_skip(ConfPull *pull, GError **error) {
  return skip_space(pull) || conf_pull_fail(pull, pull->at, error, "the comment that begins here is not closed");
}

char conf_pull_peek(ConfPull *pull) {
  return skip_space(pull) ? sign_at(pull, 0) : '\0';
}

/* What begins here is where its value, or its key, stands. */
static void mark_token(ConfPull *pull) {
  pull->token = pull->at;
  pull->token_line = pull->line;
  pull->token_line_start = pull->line_start;
}

void conf_pull_place(const ConfPull *pull, guint *ret_line, guint *ret_column) {
  *ret_line = pull->token_line;
  *ret_column = (guint)g_utf8_pointer_to_offset(pull->token_line_start, pull->token) + 1;
}

static void set_path(ConfPull *pull, const ConfPullLevel *level, const char *name) {
  if (pull->path == NULL)
    return;
  g_string_truncate(pull->path, level->path);
  if (name != NULL)
    g_string_append_printf(pull->path, "%s%s", level->path > 0 ? "." : "", name);
}

gboolean conf_pull_enter(ConfPull *pull, char open, GError **error) {
  if (!conf_pull_skip(pull, error))
    return FALSE;
  if (sign_at(pull, 0) != open) {
    g_autofree char *found = conf_pull_found(pull);
    return conf_pull_fail(pull, pull->at, error, "expected \"%c\", the beginning of a %s, found %s", open,
                          open == '{' ? "JSON object" : "list", found);
  }
  if (pull->depth == CONF_PULL_DEPTH_MAX)
    return conf_pull_fail(pull, pull->at, error, "nested deeper than %d: too deep", CONF_PULL_DEPTH_MAX);
  if (pull->depth == 0)
    mark_token(pull);
  pull->levels[pull->depth++] =
      (ConfPullLevel){open == '{' ? '}' : ']', TRUE, pull->line, 0, pull->path != NULL ? pull->path->len : 0};
  pull->at++;
  return TRUE;
}

static gboolean fail_end(ConfPull *pull, const ConfPullLevel *level, GError **error) {
  return conf_pull_fail(pull, pull->at, error, "the file ends where \"%c\" should close what begins at line %u",
                        level->close, level->line);
}

static gboolean fail_separator(ConfPull *pull, const ConfPullLevel *level, GError **error) {
  g_autofree char *found = conf_pull_found(pull);
  g_autofree char *advice = strchr("}]", *pull->at) != NULL
                                ? g_strdup_printf("; \"%c\" closes what begins at line %u", level->close, level->line)
                                : g_strdup_printf("; is a comma missing at the end of line %u?", pull->last_line);
  return conf_pull_fail(pull, pull->at, error, "expected \",\" or \"%c\", found %s%s", level->close, found, advice);
}

/* Past the comma before a member that is not the first; a comma before the end is taken. */
static gboolean pass_comma(ConfPull *pull, const ConfPullLevel *level, GError **error) {
  if (level->first || *pull->at == level->close)
    return TRUE;
  if (*pull->at != ',')
    return fail_separator(pull, level, error);
  pull->at++;
  return conf_pull_skip(pull, error) && (pull->at < pull->end || fail_end(pull, level, error));
}

gboolean conf_pull_next(ConfPull *pull, gboolean *ret_more, GError **error) {
  ConfPullLevel *level = &pull->levels[pull->depth - 1];
  set_path(pull, level, NULL);
  if (!conf_pull_skip(pull, error))
    return FALSE;
  if (pull->at == pull->end)
    return fail_end(pull, level, error);
  if (!pass_comma(pull, level, error))
    return FALSE;
  level->first = FALSE;
  *ret_more = *pull->at != level->close;
  if (!*ret_more) {
    pull->at++;
    pull->depth--;
    pull->last_line = pull->line;
  } else if (level->close == ']') {
    mark_token(pull);
    if (pull->path != NULL) {
      char number[16];
      g_snprintf(number, sizeof number, "%u", level->index++);
      set_path(pull, level, number);
    }
  }
  return TRUE;
}

static gboolean fail_key(ConfPull *pull, GError **error) {
  g_autofree char *found = conf_pull_found(pull);
  char sign = sign_at(pull, 0);
  const char *advice = g_ascii_isalpha(sign) || sign == '\'' ? "; a key needs double quotes"
                       : sign == '{'                         ? "; fill in the template"
                                                             : "";
  return conf_pull_fail(pull, pull->at, error, "expected a key, found %s%s", found, advice);
}

gboolean conf_pull_key(ConfPull *pull, GString *key, GError **error) {
  if (!conf_pull_skip(pull, error))
    return FALSE;
  if (sign_at(pull, 0) != '"')
    return fail_key(pull, error);
  mark_token(pull);
  g_string_truncate(key, 0);
  if (!conf_pull_quoted(pull, key, error))
    return FALSE;
  if (pull->path != NULL && key->len == 0)
    return conf_pull_fail(pull, pull->token, error, "expected a key, found an empty one");
  set_path(pull, &pull->levels[pull->depth - 1], key->str);
  if (!conf_pull_skip(pull, error))
    return FALSE;
  if (sign_at(pull, 0) != ':') {
    g_autofree char *found = conf_pull_found(pull);
    return conf_pull_fail(pull, pull->at, error, "expected \":\" after the key, found %s", found);
  }
  pull->at++;
  return TRUE;
}

gboolean conf_pull_map(ConfPull *pull, GString *key, ConfPullMember member, gpointer data, GError **error) {
  gboolean more, good = conf_pull_enter(pull, '{', error);
  while (good && (good = conf_pull_next(pull, &more, error)) && more)
    good = conf_pull_key(pull, key, error) && member(pull, key->str, data, error);
  return good;
}

/* A map or a list and all in it; the depth bounds the recursion. */
static gboolean pass_members(ConfPull *pull, char open, GError **error) {
  g_autoptr(GString) key = open == '{' ? g_string_new(NULL) : NULL;
  gboolean more = FALSE;
  if (!conf_pull_enter(pull, open, error))
    return FALSE;
  while (conf_pull_next(pull, &more, error)) {
    if (!more)
      return TRUE;
    if ((key != NULL && !conf_pull_key(pull, key, error)) || !conf_pull_value(pull, NULL, error))
      return FALSE;
  }
  return FALSE;
}

gboolean conf_pull_value(ConfPull *pull, GString *text, GError **error) {
  if (text != NULL)
    g_string_truncate(text, 0);
  if (!conf_pull_skip(pull, error))
    return FALSE;
  char sign = sign_at(pull, 0);
  if (sign == '{' || sign == '[')
    return pass_members(pull, sign, error);
  gboolean good = sign == '"' ? conf_pull_quoted(pull, text, error) : conf_pull_word(pull, text, error);
  pull->last_line = pull->line;
  return good;
}

gboolean conf_pull_end(ConfPull *pull, GError **error) {
  if (!conf_pull_skip(pull, error))
    return FALSE;
  if (pull->at == pull->end)
    return TRUE;
  g_autofree char *found = conf_pull_found(pull);
  return conf_pull_fail(pull, pull->at, error, "expected the end of the file after the object, found %s", found);
}
