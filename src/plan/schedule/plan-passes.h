/* SPDX-License-Identifier: MIT */
/* The schedules' functions, and what they share while they write passes. Private to this folder. */
#pragma once

#include "plan-schedule.h"

static inline void plan_pass_add(GArray *passes, PlanPassKind kind, guint32 chunk, guint32 micro) {
  PlanSchedulePass pass = {kind, chunk, micro};
  g_array_append_val(passes, pass);
}

/* The k-th forward or backward of a rank, chunk after chunk in groups of micro-batches (interleaved). */
void plan_pass_add_forward(const PlanScheduleShape *shape, guint32 k, GArray *passes);
void plan_pass_add_backward(const PlanScheduleShape *shape, PlanPassKind kind, guint32 k, GArray *passes);

/* Each appends all passes of a rank. */
void plan_single_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes);
void plan_gpipe_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes);
void plan_1f1b_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes);
void plan_interleaved_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes);
void plan_zb_h1_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes);
void plan_zbv_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes);
