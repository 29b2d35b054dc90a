/* SPDX-License-Identifier: MIT */
/* The keys of a Hugging Face config.json, as transformers' own configuration classes read them. For this room alone.
 *
 *   if (!model_config_read(json, -1, &shape, assumed, error)) return FALSE;      // fields that it leaves out stay 0
 *   conf_json_fail(json, model_config_key(json, family, "layers", buffer), error, "…");      // at n_layer, say
 */
#pragma once

#include "conf-json.h"
#include "model-shape.h"

/* Family, sizes, traits, tying and window. `family` is what [model] says, or -1: the config's model_type decides.
 * Appends to `assumed` (char *) what the file does not say and what of it is left out. Errors: a model_type that is not
 * modelled, with the nearest that is; a key that changes the architecture in a way that is not modelled, by name. */
gboolean model_config_read(const ConfJson *json, int family, ModelShape *shape, GPtrArray *assumed, GError **error);

/* The layer that foretells tokens beyond the next is no part of what most tools train, or count: says so where the file
 * has it and the shape, keys of [model] included, has not. */
gboolean model_config_note_further(const ConfJson *json, const ModelShape *shape, GPtrArray *assumed, GError **error);

/* What this config.json calls a key of [model] ("layers" is "n_layer" in gpt2, "num_hidden_layers" elsewhere), or `key`
 * itself. Caller frees. */
char *model_config_key(const ConfJson *json, int family, const char *key);
