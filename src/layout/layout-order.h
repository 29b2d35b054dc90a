/* SPDX-License-Identifier: MIT */
/* An order of axes as a text, "tp-cp-ep-dp-pp", and the strides that it gives to both grids. Private to this floor. */
#pragma once

#include "layout.h"

typedef enum {
  LAYOUT_WORD_TP,
  LAYOUT_WORD_CP,
  LAYOUT_WORD_EP,
  LAYOUT_WORD_DP,
  LAYOUT_WORD_PP,
  LAYOUT_WORDS
} LayoutWord;

/* Every word once, fastest first: those that the text leaves out come last, and must have no extent (by word). */
gboolean layout_order_read(const char *text, const guint32 extent[LAYOUT_WORDS], LayoutWord ret[LAYOUT_WORDS],
                           GError **error);
/* Strides of both grids from their degrees. */
void layout_order_apply(const LayoutWord order[LAYOUT_WORDS], Layout *layout);
