/* SPDX-License-Identifier: MIT */
/* Numbers on logarithmic axes: as many as are read, however narrow the axis is. Private to this floor.
 *
 *   report_log_tics('x', 18, 95, script);      // set xtics ("20" 20, "30" 30, "40" 40, … "80" 80) */
#pragma once

#include <glib.h>

/* Appends a line of gnuplot. 0 < least <= most. Powers of ten where three of them lie there, else 1, 2 and 5 of each
 * decade where these are three, else more; "50k" and "2M" from a thousand on. */
void report_log_tics(char axis, double least, double most, GString *script);
