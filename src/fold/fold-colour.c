/* SPDX-License-Identifier: MIT */
/* The system as a graph: nodes are ranks, then communicators, then links. */
#include "fold-colour.h"

#include <string.h>

#include "fold-palette.h"
#include "fold-refine.h"
#include "fold-role.h"

typedef struct {
  const Program *program;
  const HwCluster *cluster;
  CollGroup *const *groups;
  FoldRoles roles;
  FoldGraph graph;
  guint32 communicators, links; /* first node of each kind; ranks begin at 0 */
  guint32 *colours;
} System;

static guint64 bits_of(double value) {
  guint64 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void count_edges(System *system) {
  guint32 *degrees = system->graph.offsets + 1;
  for (guint32 c = 0; c < system->program->n_communicators; c++) {
    const ProgramCommunicator *communicator = &system->program->communicators[c];
    degrees[system->communicators + c] = communicator->n_ranks;
    for (guint32 i = 0; i < communicator->n_ranks; i++)
      degrees[communicator->ranks[i]]++;
    for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++) {
      const CollRoute *route = coll_group_route(system->groups[c], algorithm);
      degrees[system->communicators + c] += route->n;
      for (guint32 i = 0; i < route->n; i++)
        degrees[system->links + route->links[i]]++;
    }
  }
  for (guint32 node = 0; node < system->graph.n_nodes; node++)
    degrees[node] += system->graph.offsets[node];
}

static void join(System *system, guint32 *at, guint32 a, guint32 b, guint32 label) {
  system->graph.edges[at[a]++] = (FoldEdge){b, label};
  system->graph.edges[at[b]++] = (FoldEdge){a, label};
}

static void build_graph(System *system) {
  const Program *program = system->program;
  system->communicators = program->n_ranks;
  system->links = program->n_ranks + program->n_communicators;
  system->graph.n_nodes = system->links + system->cluster->n_links;
  system->graph.offsets = g_new0(guint32, system->graph.n_nodes + 1);
  count_edges(system);
  system->graph.edges = g_new(FoldEdge, system->graph.offsets[system->graph.n_nodes]);
  g_autofree guint32 *at = g_memdup2(system->graph.offsets, system->graph.n_nodes * sizeof(guint32));
  for (guint32 c = 0; c < program->n_communicators; c++) {
    const ProgramCommunicator *communicator = &program->communicators[c];
    guint32 node = system->communicators + c;
    for (guint32 i = 0; i < communicator->n_ranks; i++) {
      guint32 rank = communicator->ranks[i];
      join(system, at, rank, node,
           fold_roles_slot(&system->roles, program->ranks[rank].role, program_slot(program, rank, c)));
    }
    for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++) {
      const CollRoute *route = coll_group_route(system->groups[c], algorithm);
      for (guint32 i = 0; i < route->n; i++) /* the label tells the algorithm too */
        join(system, at, node, system->links + route->links[i], route->coefficients[i] * COLL_ALGORITHMS + algorithm);
    }
  }
}

/* Kinds of nodes: the first word of what each begins as. */
enum { RANK, COMMUNICATOR, LINK };

static void colour_ranks(System *system, FoldPalette *palette) {
  const Program *program = system->program;
  for (guint32 i = 0; i < program->n_ranks; i++) {
    const ProgramRank *rank = &program->ranks[i];
    const guint64 words[] = {RANK, system->roles.shapes[rank->role],
                             bits_of(hw_cluster_speed(system->cluster, rank->device))};
    system->colours[i] = fold_palette_colour(palette, words, G_N_ELEMENTS(words));
  }
}

#define FOUND_WORDS 7
#define GROUP_WORDS (21 + COLL_SEARCHED_KINDS * FOUND_WORDS + 3 * COLL_ALGORITHMS)

static guint64 *add_found(guint64 *at, const CollSearchResult *found) {
  *at++ = found->channels;
  *at++ = bits_of(found->intra);
  *at++ = bits_of(found->inter);
  *at++ = found->nvlink;
  *at++ = found->ll128;
  *at++ = found->plain_tree;
  *at++ = found->same;
  return at;
}

/* What a CollGroup says beside its routes' links, member by member: its padding is nobody's. Tuning and knobs are the
 * library's, the same for all groups of a system. */
static guint64 *add_group(guint64 *at, const CollGroup *group) {
  const guint64 counts[] = {group->size,
                            group->nodes,
                            group->per_node,
                            group->rings,
                            group->channels,
                            group->nvls_channels,
                            group->p2p_channels,
                            group->connected,
                            group->buffer_bytes,
                            group->tree_depth,
                            group->intra,
                            group->cpu,
                            group->flushes,
                            (guint64)group->nic_latency,
                            (guint64)group->hop_latency,
                            (guint64)group->launch_floor};
  const double rates[] = {group->node_rate, group->switch_rate, group->nic_rate, group->p2p_cap};
  G_STATIC_ASSERT(1 + G_N_ELEMENTS(counts) + G_N_ELEMENTS(rates) + COLL_SEARCHED_KINDS * FOUND_WORDS +
                      3 * COLL_ALGORITHMS ==
                  GROUP_WORDS);
  for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
    *at++ = counts[i];
  for (guint i = 0; i < G_N_ELEMENTS(rates); i++)
    *at++ = bits_of(rates[i]);
  for (int kind = 0; kind < COLL_SEARCHED_KINDS; kind++)
    at = add_found(at, &group->found[kind]);
  for (int algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++) {
    *at++ = coll_group_route(group, algorithm)->n;
    *at++ = group->units[algorithm];
    *at++ = bits_of(group->rates[algorithm]);
  }
  return at;
}

