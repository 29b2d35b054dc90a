/* SPDX-License-Identifier: MIT */
/* Single rows as text: all of them, or the worst with where their time and memory went. Appends. */
#pragma once

#include "truth-run.h"

void truth_rows_all(const TruthResult *result, GString *text);
/* The `n` furthest off among those that ran, by the first of step time, tokens per second, time of a collective, bus
 * bandwidth and memory (peak reserved, peak allocated, between steps) that a row has; among equals the earlier row. */
void truth_rows_worst(const TruthResult *result, guint n, GString *text);
