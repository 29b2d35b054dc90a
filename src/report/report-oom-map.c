/* SPDX-License-Identifier: MIT */
/* What fits over two axes of a sweep: a cell for each pair of values, with the memory to spare or missing; a panel
 * for each combination of the other axes.
 *
 *   sequence │ +12.4 │  -3.1 │ -20.9        green: fits   yellow: edge     red: out of memory   grey: cannot run
 *            │ +40.2 │ +30.0 │  +2.2        white: the sweep has not come to it, or leaves it out
 *            └──────── micro_batch
 */
#include <string.h>

#include "base-error.h"
#include "report-grid.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-words.h"

#define MOST_PANELS  12
#define ROW_HEIGHT   340 /* pixels, of a row of panels; one alone has half as much more */
#define LEGEND       150 /* pixels, of title and key */
#define PLOT_WIDTH   1100
#define LEAST_WIDTH  46 /* pixels of a cell for its figure to be legible */
#define LEAST_HEIGHT 16
#define LETTER       8 /* pixels, the width of one */
#define WIDTH        1280.0
#define LEFT         70   /* pixels beside the values up, for their axis */
#define MOST_LEFT    0.3  /* of the width */
#define BESIDE       40   /* pixels beside the values up, of panels that stand beside others */
#define BELOW        62   /* pixels below a panel, for values and their axis */
#define TITLE        65.0 /* pixels above all */
#define KEY          38.0 /* pixels below all */

typedef enum { FITS, EDGE, OOM, REFUSED, KINDS } Kind; /* the first as RunVerdict */
static const struct {
  const char *colour, *title;
} kinds[KINDS] = {
    {"#9fd08a", "fits"}, {"#f5d76e", "at the edge"}, {"#e58a7b", "out of memory"}, {"#bbbbbb", "cannot run"}};

typedef struct {
  gboolean reached;
  Kind kind;
  gint64 spare; /* bytes; negative: missing */
} Cell;

typedef struct {
  const ReportGrid *grid;
  guint across, up;
  guint panels;
  Cell *cells; /* by panel, row from below, column */
} Map;

/* An axis has a value at least. */
static guint n_of(const Map *map, guint axis) {
  return MAX(report_grid_axis(map->grid, axis)->n, 1);
}

static guint panel_of(const Map *map, guint64 number) {
  guint panel = 0;
  for (guint i = 0; i < map->grid->axes->len; i++)
    if (i != map->across && i != map->up)
      panel = panel * n_of(map, i) + report_grid_at(map->grid, number, i);
  return panel;
}

static Cell *cell_at(const Map *map, guint panel, guint x, guint y) {
  return &map->cells[(panel * n_of(map, map->up) + y) * n_of(map, map->across) + x];
}

_Static_assert((int)FITS == RUN_FITS && (int)EDGE == RUN_EDGE && (int)OOM == RUN_OOM, "kinds begin as verdicts");

static void add_point(const Map *map, const StorePointFound *point) {
  Cell *cell = cell_at(map, panel_of(map, point->number), report_grid_at(map->grid, point->number, map->across),
                       report_grid_at(map->grid, point->number, map->up));
  *cell = (Cell){TRUE, REFUSED, 0};
  if (!point->ran)
    return;
  cell->spare = (gint64)point->capacity - (gint64)point->device_used;
  cell->kind = (Kind)point->verdict;
}

/* Two axes that are not named are those with the most values; of equals the one that runs faster. */
static gboolean choose_axes(Map *map, const char *across, const char *up, GError **error) {
  const GArray *axes = map->grid->axes;
  if (axes->len < 2) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "the newest sweep has %s; a map needs two: sweep with two --grid",
                axes->len == 1 ? "one axis" : "no axis");
    return FALSE;
  }
  if (across != NULL) {
    if (!report_grid_find(map->grid, across, &map->across, error) || !report_grid_find(map->grid, up, &map->up, error))
      return FALSE;
    if (map->across != map->up)
      return TRUE;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" cannot go both across and up", across);
    return FALSE;
  }
  guint most = axes->len - 1, second = G_MAXUINT;
  for (guint i = axes->len - 1; i-- > 0;)
    if (n_of(map, i) > n_of(map, most)) {
      second = most;
      most = i;
    } else if (second == G_MAXUINT || n_of(map, i) > n_of(map, second)) {
      second = i;
    }
  map->across = MAX(most, second);
  map->up = MIN(most, second);
  return TRUE;
}

