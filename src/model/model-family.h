/* SPDX-License-Identifier: MIT */
/* The table of families: which parts a family's layers have, and where its config.json keeps them. For this room alone.
 *
 *   const ModelFamilyRow *row = model_family_of_type("qwen3_moe");         // NULL: not modelled
 *   model_family_row(shape->family)->traits                               // bits of model-traits.h
 *
 * A row is what transformers' configuration and modelling classes of the model_type do (configuration_<type>.py,
 * modeling_<type>.py under src/transformers/models, 4.40 to 4.57; for those that came as code of their own, the
 * repository's files of the same names). */
#pragma once

#include "model-shape.h"

/* How a config.json spells sizes: as most do; as gpt2, mpt and t5 do. */
typedef enum { MODEL_SPELLS_USUAL, MODEL_SPELLS_GPT2, MODEL_SPELLS_MPT, MODEL_SPELLINGS } ModelSpelling;

/* A key of config.json that says yes or no, and what that means. */
typedef struct {
  const char *key;
  gboolean initial;      /* where it is absent */
  ModelTraits sets;      /* where it is true */
  ModelTraits clears;    /* where it is false */
  ModelTraits true_ends; /* also cleared where it is true */
  const char *refused;   /* where it is true: not modelled, and why; else NULL */
} ModelSwitch;

#define MODEL_SWITCHES_MOST 8

typedef struct {
  const char *name;     /* of [model] family */
  const char *types[4]; /* of model_type; NULL ends */
  ModelSpelling spelling;
  ModelTraits traits;
  ModelShape defaults;                       /* sizes where config.json says nothing */
  ModelSwitch switches[MODEL_SWITCHES_MOST]; /* a NULL key ends */
  const char *kv_flag; /* true, or absent: one key head (multi_query); unless `kv_unless` is true */
  const char *kv_unless;
  const char *window_flag; /* the window counts only where this key is true */
  const char *window_key;  /* of the window; NULL: the class has none */
  guint32 mlp_times;       /* intermediate_size where it is absent, in hidden sizes; 0: it must be there */
  gboolean mixes;          /* may have experts: else keys about them are refused */
  gboolean experts_alone;  /* intermediate_size is an expert's, and no layer is dense */
  double dropout;          /* where config.json says nothing */
  double rotary_part;      /* of each head, where config.json says nothing; 0: all */
  gboolean experts_fused;  /* all experts' weights are one tensor, no linear layer that an adapter could stand beside */
  gboolean shared_alike;   /* one shared expert as wide as the others; MLPs as intermediate_size_mlp says (llama4) */
  const char *nested;      /* where the model is in a file of several: "text_config.", or NULL */
} ModelFamilyRow;

guint model_family_count(void);
const ModelFamilyRow *model_family_row(int family);
/* The row's bits with every key absent. */
ModelTraits model_family_traits(int family);
/* What a switch makes of the bits. */
ModelTraits model_switch_apply(const ModelSwitch *one, gboolean on, ModelTraits traits);
/* Index of the row, or -1. */
int model_family_of_type(const char *model_type);
/* What stands in the way of a model_type that is known and not modelled ("layers of linear attention"), or NULL. */
const char *model_family_obstacle(const char *model_type);
/* All model_types that are modelled, NULL at the end; caller frees the list alone. */
const char **model_family_types(void);
