/* Writes an overlay. */
#include "import-overlay.h"

#include <string.h>

static const struct {
  const char *rows;
  gboolean is_rate;
} kinds[IMPORT_FIGURES] = {
    [IMPORT_INTRA_ACHIEVABLE] = {"calls of 128 MiB and more in one node", TRUE},
    [IMPORT_LAUNCH_FLOOR] = {"calls of at most 4 KiB in one node", FALSE},
    [IMPORT_NIC_ACHIEVABLE] = {"calls of 128 MiB and more over nodes", TRUE},
    [IMPORT_NIC_LATENCY] = {"calls of at most 4 KiB over nodes", FALSE},
};

/* In the units and to the digits that such figures are known to. */
static char *shown(ImportFigureKind kind, double value) {
  return kinds[kind].is_rate ? g_strdup_printf("%.2f GB/s", base_in_gb(value))
                             : g_strdup_printf("%.2f us", value * SIM_SECOND / SIM_MICROSECOND);
}

static void print_runs(const ImportFit *fit, GString *text) {
  for (guint i = 0; i < fit->runs->len; i++) {
    const ImportFitRun *fitted = &g_array_index(fit->runs, ImportFitRun, i);
    const ImportRun *run = fitted->run;
    g_string_append_printf(text, "#   line %u: %s", run->line, import_operation_names[run->operation]);
    if (run->ranks > 0)
      g_string_append_printf(text, ", %u ranks", run->ranks);
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

static void print_skipped(const ImportLog *log, GString *text) {
  if (log->skipped->len > 0)
    g_string_append(text, "# Lines not used:\n");
  for (guint i = 0; i < log->skipped->len; i++) {
    const ImportSkip *skip = g_ptr_array_index(log->skipped, i);
    g_string_append_printf(text, "#   line %u: %s\n", skip->line, skip->why);
  }
}

static void print_unfitted(const ImportFit *fit, GString *text) {
  for (int kind = 0; kind < IMPORT_FIGURES; kind++) {
    const ImportFigure *figure = &fit->figures[kind];
    if (figure->fitted)
      continue;
    g_string_append_printf(text, "# %s stays the topology's: %s.\n", import_figure_keys[kind],
                           figure->rows == 0 ? "no row decides it" : "these rows do not depend on it");
  }
}

static void print_figure(const ImportFit *fit, ImportFigureKind kind, GString *text) {
  const ImportFigure *figure = &fit->figures[kind];
  g_autofree char *value = shown(kind, figure->value);
  g_autofree char *before = shown(kind, figure->before);
  const char *key = strchr(import_figure_keys[kind], '.') + 1;
  g_string_append_printf(text, "%s = %s ; from %u %s; the topology's own is %s", key, value, figure->rows,
                         kinds[kind].rows, before);
  if (figure->at_limit)
    g_string_append(text, kinds[kind].is_rate ? "; most rows are faster than even the raw rate allows"
                                              : "; most rows are faster than NCCL's own latencies, so this adds none");
  g_string_append_c(text, '\n');
}

GString *import_overlay_text(const ImportLog *log, const ImportFit *fit) {
  static const char *const groups[] = {"environment", "node", NULL};
  GString *text = g_string_new(NULL);
  g_autofree char *file = g_path_get_basename(log->file);
  g_string_append_printf(text,
                         "# Figures of one cluster, measured: written by foretrain import nccl-tests from %s on %s.\n"
                         "# A topology takes it in with \"overlay = FILE\" under [environment], a workload under "
                         "[cluster].\n#\n# Runs:\n",
                         file, fit->topology);
  print_runs(fit, text);
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
