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

gboolean study_size_check_again(const StudyWalk *walk, GError **error) {
  return layers_of(&walk->shape) <= STUDY_LAYERS_AGAIN ||
         conf_settings_fail(walk->settings, "model.layers", error,
                            "this plays the step again and again, which of a model of %" G_GUINT64_FORMAT
                            " layers takes minutes; at most %d are: set fewer, or see what run says",
                            layers_of(&walk->shape), STUDY_LAYERS_AGAIN);
}

static guint64 steady_rows(const ProgramRole *role) {
  return role->sections[PROGRAM_STEADY].n_rows;
}

gboolean study_size_check_timeline(const StudyWalk *walk, GError **error) {
  guint64 rows = 0;
  for (guint32 r = 0; r < walk->program->n_roles; r++)
    rows += steady_rows(&walk->program->roles[r]);
  return rows <= STUDY_TIMELINE_MOST ||
         conf_settings_fail(walk->settings, "training.gradient_accumulation", error,
                            "the step's timeline has %" G_GUINT64_FORMAT " rows, and at most %" G_GUINT64_FORMAT
                            " are kept: leave it away (--timeline=no)",
                            rows, STUDY_TIMELINE_MOST);
}

gboolean study_size_check_unfolded(const StudyWalk *walk, gboolean timeline, GError **error) {
  guint64 rows = 0, most = timeline ? STUDY_TIMELINE_MOST : STUDY_ROWS_MOST;
  for (guint32 i = 0; i < walk->program->n_ranks; i++)
    rows += steady_rows(&walk->program->roles[walk->program->ranks[i].role]);
  return rows <= most ||
         conf_settings_fail(walk->settings, "cluster.nodes", error,
                            "%u ranks would be played one by one, with %" G_GUINT64_FORMAT
                            " rows a step, and at most %" G_GUINT64_FORMAT " are%s: let equal ranks be played once "
                            "(without --fold=off), or set fewer nodes",
                            walk->program->n_ranks, rows, most,
                            timeline ? " with a timeline (--timeline=no leaves it away)" : "");
}
