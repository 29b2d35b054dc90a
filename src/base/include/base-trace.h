/* SPDX-License-Identifier: MIT */
/* Trace points: named places in floors that play, compiled in and off unless a run asks for them.
 *
 *   const char *const net_trace_names[] = {"net.start", "net.rate", "net.end", NULL};    // by the floor's own enum
 *   net->traced = base_trace_points(trace, net_trace_names);                             // once; 0 where none is asked
 *   if (BASE_TRACED(net->traced, NET_TRACE_RATE))
 *     base_trace_line(net->trace, net_trace_names[NET_TRACE_RATE], now, "flow=%" G_GUINT64_FORMAT, identity);
 *
 * A line is "<picoseconds> <point> <what>". Cost of a point that is off: a test of one bit. A build with
 * -DBASE_TRACE_OFF has none, against which that is measured. */
#pragma once

#include "base-quantity.h"

/* Belongs to whoever runs; must stand as long as the run. */
typedef struct {
  const char *patterns; /* "net.*,run.start": names, * and ? as in file names */
  void (*line)(const char *text, gpointer user);
  gpointer user;
} BaseTrace;

/* Bits of the names, of which there are at most 32, that the patterns ask for. `trace` may be NULL: none. */
guint32 base_trace_points(const BaseTrace *trace, const char *const *names);
/* The first pattern that asks for none of the names; NULL: each asks for some. g_free. */
char *base_trace_unknown(const char *patterns, const char *const *names);
void base_trace_line(const BaseTrace *trace, const char *point, SimTime at, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Of functions that print a point: kept out of the way of those that call them. */
#define BASE_TRACE_COLD __attribute__((noinline, cold))

#ifdef BASE_TRACE_OFF
#define BASE_TRACED(bits, point) (FALSE && (bits) != 0 && (point) != 0)
#else
#define BASE_TRACED(bits, point) G_UNLIKELY((bits) & (1u << (point)))
#endif
