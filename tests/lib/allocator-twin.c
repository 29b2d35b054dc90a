/* SPDX-License-Identifier: MIT */
/* A dumb caching allocator: every question is answered by looking at all pieces. */
#include "allocator-twin.h"

#include <stdlib.h>

TwinPiece *twin_piece(const Twin *twin, guint i) {
  return &g_array_index(twin->pieces, TwinPiece, i);
}

guint64 twin_sum(const Twin *twin, guint states) {
  guint64 sum = 0;
  for (guint i = 0; i < twin->pieces->len; i++)
    if (states & 1U << twin_piece(twin, i)->state)
      sum += twin_piece(twin, i)->size;
  return sum;
}

guint64 twin_reserved(const Twin *twin) {
  return twin_sum(twin, 1U << TWIN_FREE | 1U << TWIN_TAKEN | 1U << TWIN_HELD);
}

static void twin_insert(Twin *twin, guint at, TwinPiece piece) {
  g_array_insert_val(twin->pieces, at, piece);
}

/* Cuts a piece in two. */
static void twin_cut(Twin *twin, guint at, guint64 size) {
  TwinPiece rest = *twin_piece(twin, at);
  if (size == 0 || size == rest.size)
    return;
  rest.address += size;
  rest.size -= size;
  twin_piece(twin, at)->size = size;
  twin_insert(twin, at + 1, rest);
}

void twin_merge(Twin *twin) {
  for (guint i = 0; i + 1 < twin->pieces->len;) {
    TwinPiece *a = twin_piece(twin, i), *b = twin_piece(twin, i + 1);
    if (a->segment == b->segment && a->state == b->state && (a->state == TWIN_FREE || a->state == TWIN_UNMAPPED)) {
      a->size += b->size;
      g_array_remove_index(twin->pieces, i + 1);
    } else {
      i++;
    }
  }
}

static guint64 twin_page(guint32 pool) {
  return (pool % 2 == 0 ? 2 : 20) * TWIN_MIB;
}

guint64 twin_up(guint64 bytes, guint64 unit) {
  return bytes % unit == 0 ? bytes : bytes + unit - bytes % unit;
}

/* What the piece could grow to. */
static guint64 twin_grown(const Twin *twin, guint i) {
  const TwinPiece *piece = twin_piece(twin, i);
  gboolean grows = i + 1 < twin->pieces->len && twin_piece(twin, i + 1)->segment == piece->segment &&
                   twin_piece(twin, i + 1)->state == TWIN_UNMAPPED;
  return piece->size + (grows ? twin_piece(twin, i + 1)->size : 0);
}

/* The next free piece of the pool after (size, address), by size, then address; -1: none. */
static int twin_next_fit(const Twin *twin, guint32 pool, guint64 size, guint64 segment, guint64 address,
                         gboolean itself) {
  int best = -1;
  for (guint i = 0; i < twin->pieces->len; i++) {
    const TwinPiece *piece = twin_piece(twin, i);
    gboolean after =
        piece->size > size ||
        (piece->size == size &&
         (piece->segment > segment ||
          (piece->segment == segment && (piece->address > address || (itself && piece->address == address)))));
    if (piece->pool == pool && piece->state == TWIN_FREE && after &&
        (best < 0 || piece->size < twin_piece(twin, (guint)best)->size))
      best = (int)i;
  }
  return best;
}

static int twin_fit(const Twin *twin, guint32 pool, guint64 size) {
  int best = twin_next_fit(twin, pool, size, 0, 0, TRUE);
  while (best >= 0 && twin->policy.expandable_segments) {
    const TwinPiece *piece = twin_piece(twin, (guint)best);
    int next = twin_next_fit(twin, pool, piece->size, piece->segment, piece->address, FALSE);
    if (next < 0 || twin_grown(twin, (guint)next) >= twin_grown(twin, (guint)best))
      break;
    best = next;
  }
  if (best < 0)
    return -1;
  guint64 most = twin->policy.max_split_size, found = twin_piece(twin, (guint)best)->size;
  return (size < most && found >= most) || (size >= most && found >= size + 20 * TWIN_MIB) ? -1 : best;
}

static guint64 twin_spare(const Twin *twin, gboolean beyond) {
  guint64 reserved = twin_reserved(twin);
  return beyond ? G_MAXUINT64 : reserved < twin->limit ? twin->limit - reserved : 0;
}

