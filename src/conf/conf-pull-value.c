/* SPDX-License-Identifier: MIT */
/* Texts with their escapes, numbers by JSON's grammar, words; and what other languages write in their place. */
#include <string.h>

#include "conf-pull-private.h"

#define AHEAD_MAX  200 /* bytes that messages look at */
#define ESCAPE_MAX 12  /* bytes of the longest escape, two surrogates */
#define SHOWN_MAX  40  /* letters that messages show */

/* At most `n` bytes of what comes, NUL-terminated. Caller frees. */
static char *ahead(const ConfPull *pull, gsize n) {
  return pull->at < pull->end ? g_strndup(pull->at, MIN((gsize)(pull->end - pull->at), n)) : g_strdup("");
}

char *conf_pull_found(const ConfPull *pull) {
  if (pull->at == pull->end)
    return g_strdup("the end of the file");
  g_autofree char *from = ahead(pull, AHEAD_MAX);
  gsize bytes = strcspn(from, " \t\r\n,:[]{}\"");
  if (*from == '"')
    bytes = 1 + strcspn(from + 1, "\"\r\n");
  else if (g_str_has_prefix(from, "${"))
    bytes = strcspn(from, "}\r\n") + 1;
  g_autofree char *word = g_utf8_make_valid(from, (gssize)MIN(MAX(bytes, 1), strlen(from)));
  g_autofree char *shown = g_utf8_substring(word, 0, MIN(g_utf8_strlen(word, -1), SHOWN_MAX));
  g_strchomp(shown);
  return *from == '"' ? g_strdup_printf("%s\"", shown) : g_strdup_printf("\"%s\"", shown);
}

/* Value of four hexadecimal digits, -1 where they are not. */
static int hex4(const char *p) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    int digit = g_ascii_xdigit_value(p[i]);
    if (digit < 0)
      return -1;
    value = value * 16 + digit;
  }
  return value;
}

/* The letter of \uXXXX, of two of them where they are surrogates; 0 where they are none, or NUL. */
static gunichar unicode(const char *p, gsize *ret_bytes) {
  int first = hex4(p + 2);
  *ret_bytes = 6;
  if (first <= 0 || (first >= 0xdc00 && first <= 0xdfff))
    return 0;
  if (first < 0xd800 || first > 0xdbff)
    return (gunichar)first;
  int second = p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
  *ret_bytes = ESCAPE_MAX;
  return second >= 0xdc00 && second <= 0xdfff
             ? 0x10000 + ((gunichar)(first - 0xd800) << 10) + (gunichar)(second - 0xdc00)
             : 0;
}

/* At a backslash: appends what it stands for and passes it. */
static gboolean escape(ConfPull *pull, GString *text, GError **error) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  g_autofree char *p = ahead(pull, ESCAPE_MAX);
  const char *letter = p[1] != '\0' ? strchr(letters, p[1]) : NULL;
  gsize bytes = 2;
  gunichar code = letter != NULL ? (gunichar)meant[letter - letters] : p[1] == 'u' ? unicode(p, &bytes) : 0;
  if (code == 0)
    return conf_pull_fail(pull, pull->at, error, "\"%.2s\" is no escape of JSON here; write \"\\\\\" for a backslash",
                          p);
  g_string_append_unichar(text, code);
  pull->at += bytes;
  return TRUE;
}

static gboolean fail_open(const ConfPull *pull, const char *quote, GError **error) {
  return conf_pull_fail(pull, quote, error, "the quote that opens here is not closed on its line");
}

/* Only the end is looked for: a backslash may be followed by anything. */
static gboolean pass_quoted(ConfPull *pull, GError **error) {
  const char *quote = pull->at++;
  for (; pull->at < pull->end && *pull->at != '"' && *pull->at != '\n'; pull->at++)
    if (*pull->at == '\\' && pull->end - pull->at > 1)
      pull->at++;
  if (pull->at == pull->end || *pull->at != '"')
    return fail_open(pull, quote, error);
  pull->at++;
  return TRUE;
}

gboolean conf_pull_quoted(ConfPull *pull, GString *text, GError **error) {
  if (text == NULL)
    return pass_quoted(pull, error);
  const char *quote = pull->at++;
  for (;;) {
    const char *from = pull->at;
    while (pull->at < pull->end && *pull->at != '"' && *pull->at != '\\' && (guchar)*pull->at >= 0x20)
      pull->at++;
    g_string_append_len(text, from, pull->at - from);
    if (pull->at == pull->end || *pull->at == '\n' || *pull->at == '\r')
      return fail_open(pull, quote, error);
    if (*pull->at == '"') {
      pull->at++;
      return TRUE;
    }
    if (*pull->at != '\\')
      return conf_pull_fail(pull, pull->at, error, "a text cannot hold the raw control character 0x%02x",
                            (guchar)*pull->at);
    if (!escape(pull, text, error))
      return FALSE;
  }
}

static gboolean pass_digits(const char **p, const char *end) {
  const char *from = *p;
  while (*p < end && g_ascii_isdigit(**p))
    ++*p;
  return *p > from;
}

/* By JSON's grammar, all of it. */
static gboolean is_number(const char *p, const char *end) {
  p += p < end && *p == '-';
  const char *digits = p;
  if (!pass_digits(&p, end) || (*digits == '0' && p - digits > 1))
    return FALSE;
  if (p < end && *p == '.' && (p++, !pass_digits(&p, end)))
    return FALSE;
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    p += p < end && (*p == '+' || *p == '-');
    if (!pass_digits(&p, end))
      return FALSE;
  }
  return p == end;
}

static gboolean is_word(const char *p, gsize length) {
  static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
  for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
    if (length == strlen(words[i]) && memcmp(p, words[i], length) == 0)
      return TRUE;
  return FALSE;
}

/* What other languages write in place of JSON. */
static const char *value_advice(const char *p) {
  if (*p == '$' || *p == '<' || *p == '%' || *p == '@')
    return "; fill in the template";
  if (*p == '\'')
    return "; write \" in place of '";
  if (g_str_has_prefix(p, "True") || g_str_has_prefix(p, "False") || g_str_has_prefix(p, "None"))
    return "; JSON writes true, false and null";
  if (*p == '.' || *p == '+' || g_ascii_isdigit(*p))
    return "; JSON writes numbers as 0.5, 10 or 1e9";
  gsize capitals = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  if (capitals > 1 && strchr(p, '_') != NULL && strchr(p, '_') < p + capitals && !g_ascii_isalpha(p[capitals]))
    return "; fill in the template, or put a text in quotes";
  if (g_ascii_isalpha(*p) || *p == '/' || *p == '~')
    return "; a text needs quotes";
  return "";
}

gboolean conf_pull_word(ConfPull *pull, GString *text, GError **error) {
  const char *stop = pull->at;
  while (stop < pull->end && *stop != '\0' && strchr(" \t\r\n,:[]{}\"#/", *stop) == NULL)
    stop++;
  gsize length = (gsize)(stop - pull->at);
  if (!is_number(pull->at, stop) && !is_word(pull->at, length)) {
    g_autofree char *found = conf_pull_found(pull);
    g_autofree char *from = ahead(pull, AHEAD_MAX);
    return conf_pull_fail(pull, pull->at, error, "expected a value, found %s%s", found, value_advice(from));
  }
  if (text != NULL)
    g_string_append_len(text, pull->at, (gssize)length);
  pull->at = stop;
  return TRUE;
}
