/* SPDX-License-Identifier: MIT */
/* [pci] lines to a tree of parts: every GPU and NIC once, every switch under one parent, no circles.
 *
 *   switch.0 = socket.0@gen4x16: gpu.0 gpu.1 nic.0@gen4x8
 *   socket.1 = gpu.2
 */
#include <string.h>

#include "hw-wiring.h"

static guint32 part_of(const HwMachine *machine, HwPartKind kind, guint32 index) {
  const guint32 starts[] = {0, machine->sockets, machine->sockets + machine->switches,
                            machine->sockets + machine->switches + machine->gpus};
  return starts[kind] + index;
}

static void counts_of(const HwMachine *machine, guint32 ret[4]) {
  ret[HW_PART_SOCKET] = machine->sockets;
  ret[HW_PART_SWITCH] = machine->switches;
  ret[HW_PART_GPU] = machine->gpus;
  ret[HW_PART_NIC] = machine->nics;
}

/* "gpu.1@gen4x8" under `parent`. */
static gboolean place_part(HwMachine *machine, const HwLine *line, const char *word, guint32 parent,
                           const HwWiringDefaults *defaults, GError **error) {
  guint32 counts[4], index;
  counts_of(machine, counts);
  const char *at = strchr(word, '@');
  g_autofree char *name = at != NULL ? g_strndup(word, (gsize)(at - word)) : g_strdup(word);
  HwPartKind kind;
  if (!hw_line_part(line, name, counts, &kind, &index, error))
    return FALSE;
  if (kind != HW_PART_GPU && kind != HW_PART_NIC) {
    base_error_set_at(error, &line->place, "%s holds GPUs and NICs; give %s a line of its own: \"%s = %s: ...\"",
                      line->key, name, name, line->key);
    return FALSE;
  }
  HwPart *part = &machine->parts[part_of(machine, kind, index)];
  if (part->parent != HW_NO_PARENT) {
    g_autofree char *first = hw_machine_part_name(machine, part->parent);
    base_error_set_at(error, &line->place, "%s: %s stands already under %s", line->key, name, first);
    return FALSE;
  }
  part->parent = parent;
  part->link = defaults->link;
  return at == NULL || hw_line_link(line, at + 1, &part->link, error);
}

static gboolean place_parts(HwMachine *machine, const HwLine *line, const char *members, guint32 parent,
                            const HwWiringDefaults *defaults, GError **error) {
  g_auto(GStrv) words = g_strsplit_set(members, " \t", -1);
  for (char **word = words; *word != NULL; word++)
    if (**word != '\0' && !place_part(machine, line, *word, parent, defaults, error))
      return FALSE;
  return TRUE;
}

/* `socket.0@gen4x16: members` of a switch. */
static gboolean read_switch(HwMachine *machine, const HwLine *line, guint32 index, const HwWiringDefaults *defaults,
                            GError **error) {
  const char *colon = strchr(line->value, ':');
  if (colon == NULL) {
    base_error_set_at(error, &line->place,
                      "%s: expected what is above it, a colon and what is below, such as "
                      "\"socket.0: gpu.0 gpu.1\", found \"%s\"",
                      line->key, line->value);
    return FALSE;
  }
  g_autofree char *above = g_strstrip(g_strndup(line->value, (gsize)(colon - line->value)));
  char *at = strchr(above, '@');
  if (at != NULL)
    *at++ = '\0';
  guint32 counts[4], parent;
  counts_of(machine, counts);
  HwPartKind kind;
  if (!hw_line_part(line, above, counts, &kind, &parent, error))
    return FALSE;
  if (kind != HW_PART_SOCKET && kind != HW_PART_SWITCH) {
    base_error_set_at(error, &line->place, "%s hangs under a socket or a switch, not under %s", line->key, above);
    return FALSE;
  }
  HwPart *part = &machine->parts[hw_machine_switch_part(machine, index)];
  part->parent = part_of(machine, kind, parent);
  part->link = defaults->link;
  return (at == NULL || hw_line_link(line, at, &part->link, error)) &&
         place_parts(machine, line, colon + 1, hw_machine_switch_part(machine, index), defaults, error);
}

