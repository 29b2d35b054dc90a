/* SPDX-License-Identifier: MIT */
/* The ledger of one device: bytes by tenant, and their peak.
 *
 *   MemLedger ledger = {0};
 *   if (mem_ledger_take(&ledger, MEM_ACTIVATIONS, bytes)) …     // more than ever before
 *   mem_ledger_give(&ledger, MEM_ACTIVATIONS, bytes);           // more than was taken is a broken contract
 *
 * All O(1). It knows no time. What tensors asked for, to the byte: rounding, caching and running out are the
 * allocator's. */
#pragma once

#include <string.h>

#include "base-error.h"
#include "mem-tenant.h"

typedef struct {
  guint64 held[MEM_TENANTS], total;
  guint64 peak; /* greatest total */
  guint64 held_at_peak[MEM_TENANTS];
} MemLedger;

/* Whether this is a new peak. */
static inline gboolean mem_ledger_take(MemLedger *ledger, MemTenant tenant, guint64 bytes) {
  ledger->held[tenant] += bytes;
  ledger->total += bytes;
  if (ledger->total <= ledger->peak)
    return FALSE;
  ledger->peak = ledger->total;
  memcpy(ledger->held_at_peak, ledger->held, sizeof ledger->held);
  return TRUE;
}

static inline void mem_ledger_give(MemLedger *ledger, MemTenant tenant, guint64 bytes) {
  sim_require(bytes <= ledger->held[tenant], 0, NULL, "%s gives %" G_GUINT64_FORMAT " bytes, holds %" G_GUINT64_FORMAT,
              mem_tenant_names[tenant], bytes, ledger->held[tenant]);
  ledger->held[tenant] -= bytes;
  ledger->total -= bytes;
}
