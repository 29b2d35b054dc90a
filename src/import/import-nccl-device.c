/* SPDX-License-Identifier: MIT */
/* A pci element's GPU, or its NICs, as parts. */
#include "import-nccl-device.h"

#include <string.h>

/* Lanes that PCI Express has, as bits; 0, not said, is taken as 16. */
#define PCI_WIDTHS   (1ull << 0 | 1ull << 1 | 1ull << 2 | 1ull << 4 | 1ull << 8 | 1ull << 12 | 1ull << 16 | 1ull << 32)
#define MOST_NVLINKS 64

gboolean import_nccl_check(const ImportNcclReader *reader, const ImportXml *element, GError **error) {
  guint64 width = import_xml_number(element, "link_width"), links = import_xml_number(element, "count");
  if (width > 32 || !(PCI_WIDTHS >> width & 1))
    return import_xml_fail(reader->path, element, error,
                           "link_width \"%s\": PCI Express has 1, 2, 4, 8, 12, 16 or 32 lanes",
                           import_xml_text(element, "link_width"));
  if (strcmp(element->name, "nvlink") == 0 && (links < 1 || links > MOST_NVLINKS))
    return import_xml_fail(reader->path, element, error, "count \"%s\": expected 1 to %d NVLinks",
                           import_xml_text(element, "count"), MOST_NVLINKS);
  for (guint i = 0; i < element->children->len; i++)
    if (!import_nccl_check(reader, g_ptr_array_index(element->children, i), error))
      return FALSE;
  return TRUE;
}

char *import_nccl_link(ImportNcclReader *reader, const ImportXml *element) {
  static const struct {
    const char *speed;
    guint generation;
  } speeds[] = {{"2.5", 1}, {"5", 2}, {"8", 3}, {"16", 4}, {"32", 5}, {"64", 6}};
  const double speed = g_ascii_strtod(import_xml_text(element, "link_speed"), NULL);
  guint64 width = import_xml_number(element, "link_width");
  guint generation = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(speeds); i++)
    if (speed == g_ascii_strtod(speeds[i].speed, NULL))
      generation = speeds[i].generation;
  reader->slow_links += generation == 0;
  return g_strdup_printf("gen%ux%u", generation != 0 ? generation : 3, width != 0 ? (guint)width : 16);
}

gboolean import_nccl_refuse_amd(const ImportNcclReader *reader, const ImportXml *pci, GError **error) {
  const ImportXml *gpu = import_xml_child(pci, "gpu");
  const char *name = gpu != NULL ? import_xml_get(gpu, "gcn") : NULL;
  if (name == NULL && (import_xml_number(pci, "vendor") != 0x1002 || import_xml_child(pci, "pci") != NULL))
    return TRUE;
  return import_xml_fail(reader->path, pci, error, "GPU %s (%s): AMD GPUs are not modelled yet",
                         import_xml_text(pci, "busid"), name != NULL ? name : "vendor 1002");
}

gboolean import_nccl_gpu(ImportNcclReader *reader, const ImportXml *pci, guint parent, GError **error) {
  ImportMachine *machine = reader->machine;
  const ImportXml *element = import_xml_child(pci, "gpu");
  g_autofree char *device = g_strdup_printf("%04x", (guint)import_xml_number(pci, "device"));
  const char *busid = import_xml_text(pci, "busid");
  guint place = import_machine_add(machine, HW_PART_GPU, parent);
  ImportPart *part = import_machine_part(machine, place);
  part->name = g_strdup(busid);
  part->link = import_nccl_link(reader, pci);
  part->order = element != NULL ? import_xml_number(element, "dev") : import_busid_order(busid);
  g_hash_table_insert(reader->places, g_strdup(busid), GUINT_TO_POINTER(place + 1));
  if (!import_machine_take_gpu(machine, reader->ids, import_xml_get(pci, "device") != NULL ? device : NULL, busid,
                               pci->line, error))
    return FALSE;
  if (element == NULL)
    return TRUE;
  machine->knows_links = TRUE;
  const ImportXml *c2c = import_xml_child(element, "c2c");
  g_autofree char *rate = g_strdup_printf(
      "%" G_GUINT64_FORMAT " MB/s", c2c != NULL ? import_xml_number(c2c, "bw") * import_xml_number(c2c, "count") : 0);
  return base_quantity_parse(rate, BASE_UNIT_BYTE_RATE, &part->c2c, error);
}

