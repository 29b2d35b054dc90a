/* SPDX-License-Identifier: MIT */
/* foretrain import kineto: a measured step into a trace file, what was measured, and what the trace replays to. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-import.h"
#include "cli-write.h"
#include "import-kineto-program.h"
#include "study-trace.h"

static double milliseconds(SimTime time) {
  return (double)time / SIM_MILLISECOND;
}

static void print_row(const char *name, SimTime step, SimTime compute, SimTime communication, SimTime exposed,
                      SimTime idle) {
  double hidden = communication > 0 ? 100.0 * (double)(communication - exposed) / (double)communication : 0;
  printf("%-10s %11.2f %11.2f %14.2f %9.1f %% %11.2f %11.2f\n", name, milliseconds(step), milliseconds(compute),
         milliseconds(communication), hidden, milliseconds(exposed), milliseconds(idle));
}

static void print_measured(const ImportKineto *measured, guint n) {
  if (measured->steps > 0)
    printf("Step %u of %u that the profiler marked, in ms:\n", measured->taken, measured->steps);
  else
    puts("The profiler marked no step: all of the file, in ms:");
  printf("%-10s %11s %11s %14s %11s %11s %11s\n", "measured", "step", "compute", "communication", "hidden", "exposed",
         "idle");
  for (guint i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf("rank %u", i);
    print_row(n > 1 ? name : "", measured[i].step, measured[i].compute, measured[i].communication, measured[i].exposed,
              measured[i].idle);
  }
}

static SimTime longest(const ImportKineto *measured, guint n) {
  SimTime step = 0;
  for (guint i = 0; i < n; i++)
    step = MAX(step, measured[i].step);
  return step;
}

#define NODE 8 /* GPUs of most machines: fewer ranks are one node's, on any */

static StudyTrace *open_trace(const CliImport *asked, guint32 ranks, GError **error) {
  g_autofree char *some = g_strdup_printf("cluster.gpus_per_node=%u", ranks);
  g_autoptr(StudyTrace) trace = study_trace_open(asked->output, error);
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

static CliExit replay(const CliImport *asked, guint32 ranks, SimTime measured, GError **error) {
  StudyReplay how = STUDY_REPLAY_DEFAULT;
  how.times = STUDY_TIMES_KEPT;
  StudyOptions options = {0};
  g_autoptr(StudyTrace) trace = open_trace(asked, ranks, error);
  g_autoptr(RunReport) report = trace != NULL ? study_trace_run(trace, &how, &options, error) : NULL;
  if (report == NULL)
    return CLI_INPUT;
  const RunClass *slowest = run_report_slowest(report);
  print_row("replayed", slowest->step, slowest->compute, slowest->communication, slowest->exposed,
            slowest->step - slowest->compute - slowest->exposed);
  printf("Replayed on %s: %+.1f %% of the measured step\n", asked->topology,
         100 * ((double)slowest->step / (double)measured - 1));
  return CLI_DONE;
}

CliExit cli_import_kineto(const CliImport *asked, GError **error) {
  guint n = g_strv_length((char **)asked->paths);
  gboolean prints = asked->output == NULL || strcmp(asked->output, "-") == 0;
  if (prints && asked->topology != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "import kineto: --topology replays the written trace; add -o FILE");
    return CLI_INPUT;
  }
  ProgramOrigin origin = {0};
  g_autofree ImportKineto *measured = g_new0(ImportKineto, n);
  g_autoptr(Program) program = import_kineto_program(asked->paths, n, &origin, measured, error);
  if (program == NULL)
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  program_trace_write(program, &origin, NULL, text);
  program_origin_clear(&origin);
  if (prints) {
    cli_print(text->str);
    return CLI_DONE;
  }
  if (!cli_write(asked->output, text->str, error))
    return CLI_FAULT;
  print_measured(measured, n);
  return asked->topology != NULL ? replay(asked, program->n_ranks, longest(measured, n), error) : CLI_DONE;
}
