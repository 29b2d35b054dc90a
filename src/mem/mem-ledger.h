/* The ledger of one device: bytes by tenant, their peak, and the first request that did not fit.
 *
 *   MemLedger ledger;
 *   mem_ledger_init(&ledger, capacity);
 *   if (!mem_ledger_take(&ledger, MEM_ACTIVATIONS, bytes)) …     // over capacity for the first time: play goes on
 *   mem_ledger_give(&ledger, MEM_ACTIVATIONS, bytes);            // more than was taken is a broken contract
 *
 * All O(1). After the first request that does not fit, play goes on as if memory had no end: the peaks are the need. */
#pragma once

#include "base-quantity.h"
#include "mem-tenant.h"

typedef struct {
  guint64 capacity; /* usable bytes */
  guint64 held[MEM_TENANTS], total;
  guint64 peak; /* greatest total */
  guint64 held_at_peak[MEM_TENANTS];
  SimTime peak_at;
  gboolean full; /* a request has not fitted */
} MemLedger;

void mem_ledger_init(MemLedger *ledger, guint64 capacity);
/* FALSE once: for the first request that does not fit. */
gboolean mem_ledger_take(MemLedger *ledger, MemTenant tenant, guint64 bytes, SimTime now);
void mem_ledger_give(MemLedger *ledger, MemTenant tenant, guint64 bytes, SimTime now);
