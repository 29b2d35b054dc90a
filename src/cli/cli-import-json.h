/* SPDX-License-Identifier: MIT */
/* --json of imported traces (docs/json.md has the members). Private to this floor. */
#pragma once

#include "base-json.h"
#include "cli-import.h"
#include "import-kineto-program.h"

/* "measured_ps" and "measured", of each file: its step, and the whole of it by HolisticTraceAnalysis' definitions. */
void cli_import_json_measured(BaseJson *json, const ImportKinetoSet *set);
/* "replay"; null where nothing was replayed. */
void cli_import_json_replay(BaseJson *json, const char *topology, const CliReplayed *replayed);
