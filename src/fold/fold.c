/* Colours of ranks and links by signature; one representative of each is kept, the first.
 *
 * A signature is a row of integers; equal rows get equal colours, numbered in order of first appearance, so that
 * nothing depends on the order of a hash table. */
#include "fold.h"

#include <string.h>

typedef struct {
  GHashTable *known; /* GBytes → colour + 1 */
  guint32 colours;
} Palette;

static guint32 colour_of(Palette *palette, const guint64 *signature, guint32 n) {
  GBytes *key = g_bytes_new(signature, n * sizeof *signature);
  guint32 colour = GPOINTER_TO_UINT(g_hash_table_lookup(palette->known, key));
  if (colour == 0) {
    colour = ++palette->colours;
    g_hash_table_insert(palette->known, g_bytes_ref(key), GUINT_TO_POINTER(colour));
  }
  g_bytes_unref(key);
  return colour - 1;
}

static void palette_init(Palette *palette) {
  palette->known = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
  palette->colours = 0;
}

/* Colour of each item from its row of signatures; without folding every item is its own. */
static guint32 *colour_all(const guint64 *signatures, guint32 items, guint32 width, gboolean fold,
                           guint32 *ret_colours) {
  guint32 *colours = g_new(guint32, items);
  Palette palette;
  palette_init(&palette);
  for (guint32 i = 0; i < items; i++)
    colours[i] = fold ? colour_of(&palette, signatures + (gsize)i * width, width) : i;
  *ret_colours = fold ? palette.colours : items;
  g_hash_table_unref(palette.known);
  return colours;
}

static guint64 bits_of(double value) {
  guint64 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static guint32 *colour_ranks(const Program *program, gboolean fold, guint32 *ret_colours) {
  guint32 width = 1 + program->n_communicators;
  g_autofree guint64 *signatures = g_new0(guint64, (gsize)program->n_ranks * width);
  for (guint32 i = 0; i < program->n_ranks; i++)
    signatures[(gsize)i * width] = program->ranks[i].role;
  for (guint32 c = 0; c < program->n_communicators; c++)
    for (guint32 i = 0; i < program->communicators[c].n_ranks; i++)
      signatures[(gsize)program->communicators[c].ranks[i] * width + 1 + c] = 1;
  return colour_all(signatures, program->n_ranks, width, fold, ret_colours);
}

static guint32 *colour_links(const HwCluster *cluster, CollGroup *const *groups, guint32 n_groups, gboolean fold,
                             guint32 *ret_colours) {
  guint32 width = 2 + n_groups * COLL_ALGORITHMS;
  g_autofree guint64 *signatures = g_new0(guint64, (gsize)cluster->n_links * width);
  for (guint32 i = 0; i < cluster->n_links; i++) {
    signatures[(gsize)i * width] = cluster->links[i].link_class;
    signatures[(gsize)i * width + 1] = bits_of(cluster->links[i].capacity);
  }
  for (guint32 g = 0; g < n_groups * COLL_ALGORITHMS; g++) {
    const CollRoute *route = coll_group_route(groups[g / COLL_ALGORITHMS], (CollAlgorithm)(g % COLL_ALGORITHMS));
    for (guint32 i = 0; i < route->n; i++)
      signatures[(gsize)route->links[i] * width + 2 + g] = route->coefficients[i];
  }
  return colour_all(signatures, cluster->n_links, width, fold, ret_colours);
}

static void fold_ranks(FoldSystem *system, const Program *program, const guint32 *colours, guint32 n) {
  system->program.n_ranks = n;
  system->program.ranks = g_new0(ProgramRank, n);
  for (guint32 i = 0; i < program->n_ranks; i++) {
    ProgramRank *rank = &system->program.ranks[colours[i]];
    guint32 count = rank->count + program->ranks[i].count;
    if (rank->count == 0)
      *rank = program->ranks[i];
    rank->count = count;
  }
  system->program.communicators = g_new0(ProgramCommunicator, program->n_communicators);
  for (guint32 c = 0; c < program->n_communicators; c++) {
    const ProgramCommunicator *from = &program->communicators[c];
    ProgramCommunicator *to = &system->program.communicators[c];
    g_autofree gboolean *seen = g_new0(gboolean, n);
    to->name = from->name;
    to->ranks = g_new(guint32, from->n_ranks);
    for (guint32 i = 0; i < from->n_ranks; i++) {
      guint32 colour = colours[from->ranks[i]];
      if (!seen[colour])
        to->ranks[to->n_ranks++] = colour;
      seen[colour] = TRUE;
    }
  }
}

static void fold_links(FoldSystem *system, const HwCluster *cluster, const guint32 *colours, guint32 n) {
  system->n_links = n;
  system->links = g_new0(HwClusterLink, n);
  for (guint32 i = 0; i < cluster->n_links; i++) {
    HwClusterLink *link = &system->links[colours[i]];
    guint32 count = link->count + cluster->links[i].count;
    *link = cluster->links[i];
    link->count = count;
  }
}

/* In place: the first link of each colour stays. */
static void fold_route(CollRoute *route, const guint32 *colours, guint32 n) {
  g_autofree gboolean *seen = g_new0(gboolean, n);
  guint32 kept = 0;
  for (guint32 i = 0; i < route->n; i++) {
    guint32 colour = colours[route->links[i]];
    if (seen[colour])
      continue;
    seen[colour] = TRUE;
    route->links[kept] = colour;
    route->coefficients[kept++] = route->coefficients[i];
  }
  route->n = kept;
}

static CollGroup *fold_group(const CollGroup *group, const guint32 *colours, guint32 n) {
  CollGroup *folded = coll_group_copy(group);
  fold_route(&folded->route, colours, n);
  fold_route(&folded->tree_route, colours, n);
  return folded;
}

FoldSystem *fold_new(const Program *program, const HwCluster *cluster, CollGroup *const *groups, gboolean fold) {
  FoldSystem *system = g_new0(FoldSystem, 1);
  guint32 n_ranks, n_links;
  g_autofree guint32 *ranks = colour_ranks(program, fold, &n_ranks);
  g_autofree guint32 *links = colour_links(cluster, groups, program->n_communicators, fold, &n_links);
  system->program = *program;
  fold_ranks(system, program, ranks, n_ranks);
  fold_links(system, cluster, links, n_links);
  system->groups = g_new0(CollGroup *, program->n_communicators);
  for (guint32 g = 0; g < program->n_communicators; g++)
    system->groups[g] = fold_group(groups[g], links, n_links);
  return system;
}

void fold_free(FoldSystem *system) {
  if (system == NULL)
    return;
  for (guint32 g = 0; g < system->program.n_communicators; g++) {
    coll_group_free(system->groups[g]);
    g_free(system->program.communicators[g].ranks);
  }
  g_free(system->groups);
  g_free(system->program.communicators);
  g_free(system->program.ranks);
  g_free(system->links);
  g_free(system);
}
