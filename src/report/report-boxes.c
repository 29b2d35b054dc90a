/* Tasks and exposures from the database to rows of boxes. */
#include "report-boxes.h"

typedef struct {
  ReportBoxes *boxes;
  const ReportScene *scene;
} Loading;

/* Index of `text` in the names, appended where it is new. */
static guint place_of(GPtrArray *names, const char *text) {
  guint index;
  if (g_ptr_array_find_with_equal_func(names, text, g_str_equal, &index))
    return index;
  g_ptr_array_add(names, (gpointer)text);
  return names->len - 1;
}

/* Columns: row, kind, layer, name, start, end. */
static void take_box(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v, gpointer user) {
  Loading *loading = user;
  ReportBoxes *boxes = loading->boxes;
  SimTime start = g_ascii_strtoll(v[4], NULL, 10), end = g_ascii_strtoll(v[5], NULL, 10);
  start = MAX(start, loading->scene->from);
  end = MIN(end, loading->scene->to);
  guint row = place_of(boxes->rows, g_string_chunk_insert_const(boxes->texts, v[0]));
  if (start >= end)
    return;
  ReportBox box = {.start = start,
                   .end = end,
                   .row = row,
                   .layer = v[2] != NULL ? (gint32)g_ascii_strtoll(v[2], NULL, 10) : -1,
                   .kind = g_string_chunk_insert_const(boxes->texts, v[1]),
                   .name = v[3] != NULL ? g_string_chunk_insert_const(boxes->texts, v[3]) : NULL};
  g_array_append_val(boxes->boxes, box);
}

/* From below: idle, exposed, streams of collectives, streams of compute; each by name from the last. */
#define GAPS                                                                                                           \
  "SELECT CASE WHEN cause IN ('bubble', 'host-idle') THEN 'idle' ELSE 'exposed' END AS gap, cause, NULL, NULL,"        \
  " start_ps, end_ps FROM exposure JOIN run USING (run_id) WHERE run_id = ?1 AND rank_class = slowest_class"           \
  " ORDER BY gap DESC, start_ps"
#define TASKS                                                                                                          \
  "SELECT stream, coalesce(operation, phase), layer, name, task.start_ps, task.end_ps,"                                \
  " sum(kind = 'compute') OVER (PARTITION BY stream) > 0 AS computes"                                                  \
  " FROM run JOIN task ON task.run_id = run.run_id AND task.rank_class = slowest_class"                                \
  " LEFT JOIN collective USING (run_id, rank_class, task_id)"                                                          \
  " WHERE run.run_id = ?1 AND kind <> 'host' ORDER BY computes, stream DESC, task.start_ps, task_id"

ReportBoxes *report_boxes_load(StoreDb *db, gint64 run_id, const ReportScene *scene, GError **error) {
  g_autoptr(ReportBoxes) boxes = g_new0(ReportBoxes, 1);
  boxes->boxes = g_array_new(FALSE, FALSE, sizeof(ReportBox));
  boxes->rows = g_ptr_array_new();
  boxes->texts = g_string_chunk_new(256);
  Loading loading = {boxes, scene};
  if (!store_db_query(db, GAPS, run_id, take_box, &loading, error))
    return NULL;
  boxes->n_gap_rows = boxes->rows->len;
  if (!store_db_query(db, TASKS, run_id, take_box, &loading, error))
    return NULL;
  return g_steal_pointer(&boxes);
}

void report_boxes_free(ReportBoxes *boxes) {
  if (boxes == NULL)
    return;
  g_array_unref(boxes->boxes);
  g_ptr_array_unref(boxes->rows);
  g_string_chunk_free(boxes->texts);
  g_free(boxes);
}

/* What may become one. */
typedef struct {
  SimTime gap;    /* at most so far apart */
  SimTime narrow; /* both narrower than this, or merged already */
  gboolean any_layer;
} Merging;

static gboolean joins(const Merging *how, const ReportBox *last, const ReportBox *box) {
  return last->row == box->row && last->kind == box->kind && (how->any_layer || last->layer == box->layer) &&
         box->start - last->end <= how->gap && box->end - box->start < how->narrow &&
         (last->end - last->start < how->narrow || last->name == NULL);
}

static void merge_neighbours(GArray *boxes, const Merging *how) {
  guint kept = 0;
  for (guint i = 1; i < boxes->len; i++) {
    ReportBox *last = &g_array_index(boxes, ReportBox, kept);
    const ReportBox *box = &g_array_index(boxes, ReportBox, i);
    if (!joins(how, last, box)) {
      g_array_index(boxes, ReportBox, ++kept) = *box;
      continue;
    }
    last->end = MAX(last->end, box->end);
    last->layer = last->layer == box->layer ? last->layer : -1;
    last->name = NULL;
  }
  g_array_set_size(boxes, boxes->len > 0 ? kept + 1 : 0);
}

void report_boxes_merge(ReportBoxes *boxes, guint most, SimTime gap, SimTime narrow) {
  merge_neighbours(boxes->boxes, &(Merging){.narrow = narrow});
  for (int any_layer = FALSE; any_layer <= TRUE && boxes->boxes->len > most; any_layer++) {
    merge_neighbours(boxes->boxes, &(Merging){.gap = gap, .narrow = SIM_TIME_NEVER, .any_layer = any_layer});
    boxes->merged = TRUE;
  }
}
