/* SPDX-License-Identifier: MIT */
/* A trace as its readers fill it, event by event. Private to this floor.
 *
 *   g_autoptr(ImportKinetoTrace) trace = import_kineto_new(path);
 *   for (…) import_kineto_keep(trace, &event, at);
 *   return import_kineto_finish(trace, "has no kernels of a GPU", error) ? g_steal_pointer(&trace) : NULL;
 */
#pragma once

#include "import-kineto-args.h"
#include "import-kineto-read.h"

ImportKinetoTrace *import_kineto_new(const char *path);
/* By category and name; what is none of interest is passed. Times of one trace are on one clock. */
void import_kineto_keep(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at);
/* The place of a group by its name, which is added where it is new; ranks as PyTorch writes them, "[0, 1]". */
gint import_kineto_group(ImportKinetoTrace *trace, const char *name, const char *ranks, guint64 size);
/* Everything in order, empty marks dropped, notes given to kernels. FALSE: no kernels, which `empty` says. */
gboolean import_kineto_finish(ImportKinetoTrace *trace, const char *empty, GError **error);
