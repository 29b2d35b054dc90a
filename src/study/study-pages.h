/* SPDX-License-Identifier: MIT */
/* Paged optimizer states that have not all room on the GPU: how many have is known once everything else was played.
 *
 *   play with all of them there ── fits ─► done
 *        │ runs out, or the cache goes back
 *   play with none there, all moved in every step ── runs out ─► no room even so: out of memory
 *        │ room is left
 *   play with as many there as have room
 *
 * Private to this floor. */
#pragma once

#include "study-walk.h"

typedef RunReport *(*StudyPagesPlay)(StudyWalk *walk, const StudyOptions *options, GError **error);

/* Plays the walk's recipe, up to three times. NULL on error. The recipe says afterwards what came of it. */
RunReport *study_pages_play(StudyWalk *walk, const StudyOptions *options, StudyPagesPlay play, GError **error);
/* What of a GPU's states is paged, into the report of a Program's play. */
void study_pages_fill(const StudyWalk *walk, RunReport *report);
