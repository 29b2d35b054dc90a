/* SPDX-License-Identifier: MIT */
/* Models from the text of a config.json, as a workload would name it, for tests of what is read and of what is built.
 *
 *   ModelShape shape = shape_case_load("{'model_type': 'llama', …}", (const char *const[]){"model.layers=2", NULL});
 *   …
 *   model_shape_clear(&shape);
 */
#pragma once

#include "conf-settings.h"
#include "model-shape.h"

/* The settings of shapes and recipes, with those of a NULL-terminated list, which may be NULL. Caller frees. */
ConfSettings *shape_case_settings(const char *const *assignments);

/* The file's name is some-model.json; quotes may be single. */
gboolean shape_case_try(const char *text, const char *const *assignments, ModelShape *ret, GError **error);

/* A failure of the test where it is refused. */
ModelShape shape_case_load(const char *text, const char *const *assignments);
