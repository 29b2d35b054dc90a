/* SPDX-License-Identifier: MIT */
/* What a check found, as each reader wants it: a table, Markdown, JUnit's XML, GitHub's annotations. All append. */
#pragma once

#include "check-run.h"

void check_text(const CheckResult *result, GString *text);
void check_markdown(const CheckResult *result, GString *text);
void check_junit(const CheckResult *result, GString *text);
/* "::error file=…,line=…::…" for each that failed, "::notice" for each that moved. What stands in the text already
 * ceases to be commands, whatever names it holds. */
void check_github(const CheckResult *result, GString *text);
