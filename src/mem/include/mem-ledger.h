/* SPDX-License-Identifier: MIT */
/* The ledger of one device: bytes by tenant, and their peak.
 *
 *   MemLedger ledger = {0};
 *   if (mem_ledger_take(&ledger, MEM_ACTIVATIONS, bytes, now)) …     // more than ever before
 *   mem_ledger_give(&ledger, MEM_ACTIVATIONS, bytes, now);           // more than was taken is a broken contract
 *
 * All O(1). What tensors asked for, to the byte: rounding, caching and running out are the allocator's. */
#pragma once

#include <string.h>

#include "base-error.h"
#include "base-quantity.h"
#include "mem-tenant.h"

typedef struct {
  guint64 held[MEM_TENANTS], total;
  guint64 peak; /* greatest total */
  guint64 held_at_peak[MEM_TENANTS];
  SimTime peak_at;
} MemLedger;

/* Whether this is a new peak. */
static inline gboolean mem_ledger_take(MemLedger *ledger, MemTenant tenant, guint64 bytes, SimTime now) {
  ledger->held[tenant] += bytes;
  ledger->total += bytes;
  if (ledger->total <= ledger->peak)
    return FALSE;
  ledger->peak = ledger->total;
  ledger->peak_at = now;
  memcpy(ledger->held_at_peak, ledger->held, sizeof ledger->held);
  return TRUE;
}

static inline void mem_ledger_give(MemLedger *ledger, MemTenant tenant, guint64 bytes, SimTime now) {
  sim_require(bytes <= ledger->held[tenant], now, NULL,
              "%s gives %" G_GUINT64_FORMAT " bytes, holds %" G_GUINT64_FORMAT, mem_tenant_names[tenant], bytes,
              ledger->held[tenant]);
  ledger->held[tenant] -= bytes;
  ledger->total -= bytes;
}
