/* SPDX-License-Identifier: MIT */
/* The run key: SHA-256 of the canonical settings, the catalogue values used and the version of our models. */
#pragma once

#include "conf-settings.h"
#include "run-report.h"

/* `figures`: of the catalogue values and NCCL's tables, copied. `parameters`: of the model, since some shapes
 * differ in no key (biases that come with a model_type). `fidelity`: of collectives. `profile`: path of the layer
 * profile, or NULL. Caller frees. */
char *study_key(const ConfSettings *settings, const GChecksum *figures, guint64 parameters, const char *fidelity,
                gboolean contention, const char *profile, GError **error);

/* The settings as the report keeps them. */
void study_key_settings(const ConfSettings *settings, RunIdentity *ret);
