/* SPDX-License-Identifier: MIT */
/* Several errors as one, a line each: whoever reads a file or settings goes on after the first mistake.
 *
 *   BaseErrors errors = {0};
 *   for (…)
 *     if (!read_key(key, &cause)) base_errors_add(&errors, g_steal_pointer(&cause));
 *   return base_errors_end(&errors, error);
 *
 * One message holds at most twenty lines and counts the rest; a line that is there already is not said again. */
#pragma once

#include "base-error.h"

typedef struct {
  GString *text;
  guint lines;
  int code; /* SimErrorCode of the gravest: SYSTEM where any was */
} BaseErrors;

/* Takes `cause`, each of its lines by itself; NULL: nothing happens. */
void base_errors_add(BaseErrors *errors, GError *cause);
/* TRUE where there were none; else all of them as *error, in the order in which they came. Frees. */
gboolean base_errors_end(BaseErrors *errors, GError **error);