static gboolean count_panels(Map *map, GError **error) {
  map->panels = 1;
  for (guint i = 0; i < map->grid->axes->len; i++)
    if (i != map->across && i != map->up && (map->panels *= n_of(map, i)) > MOST_PANELS) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "the axes that are neither across nor up have more than %d combinations, each a panel: sweep fewer",
                  MOST_PANELS);
      return FALSE;
    }
  return TRUE;
}

/* "zero_stage 2, nodes 4". Caller frees. */
static char *panel_title(const Map *map, guint panel) {
  g_autoptr(GString) title = g_string_new(NULL);
  for (guint i = map->grid->axes->len; i-- > 0;) {
    const ReportAxis *axis = report_grid_axis(map->grid, i);
    if (i == map->across || i == map->up)
      continue;
    g_autofree char *one =
        g_strdup_printf("%s %s%s", report_axis_short(axis), axis->values[panel % axis->n], title->len > 0 ? ", " : "");
    g_string_prepend(title, one);
    panel /= axis->n;
  }
  return report_picture_quote(title->str);
}

/* Letters of the longest value. */
static guint letters_of(const ReportAxis *axis) {
  glong most = 0;
  for (guint i = 0; i < axis->n; i++)
    most = MAX(most, g_utf8_strlen(axis->values[i], -1));
  return (guint)most;
}

static void print_tics(const ReportAxis *axis, char which, gboolean turned, GString *script) {
  g_autofree char *label = report_picture_quote(report_axis_short(axis));
  g_string_append_printf(script, "set %clabel %s\nset %crange [-0.5:%u.5]\nset %ctics%s (", which, label, which,
                         axis->n - 1, which, turned ? " rotate by 25 right" : "");
  for (guint i = 0; i < axis->n; i++) {
    g_autofree char *value = report_picture_quote(axis->values[i]);
    g_string_append_printf(script, "%s%s %u", i > 0 ? ", " : "", value, i);
  }
  g_string_append(script, ")\n");
}

static void print_cells(const Map *map, guint panel, GString *data) {
  g_autofree char *title = panel_title(map, panel);
  g_string_append_printf(data, "# panel %u %s: column row kind spare_gib\n", panel, title);
  for (guint y = 0; y < n_of(map, map->up); y++)
    for (guint x = 0; x < n_of(map, map->across); x++) {
      const Cell *cell = cell_at(map, panel, x, y);
      if (cell->reached && cell->kind == REFUSED)
        g_string_append_printf(data, "%u %u %d -\n", x, y, cell->kind);
      else if (cell->reached)
        g_string_append_printf(data, "%u %u %d %+.1f\n", x, y, cell->kind,
                               cell->spare < 0 ? -base_in_gib((guint64)-cell->spare)
                                               : base_in_gib((guint64)cell->spare));
    }
  g_string_append(data, "\n\n");
}

static void print_panel(const Map *map, guint panel, gboolean figures, const ReportPicture *picture) {
  g_autofree char *title = panel_title(map, panel);
  g_string_append_printf(picture->script, "set title %s\nplot ", title);
  for (guint k = 0; k < KINDS; k++)
    g_string_append_printf(picture->script,
                           "%s index %u using ($3==%u?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with "
                           "boxxyerror fs solid noborder lc rgb '%s' notitle, \\\n  NaN with boxes fs solid noborder "
                           "lc rgb '%s' title '%s'%s",
                           picture->data_name, panel, k, kinds[k].colour, kinds[k].colour, kinds[k].title,
                           k + 1 < KINDS ? ", \\\n  " : "");
  if (figures)
    g_string_append_printf(picture->script, ", \\\n  %s index %u using 1:2:4 with labels notitle", picture->data_name,
                           panel);
  g_string_append(picture->script, "\nset key off\nunset label 1\n");
}

