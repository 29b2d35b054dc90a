/* One walk of the chain, from settings to a Program: private to this floor. */
#pragma once

#include "coll-group.h"
#include "coll-library.h"
#include "conf-settings.h"
#include "hw-cluster.h"
#include "model-recipe.h"
#include "model-shape.h"
#include "plan-recipe.h"
#include "program.h"
#include "recipe.h"
#include "study.h"

struct Study {
  char *workload;
  ConfSettings *settings;
};

typedef struct {
  ConfSettings *settings; /* owned: a copy, under which the topology is laid */
  HwCatalog *catalog;
  Recipe *tool_recipe; /* [parallel] recipe, read and laid under the settings; NULL: none */
  HwCluster *cluster;
  ModelShape shape;
  ModelRecipe model_recipe;
  PlanRecipe recipe;
  const char *fidelity; /* of collectives */
  CollKnobs knobs;
  CollLibrary *library;
  char *key;
  Program *program;
  CollGroup **groups;
} StudyWalk;

/* The defaults of all floors. */
ConfSettings *study_settings_new(void);

/* FALSE with advice where the file is a recipe, by its ending, and no workload. */
gboolean study_refuse_recipe(const char *path, GError **error);
/* Reads the recipe that settings name, if any, and lays it under them; *ret NULL where there is none. */
gboolean study_recipe_apply(ConfSettings *settings, const HwCatalog *catalog, Recipe **ret, GError **error);

/* Reads and checks everything that settings name: cluster, shape, recipes. The walk starts zeroed but for its settings.
 */
gboolean study_walk_read(StudyWalk *walk, GError **error);
void study_walk_clear(StudyWalk *walk);
