/* SPDX-License-Identifier: MIT */
/* Palette: equal rows of words get equal colours, numbered in order of first appearance.
 *
 *   FoldPalette palette;
 *   fold_palette_init(&palette);
 *   guint32 colour = fold_palette_colour(&palette, words, n);      // 0 for the first row, and for all that equal it
 *   fold_palette_clear(&palette);
 *
 * Rows are compared word by word: a hash only finds them, so no colour ever depends on one. Private to this floor.
 * Cost: O(n) a row. */
#pragma once

#include <glib.h>

typedef struct {
  guint64 *words; /* of all distinct rows, one after the other */
  gsize n_words, room;
  GArray *rows;   /* FoldPaletteRow, by colour */
  guint32 *slots; /* colour + 1, by hash; 0: empty */
  guint32 n_slots;
} FoldPalette;

void fold_palette_init(FoldPalette *palette);
void fold_palette_clear(FoldPalette *palette);
/* Forgets all rows, keeps the room. */
void fold_palette_reset(FoldPalette *palette);
guint32 fold_palette_colour(FoldPalette *palette, const guint64 *words, guint32 n);
