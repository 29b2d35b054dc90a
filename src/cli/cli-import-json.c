/* SPDX-License-Identifier: MIT */
/* --json of imported traces: what was measured of each rank, and what the written file replays to. */
#include "cli-import-json.h"

static void add_file(BaseJson *json, const ImportKineto *measured) {
  const ImportKinetoFigures *all = &measured->figures;
  base_json_map(json, "whole");
  base_json_integer(json, "kernel_time_ps", all->kernel_time);
  base_json_integer(json, "compute_ps", all->compute);
  base_json_integer(json, "non_compute_ps", all->non_compute);
  base_json_integer(json, "idle_ps", all->idle);
  base_json_integer(json, "communication_ps", all->communication);
  base_json_integer(json, "overlap_ps", all->overlap);
  base_json_end(json);
}

static void add_step(BaseJson *json, SimTime step, SimTime compute, SimTime communication, SimTime exposed,
                     SimTime idle) {
  base_json_integer(json, "step_ps", step);
  base_json_integer(json, "compute_ps", compute);
  base_json_integer(json, "communication_ps", communication);
  base_json_integer(json, "exposed_ps", exposed);
  base_json_integer(json, "idle_ps", idle);
}

static void add_rank(BaseJson *json, const ImportKinetoSet *set, guint file) {
  const ImportKineto *measured = import_kineto_measured(set, file);
  gint64 rank = import_kineto_rank(set, file);
  base_json_map(json, NULL);
  base_json_text(json, "file", import_kineto_path(set, file));
  if (rank >= 0)
    base_json_integer(json, "rank", rank);
  else
    base_json_null(json, "rank");
  base_json_integer(json, "steps", measured->steps);
  if (measured->steps > 0)
    base_json_integer(json, "taken", measured->taken);
  else
    base_json_null(json, "taken");
  add_step(json, measured->step, measured->compute, measured->communication, measured->exposed, measured->idle);
  add_file(json, measured);
  base_json_end(json);
}

void cli_import_json_measured(BaseJson *json, const ImportKinetoSet *set) {
  base_json_integer(json, "measured_ps", import_kineto_length(set));
  base_json_list(json, "measured");
  for (guint i = 0; i < import_kineto_files(set); i++)
    add_rank(json, set, i);
  base_json_end(json);
}

static void add_ratio(BaseJson *json, const char *key, SimTime step, SimTime measured) {
  if (step >= 0 && measured > 0)
    base_json_number(json, key, (double)step / (double)measured);
  else
    base_json_null(json, key);
}

void cli_import_json_replay(BaseJson *json, const char *topology, const CliReplayed *replayed) {
  if (replayed->report == NULL) {
    base_json_null(json, "replay");
    return;
  }
  const RunClass *slowest = run_report_slowest(replayed->report);
  base_json_map(json, "replay");
  base_json_text(json, "topology", topology);
  base_json_integer(json, "ranks", replayed->ranks);
  base_json_number(json, "compute_scale", replayed->scale);
  add_step(json, slowest->step, slowest->compute, slowest->communication, slowest->exposed,
           slowest->step - slowest->compute - slowest->exposed);
  add_ratio(json, "of_measured", slowest->step, replayed->measured);
  add_ratio(json, "of_measured_with_its_communication", replayed->kept, replayed->measured);
  base_json_end(json);
}
