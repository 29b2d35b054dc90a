/* SPDX-License-Identifier: MIT */
/* Imported traces on a machine: opened with what the person set, played, and their sums as a row. */
#include <stdio.h>

#include "cli-import.h"
#include "cli-scale.h"

#define NODE 8 /* GPUs of most machines: fewer ranks are one node's, on any */

StudyTrace *cli_import_open_trace(const CliImport *asked, const char *path, guint32 ranks, GError **error) {
  g_autofree char *some = g_strdup_printf("cluster.gpus_per_node=%u", ranks);
  g_autoptr(StudyTrace) trace = study_trace_open(path, error);
  g_autofree char *topology = g_strconcat("cluster.topology=", asked->topology, NULL);
  if (trace == NULL || !study_trace_set(trace, topology, error))
    return NULL;
  if (ranks < NODE && !study_trace_set(trace, some, error))
    return NULL;
  for (const char *const *set = asked->sets; set != NULL && *set != NULL; set++)
    if (!study_trace_set(trace, *set, error))
      return NULL;
  return g_steal_pointer(&trace);
}

RunReport *cli_import_play(const CliImport *asked, const StudyTrace *trace, double *ret_scale, GError **error) {
  StudyReplay how = STUDY_REPLAY_DEFAULT;
  StudyOptions options = {0};
  how.times = STUDY_TIMES_KEPT;
  if (!cli_scale(asked->scales, &how, error))
    return NULL;
  *ret_scale = how.compute_scale;
  return study_trace_run(trace, &how, &options, error);
}

void cli_import_print_head(const char *what) {
  printf("%-10s %11s %11s %14s %11s %11s %11s\n", what, "step", "compute", "communication", "hidden", "exposed",
         "idle");
}

static double milliseconds(SimTime time) {
  return (double)time / SIM_MILLISECOND;
}

void cli_import_print_row(const char *name, SimTime step, SimTime compute, SimTime communication, SimTime exposed,
                          SimTime idle) {
  double hidden = communication > 0 ? 100.0 * (double)(communication - exposed) / (double)communication : 0;
  printf("%-10s %11.2f %11.2f %14.2f %9.1f %% %11.2f %11.2f\n", name, milliseconds(step), milliseconds(compute),
         milliseconds(communication), hidden, milliseconds(exposed), milliseconds(idle));
}

void cli_import_print_slowest(const RunReport *report) {
  const RunClass *slowest = run_report_slowest(report);
  cli_import_print_row("replayed", slowest->step, slowest->compute, slowest->communication, slowest->exposed,
                       slowest->step - slowest->compute - slowest->exposed);
}
