/* SPDX-License-Identifier: MIT */
/* Writes an overlay. */
#include "import-overlay.h"

#include <string.h>

#include "base-display.h"

static const struct {
  const char *where;
  gboolean is_rate;
} kinds[IMPORT_FIGURES] = {
    [IMPORT_INTRA_ACHIEVABLE] = {"in one node", TRUE},
    [IMPORT_LAUNCH_FLOOR] = {"in one node", FALSE},
    [IMPORT_NIC_ACHIEVABLE] = {"over nodes", TRUE},
    [IMPORT_HOP_LATENCY] = {"over nodes", FALSE},
};

/* Which rows decide it. Caller frees. */
static char *rows_of(const ImportFit *fit, int kind) {
  return kinds[kind].is_rate
             ? g_strdup_printf("calls of %" G_GUINT64_FORMAT " MiB and more %s", fit->large >> 20, kinds[kind].where)
             : g_strdup_printf("calls of at most %" G_GUINT64_FORMAT " KiB %s", fit->small >> 10, kinds[kind].where);
}

/* In the units and to the digits that such figures are known to. */
static char *shown(ImportFigureKind kind, double value) {
  return kinds[kind].is_rate ? g_strdup_printf("%.2f GB/s", base_in_gb(value))
                             : g_strdup_printf("%.2f us", value * SIM_SECOND / SIM_MICROSECOND);
}

/* "all_reduce.log:12". Caller frees. */
static char *place_of(const char *file, guint line) {
  g_autofree char *base = g_path_get_basename(file);
  g_autofree char *name = base_display_line(base);
  return line > 0 ? g_strdup_printf("%s:%u", name, line) : g_steal_pointer(&name);
}

static void print_runs(const ImportFit *fit, GString *text) {
  for (guint i = 0; i < fit->runs->len; i++) {
    const ImportFitRun *fitted = &g_array_index(fit->runs, ImportFitRun, i);
    const ImportRun *run = fitted->run;
    g_autofree char *place = place_of(run->file, run->line);
    g_string_append_printf(text, "#   %s: %s", place, import_operation_names[run->operation]);
    if (run->ranks > 0)
      g_string_append_printf(text, ", %u ranks", run->ranks);
    if (run->derived)
      g_string_append(text, " (by the table's own arithmetic)");
    if (fitted->nodes > 0)
      g_string_append_printf(text, " on %u node%s", fitted->nodes, fitted->nodes == 1 ? "" : "s");
    if (run->gpu != NULL)
      g_string_append_printf(text, ", %s", run->gpu);
    if (run->nccl_version != NULL)
      g_string_append_printf(text, ", NCCL %s", run->nccl_version);
    if (fitted->unused != NULL)
      g_string_append_printf(text, ": not used: %s\n", fitted->unused);
    else
      g_string_append_printf(text,
                             ": %u rows, median error of foretold times %.1f %% before, %.1f %% with these figures\n",
                             fitted->rows, 100 * fitted->before, 100 * fitted->after);
  }
}

/* What makes a log a poor witness for this topology. */
static void print_doubts(const ImportFit *fit, GString *text) {
  for (guint i = 0; i < fit->runs->len; i++) {
    const ImportFitRun *fitted = &g_array_index(fit->runs, ImportFitRun, i);
    const ImportRun *run = fitted->run;
    g_autofree char *place = place_of(run->file, run->line);
    if (fitted->unused != NULL)
      continue;
    if (run->driven > 1)
      g_string_append_printf(text,
                             "# Beware: %s: one process drove %u GPUs and launched for one after the other, which "
                             "training does not: its small calls say nothing of the launch floor.\n",
                             place, run->driven);
    if (fitted->other_gpu)
      g_string_append_printf(text, "# Beware: %s: the log's GPUs are %s, the topology's are %s.\n", place, run->gpu,
                             fit->gpu);
  }
}

static void print_skipped(const ImportLog *log, GString *text) {
  if (log->skipped->len > 0)
    g_string_append(text, "# Lines not used:\n");
  for (guint i = 0; i < log->skipped->len; i++) {
    const ImportSkip *skip = g_ptr_array_index(log->skipped, i);
    g_autofree char *place = place_of(skip->file, skip->line);
    g_string_append_printf(text, "#   %s: %s\n", place, skip->why);
  }
}

static void print_unfitted(const ImportFit *fit, GString *text) {
  for (int kind = 0; kind < IMPORT_FIGURES; kind++) {
    const ImportFigure *figure = &fit->figures[kind];
    if (figure->fitted)
      continue;
    g_autofree char *asked = shown(kind, figure->value);
    g_autofree char *rows = rows_of(fit, kind);
    g_autofree char *refuted =
        g_strdup_printf("by %s it would be %s, but then the log as a whole is foretold worse", rows, asked);
    g_string_append_printf(text, "# %s keeps the topology's value: %s.\n", import_figure_keys[kind],
                           figure->rows == 0 ? "no row of the log shows it"
                           : figure->refuted ? refuted
                                             : "the rows do not depend on it");
  }
}

static void print_figure(const ImportFit *fit, ImportFigureKind kind, GString *text) {
  const ImportFigure *figure = &fit->figures[kind];
  g_autofree char *value = shown(kind, figure->value);
  g_autofree char *before = shown(kind, figure->before);
  const char *key = strchr(import_figure_keys[kind], '.') + 1;
  g_autofree char *rows = rows_of(fit, kind);
  g_string_append_printf(text, "%s = %s ; from %u %s; the topology's own is %s", key, value, figure->rows, rows,
                         before);
  if (figure->at_limit)
    g_string_append(text, kinds[kind].is_rate ? "; most rows are faster than even the raw rate allows"
                                              : "; most rows are faster than NCCL's own latencies, so this adds none");
  g_string_append_c(text, '\n');
}

GString *import_overlay_text(const ImportLog *log, const ImportFit *fit, const char *tool) {
  static const char *const groups[] = {"environment", "node", NULL};
  GString *text = g_string_new(NULL);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < log->files->len; i++)
    g_ptr_array_add(names, g_path_get_basename(g_ptr_array_index(log->files, i)));
  g_ptr_array_add(names, NULL);
  g_autofree char *files = g_strjoinv(", ", (char **)names->pdata);
  base_display_append(text, "# Figures of one cluster, measured: written by %s from %s on %s.", tool, files,
                      fit->topology);
  g_string_append(text, "# A topology takes it in with \"overlay = FILE\" under [environment], a workload under "
                        "[cluster].\n#\n# Runs:\n");
  print_runs(fit, text);
  print_doubts(fit, text);
  print_skipped(log, text);
  print_unfitted(fit, text);
  for (const char *const *group = groups; *group != NULL; group++) {
    gboolean headed = FALSE;
    for (int kind = 0; kind < IMPORT_FIGURES; kind++) {
      if (!fit->figures[kind].fitted || !g_str_has_prefix(import_figure_keys[kind], *group))
        continue;
      if (!headed)
        g_string_append_printf(text, "[%s]\n", *group);
      headed = TRUE;
      print_figure(fit, kind, text);
    }
  }
  return text;
}
