/* SPDX-License-Identifier: MIT */
/* Tables of a page: runs at a glance, what a step is made of, memory at its peak, inputs. Private to this floor. Each
 * appends. */
#pragma once

#include "run-report.h"

/* A column for each run: verdict, step, throughput, memory, prices. */
void report_page_glance(RunReport *const *reports, guint n, GString *html);
/* Compute, exposed and idle time of the slowest class, by cause. */
void report_page_step(const RunReport *report, GString *html);
void report_page_memory(const RunReport *report, GString *html);
/* Settings that were given, then those that were left alone, and what was assumed. */
void report_page_inputs(const RunReport *report, GString *html);
