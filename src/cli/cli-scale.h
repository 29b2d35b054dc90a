/* SPDX-License-Identifier: MIT */
/* --scale of verbs that replay traces. Private to this floor. */
#pragma once

#include "study-trace.h"

/* "compute=0.5", as often as it was given (NULL: never), into `replay`. Errors: SIM_ERROR_INPUT. */
gboolean cli_scale(const char *const *texts, StudyReplay *replay, GError **error);
