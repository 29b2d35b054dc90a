/* SPDX-License-Identifier: MIT */
/* [ddp]: PyTorch's DistributedDataParallel, and the training loop around it. Plain data. */
#pragma once

#include "conf-schema.h"

typedef struct {
  double bucket_cap, first_bucket_cap; /* bytes */
  gboolean gradient_as_bucket_view, find_unused_parameters, no_sync, autocast;
} PlanDdp;

extern const ConfSchema plan_ddp_schema;
