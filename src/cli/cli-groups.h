/* SPDX-License-Identifier: MIT */
/* Groups of options that several verbs share: a struct for each, and the table of its options.
 *
 *   typedef struct { CliWorkload workload; const char *const *words; } Fit;
 *   {CLI_GROUP_ROW(Fit, workload, cli_workload_options)}
 *
 * A verb that has a group of default values other than zeros says so with the group's CLI_…_DEFAULT. */
#pragma once

#include "cli-option.h"
#include "study.h"

#define CLI_GROUP_ROW(type, field, table)                                                                              \
  { NULL, 0, CLI_GROUP, offsetof(type, field), NULL, NULL, NULL, 0, 0, NULL, table }

/* What is laid over a workload. */
typedef struct {
  const char *const *sets; /* --set, in order; NULL: none */
  const char *topology;    /* NULL: as the workload says */
} CliSettings;
extern const CliOption cli_settings_options[];
/* The workload with all of it. */
Study *cli_open_study(const CliSettings *settings, const char *workload, GError **error);
/* Over a study that is there. */
gboolean cli_settings_lay(const CliSettings *settings, Study *study, GError **error);

/* How a step is played: the plain twins of clever ways, and other switches of developers. */
typedef struct {
  StudyOptions study;
  BaseTrace trace; /* of --trace-points */
  gboolean given;  /* any was */
} CliTwins;
#define CLI_TWINS_DEFAULT                                                                                              \
  {                                                                                                                    \
    .study = {.timeline = TRUE, .fold = TRUE }                                                                         \
  }
extern const CliOption cli_twins_options[];

/* A share of what is to be played, for several machines. */
typedef struct {
  guint64 index, of; /* index: from 1 */
} CliShard;
#define CLI_SHARD_DEFAULT                                                                                              \
  { 1, 1 }
extern const CliOption cli_shard_options[];

/* A workload as it is to be played. */
typedef struct {
  CliSettings settings;
  CliTwins twins;
} CliWorkload;
#define CLI_WORKLOAD_DEFAULT                                                                                           \
  { .twins = CLI_TWINS_DEFAULT }
extern const CliOption cli_workload_options[];
/* An option was given that only a run that is yet to be played can obey. */
gboolean cli_workload_plays(const CliWorkload *workload);

extern const char *const cli_no_yes[];
/* Whether the timeline is kept, into a StudyOptions. */
#define CLI_TIMELINE(type, field, words)                                                                               \
  { "timeline", 0, CLI_CHOICE, offsetof(type, field.timeline), "yes|no", words, cli_no_yes }

/* Where results go: --db, FORETRAIN_DB, foretrain.db. NULL and SIM_ERROR_INPUT where a given name is blank. `db`: as
 * given; NULL: not. */
const char *cli_database(const char *db, GError **error);

/* --edge-fits into a gboolean. */
#define CLI_EDGE_FITS(type, field)                                                                                     \
  { "edge-fits", 0, CLI_FLAG, offsetof(type, field), NULL, "the verdict edge counts as fitting" }

/* What becomes of a step that was played. */
typedef struct {
  const char *db;
  gboolean json, quiet, explain, require_fit, edge_fits;
} CliOutcome;
extern const CliOption cli_outcome_options[];
