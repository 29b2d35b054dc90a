/* SPDX-License-Identifier: MIT */
/* Tar archives to the files in them, whose bytes stay the archive's. Private to this floor. */
#pragma once

#include "base-error.h"

/* By its first header. */
gboolean conf_tar_is(const char *data, gsize length);
/* Appends a ConfPart per plain file, in order; links and folders are passed. Errors (SIM_ERROR_INPUT): a header that is
 * none, a file that the archive's end cuts off; what was appended stays. */
gboolean conf_tar_parts(const char *path, GBytes *whole, GPtrArray *parts, GError **error);
