/* SPDX-License-Identifier: MIT */
/* The graphs of one communicator on one machine: the system, a search per pattern, the counts. */
#include "coll-graph.h"

#include <string.h>

#include "base-error.h"
#include "coll-channels.h"
#include "coll-search.h"

static void take_draft(CollGraph *graph, CollDraft *draft, const CollSystem *system) {
  *graph = (CollGraph){
      .pattern = draft->pattern,
      .channels = draft->channels,
      .gpus = system->n_gpus,
      .intra = (double)draft->intra,
      .inter = (double)draft->inter,
      .type_intra = draft->type_intra,
      .type_inter = draft->type_inter,
      .cross_nic = draft->cross_nic,
      .same_channels = draft->same,
      .nic_latency = draft->latency,
      .order = g_steal_pointer(&draft->order),
      .nics = g_steal_pointer(&draft->nets),
  };
  if (system->n_nets == 0)
    g_clear_pointer(&graph->nics, g_free);
}

static void find_graph(CollGraphs *graphs, CollGraphKind kind, CollSystem *system, const CollSearchRules *rules,
                       const CollSearchTask *task) {
  CollDraft draft;
  coll_search(system, rules, task, &draft);
  take_draft(&graphs->graph[kind], &draft, system);
  coll_draft_clear(&draft);
}

static void find_graphs(CollGraphs *graphs, CollSystem *system, const CollSearchRules *rules,
                        const CollGraphRequest *request) {
  guint32 most = rules->most_channels / rules->doubled;
  CollSearchTask task = {COLL_PATTERN_RING, 1, most, request->cross_nic};
  find_graph(graphs, COLL_GRAPH_RING, system, rules, &task);
  guint32 rings = graphs->graph[COLL_GRAPH_RING].channels;
  task = (CollSearchTask){COLL_TREE_BALANCED, rings, rings, request->cross_nic};
  find_graph(graphs, COLL_GRAPH_TREE, system, rules, &task);
  graphs->graph[COLL_GRAPH_NVLS].pattern = COLL_PATTERN_NVLS;
  if (!request->nvls || request->n_gpus < rules->nvls_gpus || !request->p2p)
    return;
  task = (CollSearchTask){COLL_PATTERN_NVLS, 1, rules->most_channels, 0};
  find_graph(graphs, COLL_GRAPH_NVLS, system, rules, &task);
}

static gboolean check(const HwMachine *machine, const CollGraphRequest *request, GError **error) {
  if (request->nodes > 1 && machine->nics == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "a communicator over %u nodes needs NICs, and the machine has none",
                request->nodes);
    return FALSE;
  }
  sim_require(request->n_gpus > 0 && request->nodes > 0, 0, NULL, "%u GPUs in %u nodes", request->n_gpus,
              request->nodes);
  for (guint32 i = 0; i < request->n_gpus; i++)
    sim_require(request->gpus[i] < machine->gpus && (i == 0 || request->gpus[i] > request->gpus[i - 1]), 0, NULL,
                "GPU %u of %u", request->gpus[i], machine->gpus);
  return TRUE;
}

CollGraphs *coll_graphs_new(const HwMachine *machine, const CollSearchRules *rules, const CollGraphRequest *request,
                            GError **error) {
  if (!check(machine, request, error))
    return NULL;
  const CollView view = {request->gpus, request->n_gpus, request->nodes > 1, request->p2p};
  g_autoptr(CollSystem) system = coll_system_new(machine, rules, &view);
  CollGraphs *graphs = g_new0(CollGraphs, 1);
  graphs->capability = machine->compute_capability;
  for (guint32 nic = 0; nic < machine->nics && request->nodes > 1; nic++)
    graphs->nic_rate = nic == 0 ? machine->nic[nic].rate : MIN(graphs->nic_rate, machine->nic[nic].rate);
  find_graphs(graphs, system, rules, request);
  coll_channels_peers(graphs, system, rules);
  coll_graphs_count(graphs, rules, request, &graphs->counts);
  return graphs;
}

gboolean coll_graph_requests_share(const CollGraphRequest *a, const CollGraphRequest *b) {
  return a->n_gpus == b->n_gpus && memcmp(a->gpus, b->gpus, a->n_gpus * sizeof *a->gpus) == 0 &&
         (a->nodes > 1) == (b->nodes > 1) && a->cross_nic == b->cross_nic && !a->nvls == !b->nvls && !a->p2p == !b->p2p;
}

guint coll_graph_request_hash(const CollGraphRequest *request) {
  enum { SPREAD = 31 };
  guint hash = (request->nodes > 1) + 2 * (request->nvls != 0) + 4 * (request->p2p != 0) + 8 * request->cross_nic;
  for (guint32 i = 0; i < request->n_gpus; i++)
    hash = hash * SPREAD + request->gpus[i];
  return hash;
}

void coll_graphs_free(CollGraphs *graphs) {
  if (graphs == NULL)
    return;
  for (guint kind = 0; kind < COLL_GRAPHS; kind++) {
    g_free(graphs->graph[kind].order);
    g_free(graphs->graph[kind].nics);
  }
  g_free(graphs);
}