static gboolean read_line(HwMachine *machine, const HwLine *line, const HwWiringDefaults *defaults, GError **error) {
  const guint32 counts[4] = {machine->sockets, machine->switches, 0, 0};
  HwPartKind kind;
  guint32 index;
  if (!g_str_has_prefix(line->key, "socket.") && !g_str_has_prefix(line->key, "switch.")) {
    base_error_set_at(error, &line->place, "expected a line of a socket or a switch, found \"%s = %s\"", line->key,
                      line->value);
    return FALSE;
  }
  if (!hw_line_part(line, line->key, counts, &kind, &index, error))
    return FALSE;
  return kind == HW_PART_SWITCH ? read_switch(machine, line, index, defaults, error)
                                : place_parts(machine, line, line->value, index, defaults, error);
}

/* Switches are those with a line. */
static guint32 count_switches(const HwLines *lines) {
  guint32 switches = 0;
  for (guint i = 0; i < lines->n; i++)
    switches += g_str_has_prefix(lines->lines[i].key, "switch.");
  return switches;
}

static gboolean check_whole(const HwMachine *machine, const BasePlace *place, GError **error) {
  for (guint32 i = machine->sockets; i < machine->n_parts; i++) {
    g_autofree char *name = hw_machine_part_name(machine, i);
    if (machine->parts[i].parent == HW_NO_PARENT) {
      base_error_set_at(error, place, "%s is missing: name it in the line of a switch or socket", name);
      return FALSE;
    }
    guint32 above = i, steps = 0;
    while (machine->parts[above].parent != HW_NO_PARENT && steps++ <= machine->switches + 1)
      above = machine->parts[above].parent;
    if (machine->parts[above].kind != HW_PART_SOCKET) {
      base_error_set_at(error, place, "%s hangs in a circle of switches, under no socket", name);
      return FALSE;
    }
  }
  return TRUE;
}

static void lay_parts(HwMachine *machine, guint32 switches) {
  const guint32 counts[4] = {machine->sockets, switches, machine->gpus, machine->nics};
  machine->switches = switches;
  machine->n_parts = counts[0] + counts[1] + counts[2] + counts[3];
  machine->parts = g_new0(HwPart, machine->n_parts);
  guint32 next = 0;
  for (guint kind = 0; kind < 4; kind++)
    for (guint32 index = 0; index < counts[kind]; index++)
      machine->parts[next++] = (HwPart){.kind = kind, .index = index, .parent = HW_NO_PARENT};
}

gboolean hw_wiring_tree(HwMachine *machine, const HwLines *lines, const HwWiringDefaults *defaults,
                        const BasePlace *place, GError **error) {
  lay_parts(machine, count_switches(lines));
  for (guint i = 0; i < lines->n; i++)
    for (guint j = 0; j < i; j++)
      if (strcmp(lines->lines[i].key, lines->lines[j].key) == 0) {
        base_error_set_at(error, &lines->lines[i].place, "%s has two lines", lines->lines[i].key);
        return FALSE;
      }
  for (guint i = 0; i < lines->n; i++)
    if (!read_line(machine, &lines->lines[i], defaults, error))
      return FALSE;
  return check_whole(machine, place, error);
}

/* Part `index` of `n` that are dealt out evenly. */
static guint32 evenly(guint32 index, guint32 n, guint32 over) {
  return n > 0 ? index * over / n : 0;
}

static guint32 default_parent(const HwMachine *machine, const HwPart *part, guint32 per_switch) {
  guint32 switches = machine->switches, sockets = machine->sockets;
  if (part->kind == HW_PART_SWITCH)
    return evenly(part->index, switches, sockets);
  if (part->kind == HW_PART_GPU && switches > 0 && per_switch > 0)
    return hw_machine_switch_part(machine, part->index / per_switch);
  if (part->kind == HW_PART_GPU)
    return evenly(part->index, machine->gpus, sockets);
  if (switches > 0 && machine->nics % switches == 0)
    return hw_machine_switch_part(machine, evenly(part->index, machine->nics, switches));
  return evenly(part->index, machine->nics, sockets);
}

/* NICs: evenly over the switches if they go up, else evenly on the sockets' root ports. */
void hw_wiring_default_tree(HwMachine *machine, const HwWiringDefaults *defaults) {
  guint32 per_switch = defaults->gpus_per_switch;
  gboolean even = per_switch > 0 && machine->gpus % per_switch == 0;
  lay_parts(machine, even ? machine->gpus / per_switch : 0);
  for (guint32 i = machine->sockets; i < machine->n_parts; i++) {
    machine->parts[i].link = defaults->link;
    machine->parts[i].parent = default_parent(machine, &machine->parts[i], per_switch);
  }
}
