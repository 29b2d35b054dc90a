/* One walk of the chain, from settings to a Program: private to this floor. */
#pragma once

#include "coll-group.h"
#include "coll-library.h"
#include "conf-settings.h"
#include "hw-cluster.h"
#include "mem-allocator.h"
#include "model-recipe.h"
#include "model-shape.h"
#include "plan-recipe.h"
#include "program.h"
#include "study-point.h"

struct Study {
  char *workload;
  ConfSettings *settings;
};

typedef struct {
  ConfSettings *settings; /* owned: a copy, under which the topology is laid */
  HwCatalog *catalog;
  HwCluster *cluster;
  ModelShape shape;
  ModelRecipe model_recipe;
  PlanRecipe recipe;
  const char *fidelity; /* of collectives */
  CollKnobs knobs;
  MemPolicy memory;
  CollLibrary *library;
  char *key;
  Program *program;
  CollGroup **groups;
} StudyWalk;

/* Reads and checks everything that settings name: cluster, shape, recipes. The walk starts zeroed but for its settings.
 */
gboolean study_walk_read(StudyWalk *walk, GError **error);
void study_walk_clear(StudyWalk *walk);

/* Puts a point's settings over what is there; each refusal becomes one of its reasons. */
void study_point_lay(StudyPoint *point, ConfSettings *settings);
/* Takes the error as a reason. */
void study_point_refuse(StudyPoint *point, GError *error);
