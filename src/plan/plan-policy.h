/* SPDX-License-Identifier: MIT */
/* Frameworks: a row of the table for each, with its section of settings and what it does in a step.
 *
 *   const PlanPolicy *policy = &plan_policies[recipe->framework];
 *   Program *program = plan_step_program(&(PlanCase){shape, model_recipe, recipe}, policy->hooks);
 *
 * To add one: a value of PlanFramework, a folder with its hooks, a struct of its options in PlanRecipe, a row.
 * Private to this floor. */
#pragma once

#include "plan-hooks.h"
#include "plan.h"

/* What was given, beside the recipe that is being made of it. `model` may be completed. */
typedef struct {
  const ConfSettings *settings;
  const ModelShape *shape;
  ModelRecipe *model;
} PlanGiven;

typedef struct {
  const char *name;
  const PlanSetting *defaults;  /* its own for keys of others; end with a name of NULL; NULL: none */
  const ConfSchema *schema;     /* its section; NULL: it has none */
  gsize options;                /* offset in PlanRecipe of the struct that the schema fills */
  PlanCheckpointKind selective; /* what it calls "selective" checkpointing */
  enum {
    PLAN_STOPS_NEVER, /* its own function runs all of a layer again */
    PLAN_STOPS_ASKED, /* PyTorch's, reentrant where nobody says so */
    PLAN_STOPS        /* PyTorch's checkpoint_wrapper, which is not */
  } stops;
  /* Fills in defaults that depend on version or stage, refuses what it cannot do, by the key's name; NULL: nothing. */
  gboolean (*resolve)(const PlanGiven *given, PlanRecipe *recipe, GError **error);
  const PlanHooks *hooks;
  LayoutSet axes;             /* of tensor, context, pipeline, expert: those that it has */
  guint schedules;            /* of its pipeline: a bit for each LayoutSchedule; single always */
  gboolean sequence_parallel; /* between its tensor ranks */
  /* Spreads the units over the stages of the recipe's pipeline, as in plan-stages.h; NULL where it has none. */
  gboolean (*spread)(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds, GError **error);
  gboolean idles;               /* its last stages may hold nothing */
  ModelLoss loss;               /* where nobody chooses */
  gboolean hostless;            /* the host costs nothing */
  gboolean offloads;            /* by parallel.offload_optimizer and offload_parameters */
  const PlanSetting *remedies;  /* as plan_remedies; NULL: none */
  const char *const *elsewhere; /* as plan_elsewhere; NULL: nowhere */
  /* Adds lines about what it assumes and resolved, for people; NULL: nothing. */
  void (*note)(const PlanRecipe *recipe, GPtrArray *notes);
} PlanPolicy;

extern const PlanPolicy plan_policies[PLAN_FRAMEWORKS];

/* Refuses a key that was given but that this framework cannot do; `why` follows the framework's name. TRUE: not
 * given. */
gboolean plan_policy_refuse(const ConfSettings *settings, const char *name, const PlanRecipe *recipe, const char *why,
                            GError **error);

/* A version before the oldest that is known is played as that one; plan_notes says so. */
void plan_policy_oldest(PlanRecipe *recipe, guint32 oldest);

/* Scales of fp8, by framework and compute capability (0: not known); completes the model's recipe. */
gboolean plan_fp8_resolve(const PlanGiven *given, const PlanRecipe *recipe, guint32 capability, GError **error);

gboolean plan_paper_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error);
gboolean plan_ddp_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error);
void plan_ddp_note(const PlanRecipe *recipe, GPtrArray *notes);
void plan_fsdp_note(const PlanRecipe *recipe, GPtrArray *notes);
gboolean plan_megatron_spread(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds, GError **error);
void plan_megatron_note(const PlanRecipe *recipe, GPtrArray *notes);
gboolean plan_nanotron_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error);
gboolean plan_nanotron_spread(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds, GError **error);
void plan_nanotron_note(const PlanRecipe *recipe, GPtrArray *notes);

gboolean plan_deepspeed_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error);
void plan_deepspeed_note(const PlanRecipe *recipe, GPtrArray *notes);
gboolean plan_megatron_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error);
gboolean plan_fsdp1_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error);
gboolean plan_fsdp2_spread(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds, GError **error);
gboolean plan_deepspeed_spread(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds, GError **error);
gboolean plan_fsdp2_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error);

extern const PlanHooks plan_paper_hooks, plan_ddp_hooks, plan_deepspeed_hooks, plan_fsdp_hooks, plan_megatron_hooks,
    plan_nanotron_hooks;
