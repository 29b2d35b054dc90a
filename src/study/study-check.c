/* SPDX-License-Identifier: MIT */
/* The files that settings name, looked at though the settings are at fault, so that all is told at once. */
#include <string.h>

#include "study-walk.h"

/* Whether a key that begins so is at fault already (every message names its key): what is read by it would only tell
 * the consequence. */
static gboolean is_at_fault(const BaseErrors *errors, const char *key) {
  g_autofree char *named = g_strconcat(": ", key, NULL);
  return errors->text != NULL && strstr(errors->text->str, named) != NULL;
}

void study_walk_judge(const StudyWalk *walk, PlanJudged judged, BaseErrors *errors) {
  const HwCluster *cluster = walk->machine != NULL ? walk->machine->cluster : NULL;
  PlanPlace place = {0};
  if (cluster != NULL)
    place = (PlanPlace){.ranks = hw_cluster_gpus(cluster), .ranks_per_node = cluster->gpus_per_node};
  plan_recipe_judge(walk->settings, &place, walk->shape.layers > 0 ? &walk->shape : NULL,
                    cluster != NULL ? judged : PLAN_JUDGED_FRAMEWORK, errors);
}

/* A fault among the keys that lay ranks out leaves what the framework has; one of training, the layout too. */
static void judge(StudyWalk *walk, PlanJudged judged, BaseErrors *errors) {
  if (judged > PLAN_JUDGED_FRAMEWORK || conf_settings_given(walk->settings, "parallel.framework"))
    study_walk_judge(walk, judged, errors);
}

static PlanJudged judged_of(const BaseErrors *errors, guint lines_before_recipe) {
  if (is_at_fault(errors, "parallel.") || errors->lines > lines_before_recipe)
    return PLAN_JUDGED_FRAMEWORK;
  return is_at_fault(errors, "training.") ? PLAN_JUDGED_LAYOUT : PLAN_JUDGED_BATCH;
}

static void check_parts(StudyWalk *walk, gboolean machine, gboolean model, BaseErrors *errors) {
  GError *cause = NULL;
  if (machine && (walk->machine = study_cache_machine(walk->cache, walk->settings, &cause)) == NULL)
    base_errors_add(errors, g_steal_pointer(&cause));
  const ModelShape *shape = model ? study_cache_model(walk->cache, walk->settings, &cause) : NULL;
  if (shape != NULL)
    walk->shape = *shape;
  base_errors_add(errors, g_steal_pointer(&cause));
  plan_put_defaults(walk->settings, &cause);
  base_errors_add(errors, cause);
}

void study_check_files(const Study *study, BaseErrors *errors) {
  gboolean recipe = !is_at_fault(errors, "parallel.recipe"), model = !is_at_fault(errors, "model."),
           machine = !is_at_fault(errors, "cluster.") && !is_at_fault(errors, "node.");
  StudyWalk walk = {.settings = conf_settings_copy(study->settings)};
  GError *cause = NULL;
  guint lines = errors->lines;
  study_walk_need_cache(&walk);
  const HwCatalog *catalog = study_cache_catalog(walk.cache, &cause);
  base_errors_add(errors, g_steal_pointer(&cause));
  if (catalog != NULL && recipe)
    walk.tool_recipe = study_recipe_apply(walk.settings, catalog, errors);
  PlanJudged judged = judged_of(errors, lines);
  check_parts(&walk, catalog != NULL && machine, model, errors);
  judge(&walk, judged, errors);
  study_walk_clear(&walk);
}
