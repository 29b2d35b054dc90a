/* SPDX-License-Identifier: MIT */
/* A dumb caching allocator to hold the real one to: one array of pieces in order of address, searched from end to end.
 *
 *   Twin twin = {policy, limit, g_array_new(FALSE, FALSE, sizeof(TwinPiece)), 0};
 *   int piece = twin_take(&twin, pool, size);               // -1: not without twin_retry
 *   twin_piece(&twin, piece)->state = TWIN_FREE;
 *   twin_merge(&twin); */
#pragma once

#include <glib.h>

#include "mem-allocator.h"

#define TWIN_MIB G_GUINT64_CONSTANT(1048576)

typedef enum { TWIN_FREE, TWIN_TAKEN, TWIN_HELD, TWIN_UNMAPPED } TwinState;

typedef struct {
  guint32 pool, segment;
  guint64 address, size;
  TwinState state;
} TwinPiece;

typedef struct {
  MemPolicy policy;
  guint64 limit;
  GArray *pieces; /* TwinPiece, by segment, then address */
  guint32 segments;
} Twin;

TwinPiece *twin_piece(const Twin *twin, guint i);

guint64 twin_sum(const Twin *twin, guint states);

guint64 twin_reserved(const Twin *twin);

void twin_merge(Twin *twin);

guint64 twin_up(guint64 bytes, guint64 unit);

int twin_segment(Twin *twin, guint32 pool, guint64 size, gboolean beyond);

int twin_hand_out(Twin *twin, int at, guint64 size);

int twin_take(Twin *twin, guint32 pool, guint64 size);

int twin_retry(Twin *twin, guint32 pool, guint64 size);
