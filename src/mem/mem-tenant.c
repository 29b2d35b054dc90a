/* SPDX-License-Identifier: MIT */
/* Tenants by name. */
#include "mem-tenant.h"

#include <glib.h>

const char *const mem_tenant_names[] = {"parameters", "gradients",     "optimizer", "activations",
                                        "temporary",  "communication", "overhead",  NULL};
