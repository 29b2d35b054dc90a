/* SPDX-License-Identifier: MIT */
/* The last few rows on machines, each with its communicators and folds. */
#include "study-folded.h"

#define MOST 8

typedef struct {
  Program *rows; /* held: whose these are; NULL: none */
  const StudyMachine *machine;
  CollGroup **groups;
  guint32 n_groups;
  FoldSystem *folds[2]; /* every rank, and folded; NULL until asked for */
  RunTables *tables[2]; /* likewise */
} Entry;

struct StudyFolded {
  Entry entries[MOST]; /* a ring */
  guint next;
};

StudyFolded *study_folded_new(void) {
  return g_new0(StudyFolded, 1);
}

static void entry_clear(Entry *entry) {
  for (int folds = 0; folds < 2; folds++) {
    if (entry->folds[folds] != NULL)
      fold_turn(entry->folds[folds], entry->rows);
    fold_free(entry->folds[folds]);
    run_tables_free(entry->tables[folds]);
  }
  study_groups_free(entry->groups, entry->n_groups);
  program_free(entry->rows);
  *entry = (Entry){NULL};
}

void study_folded_forget(StudyFolded *folded) {
  for (guint i = 0; i < MOST; i++)
    entry_clear(&folded->entries[i]);
}

void study_folded_free(StudyFolded *folded) {
  if (folded == NULL)
    return;
  study_folded_forget(folded);
  g_free(folded);
}

static Program *rows_of(Program *program) {
  return program->source != NULL ? program->source : program;
}

static Entry *find(const StudyWalk *walk) {
  StudyFolded *folded = study_cache_folded(walk->cache);
  for (guint i = 0; i < MOST; i++)
    if (folded->entries[i].rows == rows_of(walk->program) && folded->entries[i].machine == walk->machine)
      return &folded->entries[i];
  return NULL;
}

static Entry *add(const StudyWalk *walk) {
  StudyFolded *folded = study_cache_folded(walk->cache);
  Entry *entry = &folded->entries[folded->next];
  folded->next = (folded->next + 1) % MOST;
  entry_clear(entry);
  *entry = (Entry){.rows = program_hold(rows_of(walk->program)),
                   .machine = walk->machine,
                   .groups = walk->groups,
                   .n_groups = walk->n_groups};
  return entry;
}

gboolean study_folded_groups(StudyWalk *walk, GError **error) {
  if (walk->program_kept == 0 || walk->own_cache != NULL)
    return study_walk_groups(walk, error);
  const Entry *entry = find(walk);
  if (entry == NULL && !study_walk_groups(walk, error))
    return FALSE;
  if (entry == NULL)
    entry = add(walk);
  walk->groups = entry->groups;
  walk->n_groups = entry->n_groups;
  walk->groups_kept = TRUE;
  return TRUE;
}

/* Groups outlive a Program that is dropped: another's may be those of another entry. */
FoldSystem *study_folded(const StudyWalk *walk, gboolean folds, FoldSystem **ret_own, RunTables **ret_tables) {
  Entry *entry = walk->groups_kept ? find(walk) : NULL;
  *ret_tables = NULL;
  if (entry == NULL || entry->groups != walk->groups)
    return *ret_own = fold_new(walk->program, walk->cluster, walk->groups, folds);
  FoldSystem **kept = &entry->folds[folds != FALSE];
  RunTables **tables = &entry->tables[folds != FALSE];
  if (*kept == NULL) {
    *kept = fold_new(walk->program, walk->cluster, walk->groups, folds);
    *tables = run_tables_new();
  }
  fold_turn(*kept, walk->program);
  *ret_tables = *tables;
  return *kept;
}
