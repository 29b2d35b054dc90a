/* SPDX-License-Identifier: MIT */
/* The run that a picture shows: what its title says, whose rank class it is, which window in time.
 *
 *   g_auto(ReportScene) scene = {0};
 *   if (!report_scene_load(db, run_id, REPORT_SLOWEST, -1, -1, &scene, error)) return FALSE;
 *   … scene.title, scene.from, scene.to … */
#pragma once

#include "store-db.h"

typedef struct {
  RunReport *report;
  const RunClass *of;            /* whose timeline is drawn */
  char *title;                   /* model, stage, GPUs, "1008.88 ms a step", "(if it fitted)" where it does not */
  char *ranks;                   /* "2 ranks from rank 14 on, the slowest of 2 classes" */
  guint64 capacity, device_used; /* of that class */
  SimTime from, to;
} ReportScene;

/* From REPORT_STAGE(0) on: of a stage of a pipeline. */
typedef enum { REPORT_SLOWEST, REPORT_TIGHTEST, REPORT_STAGES } ReportWhich;
#define REPORT_STAGE(n) ((ReportWhich)(REPORT_STAGES + (guint)(n)))

/* from or to -1: from the start, to the end of the step. Errors: SIM_ERROR_INPUT for a run that is not there or has no
 * timeline, for a window outside its step, or for a stage that it has not. */
gboolean report_scene_load(StoreDb *db, gint64 run_id, ReportWhich which, SimTime from, SimTime to, ReportScene *ret,
                           GError **error);
void report_scene_clear(ReportScene *scene);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ReportScene, report_scene_clear)
