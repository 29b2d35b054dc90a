/* SPDX-License-Identifier: MIT */
/* A verb: its name, its table of options, what runs it; and the parsing of its command line by GOption.
 *
 *   const CliVerb cli_best = {"best", "--minimise METRIC", "the best run", options, sizeof(Best), &defaults, best};
 *   return cli_verb_run(&cli_best, argc, argv, &error);                  // argv[0] is the verb
 *
 * A verb of several kinds (plot, list, import) is a table of verbs: its first word chooses one, and an option that only
 * another kind has is refused. */
#pragma once

#include "cli-option.h"

/* Exit status: 0 done (an out-of-memory verdict is done), 1 a check failed or --require-fit met no fit, 2 the
 * input is at fault, 3 the fault is ours or the machine's, 130 stopped by Ctrl-C after finishing what was begun. */
typedef enum { CLI_DONE, CLI_FAILED, CLI_INPUT, CLI_FAULT, CLI_STOPPED = 130 } CliExit;

/* `options`: the verb's struct, filled. Results go to stdout, messages to stderr. */
typedef CliExit (*CliVerbRun)(gconstpointer options, GError **error);

typedef struct CliVerb {
  const char *name, *usage, *summary; /* `usage`: what stands after the verb */
  const CliOption *options;
  gsize size;             /* of the verb's struct */
  gconstpointer defaults; /* such a struct; NULL: zeros */
  CliVerbRun run;
  const char *refusal; /* of a kind: what is said of an option that it has not and another kind has; NULL: just that */
  /* Of a verb of several kinds, instead of the above but name, usage and summary. */
  const struct CliVerb *const *kinds; /* NULL-terminated */
  const char *wants;                  /* without words: with %s for the kinds' names */
  const char *unknown;                /* what stands before a kind that is none */
} CliVerb;

CliExit cli_verb_run(const CliVerb *verb, int argc, char **argv, GError **error);
/* Names of a table of verbs, NULL-terminated; g_free. */
const char **cli_verb_names(const CliVerb *const *verbs);
/* Every option that the verb, or any kind of it, shows, each name once. g_ptr_array_unref. */
GPtrArray *cli_verb_options(const CliVerb *verb);
/* Those that no verb has to name: --help and the like. */
extern const CliOption cli_verb_common[];
