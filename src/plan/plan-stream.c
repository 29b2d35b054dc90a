/* SPDX-License-Identifier: MIT */
/* Streams that wait for each other, as needs of rows. */
#include "plan-stream.h"

static gboolean is_compute(const PlanStream *stream) {
  return stream->id == stream->walk->stream;
}

static guint32 last_of(const PlanStream *stream) {
  return is_compute(stream) ? stream->walk->last : stream->last;
}

static GArray *waits_of(const PlanStream *stream) {
  return is_compute(stream) ? stream->walk->needs : stream->waits;
}

void plan_stream_init(PlanStream *stream, PlanWalk *walk, guint32 id) {
  *stream = (PlanStream){walk, id, PROGRAM_NONE, g_array_new(FALSE, FALSE, sizeof(guint32))};
}

void plan_stream_clear(PlanStream *stream) {
  if (stream->waits != NULL)
    g_array_unref(stream->waits);
}

void plan_stream_section(PlanStream *stream) {
  stream->last = PROGRAM_NONE;
  g_array_set_size(stream->waits, 0);
}

void plan_stream_need(PlanStream *stream, guint32 row) {
  GArray *waits = waits_of(stream);
  for (guint i = 0; i < waits->len; i++)
    if (g_array_index(waits, guint32, i) == row)
      return;
  if (row != PROGRAM_NONE)
    g_array_append_val(waits, row);
}

void plan_stream_follow(PlanStream *stream, const PlanStream *other) {
  if (stream->id == other->id)
    return;
  plan_stream_need(stream, last_of(other));
  const GArray *waits = waits_of(other);
  for (guint i = 0; i < waits->len; i++)
    plan_stream_need(stream, g_array_index(waits, guint32, i));
}

void plan_stream_block(const PlanStream *stream) {
  program_builder_need(stream->walk->builder, last_of(stream));
  const GArray *waits = waits_of(stream);
  for (guint i = 0; i < waits->len; i++)
    program_builder_need(stream->walk->builder, g_array_index(waits, guint32, i));
}

static guint32 added(PlanStream *stream, guint32 row) {
  if (is_compute(stream))
    return row;
  for (guint i = 0; i < stream->waits->len; i++)
    program_builder_need(stream->walk->builder, g_array_index(stream->waits, guint32, i));
  g_array_set_size(stream->waits, 0);
  return stream->last = row;
}

guint32 plan_stream_pass(PlanStream *stream, const char *name, guint32 op) {
  return added(stream, plan_walk_pass(stream->walk, stream->id, name, op));
}

guint32 plan_stream_copy(PlanStream *stream, const char *name, guint64 bytes, ProgramPath path) {
  return added(stream, plan_walk_copy(stream->walk, stream->id, name, bytes, path));
}

guint32 plan_stream_collective(PlanStream *stream, guint32 comm, const char *name, guint32 slot, CollCall call,
                               ProgramHint hint) {
  guint32 row = plan_walk_collective(stream->walk, comm, name, slot, call, hint);
  plan_stream_block(stream);
  GArray *waits = waits_of(stream);
  g_array_set_size(waits, 0);
  plan_stream_need(stream, row);
  return row;
}
