/* SPDX-License-Identifier: MIT */
/* Lays the predictions out as NCCL does: three algorithms to a block, a line per call. */
#include "coll-matrix.h"

#include "coll-tuner.h"

#define ACROSS 3 /* algorithms of a block */

/* In NCCL's order, by its names. */
static const struct {
  CollAlgorithm algorithm;
  const char *name;
} algorithms[] = {{COLL_TREE, "Tree"},
                  {COLL_RING, "Ring"},
                  {COLL_COLLNET_DIRECT, "CollNetDirect"},
                  {COLL_COLLNET_CHAIN, "CollNetChain"},
                  {COLL_NVLS, "NVLS"},
                  {COLL_NVLS_TREE, "NVLSTree"},
                  {COLL_PAT, "PAT"}};
static const struct {
  CollOperation operation;
  const char *name;
} calls[] = {{COLL_BROADCAST, "Broadcast"},
             {COLL_REDUCE, "Reduce"},
             {COLL_ALL_GATHER, "AllGather"},
             {COLL_REDUCE_SCATTER, "ReduceScatter"},
             {COLL_ALL_REDUCE, "AllReduce"}};

static void print_block(const CollGroup *group, gsize first, gsize end, GString *text) {
  g_string_append(text, "   Algorithm  |");
  for (gsize a = first; a < end; a++)
    g_string_append_printf(text, " %-47s|", algorithms[a].name);
  g_string_append(text, "\n    Protocol  |");
  for (gsize a = first; a < end; a++)
    for (int p = 0; p < COLL_PROTOCOLS; p++)
      g_string_append_printf(text, " %13s |", coll_protocol_names[p]);
  for (gsize c = 0; c < G_N_ELEMENTS(calls); c++) {
    g_string_append_printf(text, "\n%13s |", calls[c].name);
    for (gsize a = first; a < end; a++)
      for (CollProtocol p = 0; p < COLL_PROTOCOLS; p++) {
        CollTunerCell cell = coll_tuner_cell(group, calls[c].operation, algorithms[a].algorithm, p);
        g_string_append_printf(text, " %6.1f/%6.1f |", base_in_us(cell.latency), base_in_gb(cell.bandwidth));
      }
  }
  g_string_append_c(text, '\n');
}

void coll_matrix_print(const CollGroup *group, GString *text) {
  for (gsize first = 0; first < G_N_ELEMENTS(algorithms); first += ACROSS)
    print_block(group, first, MIN(first + ACROSS, G_N_ELEMENTS(algorithms)), text);
  g_string_append_printf(text, "%u coll channels, %u nvls channels, %u p2p channels\n", group->channels,
                         group->nvls_channels, group->p2p_channels);
}

void coll_matrix_print_call(CollGroup *group, const CollCall *call, GString *text) {
  CollChoice choice = coll_choice(group, call);
  g_string_append_printf(text, "%s of %" G_GUINT64_FORMAT " bytes\n", coll_operation_names[call->operation],
                         call->bytes);
  for (CollAlgorithm a = 0; a < COLL_ALGORITHMS; a++)
    for (CollProtocol p = 0; p < COLL_PROTOCOLS; p++) {
      CollPlan plan;
      if (!coll_tuner_enabled(group, call->operation, a, p))
        continue;
      gboolean taken = choice.algorithm == a && choice.protocol == p;
      coll_group_connect(group, a);
      coll_plan_as(group, call, a, p, &plan);
      SimTime time = sim_time_add(plan.latency, sim_time_of_amount(plan.volume, plan.cap));
      g_string_append_printf(text, "  %-14s %-6s  %2u channels  promised %10.1f us  takes %10.1f us%s\n",
                             coll_algorithm_names[a], coll_protocol_names[p], plan.channels,
                             base_in_us(coll_tuner_time(group, call, a, p)), base_in_us(time), taken ? "  taken" : "");
    }
}
