/* SPDX-License-Identifier: MIT */
/* Two reports of one system, the first folded, the second with every rank played: equal in all that is a result.
 *
 *   g_autofree guint32 *classes = twins_classes(folded, gpus);       // by rank; checks `members` on the way
 *   CU_ASSERT_TRUE(twins_equal(folded, classes, plain));              // says on stdout what differs first
 */
#pragma once

#include "harness.h"
#include "run-report.h"

gboolean twins_equal(const RunReport *folded, const guint32 *classes, const RunReport *plain, gboolean loud);

/* Class of every rank, read from the texts; each rank stands in exactly one. Caller frees. */
guint32 *twins_classes(const RunReport *report, guint32 ranks);
