/* SPDX-License-Identifier: MIT */
/* From colours to the smaller system: the first of each colour stands for all. */
#include "fold.h"

#include <stdlib.h>
#include <string.h>

#include "fold-colour.h"

static int by_value(const void *a, const void *b) {
  guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
  return (left > right) - (left < right);
}

static void fold_ranks(FoldSystem *system, const FoldColours *colours) {
  const Program *whole = system->whole;
  system->program.n_ranks = colours->n;
  system->program.ranks = g_new0(ProgramRank, colours->n);
  for (guint32 i = 0; i < whole->n_ranks; i++) {
    ProgramRank *rank = &system->program.ranks[colours->of[i]];
    guint32 count = rank->count + whole->ranks[i].count;
    if (rank->count == 0)
      *rank = whole->ranks[i];
    rank->count = count;
  }
  for (guint32 i = 0; i < colours->n; i++)
    if (system->program.ranks[i].count > system->program.ranks[system->usual].count)
      system->usual = i;
}

static void name_by_colour(ProgramSection *section, const FoldColours *communicators) {
  section->rows = g_memdup2(section->rows, section->n_rows * sizeof *section->rows);
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].group != PROGRAM_NONE)
      section->rows[i].group = communicators->of[section->rows[i].group];
}

/* Where ranks say which communicator a slot is, rows can stay. */
static void fold_memberships(FoldSystem *system, const FoldColours *ranks, const FoldColours *communicators) {
  const Program *whole = system->whole;
  if (whole->memberships == NULL)
    return;
  system->program.memberships = g_new(guint32, (gsize)ranks->n * whole->n_slots);
  for (guint32 i = 0; i < ranks->n; i++)
    for (guint32 slot = 0; slot < whole->n_slots; slot++) {
      guint32 group = program_group(whole, ranks->firsts[i], slot);
      system->program.memberships[i * whole->n_slots + slot] =
          group != PROGRAM_NONE ? communicators->of[group] : PROGRAM_NONE;
    }
}

static gboolean renames_rows(const FoldSystem *system) {
  return system->whole->memberships == NULL && system->program.n_communicators < system->whole->n_communicators;
}

/* Roles that are still played, their rows naming the communicators that are. */
static void fold_roles(FoldSystem *system, const FoldColours *communicators) {
  const Program *whole = system->whole;
  g_autofree guint32 *number = g_new0(guint32, whole->n_roles);
  system->program.roles = g_new(ProgramRole, whole->n_roles);
  system->program.n_roles = 0;
  for (guint32 i = 0; i < system->program.n_ranks; i++) {
    guint32 role = system->program.ranks[i].role;
    if (number[role] == 0) {
      ProgramRole *played = &system->program.roles[system->program.n_roles++];
      number[role] = system->program.n_roles;
      *played = whole->roles[role];
      for (int s = 0; s < PROGRAM_SECTIONS && renames_rows(system); s++)
        name_by_colour(&played->sections[s], communicators);
    }
    system->program.ranks[i].role = number[role] - 1;
  }
}

static void fold_communicators(FoldSystem *system, const FoldColouring *colouring) {
  guint32 n = colouring->communicators.n;
  g_autofree guint32 *seen_by = g_new0(guint32, colouring->ranks.n); /* from 1 */
  system->program.n_communicators = n;
  system->program.communicators = g_new0(ProgramCommunicator, n);
  for (guint32 c = 0; c < n; c++) {
    const ProgramCommunicator *from = &system->whole->communicators[colouring->communicators.firsts[c]];
    ProgramCommunicator *to = &system->program.communicators[c];
    to->name = from->name;
    to->ranks = g_new(guint32, from->n_ranks);
    for (guint32 i = 0; i < from->n_ranks; i++) {
      guint32 colour = colouring->ranks.of[from->ranks[i]];
      if (seen_by[colour] != c + 1)
        to->ranks[to->n_ranks++] = colour;
      seen_by[colour] = c + 1;
    }
    qsort(to->ranks, to->n_ranks, sizeof *to->ranks, by_value);
  }
}

static void fold_links(FoldSystem *system, const FoldColours *colours) {
  system->n_links = colours->n;
  system->links = g_new0(HwClusterLink, colours->n);
  for (guint32 i = 0; i < system->cluster->n_links; i++) {
    HwClusterLink *link = &system->links[colours->of[i]];
    guint32 count = link->count + system->cluster->links[i].count;
    if (link->count == 0)
      *link = system->cluster->links[i];
    link->count = count;
  }
}

/* One colour of communicators on one colour of links, by one algorithm. */
typedef struct {
  guint32 communicator, algorithm, link, coefficient;
} Load;

static int by_place(const void *a, const void *b) {
  const Load *left = a, *right = b;
  if (left->communicator != right->communicator)
    return left->communicator < right->communicator ? -1 : 1;
  if (left->algorithm != right->algorithm)
    return left->algorithm < right->algorithm ? -1 : 1;
  return (left->link > right->link) - (left->link < right->link);
}

