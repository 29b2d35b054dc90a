/* SPDX-License-Identifier: MIT */
/* Where compute stands still, run beside run: exposed and idle time by cause as one bar each.
 *
 *   ms │        ▒ bandwidth        the bar's height: exposed + idle, written on it with its share of the step
 *      │  ░     ▒
 *      │  ▒  ▒  ▓ boundary
 *      └──────────
 *        Z-1 Z-2 Z-3
 */
#include <string.h>

#include "base-error.h"
#include "report-looks.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-words.h"

#define HEIGHT   520  /* pixels */
#define HALF     0.36 /* of the distance between bars */
#define ROOM     1.12 /* of the axis above the highest */
#define LINES    3    /* below the axis */
#define LEAST_MS 0.01 /* of an axis where nothing is exposed */

typedef struct {
  GPtrArray *reports; /* RunReport */
  const gint64 *run_ids;
  ReportPicture *picture;
  SimTime highest;
} Bars;

/* What a cause makes of each bar, above the causes before it. FALSE, and nothing written: no run has it. */
static gboolean print_cause(const Bars *bars, RunCause cause, GString *data) {
  gsize before = data->len;
  for (guint i = 0; i < bars->reports->len; i++) {
    const RunClass *slow = run_report_slowest(bars->reports->pdata[i]);
    SimTime below = 0;
    for (guint c = 0; c < cause; c++)
      below += slow->by_cause[c];
    if (slow->by_cause[cause] == 0)
      continue;
    if (data->len == before)
      g_string_append_printf(data, "# %s: run bottom_ms top_ms\n", run_cause_names[cause]);
    g_string_append_printf(data, "%u %.9g %.9g\n", i, base_in_ms(below), base_in_ms(below + slow->by_cause[cause]));
  }
  if (data->len == before)
    return FALSE;
  g_string_append(data, "\n\n");
  return TRUE;
}

static void print_totals(const Bars *bars, GString *data) {
  g_string_append(data, "# exposed and idle: run total_ms text\n");
  for (guint i = 0; i < bars->reports->len; i++) {
    const RunClass *slow = run_report_slowest(bars->reports->pdata[i]);
    SimTime still = slow->exposed + slow->idle;
    g_string_append_printf(data, "%u %.9g \"%.2f ms, %.1f %%\"\n", i, base_in_ms(still),
                           (double)report_centi_ms(still) / 100, 100 * (double)still / (double)slow->step);
  }
}

static void print_plot(const Bars *bars) {
  ReportPicture *picture = bars->picture;
  guint blocks = 0;
  g_string_append(picture->script, "plot \\\n");
  for (guint cause = 0; cause < RUN_CAUSES; cause++)
    if (print_cause(bars, (RunCause)cause, picture->data))
      g_string_append_printf(picture->script,
                             "  %s index %u using 1:(($2+$3)/2):($1-%g):($1+%g):2:3 with boxxyerror fs solid 1 "
                             "noborder lc rgb '%s' title '%s', \\\n",
                             picture->data_name, blocks++, HALF, HALF,
                             report_picture_colour(picture, report_look(run_cause_names[cause])->colour),
                             run_cause_names[cause]);
  print_totals(bars, picture->data);
  g_string_append_printf(picture->script, "  %s index %u using 1:2:3 with labels offset 0,0.7 tc rgb ink notitle\n",
                         picture->data_name, blocks);
}

typedef struct {
  gboolean models, clusters;
} Differing;

static Differing differing(const Bars *bars) {
  const RunIdentity *first = &((const RunReport *)bars->reports->pdata[0])->identity;
  Differing differ = {FALSE, FALSE};
  for (guint i = 1; i < bars->reports->len; i++) {
    const RunIdentity *other = &((const RunReport *)bars->reports->pdata[i])->identity;
    differ.models |= strcmp(first->model, other->model) != 0;
    differ.clusters |= strcmp(first->gpu, other->gpu) != 0 || first->gpus != other->gpus;
  }
  return differ;
}

