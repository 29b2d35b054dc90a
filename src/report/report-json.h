/* SPDX-License-Identifier: MIT */
/* Parts of JSON objects that several pages have: private to this floor. */
#pragma once

#include "base-json.h"
#include "run-report.h"

/* Members named as the columns of table run. */
void report_json_metrics(BaseJson *json, const RunReport *report);
/* "causes_ps" {cause: ps}. */
void report_json_causes(BaseJson *json, const RunClass *slowest);
