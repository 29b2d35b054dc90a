/* SPDX-License-Identifier: MIT */
/* Options of a verb as a table: what each is called, where in the verb's own struct its value goes, what it says of
 * itself.
 *
 *   typedef struct { CliSettings settings; const char *const *words; int top; gboolean json; } Best;
 *   static const CliOption options[] = {
 *       CLI_WORDS(Best, words, 1, 1, "a workload"),
 *       CLI_SETTINGS(Best, settings),                                     // a group: a struct and table of its own
 *       CLI_JSON(Best, json),
 *       {"top", 0, CLI_NUMBER, offsetof(Best, top), "N", "so many of one objective (10)", .least = 1},
 *       {NULL}};
 *
 * An option that is not in a verb's table does not exist for it. Parsing, help, the manual page and shell completion
 * all read the same rows. Texts and lists in the struct are borrowed from the parser while the verb runs. */
#pragma once

#include <glib.h>
#include <stddef.h>

/* The field that an option fills. */
typedef enum {
  CLI_FLAG = 1, /* gboolean */
  CLI_TEXT,     /* const char *; NULL: not given */
  CLI_FILE,     /* the same, in any bytes; with `least` 1 it may not be empty */
  CLI_TEXTS,    /* const char *const *, in order; NULL: none */
  CLI_FILES,
  CLI_NUMBER, /* int, from `least` on, to `most` unless that is 0 */
  CLI_CHOICE, /* int or gboolean: index among `choices` */
  CLI_READ,   /* what `read` makes of a text */
  CLI_WORD,   /* const char *const *: what is not an option, `least` to `most` of it */
  CLI_GROUP,  /* a struct with options of its own: `group` */
  CLI_GIVEN,  /* gboolean: some option of this very table was given */
} CliKind;

/* Errors name the option: "--tie: expected …". SIM_ERROR_INPUT. */
typedef gboolean (*CliRead)(const char *option, const char *text, gpointer field, GError **error);

typedef struct CliOption {
  const char *name; /* NULL with kind 0: the end */
  char letter;      /* 0: none */
  CliKind kind;
  gsize offset;
  const char *argument; /* how help calls the value; of words: what is wanted */
  const char *help;
  const char *const *choices; /* of CLI_CHOICE, NULL-terminated; of others: what completion offers, or NULL */
  int least, most;
  CliRead read;
  const struct CliOption *group;
  gboolean hidden;    /* another spelling of one that is shown */
  gboolean developer; /* stands in a help of its own: --help-twins */
  const char *listed; /* completion offers what `foretrain list` has under this */
} CliOption;

#define CLI_WORDS_ANY G_MAXINT
#define CLI_WORDS(type, field, from, to, wanted)                                                                       \
  { NULL, 0, CLI_WORD, offsetof(type, field), wanted, NULL, NULL, from, to }
#define CLI_WORKLOAD_WORD(type, field, wanted)                                                                         \
  { NULL, 0, CLI_WORD, offsetof(type, field), wanted, NULL, NULL, 1, 1, .listed = "workloads" }

/* Rows of options that several verbs have. */
#define CLI_JSON(type, field)                                                                                          \
  { "json", 0, CLI_FLAG, offsetof(type, field), NULL, "print JSON: names are the database's columns where it has them" }
#define CLI_QUIET(type, field)                                                                                         \
  { "quiet", 'q', CLI_FLAG, offsetof(type, field), NULL, "print errors only" }
#define CLI_NO_PROGRESS(type, field)                                                                                   \
  { "quiet", 'q', CLI_FLAG, offsetof(type, field), NULL, "show no progress" }
#define CLI_DB(type, field)                                                                                            \
  { "db", 0, CLI_FILE, offsetof(type, field), "FILE", "database (default: $FORETRAIN_DB, else foretrain.db)" }
#define CLI_OUTPUT(type, field)                                                                                        \
  { "output", 'o', CLI_FILE, offsetof(type, field), "FILE", "file to write; of text, - is standard output", NULL, 1 }
#define CLI_JOBS_MOST 1024
#define CLI_JOBS(type, field)                                                                                          \
  { "jobs", 'j', CLI_NUMBER, offsetof(type, field), "N", "threads (one for each core)", .most = CLI_JOBS_MOST }

/* The row called `name` ("--set" or "-s", hidden ones too) and where its value goes from the beginning of the outer
 * struct; NULL where the table has none. *ret_table: the table that it stands in, and *ret_base where that begins. */
const CliOption *cli_option_find(const CliOption *options, const char *name, const CliOption **ret_table,
                                 gsize *ret_base);
/* One value into its field; `text` NULL for a flag. A list grows; cli_option_clear frees lists, not their texts. */
gboolean cli_option_set(const CliOption *option, const char *text, gpointer field, GError **error);
void cli_option_clear(const CliOption *options, gpointer values);
/* "on|off" of a choice, else the argument. Caller frees. */
char *cli_option_argument(const CliOption *option);
