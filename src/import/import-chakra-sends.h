/* SPDX-License-Identifier: MIT */
/* Whether each send of Chakra traces has its receive. Private to this floor. */
#pragma once

#include <glib.h>

/* traces: ImportChakraTrace by rank. Errors (SIM_ERROR_INPUT): a peer without a file; a send that nobody receives, or a
 * receive that nobody sends, with ranks and tag. */
gboolean import_chakra_check_sends(const GPtrArray *traces, GError **error);
