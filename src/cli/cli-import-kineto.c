/* SPDX-License-Identifier: MIT */
/* foretrain import kineto: what was measured, the measured step as a trace file, and what that replays to. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-import.h"
#include "cli-scale.h"
#include "cli-write.h"
#include "import-fit.h"
#include "import-kineto-log.h"
#include "import-kineto-profile.h"
#include "import-kineto-program.h"
#include "import-overlay.h"
#include "study-trace.h"

static double milliseconds(SimTime time) {
  return (double)time / SIM_MILLISECOND;
}

static double percent(SimTime part, SimTime whole) {
  return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- What was measured ---- */

static char *rank_name(const ImportKinetoSet *set, guint file) {
  if (import_kineto_files(set) == 1)
    return g_strdup("");
  gint64 rank = import_kineto_rank(set, file);
  return g_strdup_printf("rank %" G_GINT64_FORMAT, rank >= 0 ? rank : (gint64)file);
}

static void print_figures(const ImportKinetoSet *set) {
  puts("All of the file (without the last of several marked steps), in ms, by HolisticTraceAnalysis' definitions:");
  printf("%-10s %12s %20s %20s %20s %14s %9s\n", "", "kernel time", "compute", "non-compute", "idle", "communication",
         "overlap");
  for (guint i = 0; i < import_kineto_files(set); i++) {
    const ImportKinetoFigures *all = &import_kineto_measured(set, i)->figures;
    g_autofree char *name = rank_name(set, i);
    printf("%-10s %12.3f %11.3f %6.2f %% %11.3f %6.2f %% %11.3f %6.2f %% %14.3f", name, milliseconds(all->kernel_time),
           milliseconds(all->compute), percent(all->compute, all->kernel_time), milliseconds(all->non_compute),
           percent(all->non_compute, all->kernel_time), milliseconds(all->idle), percent(all->idle, all->kernel_time),
           milliseconds(all->communication));
    if (all->communication > 0)
      printf(" %7.2f %%\n", percent(all->overlap, all->communication));
    else
      printf(" %9s\n", "none");
  }
}

static void print_row(const char *name, SimTime step, SimTime compute, SimTime communication, SimTime exposed,
                      SimTime idle) {
  printf("%-10s %11.2f %11.2f %14.2f %9.1f %% %11.2f %11.2f\n", name, milliseconds(step), milliseconds(compute),
         milliseconds(communication), percent(communication - exposed, communication), milliseconds(exposed),
         milliseconds(idle));
}

static void print_measured(const ImportKinetoSet *set) {
  const ImportKineto *first = import_kineto_measured(set, 0);
  print_figures(set);
  if (first->steps > 0)
    printf("Step %u of %u that the profiler marked, in ms:\n", first->taken, first->steps);
  else
    puts("The profiler marked no step: all of the file is one, in ms:");
  printf("%-10s %11s %11s %14s %11s %11s %11s\n", "measured", "step", "compute", "communication", "hidden", "exposed",
         "idle");
  for (guint i = 0; i < import_kineto_files(set); i++) {
    const ImportKineto *step = import_kineto_measured(set, i);
    g_autofree char *name = rank_name(set, i);
    print_row(name, step->step, step->compute, step->communication, step->exposed, step->idle);
  }
}

/* ---- The trace, and its replay ---- */

