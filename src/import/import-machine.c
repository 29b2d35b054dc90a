/* SPDX-License-Identifier: MIT */
/* Parts, their numbers and their distances. */
#include "import-machine.h"

#include <string.h>

#include "import-ids.h"

static void part_free(gpointer data) {
  ImportPart *part = data;
  g_free(part->link);
  g_free(part->name);
  g_free(part->nic);
  g_free(part);
}

ImportMachine *import_machine_new(const char *file, const char *what) {
  ImportMachine *machine = g_new0(ImportMachine, 1);
  machine->file = g_strdup(file);
  machine->what = g_strdup(what);
  machine->parts = g_ptr_array_new_with_free_func(part_free);
  machine->pairs = g_array_new(FALSE, FALSE, sizeof(ImportPair));
  machine->said = g_ptr_array_new_with_free_func(g_free);
  machine->assumed = g_ptr_array_new_with_free_func(g_free);
  return machine;
}

void import_machine_free(ImportMachine *machine) {
  if (machine == NULL)
    return;
  g_free(machine->file);
  g_free(machine->what);
  g_free(machine->gpu);
  g_free(machine->cpu);
  g_ptr_array_unref(machine->parts);
  g_array_unref(machine->pairs);
  g_ptr_array_unref(machine->said);
  g_ptr_array_unref(machine->assumed);
  g_free(machine);
}

guint import_machine_add(ImportMachine *machine, HwPartKind kind, guint parent) {
  ImportPart *part = g_new0(ImportPart, 1);
  part->kind = kind;
  part->parent = parent;
  part->port = 1;
  g_ptr_array_add(machine->parts, part);
  return machine->parts->len - 1;
}

guint import_machine_count(const ImportMachine *machine, HwPartKind kind) {
  guint n = 0;
  for (guint i = 0; i < machine->parts->len; i++)
    n += import_machine_part(machine, i)->kind == kind && !import_machine_part(machine, i)->gone;
  return n;
}

guint import_machine_find(const ImportMachine *machine, HwPartKind kind, guint index) {
  for (guint i = 0; i < machine->parts->len; i++) {
    const ImportPart *part = import_machine_part(machine, i);
    if (part->kind == kind && !part->gone && part->index == index)
      return i;
  }
  return IMPORT_NO_PART;
}

void import_machine_number(ImportMachine *machine) {
  for (guint i = 0; i < machine->parts->len; i++) {
    ImportPart *part = import_machine_part(machine, i);
    part->index = 0;
    for (guint k = 0; k < machine->parts->len; k++) {
      const ImportPart *other = import_machine_part(machine, k);
      gboolean before = other->order < part->order || (other->order == part->order && k < i);
      part->index += other->kind == part->kind && !other->gone && before;
    }
  }
}

void import_machine_say(ImportMachine *machine, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(machine->said, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

void import_machine_assume(ImportMachine *machine, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(machine->assumed, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

gboolean import_machine_take_gpu(ImportMachine *machine, const ImportIds *ids, const char *device, const char *busid,
                                 guint line, GError **error) {
  const char *name = device != NULL ? import_ids_get(ids, "gpus", device) : NULL;
  if (name == NULL && device != NULL)
    import_machine_say(machine, "device %s of GPU %s is not in the catalogue of identities", device, busid);
  if (machine->gpu == NULL)
    machine->gpu = g_strdup(name);
  if (name == NULL || strcmp(machine->gpu, name) == 0)
    return TRUE;
  base_error_set_at(error, &(BasePlace){.file = machine->file, .line = line},
                    "GPU %s is a %s, others are %s: machines of two kinds are not modelled", busid, name, machine->gpu);
  return FALSE;
}

void import_machine_take_cpu(ImportMachine *machine, const ImportIds *ids, const char *vendor, const char *family,
                             const char *model) {
  if (machine->cpu != NULL || *vendor == '\0')
    return;
  g_autofree char *identity = g_strdup_printf("%s.%s.%s", vendor, family, model);
  const char *name = import_ids_get(ids, "cpus", identity);
  if (name == NULL && (name = import_ids_pair(ids, "cpus", vendor, "*")) != NULL && *model != '\0')
    import_machine_assume(machine, "the processor, %s family %s model %s, is not in the catalogue: it is taken as %s",
                          vendor, family, model, name);
  machine->cpu = g_strdup(name);
}

static gboolean is_above(const ImportMachine *machine, guint above, guint part) {
  for (guint at = part; at != IMPORT_NO_PART; at = import_machine_part(machine, at)->parent)
    if (at == above)
      return TRUE;
  return FALSE;
}

guint import_machine_distance(const ImportMachine *machine, guint a, guint b) {
  guint above = import_machine_part(machine, a)->parent;
  gboolean direct = above == import_machine_part(machine, b)->parent;
  while (above != IMPORT_NO_PART && !is_above(machine, above, b))
    above = import_machine_part(machine, above)->parent;
  if (above == IMPORT_NO_PART)
    return 3;
  if (import_machine_part(machine, above)->kind == HW_PART_SOCKET)
    return 2;
  return direct ? 0 : 1;
}

/* For one GPU, the least distance of any NIC. */
static guint nearest(const ImportMachine *machine, guint gpu) {
  guint least = G_MAXUINT;
  for (guint i = 0; i < machine->parts->len; i++)
    if (import_machine_part(machine, i)->kind == HW_PART_NIC)
      least = MIN(least, import_machine_distance(machine, gpu, i));
  return least;
}

static gboolean is_nearest_of_any(const ImportMachine *machine, guint nic, const guint *least) {
  for (guint i = 0; i < machine->parts->len; i++)
    if (import_machine_part(machine, i)->kind == HW_PART_GPU && import_machine_distance(machine, i, nic) == least[i])
      return TRUE;
  return FALSE;
}

static void drop_empty_switches(ImportMachine *machine) {
  for (guint i = machine->parts->len; i-- > 0;) {
    ImportPart *part = import_machine_part(machine, i);
    gboolean used = part->kind != HW_PART_SWITCH;
    for (guint k = i + 1; k < machine->parts->len && !used; k++)
      used = import_machine_part(machine, k)->parent == i && !import_machine_part(machine, k)->gone;
    part->gone = part->gone || !used;
  }
}

void import_machine_drop_far_nics(ImportMachine *machine) {
  g_autofree guint *least = g_new0(guint, machine->parts->len);
  for (guint i = 0; i < machine->parts->len; i++)
    if (import_machine_part(machine, i)->kind == HW_PART_GPU)
      least[i] = nearest(machine, i);
  for (guint i = 0; i < machine->parts->len; i++) {
    ImportPart *part = import_machine_part(machine, i);
    if (part->kind != HW_PART_NIC || is_nearest_of_any(machine, i, least))
      continue;
    part->gone = TRUE;
    import_machine_say(machine, "%s is left out: every GPU has a nearer NIC, which is the one that NCCL takes",
                       part->name != NULL ? part->name : "a NIC");
  }
  drop_empty_switches(machine);
  import_machine_number(machine);
}

guint64 import_busid_order(const char *busid) {
  guint64 order = 0;
  for (; *busid != '\0'; busid++)
    if (g_ascii_isxdigit(*busid))
      order = order << 4 | (guint64)g_ascii_xdigit_value(*busid);
  return order;
}
