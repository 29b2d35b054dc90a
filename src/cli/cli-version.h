/* SPDX-License-Identifier: MIT */
/* The one place that words what version this is. */
#pragma once

void cli_print_version(void);