static gboolean write_trace(const CliImport *asked, const ImportKinetoSet *set, guint32 ranks, GError **error) {
  ImportKinetoOptions how = {
      .keep_unsized = asked->keep_unsized, .keep_communication = asked->keep_communication, .ranks = ranks};
  ProgramOrigin origin = {0};
  g_autoptr(Program) program = import_kineto_program(set, &how, &origin, error);
  if (program == NULL)
    return FALSE;
  g_autoptr(GString) text = g_string_new(NULL);
  program_trace_write(program, &origin, NULL, text);
  program_origin_clear(&origin);
  if (asked->output != NULL && strcmp(asked->output, "-") != 0)
    return cli_write(asked->output, text->str, error);
  cli_print(text->str);
  return TRUE;
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

/* On the ranks of the machine where it has others than were measured: the file is written anew. */
static StudyTrace *fit_trace(const CliImport *asked, const ImportKinetoSet *set, guint32 *ret_ranks, GError **error) {
  guint32 measured = import_kineto_ranks(set);
  g_autoptr(StudyTrace) trace = open_trace(asked, measured, error);
  if (trace == NULL || !study_trace_gpus(trace, ret_ranks, error))
    return NULL;
  if (*ret_ranks == measured)
    return g_steal_pointer(&trace);
  return write_trace(asked, set, *ret_ranks, error) ? open_trace(asked, measured, error) : NULL;
}

static CliExit replay(const CliImport *asked, const ImportKinetoSet *set, GError **error) {
  StudyReplay how = STUDY_REPLAY_DEFAULT;
  how.times = STUDY_TIMES_KEPT;
  StudyOptions options = {0};
  guint32 ranks;
  if (!cli_scale(asked->scales, &how, error))
    return CLI_INPUT;
  g_autoptr(StudyTrace) trace = fit_trace(asked, set, &ranks, error);
  g_autoptr(RunReport) report = trace != NULL ? study_trace_run(trace, &how, &options, error) : NULL;
  if (report == NULL)
    return CLI_INPUT;
  const RunClass *slowest = run_report_slowest(report);
  print_row("replayed", slowest->step, slowest->compute, slowest->communication, slowest->exposed,
            slowest->step - slowest->compute - slowest->exposed);
  printf("Replayed on %s", asked->topology);
  if (ranks != import_kineto_ranks(set))
    printf(", %u ranks", ranks);
  if (how.compute_scale != 1)
    printf(", compute times %g", how.compute_scale);
  printf(": %+.1f %% of the measured step (%.2f ms on the host)\n",
         100 * ((double)slowest->step / (double)import_kineto_length(set) - 1),
         milliseconds(import_kineto_length(set)));
  return CLI_DONE;
}

/* ---- What it teaches ---- */

static GString *calibrate(const CliImport *asked, const ImportKinetoSet *set, GError **error) {
  guint nodes = asked->nodes > 0 ? (guint)asked->nodes : 1;
  g_autoptr(ImportLog) log = import_kineto_log(set, nodes, error);
  ImportFitOptions how = {.topology = asked->topology, .small = IMPORT_KINETO_SMALL, .large = IMPORT_KINETO_LARGE};
  ImportFit fit;
  if (log == NULL || !import_fit_run(log, &how, &fit, error))
    return NULL;
  GString *text = import_overlay_text(log, &fit, "foretrain import kineto --calibrate");
  import_fit_clear(&fit);
  return text;
}

static CliExit write_profile(const CliImport *asked, const ImportKinetoSet *set, GError **error) {
  g_autoptr(GString) text = import_kineto_profile(set, error);
  if (text == NULL)
    return CLI_INPUT;
  if (asked->output != NULL && strcmp(asked->output, "-") != 0)
    return cli_write(asked->output, text->str, error) ? CLI_DONE : CLI_FAULT;
  cli_print(text->str);
  return CLI_DONE;
}

static gboolean check_asked(const CliImport *asked, gboolean prints, GError **error) {
  const char *why = NULL;
  if (asked->calibrate && asked->topology == NULL)
    why = "--calibrate needs --topology, the machine that it ran on";
  else if (asked->calibrate && (asked->figures || asked->sets != NULL || asked->scales != NULL || asked->keep_unsized ||
                                asked->keep_communication))
    why = "--calibrate replays nothing: leave out --figures, --set, --scale and --keep-…";
  else if (asked->profile && (asked->calibrate || asked->figures || asked->topology != NULL || asked->keep_unsized ||
                              asked->keep_communication))
    why = "--profile writes times of layers alone: leave out --topology, --figures, --calibrate and --keep-…";
  else if (asked->nodes > 0 && !asked->calibrate)
    why = "--nodes goes with --calibrate; a replay takes --set cluster.nodes=N";
  else if (asked->figures && (asked->output != NULL || asked->topology != NULL))
    why = "--figures prints what was measured, and writes and replays nothing; leave out -o and --topology";
  else if (prints && asked->topology != NULL && !asked->calibrate)
    why = "--topology replays the written trace; add -o FILE";
  else if (asked->topology == NULL && (asked->sets != NULL || asked->scales != NULL))
    why = "--set and --scale are of the replay; add --topology T";
  if (why != NULL)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "import kineto: %s", why);
  return why == NULL;
}

CliExit cli_import_kineto(const CliImport *asked, GError **error) {
  gboolean prints = asked->output == NULL || strcmp(asked->output, "-") == 0;
  if (!check_asked(asked, prints, error))
    return CLI_INPUT;
  g_autoptr(ImportKinetoSet) set = import_kineto_open(asked->paths, g_strv_length((char **)asked->paths), error);
  if (set == NULL)
    return CLI_INPUT;
  if (asked->profile)
    return write_profile(asked, set, error);
  if (asked->calibrate)
    return cli_import_finish(asked, calibrate(asked, set, error), error);
  if (asked->figures || !prints)
    print_measured(set);
  if (asked->figures)
    return CLI_DONE;
  if (!write_trace(asked, set, 0, error))
    return g_error_matches(*error, SIM_ERROR, SIM_ERROR_INPUT) ? CLI_INPUT : CLI_FAULT;
  return asked->topology != NULL ? replay(asked, set, error) : CLI_DONE;
}
