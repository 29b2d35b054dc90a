/* SPDX-License-Identifier: MIT */
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
#include "recipe.h"
#include "run-count.h"
#include "run-recall.h"
#include "study-cache.h"
#include "study-energy.h"
#include "study-point.h"
#include "trust.h"

struct Study {
  char *workload;
  ConfSettings *settings;
};

/* A cluster with NCCL on it. */
typedef struct {
  HwCluster *cluster;
  CollLibrary *library;  /* NULL until connected */
  CollLibrary *searches; /* keeps what calls without a step searched on it; NULL: there was none */
  GChecksum *figures;    /* of the catalogue values used and, once connected, of NCCL's tables */
  ConfSettings *laid;    /* settings under which the topology lies */
} StudyMachine;

typedef struct {
  ModelShape shape;
  ConfSettings *laid; /* settings that say what the shape is */
} StudyModel;

/* Each lays what it read into the settings. Borrowed from the cache until the next is asked for. */
const HwCatalog *study_cache_catalog(StudyCache *cache, GError **error);
StudyMachine *study_cache_machine(StudyCache *cache, ConfSettings *settings, GError **error);
const ModelShape *study_cache_model(StudyCache *cache, ConfSettings *settings, GError **error);
/* How far off predictions are. NULL on error, never after a machine was connected. */
const Trust *study_cache_trust(StudyCache *cache, GError **error);
/* What boards, nodes and buildings draw. NULL on error. */
const StudyPower *study_cache_power(StudyCache *cache, GError **error);
/* What every setting is where nobody gives it. */
const ConfSettings *study_cache_defaults(StudyCache *cache);
/* A library of the caller's over a machine's cluster: tables are read once, searches shared among all machines. */
CollLibrary *study_cache_library(StudyCache *cache, StudyMachine *machine, const CollKnobs *knobs, GError **error);
gboolean study_machine_connect(StudyCache *cache, StudyMachine *machine, const CollKnobs *knobs, GError **error);

typedef struct StudyWalk {
  ConfSettings *settings; /* owned: a copy, under which the topology is laid */
  StudyCache *cache;      /* borrowed; NULL: the walk makes its own */
  StudyCache *own_cache;
  StudyMachine *machine; /* of the cache, as is what the shape points to */
  Recipe *tool_recipe;   /* [parallel] recipe, read and laid under the settings; NULL: none */
  const HwCluster *cluster;
  double gpu_hour; /* its price: points that differ in nothing else share a cluster */
  ModelShape shape;
  ModelRecipe model_recipe;
  PlanRecipe recipe;
  const char *fidelity;   /* of collectives */
  gboolean every_section; /* of Programs is walked: StudyOptions.every_step */
  gboolean contention;    /* kernels slow down beside them */
  CollKnobs knobs;
  MemPolicy memory;
  const CollLibrary *library;
  char *key;
  Program *program;
  guint64 program_kept; /* the cache's number of it, from 1 on; 0: it is the walk's */
  CollGroup **groups;   /* of the Program's communicators; they outlive a Program that is dropped */
  guint32 n_groups;
  gboolean groups_kept; /* they are the cache's */
  guint32 watched;      /* RunOptions.watched */
  RunWindows windows;   /* RunOptions.windows */
} StudyWalk;

/* All given settings that decide the Program of the walk's recipes. Caller frees. */
char *study_cache_program_key(const StudyWalk *walk);
/* What study-played.h keeps, by key; none of it outlives a machine. */
GHashTable *study_cache_played(StudyCache *cache);
/* What study-folded.h keeps. */
struct StudyFolded *study_cache_folded(StudyCache *cache);
/* What memory came to in plays so far. */
RunRecall *study_cache_recall(StudyCache *cache);
/* The Program of the walk's recipes. *ret_kept: a number that no other Program has, now or later; it is the cache's,
 * and stands until four others have been asked for. 0: it is the caller's. */
Program *study_cache_program(StudyCache *cache, const StudyWalk *walk, guint64 *ret_kept);

/* The defaults of all floors. */
ConfSettings *study_settings_new(void);

/* FALSE with advice where the file is a recipe, by its ending, and no workload. */
gboolean study_refuse_recipe(const char *path, GError **error);
/* Reads the recipe that settings name, if any, and lays it under them, as far as that goes; NULL where there is
 * none. */
Recipe *study_recipe_apply(ConfSettings *settings, const HwCatalog *catalog, BaseErrors *errors);

/* What the recipe says and what overrules it, batch sizes that follow from others too. Caller frees. */
char *study_recipe_note(const Recipe *recipe, const PlanRecipe *plan, const ConfSettings *settings);
/* Adds to an error that a recipe meant for another framework than the workload's is there. FALSE; `recipe` may be
 * NULL. */
gboolean study_recipe_fail(const Recipe *recipe, const ConfSettings *settings, GError **error);

void study_walk_need_cache(StudyWalk *walk);
/* Reads and checks everything that settings name: cluster, shape, recipes. The walk starts zeroed but for its settings.
 */
gboolean study_walk_read(StudyWalk *walk, GError **error);
/* Adds what can be said against the recipe of parallelism though other parts of the walk are at fault: as far as
 * `judged`, and of ranks only where the machine is known. */
void study_walk_judge(const StudyWalk *walk, PlanJudged judged, BaseErrors *errors);
/* The Program that the recipes make, and the run key. */
gboolean study_walk_plan(StudyWalk *walk, GError **error);
/* The Program's communicators on the cluster, by the walk's library. */
gboolean study_walk_groups(StudyWalk *walk, GError **error);
void study_groups_free(CollGroup **groups, guint32 n);
/* Plays the Program: results, whom each class stands for and what the play assumes (notes); the rest of the identity is
 * left empty. */
RunReport *study_walk_play(const StudyWalk *walk, const StudyOptions *options, GError **error);
/* What the Program of a workload assumes, in front of what its play does: for traces. */
char **study_walk_notes(const StudyWalk *walk);
/* What playing any Program leaves out: appends strings of the caller. `report`: of the play. */
void study_walk_note_play(GPtrArray *notes, const StudyWalk *walk, const RunReport *report);
/* Two lists of notes (the first may be NULL) as one, which owns what they held. */
char **study_walk_join(char **first, char **then);
/* The interval around the step time and what vouches for it, into a report whose identity is filled. `unlike`: as of
 * trust_judge. */
void study_trust(const StudyWalk *walk, const char *unlike, RunReport *report);
/* Of a GPU's NICs, bytes/s; 0: it has none. */
double study_network_rate(const HwCluster *cluster);
/* What follows from step time, price and tokens of the identity. */
void study_walk_price(RunReport *report);
void study_walk_clear(StudyWalk *walk);
/* The Program of the recipe as it is now, with its communicators where there are none yet; and away with it. */
Program *study_walk_program(const StudyWalk *walk); /* of no profile; caller frees */
gboolean study_walk_build(StudyWalk *walk, GError **error);
void study_walk_drop_program(StudyWalk *walk);
/* Its communicators alone: before a Program that is another's is taken out of the walk. */
void study_walk_clear_groups(StudyWalk *walk);

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
/* The same of settings, which it takes. */
RunReport *study_run_settings(const char *workload, ConfSettings *settings, const StudyOptions *options,
                              StudyCache *cache, StudyJudge judge, gpointer user, GError **error);
/* As study_run, the same way. NULL without an error: it was left. */
RunReport *study_run_judged(const Study *study, const StudyOptions *options, StudyCache *cache, StudyJudge judge,
                            gpointer user, GError **error);