/* Where panels stand, from what the longest values of the axes need. */
typedef struct {
  guint rows, columns, height; /* height: of all panels, pixels */
  guint below, left;           /* of each, pixels */
  gboolean turned;             /* values across, since they do not fit beside each other */
} Places;

static Places place_panels(const Map *map) {
  Places places = {.columns = map->panels > 4 ? 3 : map->panels > 1 ? 2 : 1};
  guint letters = letters_of(report_grid_axis(map->grid, map->across));
  places.rows = MAX((map->panels + places.columns - 1) / places.columns, 1);
  places.turned = letters * LETTER > PLOT_WIDTH / places.columns / n_of(map, map->across);
  places.below = BELOW + (places.turned ? letters * LETTER / 2 : 0);
  places.left = LEFT + letters_of(report_grid_axis(map->grid, map->up)) * LETTER;
  places.height = places.rows == 1 ? ROW_HEIGHT * 3 / 2 : ROW_HEIGHT * places.rows;
  places.height += places.turned ? places.rows * (places.below - BELOW) : 0;
  return places;
}

static void print_layout(const Map *map, const Places *places, gboolean figures, ReportPicture *picture) {
  g_autofree char *asked = g_strdup_printf("%s: what fits%s", map->grid->workload,
                                           figures ? "; GiB to spare (+) or missing (-) per GPU" : "");
  g_autofree char *title = report_picture_quote(asked);
  double height = picture->height;
  g_string_append_printf(picture->script,
                         "set label 1 %s at screen 0.5, screen %.3f center tc rgb ink\n"
                         "set multiplot layout %u,%u margins screen %.3f, screen 0.98, screen %.3f, screen "
                         "%.3f spacing screen %.3f, screen %.3f\n"
                         "set key at screen 0.5, screen %.3f center horizontal maxrows 1 samplen 2\n"
                         "set tics nomirror out\nset border 3\n",
                         title, 1 - KEY / 2 / height, places->rows, places->columns,
                         MIN(places->left / WIDTH, MOST_LEFT), (places->below + KEY) / height, 1 - TITLE / height,
                         MIN((places->left - LEFT + BESIDE) / WIDTH, MOST_LEFT), (places->below + TITLE - KEY) / height,
                         KEY / 2 / height);
}

static void print_map(const Map *map, ReportPicture *picture) {
  Places places = place_panels(map);
  picture->height = places.height + LEGEND;
  gboolean figures = PLOT_WIDTH / places.columns / n_of(map, map->across) >= LEAST_WIDTH &&
                     places.height / places.rows / n_of(map, map->up) >= LEAST_HEIGHT;
  print_layout(map, &places, figures, picture);
  print_tics(report_grid_axis(map->grid, map->across), 'x', places.turned, picture->script);
  for (guint panel = 0; panel < map->panels; panel++) {
    print_cells(map, panel, picture->data);
    if (panel % places.columns == 1)
      g_string_append(picture->script, "set ylabel ''\n");
    else if (panel % places.columns == 0)
      print_tics(report_grid_axis(map->grid, map->up), 'y', FALSE, picture->script);
    print_panel(map, panel, figures, picture);
  }
  g_string_append(picture->script, "unset multiplot\n");
}

gboolean report_plot_oom_map(StoreDb *db, const char *across, const char *up, const ReportCanvas *canvas,
                             GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  g_autoptr(ReportGrid) grid = picture != NULL ? report_grid_load(db, error) : NULL;
  Map map = {.grid = grid};
  if (grid == NULL || !choose_axes(&map, across, up, error) || !count_panels(&map, error))
    return FALSE;
  g_autofree Cell *cells = g_new0(Cell, (gsize)map.panels * n_of(&map, map.across) * n_of(&map, map.up));
  map.cells = cells;
  for (guint i = 0; i < grid->points->len; i++)
    add_point(&map, &g_array_index(grid->points, StorePointFound, i));
  print_map(&map, picture);
  return report_picture_draw(picture, error);
}
