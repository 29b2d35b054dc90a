/* SPDX-License-Identifier: MIT */
/* foretrain replay: a trace file on a cluster. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-scale.h"
#include "cli.h"
#include "report-text.h"
#include "study-trace.h"

typedef struct {
  CliWorkload workload;
  CliOutcome outcome;
  const char *const *words, *const *scales;
  gboolean retime, keep_times;
} Replay;

static const CliOption options[] = {
    CLI_WORDS(Replay, words, 1, 1, "a trace file"),
    CLI_GROUP_ROW(Replay, workload, cli_workload_options),
    CLI_GROUP_ROW(Replay, outcome, cli_outcome_options),
    CLI_TIMELINE(Replay, workload.twins.study, "keep the timeline in the database (yes)"),
    {"scale", 0, CLI_TEXTS, offsetof(Replay, scales), "compute=F", "stretch compute times by a factor"},
    {"retime", 0, CLI_FLAG, offsetof(Replay, retime), NULL, "compute times from the shapes of rows, on any GPU"},
    {"keep-times", 0, CLI_FLAG, offsetof(Replay, keep_times), NULL, "the trace's compute times, whatever the GPU"},
    {NULL}};

static gboolean read_replay(const Replay *asked, StudyReplay *replay, GError **error) {
  *replay = STUDY_REPLAY_DEFAULT;
  if (asked->retime && asked->keep_times) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "replay: --retime and --keep-times exclude each other");
    return FALSE;
  }
  if (asked->retime || asked->keep_times)
    replay->times = asked->retime ? STUDY_TIMES_OF_SHAPES : STUDY_TIMES_KEPT;
  return cli_scale(asked->scales, replay, error);
}

static StudyTrace *open_trace(const Replay *asked, GError **error) {
  g_autoptr(StudyTrace) trace = study_trace_open(asked->words[0], error);
  if (trace == NULL)
    return NULL;
  if (asked->workload.settings.topology != NULL) {
    g_autofree char *assignment = g_strconcat("cluster.topology=", asked->workload.settings.topology, NULL);
    if (!study_trace_set(trace, assignment, error))
      return NULL;
  }
  for (const char *const *set = asked->workload.settings.sets; set != NULL && *set != NULL; set++)
    if (!study_trace_set(trace, *set, error))
      return NULL;
  return g_steal_pointer(&trace);
}

static CliExit replay(gconstpointer data, GError **error) {
  const Replay *asked = data;
  StudyReplay how;
  if (cli_database(asked->outcome.db, error) == NULL || !read_replay(asked, &how, error))
    return CLI_INPUT;
  g_autoptr(StudyTrace) trace = open_trace(asked, error);
  g_autoptr(RunReport) report =
      trace != NULL ? study_trace_run(trace, &how, &asked->workload.twins.study, error) : NULL;
  if (report == NULL)
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  (asked->outcome.json ? report_json : report_summary)(report, text);
  if (asked->outcome.explain && !asked->outcome.json)
    report_explain(&report, 1, text);
  return cli_finish(&asked->outcome, asked->workload.twins.study.timeline, &report, 1, text, error);
}

static const Replay defaults = {.workload = CLI_WORKLOAD_DEFAULT};

const CliVerb cli_replay = {"replay", "FILE --topology T", "play a trace file: summary and verdict, into the database",
                            options,  sizeof(Replay),      &defaults,
                            replay};