static guint card_of(ImportNcclReader *reader, const char *guid) {
  guint index;
  if (guid != NULL && g_ptr_array_find_with_equal_func(reader->cards, guid, g_str_equal, &index))
    return index;
  g_ptr_array_add(reader->cards, g_strdup(guid != NULL ? guid : ""));
  return reader->cards->len - 1;
}

/* What speaks through a NIC: the class of its device and the name that NCCL's plugin gave it. */
static const char *speaks(const ImportXml *pci, const char *name) {
  if (pci != NULL && import_xml_number(pci, "class") >> 8 == 0x0207)
    return "infiniband";
  return g_str_has_prefix(name, "eth") || g_str_has_prefix(name, "en") ? "sockets" : "roce";
}

/* NCCL takes 10 Gb/s where a speed is missing. */
#define SPEED_UNSAID  10000
#define MBPS_PER_GBPS 1000

/* By what the device is, and by the rate that its plugin gives it; NULL: not known. */
static const char *known_nic(const ImportNcclReader *reader, const ImportXml *pci, guint64 speed) {
  if (pci == NULL)
    return NULL;
  g_autofree char *identity =
      g_strdup_printf("%04x.%04x", (guint)import_xml_number(pci, "vendor"), (guint)import_xml_number(pci, "device"));
  g_autofree char *rate = g_strdup_printf("%" G_GUINT64_FORMAT, speed / MBPS_PER_GBPS);
  const char *known = import_ids_pair(reader->ids, "nics", identity, rate);
  return known != NULL ? known : import_ids_get(reader->ids, "nics", identity);
}

static gboolean read_net(ImportNcclReader *reader, const ImportXml *net, const ImportXml *pci, guint parent,
                         GError **error) {
  const char *name = import_xml_text(net, "name");
  if (import_xml_get(net, "dev") == NULL) {
    import_machine_say(reader->machine, "net \"%s\" has no number (dev), so NCCL does not take it either", name);
    return TRUE;
  }
  ImportPart *part = import_machine_part(reader->machine, import_machine_add(reader->machine, HW_PART_NIC, parent));
  guint64 speed = import_xml_number(net, "speed");
  g_autofree char *rate = g_strdup_printf("%" G_GUINT64_FORMAT " Mb/s", speed > 0 ? speed : SPEED_UNSAID);
  g_autofree char *latency =
      g_strdup_printf("%s us", import_xml_get(net, "latency") != NULL ? import_xml_text(net, "latency") : "0");
  double seconds;
  if (!base_quantity_parse(rate, BASE_UNIT_BYTE_RATE, &part->rate, NULL) ||
      !base_quantity_parse(latency, BASE_UNIT_TIME, &seconds, NULL) || seconds < 0)
    return import_xml_fail(reader->path, net, error, "net \"%s\": latency \"%s\" is no number of microseconds", name,
                           import_xml_text(net, "latency"));
  const char *guid = import_xml_get(net, "guid");
  part->name = g_strdup(name);
  part->link = pci != NULL ? import_nccl_link(reader, pci) : NULL;
  part->order = import_xml_number(net, "dev");
  part->latency = sim_time_from_seconds(seconds);
  part->card = card_of(reader, guid != NULL && g_ascii_strtoull(guid, NULL, 0) != 0 ? guid : NULL);
  part->port = (guint)import_xml_number(net, "port");
  part->gdr = import_xml_get(net, "gdr") == NULL || import_xml_number(net, "gdr") != 0;
  const char *known = known_nic(reader, pci, speed);
  part->nic = g_strdup(known != NULL ? known : import_ids_nic(reader->ids, speaks(pci, name), part->rate));
  part->ethernet = strcmp(speaks(pci, name), "infiniband") != 0;
  return TRUE;
}

gboolean import_nccl_nic(ImportNcclReader *reader, const ImportXml *nic, const ImportXml *pci, guint parent,
                         GError **error) {
  for (guint i = 0; nic != NULL && i < nic->children->len; i++) {
    const ImportXml *net = g_ptr_array_index(nic->children, i);
    if (strcmp(net->name, "net") == 0 && !read_net(reader, net, pci, parent, error))
      return FALSE;
  }
  if (nic != NULL)
    return TRUE;
  ImportPart *part = import_machine_part(reader->machine, import_machine_add(reader->machine, HW_PART_NIC, parent));
  part->name = g_strdup(import_xml_text(pci, "busid"));
  part->link = import_nccl_link(reader, pci);
  part->order = import_busid_order(part->name);
  part->nic = g_strdup(known_nic(reader, pci, 0));
  part->ethernet = import_xml_number(pci, "class") >> 8 == 0x0200;
  return TRUE;
}
