/* SPDX-License-Identifier: MIT */
/* Whom a class stands for, and what sets it apart: the fault itself where it is the rank's or its communicator's own,
 * else that something it meets is set apart. */
#include "fold.h"

#include "fold-colour.h"

static void add_range(GString *text, guint32 first, guint32 last) {
  g_string_append_printf(text, "%s%u", text->len > 0 ? "," : "", first);
  if (last > first)
    g_string_append_printf(text, "-%u", last);
}

char *fold_members(const FoldSystem *system, guint32 rank_class) {
  GString *text = g_string_new(NULL);
  const ProgramRank *played = &system->program.ranks[rank_class];
  guint32 first = played->device, last = first;
  for (guint32 i = 0; played->count > 1 && i < system->whole->n_ranks; i++) {
    guint32 device = system->whole->ranks[i].device;
    if (system->colouring->ranks.of[i] != rank_class || device == first)
      continue;
    if (device > last + 1) {
      add_range(text, first, last);
      first = device;
    }
    last = device;
  }
  add_range(text, first, last);
  return g_string_free(text, FALSE);
}

static guint32 first_role(const FoldSystem *system, guint32 rank_class) {
  return system->whole->ranks[system->colouring->ranks.firsts[rank_class]].role;
}

static double speed_of(const FoldSystem *system, guint32 rank_class) {
  return hw_cluster_speed(system->cluster, system->program.ranks[rank_class].device);
}

static char *link_fault_of(const FoldSystem *system, const ProgramCommunicator *members, const CollRoute *route) {
  for (guint32 i = 0; i < route->n; i++) {
    double share = system->cluster->links[route->links[i]].share;
    g_autofree char *name = hw_cluster_link_name(system->cluster, route->links[i]);
    if (share != 1)
      return g_strdup_printf("its communicator \"%s\" runs over %s, which has %g of its capacity", members->name, name,
                             share);
  }
  return NULL;
}

/* A slower GPU or a degraded link of a communicator's first of its colour. */
static char *fault_of(const FoldSystem *system, guint32 communicator) {
  guint32 whole = system->colouring->communicators.firsts[communicator];
  const ProgramCommunicator *members = &system->whole->communicators[whole];
  for (guint32 i = 0; i < members->n_ranks; i++) {
    guint32 device = system->whole->ranks[members->ranks[i]].device;
    double speed = hw_cluster_speed(system->cluster, device);
    if (speed != 1)
      return g_strdup_printf("its communicator \"%s\" waits for rank %u, whose GPU runs at %g of its speed",
                             members->name, device, speed);
  }
  for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++) {
    char *fault = link_fault_of(system, members, coll_group_route(system->whole_groups[whole], algorithm));
    if (fault != NULL)
      return fault;
  }
  return NULL;
}

static gboolean is_in(const ProgramCommunicator *communicator, guint32 rank_class) {
  for (guint32 i = 0; i < communicator->n_ranks; i++)
    if (communicator->ranks[i] == rank_class)
      return TRUE;
  return FALSE;
}

/* Of the communicators that it is in and the usual class is not. */
static char *communicator_apart(const FoldSystem *system, guint32 rank_class) {
  const ProgramCommunicator *other = NULL;
  for (guint32 c = 0; c < system->program.n_communicators; c++) {
    const ProgramCommunicator *each = &system->program.communicators[c];
    if (!is_in(each, rank_class) || is_in(each, system->usual))
      continue;
    char *fault = fault_of(system, c);
    if (fault != NULL)
      return fault;
    other = other != NULL ? other : each;
  }
  if (other != NULL)
    return g_strdup_printf("its communicator \"%s\" differs in size, route or in whom it meets", other->name);
  return g_strdup("it stands elsewhere in its communicators");
}

/* A role of another shape than the usual class's; NULL: it is of the same. */
static char *role_apart(const FoldSystem *system, guint32 rank_class) {
  const guint32 *shapes = system->colouring->shapes;
  guint32 own = first_role(system, rank_class);
  if (shapes[own] == shapes[first_role(system, system->usual)])
    return NULL;
  return g_strdup_printf("the role is \"%s\"", system->whole->roles[own].name);
}

char *fold_apart(const FoldSystem *system, guint32 rank_class) {
  double speed = speed_of(system, rank_class);
  if (!system->folded)
    return NULL;
  if (speed != 1)
    return g_strdup_printf("%s at %g of its speed",
                           system->program.ranks[rank_class].count > 1 ? "each GPU runs" : "its GPU runs", speed);
  if (rank_class == system->usual)
    return NULL;
  char *role = role_apart(system, rank_class);
  return role != NULL ? role : communicator_apart(system, rank_class);
}

/* The colour that most links of a class have, by the first of them that is played. */
static guint32 usual_link(const FoldSystem *system, HwLinkClass link_class) {
  guint32 usual = G_MAXUINT32;
  for (guint32 i = 0; i < system->n_links; i++)
    if (system->links[i].link_class == link_class &&
        (usual == G_MAXUINT32 || system->links[i].count > system->links[usual].count))
      usual = i;
  return usual;
}

static char *link_apart(const FoldSystem *system, guint32 colour, guint32 usual) {
  const HwClusterLink *link = &system->links[colour];
  g_autofree char *name = hw_cluster_link_name(system->cluster, system->colouring->links.firsts[colour]);
  g_autofree char *who = link->count > 1 ? g_strdup_printf("%u like %s", link->count, name) : g_strdup(name);
  if (link->share != 1)
    return g_strdup_printf("%s at %g of its capacity", who, link->share);
  if (link->capacity == system->links[usual].capacity)
    return g_strdup_printf("%s with another load", who);
  g_autofree char *capacity = base_format_byte_rate(link->capacity);
  return g_strdup_printf("%s of %s", who, capacity);
}

char *fold_links_apart(const FoldSystem *system, HwLinkClass link_class) {
  if (!system->folded)
    return NULL;
  guint32 usual = usual_link(system, link_class);
  if (usual == G_MAXUINT32)
    return NULL;
  GString *text = g_string_new(NULL);
  g_string_printf(text, "%u alike", system->links[usual].count);
  gboolean any = FALSE;
  for (guint32 i = 0; i < system->n_links; i++)
    if (system->links[i].link_class == link_class && i != usual) {
      g_autofree char *apart = link_apart(system, i, usual);
      g_string_append_printf(text, "; %s", apart);
      any = TRUE;
    }
  return g_string_free(text, !any);
}
