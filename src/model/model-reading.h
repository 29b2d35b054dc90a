/* SPDX-License-Identifier: MIT */
/* A config.json while it is read: its family's row, where its text model stands, what was taken without being said. For
 * this room alone.
 *
 *   if (!model_reading_count(reading, "first_k_dense_replace", &shape->dense_layers, error)) return FALSE;
 *
 * Names are paths under the prefix. What is absent or null leaves *ret as it is. */
#pragma once

#include "conf-json.h"
#include "model-family.h"

typedef struct {
  const ConfJson *json;
  const ModelFamilyRow *row;
  const char *prefix; /* "text_config.", or "" */
  ModelShape *shape;
  GPtrArray *assumed; /* char * */
} ModelReading;

/* Caller frees. */
char *model_reading_path(const ModelReading *reading, const char *name);
gboolean model_reading_has(const ModelReading *reading, const char *name);
/* There, if only as null. */
gboolean model_reading_states(const ModelReading *reading, const char *name);
gboolean model_reading_count(const ModelReading *reading, const char *name, guint64 *ret, GError **error);
gboolean model_reading_flag(const ModelReading *reading, const char *name, gboolean *ret, GError **error);
/* Always FALSE. */
gboolean model_reading_fail(const ModelReading *reading, const char *name, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
void model_reading_assume(const ModelReading *reading, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* What a family's keys say beside sizes, model-config-parts.c: each for the sizes that were read before it. */
gboolean model_reading_refuse(const ModelReading *reading, GError **error); /* keys of another model */
gboolean model_reading_traits(const ModelReading *reading, GError **error);
gboolean model_reading_window(const ModelReading *reading, GError **error);
gboolean model_reading_experts(const ModelReading *reading, GError **error);
gboolean model_reading_dropout(const ModelReading *reading, GError **error);
gboolean model_reading_image(const ModelReading *reading, GError **error);
gboolean model_reading_stacks(const ModelReading *reading, GError **error);
gboolean model_reading_latent(const ModelReading *reading, GError **error);
