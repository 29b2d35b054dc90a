/* SPDX-License-Identifier: MIT */
/* Settings in which rows of runs differ because somebody chose them so: private to this floor. */
#pragma once

#include "store-best.h"

typedef struct ReportChosen ReportChosen;

/* Settings that some row was given on a command line or by a sweep, and that are not the same in all; none of those
 * that stand in `shown` (names of metrics, NULL-terminated). NULL: an error of the database. */
ReportChosen *report_chosen_new(StoreDb *db, const GArray *best, const char *const *shown, GError **error);
void report_chosen_free(ReportChosen *chosen);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportChosen, report_chosen_free)

/* "group.key", in order; and what the row has, its default included. NULL: nothing. Borrowed. */
guint report_chosen_count(const ReportChosen *chosen);
const char *report_chosen_name(const ReportChosen *chosen, guint i);
const char *report_chosen_value(const ReportChosen *chosen, guint i, guint row);
