/* The run key: SHA-256 of the canonical settings, the catalogue values used and the version of our models. */
#pragma once

#include "conf-settings.h"
#include "hw-catalog.h"
#include "run-report.h"

/* `tuning`: path of the NCCL constants used, whose text is part of the key. `parameters`: of the model, since some shapes
 * differ in no key (biases that come with a model_type). `fidelity`: of collectives. `profile`: path of the layer profile,
 * or NULL. Caller frees. */
char *study_key(const ConfSettings *settings, const HwCatalog *catalog, const char *tuning, guint64 parameters,
                const char *fidelity, gboolean contention, const char *profile, GError **error);

/* The settings as the report keeps them. */
void study_key_settings(const ConfSettings *settings, RunIdentity *ret);
