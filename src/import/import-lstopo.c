/* SPDX-License-Identifier: MIT */
/* Objects to parts: packages, then host bridge > ports and switches > devices. */
#include "import-lstopo.h"

#include <stdio.h>
#include <string.h>

#include "import-ids.h"
#include "import-xml.h"

typedef struct {
  const char *path;
  ImportMachine *machine;
  ImportIds *ids;
  guint machines, slow, others; /* slow: links that idle GPUs show; others: devices that are neither GPU nor NIC */
} Reader;

static gboolean is_type(const ImportXml *element, const char *type) {
  return strcmp(element->name, "object") == 0 && strcmp(import_xml_text(element, "type"), type) == 0;
}

/* <info name="CPUVendor" value="GenuineIntel"/>, "" where it is absent. */
static const char *info(const ImportXml *element, const char *name) {
  for (guint i = 0; i < element->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(element->children, i);
    if (strcmp(child->name, "info") == 0 && strcmp(import_xml_text(child, "name"), name) == 0)
      return import_xml_text(child, "value");
  }
  return "";
}

/* pci_type="0302 [10de:2330] [10de:16c1] a1": class, vendor, device. FALSE: a class alone, or none. */
static gboolean pci_identity(const ImportXml *device, guint *ret_class, guint *ret_vendor, guint *ret_device) {
  return sscanf(import_xml_text(device, "pci_type"), "%4x [%4x:%4x]", ret_class, ret_vendor, ret_device) == 3;
}

enum { CLASS_ETHERNET = 0x0200, CLASS_INFINIBAND = 0x0207, CLASS_DISPLAY = 0x03 };
enum { VENDOR_NVIDIA = 0x10de, VENDOR_AMD = 0x1002, VENDOR_INTEL = 0x8086, CLASS_ACCELERATOR = 0x12 };

/* What is worth a part: a GPU for computing, a NIC. */
static gboolean is_gpu(guint class, guint vendor) {
  return class >> 8 == CLASS_DISPLAY && vendor == VENDOR_NVIDIA;
}

static gboolean is_nic(const ImportXml *device, guint class) {
  if (class != CLASS_ETHERNET && class != CLASS_INFINIBAND)
    return FALSE;
  for (guint i = 0; i < device->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(device->children, i);
    const char *kind = import_xml_text(child, "osdev_type");
    if (is_type(child, "OSDev") && (strcmp(kind, "3") == 0 || strstr(kind, "OpenFabrics") != NULL))
      return TRUE;
  }
  return class == CLASS_INFINIBAND;
}

/* GB/s of a lane by generation, with its encoding: 2.5 and 5 GT/s × 8/10, 8, 16 and 32 × 128/130, 64 × 242/256
 * (PCI-SIG). */
static const double lane_rates[] = {0.25, 0.5, 0.9846, 1.9692, 3.9385, 7.5625};

/* hwloc writes GB/s: 63.015 is gen5x16, and 15.754, which gen3x16, gen4x8 and gen5x4 are alike, gen3x16. NULL: not
 * said, or what an idle GPU shows. */
static char *link_of(const ImportXml *device, gboolean gpu, Reader *reader) {
  double speed = g_ascii_strtod(import_xml_text(device, "pci_link_speed"), NULL);
  for (guint width = 16; width > 0; width /= 2)
    for (guint generation = 1; generation <= G_N_ELEMENTS(lane_rates); generation++) {
      double rate = lane_rates[generation - 1] * width;
      if (!(speed > 0.995 * rate && speed < 1.005 * rate))
        continue;
      if (gpu && generation <= 2) {
        reader->slow++;
        return NULL;
      }
      return g_strdup_printf("gen%ux%u", generation, width);
    }
  return speed > 0 ? g_strdup_printf("%.3fGB/s", speed) : NULL;
}

/* The name of its device in the system: "mlx5_0" rather than "ib0". */
static const char *device_name(const ImportXml *device) {
  const char *name = "";
  for (guint i = 0; i < device->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(device->children, i);
    if (is_type(child, "OSDev") && (*name == '\0' || strcmp(import_xml_text(child, "osdev_type"), "3") == 0))
      name = import_xml_text(child, "name");
  }
  return *name != '\0' ? name : import_xml_text(device, "pci_busid");
}

static gboolean add_gpu(Reader *reader, const ImportXml *device, guint id, guint parent, GError **error) {
  ImportMachine *machine = reader->machine;
  g_autofree char *digits = g_strdup_printf("%04x", id);
  const char *busid = import_xml_text(device, "pci_busid");
  if (!import_machine_take_gpu(machine, reader->ids, digits, busid, device->line, error))
    return FALSE;
  ImportPart *part = import_machine_part(machine, import_machine_add(machine, HW_PART_GPU, parent));
  part->name = g_strdup(busid);
  part->order = import_busid_order(busid);
  part->link = link_of(device, TRUE, reader);
  return TRUE;
}

static void add_nic(Reader *reader, const ImportXml *device, guint class, guint vendor, guint id, guint parent) {
  ImportPart *part = import_machine_part(reader->machine, import_machine_add(reader->machine, HW_PART_NIC, parent));
  g_autofree char *identity = g_strdup_printf("%04x.%04x", vendor, id);
  const char *known = import_ids_get(reader->ids, "nics", identity);
  const char *gbps = import_ids_get(reader->ids, "nic-rates", identity);
  g_autofree char *rate = g_strdup_printf("%s Gb/s", gbps != NULL ? gbps : "");
  double bytes;
  part->name = g_strdup(device_name(device));
  part->order = import_busid_order(import_xml_text(device, "pci_busid"));
  part->link = link_of(device, FALSE, reader);
  part->ethernet = class == CLASS_ETHERNET;
  part->gdr = TRUE;
  if (known == NULL && gbps != NULL && base_quantity_parse(rate, BASE_UNIT_BYTE_RATE, &bytes, NULL))
    known = import_ids_nic(reader->ids, part->ethernet ? "roce" : "infiniband", bytes);
  part->nic = g_strdup(known);
}

