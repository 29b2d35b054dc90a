/* SPDX-License-Identifier: MIT */
/* Room for paged states, by plays. */
#include "study-pages.h"

/* Segments of the caching allocator displace pages, so it never gives its cache back for want of what pages hold. */
static gboolean is_short(const RunReport *report) {
  for (guint32 i = 0; i < report->n_classes; i++)
    if (report->classes[i].has_oom || report->classes[i].retries > 0)
      return TRUE;
  return FALSE;
}

static guint64 least_room(const RunReport *report) {
  guint64 room = G_MAXUINT64;
  for (guint32 i = 0; i < report->n_classes; i++) {
    const RunClass *of = &report->classes[i];
    room = MIN(room, of->capacity > of->device_used ? of->capacity - of->device_used : 0);
  }
  return room;
}

static RunReport *play_moving(StudyWalk *walk, const StudyOptions *options, guint64 room, StudyPagesPlay play,
                              GError **error) {
  walk->recipe.pages_move = TRUE;
  walk->recipe.pages_room = room;
  study_walk_drop_program(walk);
  return play(walk, options, error);
}

/* Takes the report. */
static RunReport *play_again(StudyWalk *walk, const StudyOptions *options, RunReport *before, guint64 room,
                             StudyPagesPlay play, GError **error) {
  run_report_free(before);
  return play_moving(walk, options, room, play, error);
}

RunReport *study_pages_play(StudyWalk *walk, const StudyOptions *options, StudyPagesPlay play, GError **error) {
  const HwLink *link = walk->cluster->host_link;
  RunReport *report = play(walk, options, error);
  if (report == NULL || !walk->recipe.paged || link == NULL || link->managed == 0 || !is_short(report))
    return report;
  report = play_again(walk, options, report, 0, play, error);
  guint64 room = report != NULL ? least_room(report) : 0;
  return room > 0 ? play_again(walk, options, report, room, play, error) : report;
}

/* Of the first role that moves any: all do alike. */
static guint64 moved_bytes(const Program *program) {
  for (guint32 r = 0; r < program->n_roles; r++) {
    const ProgramSection *section = &program->roles[r].sections[PROGRAM_STEADY];
    for (guint32 i = 0; i < section->n_rows; i++)
      if (section->rows[i].kind == PROGRAM_COPY && section->rows[i].op == PROGRAM_MANAGED)
        return section->rows[i].call.bytes;
  }
  return 0;
}

/* Once they move, each has a page in host memory, which the driver keeps. */
void study_pages_fill(const StudyWalk *walk, RunReport *report) {
  guint64 resident = report->classes[report->tightest].managed, moved = moved_bytes(walk->program);
  report->paged = MAX(moved, resident);
  report->paged_host = report->paged - resident;
  if (moved == 0)
    return;
  report->host_used += moved * walk->cluster->gpus_per_node;
  report->host_capacity = walk->cluster->dram;
}
