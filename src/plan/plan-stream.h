/* SPDX-License-Identifier: MIT */
/* CUDA streams as frameworks use them, waiting for each other.
 *
 *   plan_stream_follow(&engine->reduce, &engine->compute);               // reduce.wait_stream(compute)
 *   plan_stream_pass(&engine->reduce, "divide bucket", op);
 *   plan_stream_collective(&engine->reduce, comm, "reduce gradients", slot, call, PROGRAM_HINT_BUCKET);
 *
 * A collective that is called on a stream runs on NCCL's own after all that the stream holds, and the stream's next row
 * waits for it. Private to this floor. */
#pragma once

#include "plan-walk.h"

typedef struct {
  PlanWalk *walk;
  guint32 id;
  guint32 last;  /* own last row in this section; of the compute stream the walk's */
  GArray *waits; /* guint32: rows for the next one; of the compute stream the walk's */
} PlanStream;

void plan_stream_init(PlanStream *stream, PlanWalk *walk, guint32 id);
void plan_stream_clear(PlanStream *stream);
/* Call it when the walk's section changes. */
void plan_stream_section(PlanStream *stream);
void plan_stream_need(PlanStream *stream, guint32 row);
/* What `stream` does next waits for all that `other` holds now. */
void plan_stream_follow(PlanStream *stream, const PlanStream *other);
guint32 plan_stream_pass(PlanStream *stream, const char *name, guint32 op);
guint32 plan_stream_copy(PlanStream *stream, const char *name, guint64 bytes, ProgramPath path);
guint32 plan_stream_collective(PlanStream *stream, guint32 comm, const char *name, guint32 slot, CollCall call,
                               ProgramHint hint);
/* The host row just added waits for all that the stream holds. */
void plan_stream_block(const PlanStream *stream);
