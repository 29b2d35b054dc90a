/* SPDX-License-Identifier: MIT */
/* A fabric's shape in the three figures that a topology has, and that topology's lines with them. */
#include <string.h>

#include "base-display.h"
#include "conf-data.h"
#include "conf-text.h"
#include "hw-cluster.h"
#include "import-fabric.h"

typedef struct {
  guint switches, leaves, nodes, links; /* links: of most nodes */
  guint rails;                          /* nodes whose links are each on a leaf of its own, of more than one */
  guint per_leaf;                       /* most nodes on a leaf */
  guint levels;
  double oversubscription, least; /* of the tightest leaf and of the widest; 0: not known */
  const char *kind;
} Shape;

static gboolean fail(const ImportFabric *fabric, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);

static gboolean fail(const ImportFabric *fabric, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  base_error_set_at(error, &(BasePlace){.file = fabric->file}, "%s", message);
  return FALSE;
}

static const ImportFabricLink *link_at(const ImportFabricPart *part, guint i) {
  return &g_array_index(part->links, ImportFabricLink, i);
}

/* Leaves are level 0; a switch next to level n, and to none below, is level n + 1. */
static guint find_levels(const ImportFabric *fabric) {
  guint levels = 0;
  for (guint i = 0; i < fabric->parts->len; i++)
    import_fabric_part(fabric, i)->level = import_fabric_part(fabric, i)->leaf ? 0 : G_MAXUINT;
  for (gboolean changed = TRUE; changed; levels++) {
    changed = FALSE;
    for (guint i = 0; i < fabric->parts->len; i++) {
      ImportFabricPart *part = import_fabric_part(fabric, i);
      for (guint k = 0; part->is_switch && part->level == G_MAXUINT && k < part->links->len; k++)
        if (import_fabric_part(fabric, link_at(part, k)->peer)->is_switch &&
            import_fabric_part(fabric, link_at(part, k)->peer)->level == levels) {
          part->level = levels + 1;
          changed = TRUE;
        }
    }
  }
  return levels;
}

/* Bandwidth to nodes over that to switches, `mark` being the leaf's own; 0: nothing goes up. Without rates each link
 * counts alike. */
static double ratio_of(const ImportFabric *fabric, guint mark, const ImportFabricPart *leaf, guint *ret_nodes) {
  double down = 0, up = 0;
  guint nodes = 0;
  for (guint i = 0; i < leaf->links->len; i++) {
    const ImportFabricLink *link = link_at(leaf, i);
    double rate = link->gbps > 0 ? link->gbps : 1;
    ImportFabricPart *peer = import_fabric_part(fabric, link->peer);
    gboolean node = !peer->is_switch;
    nodes += node && peer->seen != mark;
    peer->seen = mark;
    *(node ? &down : &up) += rate;
  }
  *ret_nodes = nodes;
  return up > 0 ? down / up : 0;
}

static gboolean measure_leaves(const ImportFabric *fabric, Shape *shape, GError **error) {
  shape->least = G_MAXDOUBLE;
  for (guint i = 0; i < fabric->parts->len; i++) {
    const ImportFabricPart *part = import_fabric_part(fabric, i);
    guint nodes;
    shape->switches += part->is_switch;
    if (!part->leaf)
      continue;
    double ratio = ratio_of(fabric, i + 1, part, &nodes);
    shape->leaves++;
    shape->per_leaf = MAX(shape->per_leaf, nodes);
    shape->oversubscription = MAX(shape->oversubscription, ratio);
    shape->least = MIN(shape->least, ratio);
    if (ratio == 0 && nodes < shape->nodes)
      return fail(fabric, error,
                  "switch %s has %u of the %u nodes and no link to another switch: how they reach each "
                  "other the file does not say",
                  part->name, nodes, shape->nodes);
  }
  return TRUE;
}

static gboolean measure(const ImportFabric *fabric, Shape *ret, GError **error) {
  Shape shape = {0};
  for (guint i = 0; i < fabric->parts->len; i++) {
    const ImportFabricPart *part = import_fabric_part(fabric, i);
    shape.nodes += !part->is_switch && part->links_up > 0;
    shape.links = MAX(shape.links, part->links_up);
    shape.rails += !part->is_switch && part->links_up > 1 && part->leaves == part->links_up;
  }
  if (shape.nodes == 0)
    return fail(fabric, error, "it has no switch with nodes on it");
  if (!measure_leaves(fabric, &shape, error))
    return FALSE;
  shape.levels = find_levels(fabric);
  shape.kind = shape.switches == 1 ? "single-switch" : 2 * shape.rails > shape.nodes ? "rail-optimised" : "fat-tree";
  *ret = shape;
  return TRUE;
}

