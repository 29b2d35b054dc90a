/* SPDX-License-Identifier: MIT */
/* The ledger of one device, against a dumb twin that adds everything up again after each entry. */
#include "harness.h"
#include "mem-ledger.h"

static void the_peak_and_who_held_it(void) {
  MemLedger ledger = {0};
  CU_ASSERT_TRUE(mem_ledger_take(&ledger, MEM_PARAMETERS, 60));
  CU_ASSERT_TRUE(mem_ledger_take(&ledger, MEM_ACTIVATIONS, 40));
  CU_ASSERT_TRUE(mem_ledger_take(&ledger, MEM_TEMPORARY, 1));
  CU_ASSERT_TRUE(mem_ledger_take(&ledger, MEM_TEMPORARY, 9));
  mem_ledger_give(&ledger, MEM_ACTIVATIONS, 40);
  CU_ASSERT_FALSE(mem_ledger_take(&ledger, MEM_COMMUNICATION, 20)); /* 90 is no peak */
  CU_ASSERT_EQUAL(ledger.peak, 110);
  CU_ASSERT_EQUAL(ledger.held_at_peak[MEM_ACTIVATIONS], 40);
  CU_ASSERT_EQUAL(ledger.held_at_peak[MEM_COMMUNICATION], 0);
  CU_ASSERT_EQUAL(ledger.total, 90);
}

static void agrees_with_a_list(void) {
  g_autoptr(GRand) random = harness_random();
  g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(guint64[2])); /* tenant, bytes: what is held */
  MemLedger ledger = {0};
  guint64 peak = 0;
  for (int i = 0; i < 20000; i++) {
    if (entries->len > 0 && g_rand_int_range(random, 0, 100) < 48) {
      guint victim = (guint)g_rand_int_range(random, 0, (gint32)entries->len);
      guint64 *entry = (guint64 *)(gpointer)entries->data + 2 * victim;
      mem_ledger_give(&ledger, (MemTenant)entry[0], entry[1]);
      g_array_remove_index_fast(entries, victim);
    } else {
      guint64 entry[2] = {(guint64)g_rand_int_range(random, 0, MEM_TENANTS),
                          (guint64)g_rand_int_range(random, 1, 1 << 14)};
      gboolean highest = mem_ledger_take(&ledger, (MemTenant)entry[0], entry[1]);
      g_array_append_val(entries, entry);
      guint64 total = 0;
      for (guint k = 0; k < entries->len; k++)
        total += ((guint64 *)(gpointer)entries->data)[2 * k + 1];
      CU_ASSERT_EQUAL(highest, total > peak);
      peak = MAX(peak, total);
      CU_ASSERT_EQUAL(ledger.total, total);
      CU_ASSERT_EQUAL(ledger.peak, peak);
    }
    guint64 sum = 0, at_peak = 0;
    for (int tenant = 0; tenant < MEM_TENANTS; tenant++) {
      sum += ledger.held[tenant];
      at_peak += ledger.held_at_peak[tenant];
    }
    CU_ASSERT_EQUAL(sum, ledger.total);
    CU_ASSERT_EQUAL(at_peak, ledger.peak);
  }
}

int main(void) {
  return harness_run("mem-ledger", (HarnessCase[]){{"the peak and who held it", the_peak_and_who_held_it},
                                                   {"agrees with a list", agrees_with_a_list},
                                                   {NULL, NULL}});
}
