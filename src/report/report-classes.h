/* SPDX-License-Identifier: MIT */
/* Classes of ranks that do different things, a line each: the stages of a pipeline. Private to this floor. */
#pragma once

#include "run-report.h"

/* "tensor 2 × pipeline 4 × data 2; experts over 8", where ranks are laid along more axes than data; NULL: they are
 * not. Caller frees. */
char *report_layout(const RunIdentity *identity);
/* Nothing where all do the same. */
void report_classes(const RunReport *report, GString *text);