/* "llama-2-7b\nZeRO-2 (fsdp2)\nrun 3: 1008.88 ms", for the script. */
static char *bar_name(const Bars *bars, guint bar, Differing differ) {
  const RunReport *report = bars->reports->pdata[bar];
  const RunIdentity *identity = &report->identity;
  g_autofree char *stage = g_strdup_printf("ZeRO-%u (%s)", identity->zero_stage, identity->framework);
  g_autofree char *cluster = g_strdup_printf("%u × %s", identity->gpus, identity->gpu);
  g_autofree char *first = report_picture_quote(identity->model), *second = report_picture_quote(stage),
                  *third = report_picture_quote(cluster);
  return g_strdup_printf("%s%s%s%s%s.\"\\nrun %" G_GINT64_FORMAT ": %.2f ms%s\"", differ.models ? first : "",
                         differ.models ? ".\"\\n\"." : "", second, differ.clusters ? ".\"\\n\"." : "",
                         differ.clusters ? third : "", bars->run_ids[bar],
                         (double)report_centi_ms(run_report_slowest(report)->step) / 100,
                         run_report_runs_out(report) ? " if it fitted" : "");
}

static void print_axes(const Bars *bars) {
  GString *script = bars->picture->script;
  const RunIdentity *first = &((const RunReport *)bars->reports->pdata[0])->identity;
  Differing differ = differing(bars);
  g_autoptr(GString) title = g_string_new("Why compute stands still, per step of the slowest ranks");
  if (!differ.models)
    g_string_append_printf(title, ": %s", first->model);
  if (!differ.clusters)
    g_string_append_printf(title, " on %u × %s", first->gpus, first->gpu);
  g_autofree char *quoted = report_picture_quote(title->str);
  g_string_append_printf(script,
                         "set title %s\nset ylabel 'exposed and idle, ms'\nset xrange [-0.6:%u.6]\n"
                         "set yrange [0:%.9g]\nset key outside right top vertical Left reverse invert samplen 2 "
                         "spacing 1.1\nset tics nomirror out\nset border 3\nset bmargin %u\n"
                         "set grid ytics lc rgb rule\nset xtics (",
                         quoted, bars->reports->len - 1, MAX(base_in_ms(bars->highest), LEAST_MS) * ROOM,
                         LINES + differ.models + differ.clusters);
  for (guint i = 0; i < bars->reports->len; i++) {
    g_autofree char *name = bar_name(bars, i, differ);
    g_string_append_printf(script, "%s%s %u", i > 0 ? ", " : "", name, i);
  }
  g_string_append(script, ")\n");
}

static gboolean load(StoreDb *db, const gint64 *run_ids, guint n, Bars *bars, GError **error) {
  for (guint i = 0; i < n; i++) {
    RunReport *report = store_db_load(db, run_ids[i], TRUE, error);
    if (report == NULL)
      return FALSE;
    g_ptr_array_add(bars->reports, report);
    if ((report->missing & RUN_MISSING_TIMELINE) != 0) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "run %" G_GINT64_FORMAT
                  " has no timeline, so that its causes are not known: foretrain run keeps one, and so does foretrain "
                  "sweep --timeline=yes",
                  run_ids[i]);
      return FALSE;
    }
    bars->highest = MAX(bars->highest, run_report_slowest(report)->exposed + run_report_slowest(report)->idle);
  }
  return TRUE;
}

gboolean report_plot_exposed(StoreDb *db, const gint64 *run_ids, guint n, const ReportCanvas *canvas, GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  g_autoptr(GPtrArray) reports = g_ptr_array_new_with_free_func((GDestroyNotify)run_report_free);
  Bars bars = {reports, run_ids, picture, 0};
  if (picture == NULL || !load(db, run_ids, n, &bars, error))
    return FALSE;
  print_axes(&bars);
  print_plot(&bars);
  picture->height = HEIGHT;
  return report_picture_draw(picture, error);
}
