/* SPDX-License-Identifier: MIT */
/* Columns of numbers, so that a hundred thousand boxes stay a few MB. */
#include "report-page-data.h"

#include <string.h>

#include "base-json.h"
#include "report-boxes.h"
#include "report-levels.h"
#include "report-looks.h"

#define BINS 4000 /* of the whole step: levels between them are thinned */

typedef struct {
  BaseJson *json;
  GHashTable *numbers; /* of names, from 1 on */
  GPtrArray *names;
} Writer;

static gint64 number_of(Writer *writer, const char *name) {
  guint number = GPOINTER_TO_UINT(g_hash_table_lookup(writer->numbers, name));
  if (number == 0) {
    g_ptr_array_add(writer->names, (gpointer)name);
    number = writer->names->len;
    g_hash_table_insert(writer->numbers, (gpointer)name, GUINT_TO_POINTER(number));
  }
  return (gint64)number - 1;
}

typedef enum { START, DURATION, KIND, LAYER, NAME, COLUMNS } Column;

static gint64 value_of(Writer *writer, const ReportBox *box, Column column) {
  switch (column) {
  case START:
    return box->start;
  case DURATION:
    return box->end - box->start;
  case KIND:
    return report_look_index(report_look(box->kind));
  case LAYER:
    return box->layer;
  default:
    return number_of(writer, box->name != NULL ? box->name : "");
  }
}

static void add_row(Writer *writer, const ReportBoxes *boxes, guint row) {
  static const char *const columns[COLUMNS] = {"start", "duration", "kind", "layer", "name"};
  base_json_map(writer->json, NULL);
  base_json_text(writer->json, "title", boxes->rows->pdata[row]);
  for (Column column = 0; column < COLUMNS; column++) {
    base_json_list(writer->json, columns[column]);
    for (guint i = 0; i < boxes->boxes->len; i++) {
      const ReportBox *box = &g_array_index(boxes->boxes, ReportBox, i);
      if (box->row == row)
        base_json_integer(writer->json, NULL, value_of(writer, box, column));
    }
    base_json_end(writer->json);
  }
  base_json_end(writer->json);
}

static void add_flag(BaseJson *json, const char *key, gboolean flag) {
  base_json_digits(json, key, flag ? "true" : "false");
}

static void add_kinds(BaseJson *json) {
  base_json_list(json, "kinds");
  for (guint i = 0; i < report_n_looks; i++) {
    base_json_map(json, NULL);
    base_json_text(json, "name", report_looks[i].kind);
    base_json_text(json, "colour", report_looks[i].colour);
    add_flag(json, "dark", report_looks[i].dark);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_tenants(BaseJson *json, guint n) {
  base_json_list(json, "tenants");
  for (guint i = 0; i < n; i++) {
    base_json_map(json, NULL);
    base_json_text(json, "name", report_tenant_looks[i].tenant);
    base_json_text(json, "colour", report_tenant_looks[i].colour);
    add_flag(json, "cache", i == RUN_TENANTS);
    base_json_end(json);
  }
  base_json_end(json);
}

static guint64 held_of(const ReportScene *scene, const ReportLevel *level, guint layer) {
  if (layer == RUN_TENANTS) {
    guint64 total = report_level_total(level);
    return scene->device_used > total ? scene->device_used - total : 0;
  }
  return level->held[report_tenant_of(layer)];
}

static void add_levels(BaseJson *json, const ReportScene *scene, guint n) {
  g_autoptr(GArray) levels = report_levels(scene);
  report_levels_thin(levels, scene, BINS);
  base_json_map(json, "levels");
  base_json_list(json, "at");
  for (guint i = 0; i < levels->len; i++)
    base_json_integer(json, NULL, g_array_index(levels, ReportLevel, i).at);
  base_json_end(json);
  base_json_list(json, "held");
  for (guint layer = 0; layer < n; layer++) {
    base_json_list(json, NULL);
    for (guint i = 0; i < levels->len; i++)
      base_json_integer(json, NULL, (gint64)held_of(scene, &g_array_index(levels, ReportLevel, i), layer));
    base_json_end(json);
  }
  base_json_end(json);
  base_json_end(json);
}

void report_page_data(const ReportScene *slowest, const ReportScene *tightest, GString *text) {
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_COMPACT);
  g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(ReportBoxes) boxes = report_boxes_new(slowest);
  Writer writer = {json, numbers, names};
  guint tenants = RUN_TENANTS + (tightest->of->retries == 0 && tightest->device_used > 0);
  base_json_map(json, NULL);
  base_json_integer(json, "end", slowest->to);
  base_json_integer(json, "capacity", (gint64)tightest->capacity);
  base_json_integer(json, "peak", (gint64)tightest->device_used);
  add_kinds(json);
  base_json_list(json, "rows");
  for (guint row = boxes->rows->len; row-- > 0;)
    add_row(&writer, boxes, row);
  base_json_end(json);
  base_json_list(json, "names");
  for (guint i = 0; i < names->len; i++)
    base_json_text(json, NULL, names->pdata[i]);
  base_json_end(json);
  add_tenants(json, tenants);
  add_levels(json, tightest, tenants);
  base_json_end(json);
}
