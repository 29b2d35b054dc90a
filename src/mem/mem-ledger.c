/* SPDX-License-Identifier: MIT */
/* Sums and a peak. */
#include "mem-ledger.h"

#include <string.h>

#include "base-error.h"

const char *const mem_tenant_names[] = {"parameters", "gradients",     "optimizer", "activations",
                                        "temporary",  "communication", "overhead",  NULL};

gboolean mem_ledger_take(MemLedger *ledger, MemTenant tenant, guint64 bytes, SimTime now) {
  ledger->held[tenant] += bytes;
  ledger->total += bytes;
  if (ledger->total <= ledger->peak)
    return FALSE;
  ledger->peak = ledger->total;
  ledger->peak_at = now;
  memcpy(ledger->held_at_peak, ledger->held, sizeof ledger->held);
  return TRUE;
}

void mem_ledger_give(MemLedger *ledger, MemTenant tenant, guint64 bytes, SimTime now) {
  sim_require(bytes <= ledger->held[tenant], now, NULL,
              "%s gives %" G_GUINT64_FORMAT " bytes, holds %" G_GUINT64_FORMAT, mem_tenant_names[tenant], bytes,
              ledger->held[tenant]);
  ledger->held[tenant] -= bytes;
  ledger->total -= bytes;
}
