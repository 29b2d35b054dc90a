/* SPDX-License-Identifier: MIT */
/* Name tables: one array of names per enum gives to-text, from-text and "did you mean".
 *
 *   static const char *const colour_names[] = {"red", "green", NULL};
 *   int colour = base_names_find(colour_names, "gren");             // -1
 *   const char *near = base_names_nearest(colour_names, "gren");    // "green"
 */
#pragma once

#include <glib.h>

/* Index of `text` in the NULL-terminated table, whatever the case; -1 where it is not. */
int base_names_find(const char *const *names, const char *text);

/* The name with the least edit distance, if it is close enough to be what was meant: at most a third of its letters
 * differ, or `text` begins it, or it is the first words of `text` ("step" of "step_time"); else NULL. Ties go to the
 * first. Cost: names × lengths. */
const char *base_names_nearest(const char *const *names, const char *text);

/* "a, b, c", without those that are empty. Caller frees. */
char *base_names_join(const char *const *names);

/* Appends `; did you mean "x"?` where something is near, else `; expected one of a, b, c`. Caller frees. */
char *base_names_advice(const char *const *names, const char *text);