static void colour_communicators(System *system, FoldPalette *palette) {
  for (guint32 c = 0; c < system->program->n_communicators; c++) {
    guint64 words[GROUP_WORDS] = {COMMUNICATOR};
    const guint64 *end = add_group(words + 1, system->groups[c]);
    system->colours[system->communicators + c] = fold_palette_colour(palette, words, (guint32)(end - words));
  }
}

static void colour_links(System *system, FoldPalette *palette) {
  for (guint32 i = 0; i < system->cluster->n_links; i++) {
    const HwClusterLink *link = &system->cluster->links[i];
    const guint64 words[] = {LINK, link->link_class, bits_of(link->capacity), bits_of(link->share)};
    system->colours[system->links + i] = fold_palette_colour(palette, words, G_N_ELEMENTS(words));
  }
}

static void colour_start(System *system) {
  FoldPalette palette;
  fold_palette_init(&palette);
  system->colours = g_new(guint32, system->graph.n_nodes);
  colour_ranks(system, &palette);
  colour_communicators(system, &palette);
  colour_links(system, &palette);
  fold_palette_clear(&palette);
}

/* Colours of which some rank uses two communicators. FALSE: there is none. */
static gboolean find_tangled(const System *system, gboolean *tangled) {
  g_autofree guint32 *rank_of =
      g_new0(guint32, system->graph.n_nodes); /* by colour: the rank that saw it last, from 1 */
  g_autofree guint32 *node_of = g_new0(guint32, system->graph.n_nodes); /* and the communicator of it that it is in */
  gboolean any = FALSE;
  for (guint32 rank = 0; rank < system->program->n_ranks; rank++)
    for (guint32 i = system->graph.offsets[rank]; i < system->graph.offsets[rank + 1]; i++) {
      guint32 node = system->graph.edges[i].node, colour = system->colours[node];
      if (system->graph.edges[i].label == 0)
        continue;
      if (rank_of[colour] == rank + 1 && node_of[colour] != node)
        any = tangled[colour] = TRUE;
      rank_of[colour] = rank + 1;
      node_of[colour] = node;
    }
  return any;
}

static gboolean untangle(System *system) {
  g_autofree gboolean *tangled = g_new0(gboolean, system->graph.n_nodes);
  if (!find_tangled(system, tangled))
    return FALSE;
  g_autofree gboolean *kept = g_new0(gboolean, system->graph.n_nodes);
  guint32 most = 0;
  for (guint32 node = 0; node < system->graph.n_nodes; node++)
    most = MAX(most, system->colours[node]);
  for (guint32 node = system->communicators; node < system->links; node++) {
    guint32 colour = system->colours[node];
    if (tangled[colour] && kept[colour])
      system->colours[node] = ++most;
    kept[colour] = TRUE;
  }
  return TRUE;
}

static FoldColours renumber(const guint32 *colours, guint32 n, guint32 *number) {
  FoldColours renumbered = {g_new(guint32, n), g_new(guint32, n), 0};
  for (guint32 i = 0; i < n; i++) {
    if (number[colours[i]] == 0) {
      renumbered.firsts[renumbered.n] = i;
      number[colours[i]] = ++renumbered.n;
    }
    renumbered.of[i] = number[colours[i]] - 1;
  }
  return renumbered;
}

static void number_all(const System *system, FoldColouring *ret) {
  g_autofree guint32 *number = g_new0(guint32, system->graph.n_nodes);
  ret->ranks = renumber(system->colours, system->program->n_ranks, number);
  ret->communicators = renumber(system->colours + system->communicators, system->program->n_communicators, number);
  ret->links = renumber(system->colours + system->links, system->cluster->n_links, number);
}

static FoldColours each_its_own(guint32 n) {
  FoldColours colours = {g_new(guint32, n), g_new(guint32, n), n};
  for (guint32 i = 0; i < n; i++)
    colours.of[i] = colours.firsts[i] = i;
  return colours;
}

void fold_colouring_init(FoldColouring *colouring, const Program *program, const HwCluster *cluster,
                         CollGroup *const *groups, guint32 most_rounds) {
  if (most_rounds == 0) {
    *colouring = (FoldColouring){each_its_own(program->n_ranks), each_its_own(program->n_communicators),
                                 each_its_own(cluster->n_links), NULL};
    return;
  }
  System system = {.program = program, .cluster = cluster, .groups = groups};
  fold_roles_init(&system.roles, program);
  build_graph(&system);
  colour_start(&system);
  do
    fold_refine(&system.graph, system.colours, most_rounds);
  while (untangle(&system));
  number_all(&system, colouring);
  colouring->shapes = g_steal_pointer(&system.roles.shapes);
  fold_roles_clear(&system.roles);
  g_free(system.graph.offsets);
  g_free(system.graph.edges);
  g_free(system.colours);
}

static void colours_clear(FoldColours *colours) {
  g_free(colours->of);
  g_free(colours->firsts);
}

void fold_colouring_clear(FoldColouring *colouring) {
  colours_clear(&colouring->ranks);
  colours_clear(&colouring->communicators);
  colours_clear(&colouring->links);
  g_free(colouring->shapes);
}
