/* foretrain replay: a trace file on a cluster. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli.h"
#include "report-text.h"
#include "study-trace.h"

static gboolean read_scale(const char *text, StudyReplay *replay, GError **error) {
  static const char *const names[] = {"compute", NULL};
  g_auto(GStrv) parts = g_strsplit(text, "=", 2);
  g_autofree char *advice = base_names_advice(names, parts[0] != NULL ? parts[0] : "");
  g_autoptr(GError) local = NULL;
  double factor;
  if (parts[0] == NULL || base_names_find(names, parts[0]) < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--scale: nothing to scale is called \"%s\"%s",
                parts[0] != NULL ? parts[0] : "", advice);
    return FALSE;
  }
  if (parts[1] == NULL || !base_quantity_parse(parts[1], BASE_UNIT_NONE, &factor, &local) || factor < 1e-6 ||
      factor > 1e6) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--scale: expected compute=F, F from 1e-6 to 1e6, found \"%s\"",
                text);
    return FALSE;
  }
  replay->compute_scale = factor;
  return TRUE;
}

static gboolean read_replay(const CliOptions *options, StudyReplay *replay, GError **error) {
  *replay = STUDY_REPLAY_DEFAULT;
  if (options->retime && options->keep_times) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "replay: --retime and --keep-times exclude each other");
    return FALSE;
  }
  if (options->retime || options->keep_times)
    replay->times = options->retime ? STUDY_TIMES_OF_SHAPES : STUDY_TIMES_KEPT;
  for (char **scale = options->scales; scale != NULL && *scale != NULL; scale++)
    if (!read_scale(*scale, replay, error))
      return FALSE;
  return TRUE;
}

static StudyTrace *open_trace(const CliOptions *options, GError **error) {
  g_autoptr(StudyTrace) trace = study_trace_open(options->rest[0], error);
  if (trace == NULL)
    return NULL;
  if (options->topology != NULL) {
    g_autofree char *assignment = g_strconcat("cluster.topology=", options->topology, NULL);
    if (!study_trace_set(trace, assignment, error))
      return NULL;
  }
  for (char **set = options->sets; set != NULL && *set != NULL; set++)
    if (!study_trace_set(trace, *set, error))
      return NULL;
  return g_steal_pointer(&trace);
}

CliExit cli_replay(const CliOptions *options, GError **error) {
  StudyReplay replay;
  if (!cli_want(options, 1, "a trace file", error) || cli_database(options, error) == NULL ||
      !read_replay(options, &replay, error))
    return CLI_INPUT;
  g_autoptr(StudyTrace) trace = open_trace(options, error);
  g_autoptr(RunReport) report = trace != NULL ? study_trace_run(trace, &replay, &options->study, error) : NULL;
  if (report == NULL)
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  (options->json ? report_json : report_summary)(report, text);
  if (options->explain && !options->json)
    report_explain(&report, 1, text);
  return cli_finish(options, &report, 1, text, error);
}
