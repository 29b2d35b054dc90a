/* SPDX-License-Identifier: MIT */
/* A validation as people and programs read it. Appends.
 *
 *   truth_text(result, &(TruthShow){.worst = 5}, text);
 *
 * For each measure a table by source and set, the verdicts beside what was seen, why rows did not run, what rows left
 * unsaid; on demand every row, or the worst with their breakdown. */
#pragma once

#include "truth-score.h"

typedef struct {
  gboolean rows;
  guint worst; /* so many: see truth_rows_worst */
} TruthShow;

void truth_text(const TruthResult *result, const TruthShow *show, GString *text);

/* One object, ended by a line feed:
 *   "json_version", "model_version", "coverage" (nominal, of intervals, per cent), "rows_total", "rows_ran"
 *   "groups"     [{"source", "set", "band" (of collectives, else null), "rows", "ran", "errors": {"step_time_s":
 *                {"n", "mean", "median", "p90", "worst", "bias"}, …}, "verdicts": {"fits_fits", "fits_edge", …,
 *                "oom_oom" (measured, predicted), "hard", "hard_right"}}]
 *   "headlines"  [{"family", "sources", "median_of_medians", "worst_bias", "n", "p90"}] of step time, tiers A and B
 *   "held_out_by_source" mean over sources, of tiers A and B, of the share of rows that held_out_inside counts
 *   "intervals"  [{"source", "set", "n", "inside" (their own interval), "held_out_inside" (the one that other sources
 *                give), "held_out_beyond" (like no row of other sources), "rested_on" (rows that intervals rest on),
 *                "width", "held_out_width" (medians of high / low; 0: none known)}] of rows with a measured step
 *   "reasons"    [{"reason", "rows"}]
 *   "defaults"   [{"name", "value" (null: as topology, framework or NCCL have it), "rows"}]
 *   "rows"       where asked for: [{"table", "id", "source", "set", "status", "measured.step_time_s", …,
 *                "predicted.step_time_s", …}]: what the row measures and the same predicted, in the tables' own units,
 *                bandwidth in GB/s; null where it could not be predicted; of rows with a step "predicted.step_low_s",
 *                "predicted.step_high_s", "held_out.…", "envelope", "like" {columns of residuals.csv} */
void truth_json(const TruthResult *result, const TruthShow *show, GString *text);
