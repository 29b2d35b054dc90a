/* SPDX-License-Identifier: MIT */
/* Planes: laid when the first rank of a role begins a step, given up when the last has forgotten it. */
#include <string.h>

#include "base-pages.h"
#include "run-state.h"

static RunPlane *plane_new(const RunTable *table, guint32 ranks, gboolean timeline) {
  RunPlane *plane = g_new0(RunPlane, 1);
  plane->times = (gsize)table->section->n_rows * ranks * sizeof *plane->starts;
  plane->some = (gsize)table->n_calls * ranks * sizeof *plane->calls;
  plane->starts = base_zeros_new(plane->times);
  plane->ends = base_zeros_new(plane->times);
  plane->issues = timeline ? base_zeros_new(plane->times) : NULL;
  plane->calls = base_zeros_new(plane->some);
  return plane;
}

static void plane_free(RunPlane *plane) {
  if (plane == NULL)
    return;
  base_zeros_free(plane->starts, plane->times);
  base_zeros_free(plane->ends, plane->times);
  base_zeros_free(plane->issues, plane->times);
  base_zeros_free(plane->calls, plane->some);
  g_free(plane);
}

/* Of the steady section one is kept for use. */
static RunPlane *lay(RunPlanes *planes, const RunTable *table, guint32 number) {
  RunPlane *plane;
  if (number > 0 && planes->spare != NULL) {
    plane = g_steal_pointer(&planes->spare);
    memset(plane->starts, 0, plane->times);
  } else {
    plane = plane_new(table, planes->ranks, planes->timeline);
  }
  plane->users = planes->ranks;
  return planes->steps[number] = plane;
}

void run_plane_enter(RunStep *step) {
  RunPlanes *planes = step->rank->planes;
  RunPlane *plane = planes->steps[step->number];
  guint32 place = step->rank->place;
  if (plane == NULL)
    plane = lay(planes, step->table, step->number);
  step->stride = planes->ranks;
  step->starts = plane->starts + place;
  step->ends = plane->ends + place;
  step->issues = plane->issues != NULL ? plane->issues + place : NULL;
  step->calls = plane->calls + place;
}

void run_plane_pass(RunStep *first, RunStep *second, guint32 ahead) {
  RunPlanes *planes = first->rank->planes;
  gsize before = (gsize)ahead * first->stride;
  if (planes->steps[second->number] == NULL)
    planes->steps[second->number] = g_steal_pointer(&planes->steps[first->number]);
  second->stride = first->stride;
  second->starts = first->starts + before;
  second->ends = first->ends + before;
  second->issues = first->issues != NULL ? first->issues + before : NULL;
  second->calls = first->calls;
  first->starts = first->ends = first->issues = NULL;
  first->calls = NULL;
}

/* A spare one would lie there while the next step is on another: of many ranks, as much again. */
static gboolean is_kept(const RunPlanes *planes, const RunStep *step) {
  return step->number > 0 && planes->spare == NULL && run_replay_wanted(step->rank->play);
}

void run_plane_leave(RunStep *step) {
  RunPlanes *planes = step->rank->planes;
  RunPlane *plane = planes->steps[step->number];
  if (step->starts == NULL)
    return;
  step->starts = step->ends = step->issues = NULL;
  step->calls = NULL;
  if (--plane->users > 0)
    return;
  planes->steps[step->number] = NULL;
  if (is_kept(planes, step))
    planes->spare = plane;
  else
    plane_free(plane);
}

void run_planes_init(RunPlay *play) {
  gboolean apart = play->options->apart;
  play->n_planes = apart ? play->n_ranks : play->system->program->n_roles;
  play->planes = g_new0(RunPlanes, play->n_planes);
  for (guint32 i = 0; i < play->n_ranks; i++) {
    RunRank *rank = &play->ranks[i];
    rank->planes = &play->planes[apart ? i : rank->rank->role];
    rank->planes->timeline = play->options->timeline;
    rank->place = rank->planes->ranks++;
  }
}

void run_planes_clear(RunPlay *play) {
  for (guint32 i = 0; i < play->n_planes; i++) {
    for (int number = 0; number < RUN_MOST_STEPS; number++)
      plane_free(play->planes[i].steps[number]);
    plane_free(play->planes[i].spare);
  }
  g_free(play->planes);
}
