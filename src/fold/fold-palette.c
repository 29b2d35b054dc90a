/* SPDX-License-Identifier: MIT */
/* An open-addressed table of distinct rows, at most half full. */
#include "fold-palette.h"

#include <string.h>

#define FIRST_SLOTS 64
#define FIRST_WORDS 1024

typedef struct {
  gsize at; /* in words */
  guint32 n, hash;
} FoldPaletteRow;

void fold_palette_init(FoldPalette *palette) {
  *palette = (FoldPalette){.words = g_new(guint64, FIRST_WORDS),
                           .room = FIRST_WORDS,
                           .rows = g_array_new(FALSE, FALSE, sizeof(FoldPaletteRow)),
                           .slots = g_new0(guint32, FIRST_SLOTS),
                           .n_slots = FIRST_SLOTS};
}

void fold_palette_clear(FoldPalette *palette) {
  g_free(palette->words);
  g_free(palette->slots);
  g_array_unref(palette->rows);
}

void fold_palette_reset(FoldPalette *palette) {
  palette->n_words = 0;
  g_array_set_size(palette->rows, 0);
  memset(palette->slots, 0, palette->n_slots * sizeof *palette->slots);
}

/* MurmurHash3's finaliser (Appleby 2011) after every word. */
static guint32 hash_of(const guint64 *words, guint32 n) {
  guint64 hash = n;
  for (guint32 i = 0; i < n; i++) {
    hash = (hash ^ words[i]) * G_GUINT64_CONSTANT(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
  }
  return (guint32)(hash * G_GUINT64_CONSTANT(0xc4ceb9fe1a85ec53) >> 32);
}

static const FoldPaletteRow *row_at(const FoldPalette *palette, guint32 colour) {
  return &g_array_index(palette->rows, FoldPaletteRow, colour);
}

static void put(FoldPalette *palette, guint32 colour) {
  guint32 slot = row_at(palette, colour)->hash & (palette->n_slots - 1);
  while (palette->slots[slot] != 0)
    slot = (slot + 1) & (palette->n_slots - 1);
  palette->slots[slot] = colour + 1;
}

static void grow(FoldPalette *palette) {
  g_free(palette->slots);
  palette->n_slots *= 2;
  palette->slots = g_new0(guint32, palette->n_slots);
  for (guint32 colour = 0; colour < palette->rows->len; colour++)
    put(palette, colour);
}

static guint32 add(FoldPalette *palette, const guint64 *words, guint32 n, guint32 hash) {
  while (palette->n_words + n > palette->room) {
    palette->room *= 2;
    palette->words = g_renew(guint64, palette->words, palette->room);
  }
  if (n > 0)
    memcpy(palette->words + palette->n_words, words, n * sizeof *words);
  FoldPaletteRow row = {palette->n_words, n, hash};
  palette->n_words += n;
  g_array_append_val(palette->rows, row);
  if (palette->rows->len * 2 > palette->n_slots)
    grow(palette);
  else
    put(palette, palette->rows->len - 1);
  return palette->rows->len - 1;
}

guint32 fold_palette_colour(FoldPalette *palette, const guint64 *words, guint32 n) {
  guint32 hash = hash_of(words, n);
  guint32 slot = hash & (palette->n_slots - 1);
  for (; palette->slots[slot] != 0; slot = (slot + 1) & (palette->n_slots - 1)) {
    const FoldPaletteRow *row = row_at(palette, palette->slots[slot] - 1);
    if (row->hash == hash && row->n == n && memcmp(palette->words + row->at, words, n * sizeof *words) == 0)
      return palette->slots[slot] - 1;
  }
  return add(palette, words, n, hash);
}
