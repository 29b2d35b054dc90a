/* SPDX-License-Identifier: MIT */
/* Elements to parts: system > cpu > pci … > gpu > nvlink, nic > net. */
#include "import-nccl-topology.h"

#include <string.h>

#include "import-nccl-device.h"

static guint64 identity_of(const ImportXml *pci) {
  return import_xml_number(pci, "vendor") << 48 | import_xml_number(pci, "device") << 32 |
         import_xml_number(pci, "subsystem_vendor") << 16 | import_xml_number(pci, "subsystem_device");
}

static gboolean read_pci(ImportNcclReader *reader, const ImportXml *pci, guint parent, GError **error);

static gboolean read_children(ImportNcclReader *reader, const ImportXml *element, guint parent, GError **error) {
  for (guint i = 0; i < element->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(element->children, i);
    if (strcmp(child->name, "pci") == 0 && !read_pci(reader, child, parent, error))
      return FALSE;
    if (strcmp(child->name, "nic") == 0 && !import_nccl_nic(reader, child, NULL, parent, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean read_switch(ImportNcclReader *reader, const ImportXml *pci, guint parent, GError **error) {
  const ImportXml *above = pci->parent;
  if (strcmp(above->name, "pci") == 0 && import_ids_flattened(reader->ids, identity_of(above), identity_of(pci)))
    return read_children(reader, pci, parent, error); /* a level of the same switch */
  guint place = import_machine_add(reader->machine, HW_PART_SWITCH, parent);
  import_machine_part(reader->machine, place)->link = import_nccl_link(reader, pci);
  import_machine_part(reader->machine, place)->name = g_strdup(import_xml_text(pci, "busid"));
  return read_children(reader, pci, place, error);
}

/* PCI base classes. */
enum { CLASS_NETWORK = 0x02, CLASS_DISPLAY = 0x03 };

static gboolean read_pci(ImportNcclReader *reader, const ImportXml *pci, guint parent, GError **error) {
  guint64 base = import_xml_number(pci, "class") >> 16;
  const ImportXml *gpu = import_xml_child(pci, "gpu"), *nic = import_xml_child(pci, "nic");
  if (!import_nccl_refuse_amd(reader, pci, error))
    return FALSE;
  if (gpu != NULL || (base == CLASS_DISPLAY && import_xml_child(pci, "pci") == NULL))
    return import_nccl_gpu(reader, pci, parent, error);
  if (nic != NULL || base == CLASS_NETWORK)
    return import_nccl_nic(reader, nic, pci, parent, error);
  if (import_xml_child(pci, "pci") != NULL)
    return read_switch(reader, pci, parent, error);
  if (import_xml_get(pci, "class") == NULL)
    return import_xml_fail(
        reader->path, pci, error,
        "pci %s does not say what it is (no class): NCCL fills that in on the machine itself; dump the "
        "topology there with NCCL_TOPO_DUMP_FILE",
        import_xml_text(pci, "busid"));
  import_machine_say(reader->machine, "pci %s, class %s, is neither GPU nor NIC nor a switch with anything below it",
                     import_xml_text(pci, "busid"), import_xml_text(pci, "class"));
  return TRUE;
}

static void add_pair(ImportMachine *machine, guint a, guint b, guint links) {
  for (guint i = 0; i < machine->pairs->len; i++) {
    ImportPair *pair = &g_array_index(machine->pairs, ImportPair, i);
    if (MIN(pair->a, pair->b) == MIN(a, b) && MAX(pair->a, pair->b) == MAX(a, b)) {
      pair->links = MAX(pair->links, links);
      return;
    }
  }
  ImportPair pair = {a, b, links};
  g_array_append_val(machine->pairs, pair);
}

/* The class of an NVSwitch; that of a GPU begins with 03. */
#define CLASS_NVSWITCH 0x0680

static gboolean read_nvlink(ImportNcclReader *reader, const ImportXml *nvlink, guint gpu, GError **error) {
  ImportPart *part = import_machine_part(reader->machine, gpu);
  const char *target = import_xml_text(nvlink, "target");
  guint links = (guint)import_xml_number(nvlink, "count");
  if (import_xml_number(nvlink, "tclass") >> 8 == CLASS_NVSWITCH) {
    part->switch_links += links;
    return TRUE;
  }
  guint other = GPOINTER_TO_UINT(g_hash_table_lookup(reader->places, target));
  if (other == 0)
    return import_xml_fail(reader->path, nvlink, error, "NVLinks of GPU %s go to \"%s\", which is no GPU of this file",
                           part->name, target);
  if (other - 1 == gpu)
    import_machine_say(reader->machine, "line %u: NVLinks of GPU %s to itself", nvlink->line, part->name);
  else
    add_pair(reader->machine, gpu, other - 1, links);
  return TRUE;
}

static gboolean read_nvlinks(ImportNcclReader *reader, const ImportXml *element, GError **error) {
  const ImportXml *gpu = strcmp(element->name, "pci") == 0 ? import_xml_child(element, "gpu") : NULL;
  guint place = GPOINTER_TO_UINT(g_hash_table_lookup(reader->places, import_xml_text(element, "busid")));
  for (guint i = 0; gpu != NULL && place != 0 && i < gpu->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(gpu->children, i);
    if (strcmp(child->name, "nvlink") == 0 && !read_nvlink(reader, child, place - 1, error))
      return FALSE;
  }
  for (guint i = 0; i < element->children->len; i++)
    if (!read_nvlinks(reader, g_ptr_array_index(element->children, i), error))
      return FALSE;
  return TRUE;
}

static void name_cpu(ImportNcclReader *reader, const ImportXml *cpu) {
  const char *arch = import_xml_text(cpu, "arch"),
             *vendor = *import_xml_text(cpu, "vendor") != '\0' ? import_xml_text(cpu, "vendor") : arch;
  import_machine_take_cpu(reader->machine, reader->ids, vendor, import_xml_text(cpu, "familyid"),
                          import_xml_text(cpu, "modelid"));
}

static gboolean read_system(ImportNcclReader *reader, const ImportXml *root, GError **error) {
  const char *host = NULL;
  if (strcmp(root->name, "graphs") == 0)
    return import_xml_fail(
        reader->path, root, error,
        "a graph (NCCL_GRAPH_FILE): what NCCL found on a machine, not what is plugged into what; expected a "
        "topology (NCCL_TOPO_DUMP_FILE)");
  if (strcmp(root->name, "system") != 0)
    return import_xml_fail(reader->path, root, error, "expected <system>, found <%s>", root->name);
  if (!import_nccl_check(reader, root, error))
    return FALSE;
  for (guint i = 0; i < root->children->len; i++) {
    const ImportXml *cpu = g_ptr_array_index(root->children, i);
    if (strcmp(cpu->name, "cpu") != 0)
      return import_xml_fail(reader->path, cpu, error, "expected <cpu> in <system>, found <%s>", cpu->name);
    const char *its = import_xml_get(cpu, "host_hash");
    if (host != NULL && its != NULL && strcmp(host, its) != 0)
      return import_xml_fail(reader->path, cpu, error, "a second host (host_hash %s): dump the topology of one machine",
                             its);
    host = its != NULL ? its : host;
    name_cpu(reader, cpu);
    guint place = import_machine_add(reader->machine, HW_PART_SOCKET, IMPORT_NO_PART);
    if (!read_children(reader, cpu, place, error))
      return FALSE;
  }
  if (!read_nvlinks(reader, root, error))
    return FALSE;
  if (reader->slow_links > 0)
    import_machine_assume(reader->machine, "%u PCI links without a speed are generation 3, as NCCL takes them",
                          reader->slow_links);
  import_machine_drop_far_nics(reader->machine);
  return TRUE;
}

ImportMachine *import_nccl_topology_load(const char *path, GError **error) {
  g_autoptr(ImportXml) root = import_xml_load(path, error);
  g_autoptr(ImportIds) ids = root != NULL ? import_ids_load(error) : NULL;
  if (ids == NULL)
    return NULL;
  g_autoptr(ImportMachine) machine = import_machine_new(path, "a machine that NCCL described");
  ImportNcclReader reader = {.path = path,
                             .machine = machine,
                             .ids = ids,
                             .places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                             .cards = g_ptr_array_new_with_free_func(g_free)};
  gboolean good = read_system(&reader, root, error);
  g_hash_table_unref(reader.places);
  g_ptr_array_unref(reader.cards);
  return good ? g_steal_pointer(&machine) : NULL;
}
