/* SPDX-License-Identifier: MIT */
/* Rank lists as text: "0-16383", "0,4,9-12", "0-56:8" (every eighth).
 *
 *   g_autofree char *text = program_ranks_format(ranks, n);
 *   g_autoptr(GArray) ranks = program_ranks_parse("0-7,16-56:8", error);      // guint32
 *
 * A list is ascending and names no rank twice. Cost: O(ranks). */
#pragma once

#include <glib.h>

/* The most ranks a cluster may have. */
#define PROGRAM_MOST_RANKS (1u << 20)

/* `ranks` ascending. Caller frees. */
char *program_ranks_format(const guint32 *ranks, guint32 n);
/* Errors: SIM_ERROR_INPUT without a place. */
GArray *program_ranks_parse(const char *text, GError **error);
