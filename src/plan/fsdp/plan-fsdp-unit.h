/* SPDX-License-Identifier: MIT */
/* One of FSDP's units on this rank: how large its shards are, the tensors of its way, what of it is there. Private to
 * this folder.
 *
 *   parameters ─► gathering ─► unsharded        gradients ─► gradient ─► reducing ─► reduced ─► gradient_shard */
#pragma once

#include "plan-blocks.h"

typedef struct {
  guint64 shard, padded;                 /* elements: of one rank, of all that share */
  guint64 reduced_shard, reduced_padded; /* of what is reduced; 0: nothing of the unit is trained */
  guint64 gathered_bytes;                /* of all that share */
  guint64 fp8_shard;                     /* elements of my shard that are cast to fp8 to be gathered */
  guint64 owned;                         /* what this rank's optimizer updates */
  guint64 replicated;                    /* of its elements, those that every tensor rank holds */
} PlanFsdpSizes;

typedef struct {
  PlanBlocks parameters;          /* this rank's shard */
  guint32 fetched;                /* offload: my shard, come from the host */
  guint32 gathering;              /* FSDP2: the all-gather's output; FSDP1: my shard, cast */
  guint32 regathering;            /* FSDP2: the output in backward */
  PlanBlocks unsharded;           /* what the operations read */
  guint32 kept;                   /* FSDP2: the smaller shard that reshard_after_forward = N leaves */
  guint32 gradient;               /* FSDP1: the flat gradient */
  PlanBlocks accumulated;         /* FSDP2: gradients that wait for the last micro-batch */
  guint32 joined;                 /* FSDP1: a flat gradient on its way into the one that is there */
  guint32 reducing;               /* input of the reduction, where it is not the gradient */
  guint32 reduced;                /* its output, until it is cast or added */
  guint32 gradient_shard;         /* what the optimizer reads */
  PlanBlocks states, temporaries; /* of the optimizer, of my shard */
} PlanFsdpTensors;

/* Ranks over which a unit's parameters are sharded and its gradients averaged. */
typedef struct {
  guint32 shards, replicas; /* ranks that share one copy; copies */
  guint32 shard, replica;   /* communicators, where there are several */
} PlanFsdpData;

typedef struct {
  const PlanFsdpData *data;
  PlanFsdpSizes size;
  PlanFsdpTensors tensor;
  gboolean reshards;     /* after forward */
  gboolean has_backward; /* something of it, or below it, is trained */
  /* While a section is built. */
  guint32 gather;         /* row that compute has still to wait for; PROGRAM_NONE: none */
  gboolean is_awaited;    /* FSDP1: its backward is to come */
  gboolean has_offloaded; /* offload: the host has a gradient shard of this step */
  gboolean is_unsharded, is_kept, has_gradient, has_shard, holds_reduced;
  gboolean is_fresh; /* its parameters' gradients are there, and not yet added to those of the micro-batches before */
} PlanFsdpUnit;
