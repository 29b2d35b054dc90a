/* SPDX-License-Identifier: MIT */
/* Who holds memory: the names under which every byte of a device is charged. */
#pragma once

typedef enum {
  MEM_PARAMETERS,    /* weights, or this rank's shard of them */
  MEM_GRADIENTS,     /* gradients, or this rank's shard */
  MEM_OPTIMIZER,     /* master weights, momenta */
  MEM_ACTIVATIONS,   /* what forward leaves for backward */
  MEM_TEMPORARY,     /* working sets: gradients of activations, logits' copies, recomputed tensors' scratch */
  MEM_COMMUNICATION, /* gathered copies and buckets: what sharding needs in flight */
  MEM_OVERHEAD,      /* context, NCCL's buffers, library workspaces */
  MEM_TENANTS
} MemTenant;

extern const char *const mem_tenant_names[]; /* "parameters", … NULL */
