/* SPDX-License-Identifier: MIT */
/* Which few micro-batches are played for many. */
#include "study-count.h"

#include "run-count.h"

#define PLAYS 3

/* How many the first play has: few, then, where what the step began with takes longer to settle, more. A play must be
 * worth it: all three together cost less than the step. */
static const guint32 tries[] = {3, 8};

/* A pipeline is in its rhythm once all stages are busy, and leaves it as they run out. Its micro-batches in flight take
 * turns in the allocator's blocks, which settles late: a body of many shows it. */
static const guint32 rounds[] = {2, 4}; /* of all stages */
#define SETTLING 12                     /* micro-batches, at least */
G_STATIC_ASSERT(G_N_ELEMENTS(rounds) == G_N_ELEMENTS(tries));

#define MOST_PLAYED 4096 /* micro-batches: beyond, those that are not alike are counted all the same */

static guint64 cost_of(guint32 played, guint32 body) {
  return PLAYS * (guint64)played + (PLAYS * (PLAYS - 1) / 2) * body;
}

static RunReport *play(StudyWalk *walk, const StudyOptions *options, guint64 micro_batches, guint32 watched,
                       GError **error) {
  walk->recipe.micro_batches = micro_batches;
  walk->watched = watched;
  study_walk_drop_program(walk);
  return study_walk_build(walk, error) ? study_walk_play(walk, options, error) : NULL;
}

/* FALSE: an error. */
static gboolean try_bodies(StudyWalk *walk, const StudyOptions *options, const RunBodies *bodies, gboolean anyway,
                           RunReport **ret, GError **error) {
  RunReport *reports[PLAYS] = {NULL};
  StudyOptions summary = *options;
  summary.timeline = FALSE;
  gboolean played = TRUE;
  for (guint i = 0; i < PLAYS && played; i++) {
    guint32 micro_batches = bodies->played + i * bodies->body;
    reports[i] = play(walk, i == 0 ? options : &summary, micro_batches, micro_batches - bodies->body, error);
    played = reports[i] != NULL;
  }
  if (played && run_count(reports[0], reports[1], reports[2], bodies)) {
    *ret = g_steal_pointer(&reports[0]);
  } else if (played && anyway) {
    run_count_anyway(reports[0], reports[1], reports[2], bodies);
    *ret = g_steal_pointer(&reports[2]);
  }
  for (guint i = 0; i < PLAYS; i++)
    run_report_free(reports[i]);
  return played;
}

static guint32 stages_of(const PlanRecipe *recipe) {
  return MAX(recipe->axes.layout.degree[LAYOUT_PIPELINE], 1);
}

/* Micro-batches after which a step goes on as before; of interleaved chunks whole groups. */
static guint32 body_of(const PlanRecipe *recipe) {
  guint32 group = layout_goes_around(&recipe->axes) ? recipe->pipeline.group : 1;
  guint32 least = stages_of(recipe) > 1 ? MAX(stages_of(recipe), SETTLING) : 1;
  return (least + group - 1) / group * group;
}

/* As many more than it takes as make the rest whole bodies. */
static guint32 first_play(const PlanRecipe *recipe, guint attempt) {
  guint64 all = recipe->gradient_accumulation;
  guint32 stages = stages_of(recipe), body = body_of(recipe);
  guint32 least = stages > 1 ? MAX(rounds[attempt] * stages, rounds[attempt] * SETTLING) : tries[attempt];
  return all > least ? least + (guint32)((all - least) % body) : least;
}

gboolean study_count(StudyWalk *walk, const StudyOptions *options, RunReport **ret, GError **error) {
  guint64 all = walk->recipe.gradient_accumulation;
  guint32 body = body_of(&walk->recipe);
  *ret = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(tries) && *ret == NULL && !options->every_step && !options->every_micro_batch &&
                    !options->chunks;
       i++) {
    guint32 played = first_play(&walk->recipe, i);
    if (all <= cost_of(played, body))
      break;
    RunBodies bodies = {.played = played, .body = body, .more = (all - played) / body};
    gboolean anyway = i + 1 == G_N_ELEMENTS(tries) && all > MOST_PLAYED;
    if (!try_bodies(walk, options, &bodies, anyway, ret, error))
      return FALSE;
  }
  walk->recipe.micro_batches = 0;
  walk->watched = 0;
  if (*ret == NULL)
    study_walk_drop_program(walk);
  return TRUE;
}
