/* SPDX-License-Identifier: MIT */
/* Files that a study reads, as fuzz targets: the file under test stands in a small workload, and the study goes as far
 * as to know which run it is. Nothing is played. */
#include "fuzz.h"

#include <string.h>

#include "base-error.h"
#include "study-grid.h"
#include "study-recipe.h"
#include "study-trace.h"
#include "truth-table.h"

static const char *const small[] = {
    "model.family=llama",          "model.layers=2",        "model.hidden_size=256",     "model.heads=4",
    "model.intermediate_size=512", "model.vocab_size=1000", "training.micro_batch=1",    "training.sequence_length=128",
    "parallel.framework=fsdp2",    "parallel.zero_stage=3", "cluster.topology=dgx-h100", "cluster.nodes=1",
};

/* A study of the small workload with one setting that names the file. */
static Study *open_small(const char *setting, const char *path, GError **error) {
  g_autoptr(Study) study = study_new("small");
  gboolean sized = strcmp(setting, "model.config") != 0;
  for (gsize i = 0; i < G_N_ELEMENTS(small); i++) {
    gboolean set = (!sized && g_str_has_prefix(small[i], "model.")) || study_set(study, small[i], error);
    sim_require(set, 0, NULL, "%s is refused", small[i]);
  }
  g_autofree char *assignment = g_strdup_printf("%s=%s", setting, path);
  return study_set(study, assignment, error) ? g_steal_pointer(&study) : NULL;
}

static void judge_key(const Study *study, GError *error) {
  g_autofree char *key = study != NULL ? study_find_key(study, &error) : NULL;
  fuzz_judge(key != NULL, error);
}

static void read_with(const char *setting, const char *path) {
  GError *error = NULL;
  g_autoptr(Study) study = open_small(setting, path, &error);
  judge_key(study, error);
}

void fuzz_workload(const char *path) {
  GError *error = NULL;
  g_autoptr(Study) study = study_open(path, &error);
  judge_key(study, error);
}

void fuzz_model_study(const char *path) {
  read_with("model.config", path);
}

void fuzz_topology(const char *path) {
  read_with("cluster.topology", path);
}

void fuzz_overlay(const char *path) {
  read_with("cluster.overlay", path);
}

void fuzz_recipe(const char *path) {
  GError *error = NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  gboolean good = study_import_recipe(path, "llama-2-7b.json", text, &error);
  fuzz_judge(good, error);
}

void fuzz_truth(const char *path) {
  GError *error = NULL;
  g_autoptr(TruthTable) table = truth_table_load(path, &error);
  for (guint row = 0; table != NULL && row < table->csv->n_rows; row++)
    study_point_free(truth_table_point(table, row));
  fuzz_judge(table != NULL, error);
}

void fuzz_grid(const char *data, gsize length) {
  g_autofree char *text = g_strndup(data, length);
  GError *error = NULL;
  g_autoptr(Study) study = study_new("small");
  g_autoptr(StudyGrid) grid = study_grid_new();
  gboolean added = study_grid_add(grid, study, text, &error);
  fuzz_judge(added, error);
  if (added && study_grid_size(grid) > 0)
    study_point_free(study_grid_point(grid, study_grid_size(grid) - 1));
}
