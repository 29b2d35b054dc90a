/* SPDX-License-Identifier: MIT */
/* What the pictures of a page are drawn from, as JSON: boxes of the slowest rank class, levels of the tightest. Private
 * to this floor.
 *
 *   {"end": ps, "names": [text], "kinds": [{"name", "colour", "dark"}],
 *    "rows": [{"title", "start": [ps], "duration": [ps], "kind": [index], "layer": [-1: none], "name": [index]}],
 *    "tenants": [{"name", "colour", "cache"}], "levels": {"at": [ps], "held": [[bytes] by tenant]},
 *    "capacity": bytes, "peak": bytes}
 *
 * Rows stand from above, tenants from below. page.js reads it. */
#pragma once

#include "report-scene.h"

/* Appends. */
void report_page_data(const ReportScene *slowest, const ReportScene *tightest, GString *json);
