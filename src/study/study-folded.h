/* SPDX-License-Identifier: MIT */
/* Communicators and folds that a cache keeps: both follow from a Program's rows and the machine, whatever sizes its
 * tensors and operations have, so that points of one form (plan-form.h) share them.
 *
 *   if (!study_folded_groups(walk, error)) return FALSE;        // walk->groups
 *   g_autoptr(FoldSystem) own = NULL;
 *   RunTables *tables;
 *   FoldSystem *folded = study_folded(walk, TRUE, &own, &tables);
 *
 * Of a walk with a cache of its own, or a Program of its own, nothing is kept. Private to this floor. */
#pragma once

#include "fold.h"
#include "run-tables.h"
#include "study-walk.h"

typedef struct StudyFolded StudyFolded;

StudyFolded *study_folded_new(void);
void study_folded_free(StudyFolded *folded);
/* None of it outlives a machine. */
void study_folded_forget(StudyFolded *folded);

/* As study_walk_groups. */
gboolean study_folded_groups(StudyWalk *walk, GError **error);
/* The walk's Program, folded or every rank by itself, and what was kept of its rows; NULL: nothing. Borrowed until the
 * walk's next; *ret_own: to be freed, or NULL. */
FoldSystem *study_folded(const StudyWalk *walk, gboolean folds, FoldSystem **ret_own, RunTables **ret_tables);
