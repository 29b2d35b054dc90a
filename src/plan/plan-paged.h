/* SPDX-License-Identifier: MIT */
/* States of bitsandbytes' paged optimizers: managed memory of the driver, beside PyTorch's caching allocator.
 *
 *   PlanPaged paged;
 *   plan_paged_init(&paged, walk, plan_paged_bytes(recipe, elements), copies);      // 0 bytes: does nothing below
 *   plan_paged_move(&paged, walk); plan_update_run(…); plan_paged_take(&paged, walk);
 *
 *   room for all       states are made on the GPU and stay there
 *   less (`move`)      as many as have room are on the GPU between steps; each step moves all of them in and, before
 *                      that, others out:
 *
 *                        optimizer   │ move paged states │ adam8bit │      one parameter after the other in truth
 *
 * cudaMalloc displaces managed pages, so PyTorch's segments come first, and nothing runs out because of the states. The
 * driver evicts what came longest ago. An optimizer's step walks over all states in one order, so where they do not
 * fit as a whole, each has left before its turn comes again: all are moved, however little is missing.
 *
 * Sources: bitsandbytes optim/optimizer.py (get_state_buffer: tensors of 1e5 elements on, momenta alone; prefetch_state
 * before each parameter's update) and functional.py (get_paged: cudaMallocManaged; prefetch_tensor); the driver's
 * nvidia-uvm/uvm_pmm_gpu.c (pick_root_chunk_to_evict: 2 MiB, least recently used). Private to this floor. */
#pragma once

#include "plan-walk.h"

typedef struct {
  guint64 bytes;  /* of a GPU's states, on the GPU or not */
  guint32 tensor; /* of those that have room there */
} PlanPaged;

/* What is paged of the momenta of a tensor of so many elements; quantised momenta's maxima are not. */
guint64 plan_paged_bytes(const PlanRecipe *recipe, guint64 elements);
/* `copies`: ranks that hold the same. */
void plan_paged_init(PlanPaged *paged, PlanWalk *walk, guint64 bytes, guint64 copies);
/* The row before the optimizer's own, where states move at all. */
void plan_paged_move(const PlanPaged *paged, PlanWalk *walk);
/* With the row just added, in the first step. */
void plan_paged_take(const PlanPaged *paged, PlanWalk *walk);
