/* SPDX-License-Identifier: MIT */
/* What the two halves of the JSON reader share: structure (conf-pull.c) and scalars (conf-pull-value.c). For them
 * alone. */
#pragma once

#include "conf-pull.h"

/* SIM_ERROR_INPUT at a place of the current line; FALSE. */
gboolean conf_pull_fail(const ConfPull *pull, const char *at, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* Past spaces and comments. */
gboolean conf_pull_skip(ConfPull *pull, GError **error);
/* What stands at `at`, as messages show it: a word, a quoted text or one sign. Caller frees. */
char *conf_pull_found(const ConfPull *pull);
/* From the opening quote past the closing one; decoded and appended to `text` if that is not NULL. */
gboolean conf_pull_quoted(ConfPull *pull, GString *text, GError **error);
/* A number, true, false, null, NaN, Infinity. */
gboolean conf_pull_word(ConfPull *pull, GString *text, GError **error);
