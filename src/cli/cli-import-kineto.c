/* SPDX-License-Identifier: MIT */
/* foretrain import kineto: what was measured, the measured step as a trace file, and what that replays to. */
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base-display.h"
#include "base-error.h"
#include "cli-import-json.h"
#include "cli-import.h"
#include "cli-write.h"
#include "cli-written.h"
#include "import-fit.h"
#include "import-kineto-log.h"
#include "import-kineto-profile.h"
#include "import-kineto-program.h"
#include "import-kineto-rates.h"
#include "import-overlay.h"

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

static void print_measured(const ImportKinetoSet *set) {
  const ImportKineto *first = import_kineto_measured(set, 0);
  print_figures(set);
  if (first->steps > 0)
    printf("Step %u of %u that the profiler marked, in ms:\n", first->taken, first->steps);
  else
    puts("The profiler marked no step: all of the file is one, in ms:");
  cli_import_print_head("measured");
  for (guint i = 0; i < import_kineto_files(set); i++) {
    const ImportKineto *step = import_kineto_measured(set, i);
    g_autofree char *name = rank_name(set, i);
    cli_import_print_row(name, step->step, step->compute, step->communication, step->exposed, step->idle);
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

/* On the ranks of the machine where it has others than were measured: the file is written anew. */
static StudyTrace *fit_trace(const CliImport *asked, const ImportKinetoSet *set, guint32 *ret_ranks, GError **error) {
  guint32 measured = import_kineto_ranks(set);
  g_autoptr(StudyTrace) trace = cli_import_open_trace(asked, asked->output, measured, error);
  if (trace == NULL || !study_trace_gpus(trace, ret_ranks, error))
    return NULL;
  if (*ret_ranks == measured)
    return g_steal_pointer(&trace);
  return write_trace(asked, set, *ret_ranks, error) ? cli_import_open_trace(asked, asked->output, measured, error)
                                                    : NULL;
}

/* What the same step replays to where communication takes the time that it took; -1: it cannot be played. */
static SimTime step_with_measured_communication(const CliImport *asked, const ImportKinetoSet *set) {
  CliImport again = *asked;
  g_autofree char *path = NULL;
  double scale;
  int file = g_file_open_tmp("foretrain-XXXXXX.trace.csv", &path, NULL);
  if (file < 0)
    return -1;
  close(file);
  again.output = path;
  again.keep_communication = TRUE;
  gboolean written = write_trace(&again, set, 0, NULL);
  g_autoptr(StudyTrace) trace = written ? cli_import_open_trace(&again, path, import_kineto_ranks(set), NULL) : NULL;
  g_autoptr(RunReport) report = trace != NULL ? cli_import_play(&again, trace, &scale, NULL) : NULL;
  g_unlink(path);
  return report != NULL ? run_report_slowest(report)->step : -1;
}

static SimTime measured_communication(const ImportKinetoSet *set) {
  SimTime most = 0;
  for (guint i = 0; i < import_kineto_files(set); i++)
    most = MAX(most, import_kineto_measured(set, i)->communication);
  return most;
}

/* Beyond `LIMIT` percent: how much of it the network makes, and how much is left without it. */
#define LIMIT 3.0

static double percent_off(const CliReplayed *replayed, SimTime step) {
  return percent(step, replayed->measured) - 100;
}

static gboolean replay(const CliImport *asked, const ImportKinetoSet *set, CliReplayed *ret, GError **error) {
  CliReplayed replayed = {.measured = import_kineto_length(set), .kept = -1};
  g_autoptr(StudyTrace) trace = fit_trace(asked, set, &replayed.ranks, error);
  replayed.report = trace != NULL ? cli_import_play(asked, trace, &replayed.scale, error) : NULL;
  if (replayed.report == NULL)
    return FALSE;
  SimTime step = run_report_slowest(replayed.report)->step;
  gboolean same = replayed.ranks == import_kineto_ranks(set) && replayed.scale == 1;
  if (same && fabs(percent_off(&replayed, step)) > LIMIT)
    replayed.kept = asked->keep_communication ? step : step_with_measured_communication(asked, set);
  *ret = replayed;
  return TRUE;
}

static void print_why(const CliImport *asked, const ImportKinetoSet *set, const CliReplayed *replayed) {
  const RunClass *slowest = run_report_slowest(replayed->report);
  double rest = percent_off(replayed, replayed->kept);
  printf("Why: ");
  if (!asked->keep_communication)
    printf("%+.1f points are communication's, simulated %.2f ms on %s for the %.2f ms that were measured%s; ",
           percent_off(replayed, slowest->step) - rest, milliseconds(slowest->communication), asked->topology,
           milliseconds(measured_communication(set)),
           import_kineto_files(set) < import_kineto_ranks(set) ? ", with waits for peers that have no file" : "");
  printf("%+.1f are waits of streams and of the host, which such traces do not name\n", rest);
}

static void print_replayed(const CliImport *asked, const ImportKinetoSet *set, const CliReplayed *replayed) {
  cli_import_print_slowest(replayed->report);
  printf("Replayed on %s", asked->topology);
  if (replayed->ranks != import_kineto_ranks(set))
    printf(", %u ranks", replayed->ranks);
  if (replayed->scale != 1)
    printf(", compute times %g", replayed->scale);
  printf(": %+.1f %% of the measured step (%.2f ms on the host)\n",
         percent_off(replayed, run_report_slowest(replayed->report)->step), milliseconds(replayed->measured));
  if (replayed->kept >= 0)
    print_why(asked, set, replayed);
}

static void print_json(const CliImport *asked, const ImportKinetoSet *set, const CliReplayed *replayed) {
  CliWritten written;
  cli_written_begin(&written, (const char *const[]){asked->output, NULL});
  cli_import_json_measured(written.json, set);
  cli_import_json_replay(written.json, asked->topology, replayed);
  cli_written_print(&written);
}

/* ---- What it teaches ---- */

static GString *calibrate_links(const CliImport *asked, const ImportKinetoSet *set, GError **error) {
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

static gboolean teaches(const ImportKinetoRates *rates) {
  for (int kind = 0; kind < IMPORT_KINETO_RATES; kind++)
    if (rates->of[kind].calls > 0)
      return TRUE;
  return FALSE;
}

/* Links by the collectives, the GPU and its host by operations; either may be missing. */
static GString *calibrate(const CliImport *asked, const ImportKinetoSet *set, GError **error) {
  g_autoptr(GError) why = NULL;
  ImportKinetoRates rates;
  if (!import_kineto_rates(set, asked->topology, &rates, error))
    return NULL;
  GString *text = calibrate_links(asked, set, &why);
  if (text == NULL && !teaches(&rates)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s%s", why->message,
                rates.wide > 0
                    ? "; its matmuls are of 32-bit operands, and whether in fp32 or TF32 their kernels do not say"
                    : "");
    return NULL;
  }
  if (text == NULL) {
    text = g_string_new("# Figures of one cluster, measured: written by foretrain import kineto --calibrate.\n");
    base_display_append(text, "# Links keep the topology's figures: %s", why->message);
  }
  import_kineto_rates_write(&rates, text);
  return text;
}

static gboolean check_asked(const CliImport *asked, gboolean prints, GError **error) {
  const char *why = NULL;
  if (asked->executions != NULL && g_strv_length((char **)asked->executions) != g_strv_length((char **)asked->paths))
    why = "--execution is given once for each file, in their order";
  else if (asked->calibrate && asked->topology == NULL)
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

/* Figures are told before the file is written: what was measured is of use even where it cannot be replayed. */
static CliExit write_and_replay(const CliImport *asked, const ImportKinetoSet *set, gboolean prints, GError **error) {
  CliReplayed replayed = {.kept = -1};
  if (!asked->json && (asked->figures || !prints))
    print_measured(set);
  if (!asked->figures && !write_trace(asked, set, 0, error))
    return g_error_matches(*error, SIM_ERROR, SIM_ERROR_INPUT) ? CLI_INPUT : CLI_FAULT;
  if (asked->topology != NULL && !replay(asked, set, &replayed, error))
    return CLI_INPUT;
  if (asked->json)
    print_json(asked, set, &replayed);
  else if (replayed.report != NULL)
    print_replayed(asked, set, &replayed);
  run_report_free(replayed.report);
  return CLI_DONE;
}

CliExit cli_import_kineto(const CliImport *asked, GError **error) {
  gboolean prints = asked->output == NULL || strcmp(asked->output, "-") == 0;
  if (!check_asked(asked, prints, error))
    return CLI_INPUT;
  if (!asked->figures && !cli_written_check(asked->json, asked->output, "import", error))
    return CLI_INPUT;
  g_autoptr(ImportKinetoSet) set =
      import_kineto_open_linked(asked->paths, asked->executions, g_strv_length((char **)asked->paths), error);
  if (set == NULL)
    return CLI_INPUT;
  if (asked->profile)
    return cli_import_finish(asked, import_kineto_profile(set, error), error);
  if (asked->calibrate)
    return cli_import_finish(asked, calibrate(asked, set, error), error);
  return write_and_replay(asked, set, prints, error);
}
