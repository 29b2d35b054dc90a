/* SPDX-License-Identifier: MIT */
/* Rounds over a list of work: the nodes whose neighbourhood changed in the round before.
 *
 * Nodes of one colour that are not in the list still have the signature that they shared, and no node in the list has
 * it: one of its neighbours bears a colour made in the last round, none of theirs does. So the list splits off by
 * itself. */
#include "fold-refine.h"

#include <stdlib.h>

#include "fold-palette.h"

/* Nodes of one colour and one signature. */
typedef struct {
  guint32 colour, count;
} Group;

typedef struct {
  const FoldGraph *graph;
  guint32 *colours, n_colours;
  guint32 *sizes;  /* nodes, by colour */
  guint32 *listed; /* of these, in the list of work */
  guint32 *work, *next;
  guint32 n_work, n_next;
  guint32 *group_of; /* by place in the list */
  gboolean *marked;  /* nodes that stand in `next` */
  guint64 *signature;
  GArray *groups;
  FoldPalette palette;
} Refinement;

#define ALONE G_MAXUINT32

static int by_value(const void *a, const void *b) {
  guint64 left = *(const guint64 *)a, right = *(const guint64 *)b;
  return (left > right) - (left < right);
}

#define FEW 16

static void sort(guint64 *values, guint32 n) {
  if (n > FEW) {
    qsort(values, n, sizeof *values, by_value);
    return;
  }
  for (guint32 i = 1; i < n; i++) {
    guint64 value = values[i];
    guint32 at = i;
    for (; at > 0 && values[at - 1] > value; at--)
      values[at] = values[at - 1];
    values[at] = value;
  }
}

static guint32 sign(Refinement *refinement, guint32 node) {
  const FoldGraph *graph = refinement->graph;
  guint32 n = graph->offsets[node + 1] - graph->offsets[node];
  const FoldEdge *edges = n > 0 ? graph->edges + graph->offsets[node] : NULL;
  refinement->signature[0] = refinement->colours[node];
  for (guint32 i = 0; i < n; i++)
    refinement->signature[i + 1] = (guint64)edges[i].label << 32 | refinement->colours[edges[i].node];
  sort(refinement->signature + 1, n);
  return fold_palette_colour(&refinement->palette, refinement->signature, n + 1);
}

static void sign_all(Refinement *refinement) {
  fold_palette_reset(&refinement->palette);
  g_array_set_size(refinement->groups, 0);
  for (guint32 i = 0; i < refinement->n_work; i++) {
    guint32 colour = refinement->colours[refinement->work[i]];
    refinement->group_of[i] = ALONE;
    if (refinement->sizes[colour] == 1)
      continue;
    guint32 group = sign(refinement, refinement->work[i]);
    if (group == refinement->groups->len) {
      Group fresh = {colour, 0};
      g_array_append_val(refinement->groups, fresh);
    }
    g_array_index(refinement->groups, Group, group).count++;
    refinement->group_of[i] = group;
    refinement->listed[colour]++;
  }
}

/* A colour stays with its nodes outside the list, else with its first group; every other group gets a new one. */
static gboolean name_groups(Refinement *refinement) {
  gboolean split = FALSE;
  for (guint i = 0; i < refinement->groups->len; i++) {
    Group *group = &g_array_index(refinement->groups, Group, i);
    guint32 colour = group->colour;
    gboolean stays = refinement->listed[colour] == refinement->sizes[colour];
    refinement->listed[colour] = 0;
    if (stays)
      continue;
    split = TRUE;
    group->colour = refinement->n_colours++;
    refinement->sizes[group->colour] = group->count;
    refinement->sizes[colour] -= group->count;
  }
  return split;
}

static void mark_neighbours(Refinement *refinement, guint32 node) {
  const FoldGraph *graph = refinement->graph;
  for (guint32 i = graph->offsets[node]; i < graph->offsets[node + 1]; i++) {
    guint32 other = graph->edges[i].node;
    if (refinement->marked[other])
      continue;
    refinement->marked[other] = TRUE;
    refinement->next[refinement->n_next++] = other;
  }
}

static void recolour(Refinement *refinement) {
  refinement->n_next = 0;
  for (guint32 i = 0; i < refinement->n_work; i++) {
    guint32 node = refinement->work[i], group = refinement->group_of[i];
    guint32 colour =
        group == ALONE ? refinement->colours[node] : g_array_index(refinement->groups, Group, group).colour;
    if (colour == refinement->colours[node])
      continue;
    refinement->colours[node] = colour;
    mark_neighbours(refinement, node);
  }
  for (guint32 i = 0; i < refinement->n_next; i++)
    refinement->marked[refinement->next[i]] = FALSE;
  guint32 *done = refinement->work;
  refinement->work = refinement->next;
  refinement->n_work = refinement->n_next;
  refinement->next = done;
}

static void begin(Refinement *refinement, const FoldGraph *graph, guint32 *colours) {
  guint32 n = graph->n_nodes, most = 0;
  *refinement = (Refinement){.graph = graph, .colours = colours, .n_work = n};
  refinement->sizes = g_new0(guint32, n);
  refinement->listed = g_new0(guint32, n);
  refinement->work = g_new(guint32, n);
  refinement->next = g_new(guint32, n);
  refinement->group_of = g_new(guint32, n);
  refinement->marked = g_new0(gboolean, n);
  for (guint32 node = 0; node < n; node++) {
    refinement->work[node] = node;
    refinement->sizes[colours[node]]++;
    refinement->n_colours = MAX(refinement->n_colours, colours[node] + 1);
    most = MAX(most, graph->offsets[node + 1] - graph->offsets[node]);
  }
  refinement->signature = g_new(guint64, (gsize)most + 1);
  refinement->groups = g_array_new(FALSE, FALSE, sizeof(Group));
  fold_palette_init(&refinement->palette);
}

static void end(Refinement *refinement) {
  g_free(refinement->sizes);
  g_free(refinement->listed);
  g_free(refinement->work);
  g_free(refinement->next);
  g_free(refinement->group_of);
  g_free(refinement->marked);
  g_free(refinement->signature);
  g_array_unref(refinement->groups);
  fold_palette_clear(&refinement->palette);
}

guint32 fold_refine(const FoldGraph *graph, guint32 *colours, guint32 most_rounds) {
  Refinement refinement;
  guint32 rounds = 0;
  begin(&refinement, graph, colours);
  while (rounds < most_rounds && refinement.n_work > 0) {
    sign_all(&refinement);
    if (!name_groups(&refinement))
      break;
    recolour(&refinement);
    rounds++;
  }
  end(&refinement);
  return rounds;
}
