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
#include "study-cache.h"
#include "study-point.h"

struct Study {
  char *workload;
  ConfSettings *settings;
};

/* A cluster with NCCL on it. */
typedef struct {
  HwCluster *cluster;
  CollLibrary *library; /* NULL until connected */
  GChecksum *figures;   /* of the catalogue values used and, once connected, of NCCL's tables */
  ConfSettings *laid;   /* settings under which the topology lies */
} StudyMachine;

typedef struct {
  ModelShape shape;
  ConfSettings *laid; /* settings that say what the shape is */
} StudyModel;

/* Each lays what it read into the settings. Borrowed from the cache until the next is asked for. */
StudyMachine *study_cache_machine(StudyCache *cache, ConfSettings *settings, GError **error);
const ModelShape *study_cache_model(StudyCache *cache, ConfSettings *settings, GError **error);
gboolean study_machine_connect(StudyCache *cache, StudyMachine *machine, const CollKnobs *knobs, GError **error);

typedef struct {
  ConfSettings *settings; /* owned: a copy, under which the topology is laid */
  StudyCache *cache;      /* borrowed */
  StudyMachine *machine;  /* of the cache, as is what the shape points to */
  const HwCluster *cluster;
  ModelShape shape;
  ModelRecipe model_recipe;
  PlanRecipe recipe;
  const char *fidelity; /* of collectives */
  CollKnobs knobs;
  const CollLibrary *library;
  char *key;
  Program *program;
  CollGroup **groups;
} StudyWalk;

/* Reads and checks everything that settings name: cluster, shape, recipes. The walk starts zeroed but for its settings
 * and cache. */
gboolean study_walk_read(StudyWalk *walk, GError **error);
void study_walk_clear(StudyWalk *walk);

/* Puts a point's settings over what is there; each refusal becomes one of its reasons. */
void study_point_lay(StudyPoint *point, ConfSettings *settings);
/* Takes the error as a reason. */
void study_point_refuse(StudyPoint *point, GError *error);

/* What is to become of a point whose identity is known. */
typedef enum { STUDY_PLAY, STUDY_LEAVE } StudyVerdict;
typedef StudyVerdict (*StudyJudge)(const RunReport *identity, gpointer user);
/* As study_point_run, of what `judge` lets pass: a point that is left has neither report nor reason. */
void study_point_play(StudyPoint *point, const Study *study, const StudyOptions *options, StudyCache *cache,
                      StudyJudge judge, gpointer user);
/* As study_run, the same way. NULL without an error: it was left. */
RunReport *study_run_judged(const Study *study, const StudyOptions *options, StudyCache *cache, StudyJudge judge,
                            gpointer user, GError **error);
