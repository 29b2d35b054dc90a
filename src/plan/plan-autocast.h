/* SPDX-License-Identifier: MIT */
/* Weights and their gradients of fp32 parameters under torch.autocast: what frameworks that keep parameters so add
 * around a unit. What autocast makes of activations is the model's (ModelRecipe.autocast). Private to this floor.
 *
 *   forward    cast weights(i)  forward(i) …                  a unit's 16-bit copies stay for its backward
 *   backward   backward(i): wgrad, in 16 bits ─ gradient to fp32 …                      copies go when it has ended
 *
 * A linear layer keeps for backward what it multiplied, the copy. Of what runs again nothing is kept: it is cast again
 * with its backward. What forward's copies then live for is the cache: autocast keeps those of leaves that require
 * gradients (parameters, as DDP and FSDP2 have them) until it ends, after forward; those of views (FSDP1's, of the flat
 * parameter) and of what is frozen it does not. Source: ATen/autocast_mode.cpp, cached_cast;
 * FlatParamHandle._use_unsharded_views. */
#pragma once

#include "plan-walk.h"

typedef struct PlanAutocast PlanAutocast;

/* `bytes`, `compute_bytes`: of an element of parameters and of what matmuls read; `caches`: parameters are leaves.
 * Stands as long as the walk. */
PlanAutocast *plan_autocast_new(PlanWalk *walk, guint32 bytes, guint32 compute_bytes, gboolean caches);
void plan_autocast_free(PlanAutocast *autocast);

/* Hooks of the policy, once the unit's fp32 parameters are there. Of NULL, which is no autocast, nothing. */
void plan_autocast_before_unit(PlanAutocast *autocast, guint32 unit, PlanPass pass);
void plan_autocast_after_unit(PlanAutocast *autocast, guint32 unit, PlanPass pass);
void plan_autocast_forward_ended(PlanAutocast *autocast);
/* Backward has made a parameter's gradient, and the fp32 one is to be taken next: of what was cast it is 16 bits, and
 * is cast back. */
void plan_autocast_gradient(PlanAutocast *autocast, const PlanGradient *gradient);
