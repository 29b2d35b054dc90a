/* SPDX-License-Identifier: MIT */
/* What became of memory in earlier plays, for plays that take and give the same bytes in the same order: points that
 * differ in the network, or in what collectives cost there.
 *
 *   RunRecall *recall = run_recall_new();
 *   RunOptions options = {.recall = recall, .requests = 1};    // of one thread
 *   … run_play(…) …                                // the same Reports as without
 *   run_recall_free(recall);
 *
 * Memory: a few kilobytes for each of a dozen Programs, a megabyte at most where much that is given waits. */
#pragma once

#include <glib.h>

typedef struct RunRecall RunRecall;

RunRecall *run_recall_new(void);
void run_recall_free(RunRecall *recall);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunRecall, run_recall_free)
/* Plays whose memory was known so far, and plays that were taken to be such and were not. */
guint64 run_recall_met(const RunRecall *recall);
guint64 run_recall_missed(const RunRecall *recall);
