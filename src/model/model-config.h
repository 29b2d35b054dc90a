/* The keys of a Hugging Face config.json, as transformers' own configuration classes read them. For this room alone.
 *
 *   if (!model_config_read(json, &shape, error)) return FALSE;          // fields that it leaves out stay 0
 *   conf_json_fail(json, model_config_key(json, "layers"), error, "…");   // at n_layer, or num_hidden_layers
 */
#pragma once

#include "conf-json.h"
#include "model-shape.h"

/* Family, sizes, tying, biases and window. Errors: a model_type that is not modelled, with those that are; a key that
 * changes the architecture (quantization_config, experts, biases where the family has none) by name. */
gboolean model_config_read(const ConfJson *json, ModelShape *shape, GError **error);

/* What config.json calls a key of [model] ("layers" is "n_layer" in gpt2, "num_hidden_layers" elsewhere), or `key`
 * itself. */
const char *model_config_key(const ConfJson *json, const char *key);