static void say_shape(ImportFabric *fabric, const Shape *shape) {
  guint odd = 0;
  for (guint i = 0; i < fabric->parts->len; i++) {
    const ImportFabricPart *part = import_fabric_part(fabric, i);
    odd += !part->is_switch && part->leaves > 1 && part->leaves < part->links_up;
  }
  import_fabric_say(fabric, "%u nodes with up to %u links, on %u of %u switches", shape->nodes, shape->links,
                    shape->leaves, shape->switches);
  if (shape->levels > 2)
    import_fabric_say(fabric, "%u levels of switches: those above the leaves are taken as one that never blocks",
                      shape->levels);
  if (shape->leaves > 1 && shape->oversubscription > 0 && shape->least < shape->oversubscription)
    import_fabric_say(fabric, "leaves differ, from %.3g to %.3g : 1; the tightest is taken", MAX(shape->least, 1),
                      shape->oversubscription);
  if (shape->leaves > 1 && !fabric->rates)
    import_fabric_say(fabric, "leaves that never block: the file states no rates of links");
  if (odd > 0)
    import_fabric_say(fabric,
                      "%u nodes have several links on each of several leaves: neither rails nor a fat tree; "
                      "taken as a %s",
                      odd, shape->kind);
}

static void print_fabric(const ImportFabric *fabric, const Shape *shape, GString *text) {
  g_string_append_printf(text, "[fabric]\nkind = %s\n", shape->kind);
  if (strcmp(shape->kind, "single-switch") == 0)
    return;
  gboolean known = fabric->rates && shape->oversubscription > 1;
  g_string_append_printf(text, "nodes_per_leaf = %u\noversubscription = %.6g\n", shape->per_leaf,
                         known ? shape->oversubscription : 1);
}

/* The lines of a topology but its own [fabric]. */
static void print_without_fabric(const char *lines, GString *text) {
  gboolean inside = FALSE;
  g_auto(GStrv) each = g_strsplit(lines, "\n", -1);
  for (char **line = each; *line != NULL; line++) {
    const char *first = *line + strspn(*line, " \t");
    if (*first == '[')
      inside = g_str_has_prefix(first, "[fabric]");
    if (!inside && (**line != '\0' || line[1] != NULL))
      g_string_append_printf(text, "%s\n", g_strchomp(*line));
  }
}

static void compare_nics(ImportFabric *fabric, const ConfText *topology, const char *name, const Shape *shape) {
  const char *nics = conf_text_get(topology, "node", "nics");
  guint64 n = nics != NULL ? g_ascii_strtoull(nics, NULL, 10) : 0;
  if (fabric->rates && n != shape->links)
    import_fabric_say(fabric, "%s has %" G_GUINT64_FORMAT " NICs in a node, the fabric shows %u: they stay as %s says",
                      name, n, shape->links, name);
}

GString *import_fabric_text(ImportFabric *fabric, const char *topology, GError **error) {
  Shape shape = {.kind = "single-switch"};
  gsize length;
  g_autofree char *path = hw_topology_find(topology, NULL, NULL, error);
  g_autofree char *lines = path != NULL ? conf_data_text(path, &length, error) : NULL;
  g_autoptr(ConfText) parsed = lines != NULL ? conf_text_parse(path, lines, length, error) : NULL;
  if (parsed == NULL || !measure(fabric, &shape, error))
    return NULL;
  say_shape(fabric, &shape);
  compare_nics(fabric, parsed, topology, &shape);
  g_autofree char *file = g_path_get_basename(fabric->file);
  GString *text = g_string_new(NULL);
  base_display_append(text, "# %s, %s, laid over %s: written by foretrain import.", file, fabric->what, topology);
  g_string_append(text, "#\n");
  for (guint i = 0; i < fabric->said->len; i++)
    base_display_append(text, "#   %s", (const char *)g_ptr_array_index(fabric->said, i));
  print_fabric(fabric, &shape, text);
  g_string_append_c(text, '\n');
  base_display_append(text, IMPORT_FABRIC_REST "%s.", topology);
  print_without_fabric(lines, text);
  return text;
}
