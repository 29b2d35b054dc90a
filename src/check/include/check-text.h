/* SPDX-License-Identifier: MIT */
/* What a check found, as each reader wants it: a table, Markdown (both: what failed first), JUnit's XML, GitHub's
 * annotations, JSON. All append. */
#pragma once

#include "check-run.h"

void check_text(const CheckResult *result, GString *text);
void check_markdown(const CheckResult *result, GString *text);
void check_junit(const CheckResult *result, GString *text);
/* "::error file=…,line=…::…" for each that failed, "::notice" for each that moved: at the line of the workload or
 * recipe that changed, else at the budget's. What stands in the text already ceases to be commands, whatever names it
 * holds. */
void check_github(const CheckResult *result, GString *text);
/* {"json_version", "failed", "checks" [{"budget", "check", "verdict", "now", "accepted", "tool_moved", "recipe_moved"
 * (null: no baseline), "why", "file", "line"}]}, in the order of the file. */
void check_json(const CheckResult *result, GString *text);