static void add_loads(const FoldSystem *system, const FoldColouring *colouring, guint32 communicator,
                      CollAlgorithm algorithm, GArray *loads) {
  const CollRoute *route = coll_group_route(system->whole_groups[communicator], algorithm);
  for (guint32 i = 0; i < route->n; i++) {
    guint32 colour = colouring->links.of[route->links[i]];
    if (colouring->links.firsts[colour] != route->links[i])
      continue;
    Load load = {colouring->communicators.of[communicator], algorithm, colour, route->coefficients[i]};
    g_array_append_val(loads, load);
  }
}

/* What all communicators load the first link of each colour with. */
static GArray *find_loads(const FoldSystem *system, const FoldColouring *colouring) {
  GArray *loads = g_array_new(FALSE, FALSE, sizeof(Load));
  for (guint32 g = 0; g < system->whole->n_communicators; g++)
    for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++)
      add_loads(system, colouring, g, algorithm, loads);
  g_array_sort(loads, by_place);
  return loads;
}

/* The loads from *at on that are of one communicator and algorithm, those of one link summed. */
static void fold_route(const GArray *loads, guint *at, guint32 communicator, CollAlgorithm algorithm, CollRoute *ret) {
  guint end = *at;
  while (end < loads->len && g_array_index(loads, Load, end).communicator == communicator &&
         g_array_index(loads, Load, end).algorithm == algorithm)
    end++;
  *ret = (CollRoute){g_new(guint32, end - *at), g_new(guint32, end - *at), 0};
  for (; *at < end; ++*at) {
    const Load *load = &g_array_index(loads, Load, *at);
    if (ret->n == 0 || ret->links[ret->n - 1] != load->link) {
      ret->links[ret->n] = load->link;
      ret->coefficients[ret->n++] = 0;
    }
    ret->coefficients[ret->n - 1] += load->coefficient;
  }
}

static void fold_groups(FoldSystem *system, const FoldColouring *colouring) {
  g_autoptr(GArray) loads = find_loads(system, colouring);
  guint at = 0;
  system->groups = g_new0(CollGroup *, colouring->communicators.n);
  for (guint32 c = 0; c < colouring->communicators.n; c++) {
    CollRoute routes[COLL_ALGORITHMS];
    for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++)
      fold_route(loads, &at, c, algorithm, &routes[algorithm]);
    system->groups[c] = coll_group_rerouted(system->whole_groups[colouring->communicators.firsts[c]], routes);
  }
}

FoldSystem *fold_new_stopped(const Program *program, const HwCluster *cluster, CollGroup *const *groups,
                             guint32 rounds) {
  FoldSystem *system = g_new0(FoldSystem, 1);
  FoldColouring *colouring = g_new(FoldColouring, 1);
  *system = (FoldSystem){.program = *program,
                         .whole = program,
                         .cluster = cluster,
                         .whole_groups = groups,
                         .colouring = colouring,
                         .folded = rounds > 0};
  fold_colouring_init(colouring, program, cluster, groups, rounds);
  fold_ranks(system, &colouring->ranks);
  fold_memberships(system, &colouring->ranks, &colouring->communicators);
  fold_communicators(system, colouring);
  fold_roles(system, &colouring->communicators);
  fold_links(system, &colouring->links);
  fold_groups(system, colouring);
  return system;
}

FoldSystem *fold_new(const Program *program, const HwCluster *cluster, CollGroup *const *groups, gboolean fold) {
  return fold_new_stopped(program, cluster, groups, fold ? G_MAXUINT32 : 0);
}

void fold_turn(FoldSystem *system, const Program *program) {
  system->whole = program;
  system->program.tensors = program->tensors;
  system->program.ops = program->ops;
  system->program.tokens = program->tokens;
  system->program.model_flops = program->model_flops;
  system->program.hardware_flops = program->hardware_flops;
}

static void free_roles(FoldSystem *system) {
  gboolean own_rows = renames_rows(system);
  for (guint32 i = 0; i < system->program.n_roles; i++)
    for (int s = 0; s < PROGRAM_SECTIONS && own_rows; s++)
      g_free(system->program.roles[i].sections[s].rows);
  g_free(system->program.roles);
}

void fold_free(FoldSystem *system) {
  if (system == NULL)
    return;
  free_roles(system);
  for (guint32 g = 0; g < system->program.n_communicators; g++) {
    coll_group_free(system->groups[g]);
    g_free(system->program.communicators[g].ranks);
  }
  fold_colouring_clear(system->colouring);
  g_free(system->colouring);
  g_free(system->groups);
  g_free(system->program.communicators);
  if (system->whole->memberships != NULL)
    g_free(system->program.memberships);
  g_free(system->program.ranks);
  g_free(system->links);
  g_free(system);
}

guint32 fold_class_of(const FoldSystem *system, guint32 rank) {
  return system->colouring->ranks.of[rank];
}