static gboolean read_device(Reader *reader, const ImportXml *device, guint parent, GError **error) {
  guint class = 0, vendor = 0, id = 0;
  if (!pci_identity(device, &class, &vendor, &id))
    return import_xml_fail(reader->path, device, error,
                           "pci_type \"%s\": expected as \"0302 [10de:2330] [10de:16c1] a1\"",
                           import_xml_text(device, "pci_type"));
  gboolean computes = class >> 8 == CLASS_ACCELERATOR || class == 0x0380 || class == 0x0302;
  if (computes && (vendor == VENDOR_AMD || vendor == VENDOR_INTEL))
    return import_xml_fail(reader->path, device, error, "GPU %s (vendor %04x): %s GPUs are not modelled yet",
                           import_xml_text(device, "pci_busid"), vendor, vendor == VENDOR_AMD ? "AMD" : "Intel");
  if (is_gpu(class, vendor))
    return add_gpu(reader, device, id, parent, error);
  if (is_nic(device, class))
    add_nic(reader, device, class, vendor, id, parent);
  else
    reader->others++;
  return TRUE;
}

/* Bridges and devices straight below. */
static guint count_below(const ImportXml *bridge, guint *ret_bridges) {
  guint n = 0;
  *ret_bridges = 0;
  for (guint i = 0; i < bridge->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(bridge->children, i);
    *ret_bridges += is_type(child, "Bridge");
    n += is_type(child, "Bridge") || is_type(child, "PCIDev");
  }
  return n;
}

static gboolean read_pci(Reader *reader, const ImportXml *above, guint parent, GError **error) {
  for (guint i = 0; i < above->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(above->children, i);
    if (is_type(child, "PCIDev") && !read_device(reader, child, parent, error))
      return FALSE;
    if (!is_type(child, "Bridge"))
      continue;
    guint bridges, below = count_below(child, &bridges), place = parent;
    if (strcmp(import_xml_text(child, "bridge_type"), "1-1") == 0 && below > 1 && bridges > 0) {
      place = import_machine_add(reader->machine, HW_PART_SWITCH, parent);
      import_machine_part(reader->machine, place)->link = link_of(child, FALSE, reader);
      import_machine_part(reader->machine, place)->order = import_busid_order(import_xml_text(child, "pci_busid"));
    }
    if (!read_pci(reader, child, place, error))
      return FALSE;
  }
  return TRUE;
}

/* Of devices that stand beside the packages: the first, made where there is none. */
static guint first_socket(ImportMachine *machine) {
  for (guint i = 0; i < machine->parts->len; i++)
    if (import_machine_part(machine, i)->kind == HW_PART_SOCKET)
      return i;
  return import_machine_add(machine, HW_PART_SOCKET, IMPORT_NO_PART);
}

/* Walks the objects; `socket` is the package that stands above. */
static gboolean read_object(Reader *reader, const ImportXml *element, guint socket, GError **error) {
  if (is_type(element, "Machine") && ++reader->machines > 1)
    return import_xml_fail(reader->path, element, error, "a second Machine: write the topology of one");
  if (is_type(element, "Package") || is_type(element, "Socket")) {
    socket = import_machine_add(reader->machine, HW_PART_SOCKET, IMPORT_NO_PART);
    import_machine_take_cpu(reader->machine, reader->ids, info(element, "CPUVendor"), info(element, "CPUFamilyNumber"),
                            info(element, "CPUModelNumber"));
  }
  if (is_type(element, "NUMANode"))
    reader->machine->dram += import_xml_number(element, "local_memory");
  if (is_type(element, "Bridge") || is_type(element, "PCIDev")) {
    if (socket == IMPORT_NO_PART)
      socket = first_socket(reader->machine);
    g_autoptr(GPtrArray) alone = g_ptr_array_new();
    g_ptr_array_add(alone, (gpointer)element);
    const ImportXml holder = {.children = alone};
    return read_pci(reader, &holder, socket, error);
  }
  for (guint i = 0; i < element->children->len; i++)
    if (!read_object(reader, g_ptr_array_index(element->children, i), socket, error))
      return FALSE;
  return TRUE;
}

static gboolean read_root(Reader *reader, const ImportXml *root, GError **error) {
  if (strcmp(root->name, "topology") != 0)
    return import_xml_fail(reader->path, root, error,
                           "expected <topology>, as lstopo machine.xml writes it, found <%s>%s", root->name,
                           strcmp(root->name, "system") == 0 ? " (NCCL's: foretrain import nccl-topology)" : "");
  if (!read_object(reader, root, IMPORT_NO_PART, error))
    return FALSE;
  if (reader->slow > 0)
    import_machine_assume(reader->machine,
                          "the links of %u GPUs are as usual for them: they show generation 1 or 2, as idle GPUs do",
                          reader->slow);
  import_machine_drop_far_nics(reader->machine);
  return TRUE;
}

ImportMachine *import_lstopo_load(const char *path, GError **error) {
  g_autoptr(ImportXml) root = import_xml_load(path, error);
  g_autoptr(ImportIds) ids = root != NULL ? import_ids_load(error) : NULL;
  if (ids == NULL)
    return NULL;
  g_autoptr(ImportMachine) machine = import_machine_new(path, "a machine that hwloc described");
  Reader reader = {.path = path, .machine = machine, .ids = ids};
  return read_root(&reader, root, error) ? g_steal_pointer(&machine) : NULL;
}
