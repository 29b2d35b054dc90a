/* SPDX-License-Identifier: MIT */
/* An overlay file from a fit: the fitted figures as keys of a topology, and in comments where they come from, how much
 * closer they bring the model, and what of the log was not used and why.
 *
 *   text = import_overlay_text(log, &fit, "foretrain import nccl-tests");       // write it to mine.overlay.ini
 *
 * hw-overlay.h says how a topology or a workload takes it in. */
#pragma once

#include "import-fit.h"

/* `tool`: what read the log, as in "foretrain import nccl-tests". */
GString *import_overlay_text(const ImportLog *log, const ImportFit *fit, const char *tool);
