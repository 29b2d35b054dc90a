/* SPDX-License-Identifier: MIT */
/* Passes through layers, and rows of a timeline. */
#include "study-size.h"

static guint64 layers_of(const ModelShape *shape) {
  return shape->encoder_layers + shape->layers + shape->mtp_layers;
}

static guint64 played(const StudyWalk *walk) {
  return walk->recipe.micro_batches > 0 ? walk->recipe.micro_batches : walk->recipe.gradient_accumulation;
}

guint64 study_size_passes(const StudyWalk *walk) {
  return layers_of(&walk->shape) * played(walk);
}

gboolean study_size_check(const StudyWalk *walk, GError **error) {
  return study_size_passes(walk) <= STUDY_PASSES_MOST ||
         conf_settings_fail(walk->settings, "training.gradient_accumulation", error,
                            "of this step %" G_GUINT64_FORMAT
                            " micro-batches have to be played, through %" G_GUINT64_FORMAT
                            " layers; at most %" G_GUINT64_FORMAT " passes through a layer are: set fewer of either",
                            played(walk), layers_of(&walk->shape), STUDY_PASSES_MOST);
}

/* Of a step, over the ranks that are played. */
static guint64 rows_of(const Program *program) {
  guint64 rows = 0;
  for (guint32 i = 0; i < program->n_ranks; i++)
    rows += program->roles[program->ranks[i].role].sections[PROGRAM_STEADY].n_rows;
  return rows;
}

gboolean study_size_check_played(const StudyWalk *walk, const Program *played, gboolean timeline, GError **error) {
  guint64 rows = rows_of(played);
  if (rows > STUDY_ROWS_MOST)
    return conf_settings_fail(walk->settings, "cluster.nodes", error,
                              "%u ranks would be played, with %" G_GUINT64_FORMAT
                              " rows a step, and at most %" G_GUINT64_FORMAT
                              " are: let equal ranks be played once (without --fold=off), or set fewer nodes",
                              played->n_ranks, rows, STUDY_ROWS_MOST);
  return !timeline || rows <= STUDY_TIMELINE_MOST ||
         conf_settings_fail(walk->settings, "training.gradient_accumulation", error,
                            "the step's timeline has %" G_GUINT64_FORMAT " rows, of %u ranks that are played, and at "
                            "most %" G_GUINT64_FORMAT " are kept: leave it away (--timeline=no)",
                            rows, played->n_ranks, STUDY_TIMELINE_MOST);
}
