/* SPDX-License-Identifier: MIT */
/* An array that grows at its end and is written in place: what GArray does, without a call for each element.
 *
 *   BaseVector rows = {0};
 *   *(Row *)base_vector_next(&rows, sizeof(Row)) = (Row){…};      // amortised O(1)
 *   for (guint32 i = 0; i < rows.n; i++) … ((Row *)rows.data)[i] …
 *   rows.n = 0;                                                  // empty, its room kept
 *   g_free(rows.data);
 *
 * One vector holds elements of one size. Adding one may move all. */
#pragma once

#include <glib.h>

typedef struct {
  gpointer data;
  guint32 n, size; /* elements in use, and that there is room for */
} BaseVector;

#define BASE_VECTOR_FIRST 32 /* elements that the first one makes room for */

/* The next element, for the caller to write. */
static inline gpointer base_vector_next(BaseVector *vector, gsize element) {
  if (vector->n == vector->size) {
    vector->size = MAX(2 * vector->size, BASE_VECTOR_FIRST);
    vector->data = g_realloc_n(vector->data, vector->size, element);
  }
  return (char *)vector->data + vector->n++ * element;
}

/* Makes room for so many elements in all. */
static inline void base_vector_reserve(BaseVector *vector, guint32 n, gsize element) {
  if (n <= vector->size)
    return;
  vector->size = n;
  vector->data = g_realloc_n(vector->data, n, element);
}
