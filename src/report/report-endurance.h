/* SPDX-License-Identifier: MIT */
/* Trainings of a page of advice as they will be, with failures, restarts and checkpoints: private to this floor.
 *
 *   if (report_endures(page, report)) … report_endure(page, report).goodput …
 *   report_endurance(page, rows, text);          // the table, nothing where it is not known */
#pragma once

#include "base-table.h"
#include "report-advise.h"

/* Whether failures are asked for and it is known how long the training takes. */
gboolean report_endures(const ReportAdvise *page, const RunReport *report);
StudyEndurance report_endure(const ReportAdvise *page, const RunReport *report);
/* USD of the training where it takes so many days; 0: not known. */
double report_price_for(const RunReport *report, double days);
/* USD, "-" where it is 0. */
void report_print_price(BaseTable *table, double usd);
/* `rows`: of StudyAdvised, at least one. */
void report_endurance(const ReportAdvise *page, const GPtrArray *rows, GString *text);
