/* SPDX-License-Identifier: MIT */
/* The command line: every verb has a file of its own with its struct, its table of options and what runs it; here they
 * are named for the table in cli-main.c. */
#pragma once

#include "cli-groups.h"
#include "cli-verb.h"

/* NULL-terminated, in the order in which they are shown. */
extern const CliVerb *const cli_verbs[];

extern const CliVerb cli_run, cli_stages, cli_fit, cli_collective, cli_layers, cli_plot, cli_validate, cli_sweep;
extern const CliVerb cli_merge, cli_best, cli_check, cli_compare, cli_trace, cli_replay, cli_list, cli_import,
    cli_export, cli_schema, cli_report, cli_advise, cli_explain;

/* 2 or 3, as the error is theirs or ours. */
CliExit cli_exit_of(const GError *error);
/* Says it on stderr; the same. */
CliExit cli_tell(const GError *error);
struct StudyMpi;
/* Of several processes each says what went wrong before any of them ends: the launcher ends all with the first that
 * fails. *error is then told, and NULL. */
CliExit cli_end_together(const struct StudyMpi *mpi, CliExit status, GError **error);

/* Reports into the database, then text to stdout (with --quiet: neither more nor less than the first). `timeline`:
 * kept. CLI_FAILED where --require-fit met one that does not fit. */
CliExit cli_finish(const CliOutcome *outcome, gboolean timeline, RunReport *const *reports, guint n, GString *text,
                   GError **error);
