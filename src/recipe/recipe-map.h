/* SPDX-License-Identifier: MIT */
/* Mapping tables: how one tool's keys are read. Private to this floor.
 *
 *   static const RecipeRow rows[] = {
 *       {"train_batch_size", RECIPE_TAKE, "training.global_batch", recipe_take_count, NULL, "sequences"},
 *       {"scheduler.*", RECIPE_SAFE, NULL, NULL, NULL, "learning rates do not change the time of a step"},
 *       {"sparse_attention.*", RECIPE_REFUSE, NULL, NULL, NULL, "sparse attention; remove the block"},
 *       {"amp.*", RECIPE_REFUSE, NULL, NULL, "false", "NVIDIA Apex; use bf16"},   // {"enabled": false} is harmless
 *   };
 *
 * A path that ends in ".*" stands for the key before it and all below; an exact path comes before it. */
#pragma once

#include "base-errors.h"
#include "conf-tree.h"
#include "recipe.h"

typedef enum { RECIPE_TAKE, RECIPE_SAFE, RECIPE_REFUSE } RecipeAction;

typedef struct RecipeRow RecipeRow;
typedef struct RecipeReading RecipeReading;
typedef gboolean (*RecipeConvert)(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                  GError **error);

struct RecipeRow {
  const char *path;
  RecipeAction action;
  const char *setting;   /* RECIPE_TAKE: ours */
  RecipeConvert convert; /* RECIPE_TAKE */
  const char *unless;    /* RECIPE_REFUSE: values that change nothing, with "|" between them */
  const char *remark;    /* TAKE: unit or reading; SAFE: why; REFUSE: what is not modelled, and what to do */
};

typedef struct RecipeRows {
  const RecipeRow *rows;
  gsize n_rows;
  const struct RecipeRows *more; /* searched after these; NULL: none */
} RecipeRows;

typedef struct {
  const char *tool;
  const char *const *marks; /* a file that has one of these paths is this tool's; NULL-terminated; NULL: none */
  const char *const *calls; /* Python: endings of what is called to make the whole; NULL: never from Python */
  const char *refused;      /* known, and not read: why; NULL where it is read */
  RecipeRows rows;
  const RecipeRows *shared;          /* searched after its own; NULL: none */
  char *(*normal)(const char *path); /* the path that rows have for it; NULL: as it stands. Caller frees */
  /* What the tool makes of a key that it does not know, where that is not an error; NULL: it is. */
  const char *(*unknown)(const char *path);
  gboolean (*finish)(RecipeReading *reading, GError **error); /* what follows from several keys, or from none */
} RecipeTable;

struct RecipeReading {
  const ConfTree *tree;
  const RecipeTable *table;
  Recipe *recipe;
};

extern const RecipeTable recipe_deepspeed, recipe_accelerate, recipe_trainer, recipe_torchtitan, recipe_llm_foundry,
    recipe_axolotl, recipe_llama_factory, recipe_trl, recipe_megatron, recipe_nemo, recipe_neox, recipe_torchtune,
    recipe_llama_factory_v1, recipe_nanotron, recipe_generation, recipe_reinforcement, recipe_torchtitan_python;
extern const RecipeRows recipe_fsdp_rows; /* below "fsdp_config.", of accelerate, Trainer and axolotl */

/* Of one that is nobody's but the caller's: its two arrays. */
void recipe_begin(Recipe *recipe);
void recipe_end(Recipe *recipe);

/* Reads every key of a tree by its table into `recipe`; adds what is wrong with each, as recipe_load says. */
void recipe_read(Recipe *recipe, const ConfTree *tree, const RecipeTable *table, BaseErrors *errors);

/* Notes a setting, from `node` (NULL: the tool's default), once: a key replaces a default and an "auto" of the
 * workload, a key that says the same again is left out and named. Two keys that say different things of one setting: an
 * error. */
gboolean recipe_give(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const char *value,
                     const char *remark, GError **error);
/* The same by true or false: `yes` or `no`, each NULL where it says nothing. Errors too: neither. */
gboolean recipe_give_flag(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const char *yes,
                          const char *no, const char *remark, GError **error);
void recipe_give_rule(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const RecipeWait *wait,
                      const char *remark);
/* A value that any key overrules: what "auto" is where nobody says more. */
void recipe_give_auto(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const char *value,
                      const char *remark);
/* What the tool does where no key says it does not hold after all. */
void recipe_withdraw(RecipeReading *reading, const char *setting);
void recipe_leave(RecipeReading *reading, const ConfTreeNode *node, const char *reason);
/* One probability for hidden states and attention; NULL: the file does not say it, and the tool's is `usual`. Errors:
 * a flag or a group; one of them without the other. */
gboolean recipe_give_dropout(RecipeReading *reading, const ConfTreeNode *hidden, const ConfTreeNode *attention,
                             const char *usual, GError **error);
/* Whether a setting is noted so far, with that value (NULL: any). */
gboolean recipe_gives(const RecipeReading *reading, const char *setting, const char *value);

/* micro_batch, gradient_accumulation, global_batch: any two give the third. NULL-terminated. */
extern const char *const recipe_batch[];

/* The number that a waiting value is, of facts that are known; ranks 0: any. Errors: GPUs that do not go with it. */
gboolean recipe_resolve(const RecipeTaken *taken, const RecipeFacts *facts, guint64 *ret, GError **error);

/* The node, or what its "${path}" names. Errors: a template that is not filled in. */
const ConfTreeNode *recipe_follow(const ConfTree *tree, const ConfTreeNode *node, GError **error);
/* The text at a path without its case, "" where it is absent. Caller frees. */
char *recipe_text(const RecipeReading *reading, const char *path);
gboolean recipe_is_auto(const ConfTreeNode *node);
/* Whether there is a key, and it is true. */
gboolean recipe_is_true(const RecipeReading *reading, const char *path);

/* Converters. "auto" is an error but for those that say so. */
gboolean recipe_take_count(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_flag(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_text(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* Counts of the batch; "auto" waits for the workload. */
gboolean recipe_take_batch(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* A limit of the gradients' norm. */
gboolean recipe_take_clipping(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* Names of optimizers of torch, DeepSpeed and bitsandbytes to ours. */
gboolean recipe_take_optimizer(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* true: full, false: none. */
gboolean recipe_take_checkpointing(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* use_reentrant of PyTorch's checkpoints: those that are not stop early. */
gboolean recipe_take_reentrant(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* What they are by the tool's default, where layers are recomputed by others than FSDP's wrapper. */
gboolean recipe_give_reentrant(RecipeReading *reading, gboolean reentrant, const char *remark, GError **error);
/* Whether FSDP's wrapper recomputes, which is not reentrant. */
gboolean recipe_wraps_checkpoints(const RecipeReading *reading);
/* The dtype's name to ours: bfloat16, amp_bf16, fp16, float32, no, … */
gboolean recipe_take_precision(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_sharding(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* The name of a ds_config.json, beside the file or above it, which is read as if it stood here. */
gboolean recipe_take_deepspeed(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* Read by `finish`, or beside another key. */
gboolean recipe_take_later(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
