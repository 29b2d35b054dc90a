/* SPDX-License-Identifier: MIT */
/* How large a step is played, and how much of it is told: private to this floor.
 *
 * A pass is one micro-batch through one layer, forward and backward. Under Megatron-LM with tensor ranks, where it has
 * most rows, it takes a Program and its play 11 KB and about 50 µs (measured at 10 000 layers), and each row of a
 * timeline the database 180 bytes and 7 µs: a step within both bounds takes less than 4 GiB and about 20 s. Steps of
 * micro-batches that are alike (study-count.h) are not this large however many they have. Ranks that are
 * played one by one take 50 to 100 bytes a row. */
#pragma once

#include "study-walk.h"

#define STUDY_PASSES_MOST   ((guint64)1 << 17)
#define STUDY_ROWS_MOST     ((guint64)1 << 26) /* of ranks played one by one */
#define STUDY_TIMELINE_MOST ((guint64)3 << 19) /* kept */
#define STUDY_LAYERS_AGAIN                                                                                             \
  1024 /* of a step that is played again and again: the deepest published
                                                * has as many (Wang et al. 2022, "DeepNet", arXiv 2203.00555: 1 000) */

/* Of the micro-batches that the walk's recipe plays. */
guint64 study_size_passes(const StudyWalk *walk);
/* FALSE with advice where they are too many: before the Program is made. */
gboolean study_size_check(const StudyWalk *walk, GError **error);
/* The same where a step is too large to be played again and again. */
gboolean study_size_check_again(const StudyWalk *walk, GError **error);
/* The same where a timeline of the walk's Program would have too many rows: of its roles, each counted once. */
gboolean study_size_check_timeline(const StudyWalk *walk, GError **error);
/* The same where each rank is played by itself, and all ranks' rows are too many, or more than a timeline keeps. */
gboolean study_size_check_unfolded(const StudyWalk *walk, gboolean timeline, GError **error);