static int twin_expand(Twin *twin, guint32 pool, guint64 size, gboolean beyond) {
  guint first = 0;
  while (first < twin->pieces->len && twin_piece(twin, first)->pool != pool)
    first++;
  if (first == twin->pieces->len)
    twin_insert(twin, first, (TwinPiece){pool, twin->segments++, 0, twin_page(pool) << 32, TWIN_UNMAPPED});
  for (guint i = first; i < twin->pieces->len && twin_piece(twin, i)->pool == pool; i++) {
    guint64 room = 0;
    gboolean unmapped = FALSE;
    for (guint j = i; j < twin->pieces->len && twin_piece(twin, j)->pool == pool; j++) {
      TwinState state = twin_piece(twin, j)->state;
      if (state != TWIN_FREE && state != TWIN_UNMAPPED)
        break;
      unmapped |= state == TWIN_UNMAPPED;
      room += twin_piece(twin, j)->size;
    }
    if (!unmapped || room < size)
      continue;
    guint64 have = 0;
    for (guint j = i; have < size; j++) {
      if (twin_piece(twin, j)->state == TWIN_UNMAPPED) {
        guint64 bytes = MIN(twin_up(size - have, twin_page(pool)), twin_piece(twin, j)->size);
        if (bytes > twin_spare(twin, beyond)) {
          twin_merge(twin);
          return -1;
        }
        twin_cut(twin, j, bytes);
        twin_piece(twin, j)->state = TWIN_FREE;
      }
      have += twin_piece(twin, j)->size;
    }
    twin_merge(twin);
    return (int)i;
  }
  return -1;
}

int twin_segment(Twin *twin, guint32 pool, guint64 size, gboolean beyond) {
  if (twin->policy.expandable_segments)
    return twin_expand(twin, pool, size, beyond);
  guint64 bytes = size <= TWIN_MIB ? 2 * TWIN_MIB : size < 10 * TWIN_MIB ? 20 * TWIN_MIB : twin_up(size, 2 * TWIN_MIB);
  if (bytes > twin_spare(twin, beyond))
    return -1;
  twin_insert(twin, twin->pieces->len, (TwinPiece){pool, twin->segments++, 0, bytes, TWIN_FREE});
  return (int)twin->pieces->len - 1;
}

static gboolean twin_is_whole(const Twin *twin, guint i) {
  guint32 segment = twin_piece(twin, i)->segment;
  return (i == 0 || twin_piece(twin, i - 1)->segment != segment) &&
         (i + 1 == twin->pieces->len || twin_piece(twin, i + 1)->segment != segment);
}

static void twin_flush(Twin *twin) {
  for (guint i = 0; i < twin->pieces->len; i++) {
    TwinPiece piece = *twin_piece(twin, i);
    if (piece.state != TWIN_FREE)
      continue;
    guint64 from = twin_up(piece.address, twin_page(piece.pool));
    guint64 to = (piece.address + piece.size) / twin_page(piece.pool) * twin_page(piece.pool);
    if (!twin->policy.expandable_segments && twin_is_whole(twin, i)) {
      g_array_remove_index(twin->pieces, i--);
    } else if (twin->policy.expandable_segments && from < to) {
      twin_cut(twin, i, from - piece.address);
      i += from > piece.address;
      twin_cut(twin, i, to - from);
      twin_piece(twin, i)->state = TWIN_UNMAPPED;
    }
  }
  twin_merge(twin);
}

static int twin_largest(const Twin *twin, guint32 pool) {
  int largest = -1;
  for (guint i = 0; i < twin->pieces->len; i++)
    if (twin_piece(twin, i)->pool == pool && twin_piece(twin, i)->state == TWIN_FREE &&
        (largest < 0 || twin_piece(twin, i)->size >= twin_piece(twin, (guint)largest)->size))
      largest = (int)i;
  return largest;
}

static gboolean twin_flush_large(Twin *twin, guint32 pool, guint64 size) {
  guint64 most = twin->policy.max_split_size, given = 0;
  if (most == MEM_NO_SPLIT_LIMIT || twin->policy.expandable_segments)
    return FALSE;
  int one = twin_next_fit(twin, pool, MAX(size, most), 0, 0, TRUE);
  while (given < size) {
    int at = one >= 0 ? one : twin_largest(twin, pool);
    if (at < 0 || twin_piece(twin, (guint)at)->size < most)
      return FALSE;
    given += twin_piece(twin, (guint)at)->size;
    g_array_remove_index(twin->pieces, (guint)at);
  }
  return TRUE;
}

int twin_hand_out(Twin *twin, int at, guint64 size) {
  TwinPiece *piece = twin_piece(twin, (guint)at);
  guint64 rest = piece->size - size;
  gboolean cut = piece->pool % 2 == 0 || twin->policy.expandable_segments
                     ? rest >= 512
                     : size < twin->policy.max_split_size && rest > TWIN_MIB;
  if (cut)
    twin_cut(twin, (guint)at, size);
  twin_piece(twin, (guint)at)->state = TWIN_TAKEN;
  return at;
}

int twin_take(Twin *twin, guint32 pool, guint64 size) {
  int at = twin_fit(twin, pool, size);
  if (at < 0)
    at = twin_segment(twin, pool, size, FALSE);
  if (at < 0 && twin_flush_large(twin, pool, size))
    at = twin_segment(twin, pool, size, FALSE);
  return at < 0 ? -1 : twin_hand_out(twin, at, size);
}

int twin_retry(Twin *twin, guint32 pool, guint64 size) {
  twin_flush(twin);
  int at = twin_segment(twin, pool, size, FALSE);
  return at < 0 ? -1 : twin_hand_out(twin, at, size);
}
