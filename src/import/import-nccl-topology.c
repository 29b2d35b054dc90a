/* Elements to parts: system > cpu > pci … > gpu > nvlink, nic > net. */
#include "import-nccl-topology.h"

#include <stdlib.h>
#include <string.h>

#include "import-ids.h"
#include "import-xml.h"

typedef struct {
  const char *path;
  ImportMachine *machine;
  ImportIds *ids;
  GHashTable *places; /* busid → place of its GPU, plus one; looked up, never walked */
  GPtrArray *cards;   /* guids in order of appearance */
  guint slow_links;   /* links without a speed */
} Reader;

static gboolean fail(const Reader *reader, const ImportXml *element, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static gboolean fail(const Reader *reader, const ImportXml *element, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place = {.file = reader->path, .line = element->line};
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

static const char *text_of(const ImportXml *element, const char *name) {
  const char *value = import_xml_get(element, name);
  return value != NULL ? value : "";
}

/* As a number, whatever the base that "0x" tells. */
static guint64 number_of(const ImportXml *element, const char *name) {
  return g_ascii_strtoull(text_of(element, name), NULL, 0);
}

static const ImportXml *child_of(const ImportXml *element, const char *name) {
  for (guint i = 0; i < element->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(element->children, i);
    if (strcmp(child->name, name) == 0)
      return child;
  }
  return NULL;
}

/* "0000:0f:00.0" as a number that sorts as the driver does. */
static guint64 busid_order(const char *busid) {
  guint64 order = 0;
  for (; *busid != '\0'; busid++)
    if (g_ascii_isxdigit(*busid))
      order = order << 4 | (guint64)g_ascii_xdigit_value(*busid);
  return order;
}

/* Lanes that PCI Express has, as bits; 0, not said, is taken as 16. */
#define PCI_WIDTHS   (1ull << 0 | 1ull << 1 | 1ull << 2 | 1ull << 4 | 1ull << 8 | 1ull << 12 | 1ull << 16 | 1ull << 32)
#define MOST_NVLINKS 64

static gboolean check_numbers(const Reader *reader, const ImportXml *element, GError **error) {
  guint64 width = number_of(element, "link_width"), links = number_of(element, "count");
  if (width > 32 || !(PCI_WIDTHS >> width & 1))
    return fail(reader, element, error, "link_width \"%s\": PCI Express has 1, 2, 4, 8, 12, 16 or 32 lanes",
                text_of(element, "link_width"));
  if (strcmp(element->name, "nvlink") == 0 && (links < 1 || links > MOST_NVLINKS))
    return fail(reader, element, error, "count \"%s\": expected 1 to %d NVLinks", text_of(element, "count"),
                MOST_NVLINKS);
  for (guint i = 0; i < element->children->len; i++)
    if (!check_numbers(reader, g_ptr_array_index(element->children, i), error))
      return FALSE;
  return TRUE;
}

static char *pci_link(Reader *reader, const ImportXml *element) {
  static const struct {
    const char *speed;
    guint generation;
  } speeds[] = {{"2.5", 1}, {"5", 2}, {"8", 3}, {"16", 4}, {"32", 5}, {"64", 6}};
  const double speed = g_ascii_strtod(text_of(element, "link_speed"), NULL);
  guint64 width = number_of(element, "link_width");
  guint generation = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(speeds); i++)
    if (speed == g_ascii_strtod(speeds[i].speed, NULL))
      generation = speeds[i].generation;
  reader->slow_links += generation == 0;
  return g_strdup_printf("gen%ux%u", generation != 0 ? generation : 3, width != 0 ? (guint)width : 16);
}

static gboolean refuse_amd(const Reader *reader, const ImportXml *pci, GError **error) {
  const ImportXml *gpu = child_of(pci, "gpu");
  const char *name = gpu != NULL ? import_xml_get(gpu, "gcn") : NULL;
  if (name == NULL && (number_of(pci, "vendor") != 0x1002 || child_of(pci, "pci") != NULL))
    return TRUE;
  return fail(reader, pci, error, "GPU %s (%s): AMD GPUs are not modelled yet", text_of(pci, "busid"),
              name != NULL ? name : "vendor 1002");
}

static gboolean read_gpu(Reader *reader, const ImportXml *pci, guint parent, GError **error) {
  ImportMachine *machine = reader->machine;
  const ImportXml *element = child_of(pci, "gpu");
  g_autofree char *device = g_strdup_printf("%04x", (guint)number_of(pci, "device"));
  const char *busid = text_of(pci, "busid"), *name = import_ids_get(reader->ids, "gpus", device);
  guint place = import_machine_add(machine, HW_PART_GPU, parent);
  ImportPart *part = import_machine_part(machine, place);
  part->name = g_strdup(busid);
  part->link = pci_link(reader, pci);
  part->order = element != NULL ? number_of(element, "dev") : busid_order(busid);
  g_hash_table_insert(reader->places, g_strdup(busid), GUINT_TO_POINTER(place + 1));
  if (name == NULL && import_xml_get(pci, "device") != NULL)
    import_machine_say(machine, "device %s of GPU %s is not in the catalogue of identities", device, busid);
  if (machine->gpu != NULL && name != NULL && strcmp(machine->gpu, name) != 0)
    return fail(reader, pci, error, "GPU %s is a %s, others are %s: machines of two kinds are not modelled", busid,
                name, machine->gpu);
  if (machine->gpu == NULL && name != NULL)
    machine->gpu = g_strdup(name);
  if (element == NULL)
    return TRUE;
  machine->knows_links = TRUE;
  const ImportXml *c2c = child_of(element, "c2c");
  g_autofree char *rate =
      g_strdup_printf("%" G_GUINT64_FORMAT " MB/s", c2c != NULL ? number_of(c2c, "bw") * number_of(c2c, "count") : 0);
  return base_quantity_parse(rate, BASE_UNIT_BYTE_RATE, &part->c2c, error);
}

static guint card_of(Reader *reader, const char *guid) {
  guint index;
  if (guid != NULL && g_ptr_array_find_with_equal_func(reader->cards, guid, g_str_equal, &index))
    return index;
  g_ptr_array_add(reader->cards, g_strdup(guid != NULL ? guid : ""));
  return reader->cards->len - 1;
}

/* What speaks through a NIC: the class of its device and the name that NCCL's plugin gave it. */
static const char *speaks(const ImportXml *pci, const char *name) {
  if (pci != NULL && number_of(pci, "class") >> 8 == 0x0207)
    return "infiniband";
  return g_str_has_prefix(name, "eth") || g_str_has_prefix(name, "en") ? "sockets" : "roce";
}

/* NCCL takes 10 Gb/s where a speed is missing. */
#define SPEED_UNSAID 10000

static gboolean read_net(Reader *reader, const ImportXml *net, const ImportXml *pci, guint parent, const char *known,
                         GError **error) {
  const char *name = text_of(net, "name");
  if (import_xml_get(net, "dev") == NULL) {
    import_machine_say(reader->machine, "net \"%s\" has no number (dev), so NCCL does not take it either", name);
    return TRUE;
  }
  ImportPart *part = import_machine_part(reader->machine, import_machine_add(reader->machine, HW_PART_NIC, parent));
  guint64 speed = number_of(net, "speed");
  g_autofree char *rate = g_strdup_printf("%" G_GUINT64_FORMAT " Mb/s", speed > 0 ? speed : SPEED_UNSAID);
  g_autofree char *latency =
      g_strdup_printf("%s us", import_xml_get(net, "latency") != NULL ? text_of(net, "latency") : "0");
  double seconds;
  if (!base_quantity_parse(rate, BASE_UNIT_BYTE_RATE, &part->rate, error) ||
      !base_quantity_parse(latency, BASE_UNIT_TIME, &seconds, NULL))
    return fail(reader, net, error, "net \"%s\": latency \"%s\" is no number of microseconds", name,
                text_of(net, "latency"));
  const char *guid = import_xml_get(net, "guid");
  part->name = g_strdup(name);
  part->link = pci != NULL ? pci_link(reader, pci) : NULL;
  part->order = number_of(net, "dev");
  part->latency = sim_time_from_seconds(seconds);
  part->card = card_of(reader, guid != NULL && g_ascii_strtoull(guid, NULL, 0) != 0 ? guid : NULL);
  part->port = (guint)number_of(net, "port");
  part->gdr = import_xml_get(net, "gdr") == NULL || number_of(net, "gdr") != 0;
  part->nic = g_strdup(known != NULL ? known : import_ids_nic(reader->ids, speaks(pci, name), part->rate));
  return TRUE;
}

static gboolean read_nic(Reader *reader, const ImportXml *nic, const ImportXml *pci, guint parent, GError **error) {
  g_autofree char *identity =
      pci != NULL ? g_strdup_printf("%04x.%04x", (guint)number_of(pci, "vendor"), (guint)number_of(pci, "device"))
                  : NULL;
  const char *known = identity != NULL ? import_ids_get(reader->ids, "nics", identity) : NULL;
  for (guint i = 0; nic != NULL && i < nic->children->len; i++) {
    const ImportXml *net = g_ptr_array_index(nic->children, i);
    if (strcmp(net->name, "net") == 0 && !read_net(reader, net, pci, parent, known, error))
      return FALSE;
  }
  if (nic != NULL)
    return TRUE;
  ImportPart *part = import_machine_part(reader->machine, import_machine_add(reader->machine, HW_PART_NIC, parent));
  part->name = g_strdup(text_of(pci, "busid"));
  part->link = pci_link(reader, pci);
  part->order = busid_order(part->name);
  part->nic = g_strdup(known);
  return TRUE;
}

static guint64 identity_of(const ImportXml *pci) {
  return number_of(pci, "vendor") << 48 | number_of(pci, "device") << 32 | number_of(pci, "subsystem_vendor") << 16 |
         number_of(pci, "subsystem_device");
}

static gboolean read_pci(Reader *reader, const ImportXml *pci, guint parent, GError **error);

static gboolean read_children(Reader *reader, const ImportXml *element, guint parent, GError **error) {
  for (guint i = 0; i < element->children->len; i++) {
    const ImportXml *child = g_ptr_array_index(element->children, i);
    if (strcmp(child->name, "pci") == 0 && !read_pci(reader, child, parent, error))
      return FALSE;
    if (strcmp(child->name, "nic") == 0 && !read_nic(reader, child, NULL, parent, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean read_switch(Reader *reader, const ImportXml *pci, guint parent, GError **error) {
  const ImportXml *above = pci->parent;
  if (strcmp(above->name, "pci") == 0 && import_ids_flattened(reader->ids, identity_of(above), identity_of(pci)))
    return read_children(reader, pci, parent, error); /* a level of the same switch */
  guint place = import_machine_add(reader->machine, HW_PART_SWITCH, parent);
  import_machine_part(reader->machine, place)->link = pci_link(reader, pci);
  import_machine_part(reader->machine, place)->name = g_strdup(text_of(pci, "busid"));
  return read_children(reader, pci, place, error);
}

/* PCI base classes. */
enum { CLASS_NETWORK = 0x02, CLASS_DISPLAY = 0x03 };

static gboolean read_pci(Reader *reader, const ImportXml *pci, guint parent, GError **error) {
  guint64 base = number_of(pci, "class") >> 16;
  const ImportXml *gpu = child_of(pci, "gpu"), *nic = child_of(pci, "nic");
  if (!refuse_amd(reader, pci, error))
    return FALSE;
  if (gpu != NULL || (base == CLASS_DISPLAY && child_of(pci, "pci") == NULL))
    return read_gpu(reader, pci, parent, error);
  if (nic != NULL || base == CLASS_NETWORK)
    return read_nic(reader, nic, pci, parent, error);
  if (child_of(pci, "pci") != NULL)
    return read_switch(reader, pci, parent, error);
  if (import_xml_get(pci, "class") == NULL)
    return fail(reader, pci, error,
                "pci %s does not say what it is (no class): NCCL fills that in on the machine itself; dump the "
                "topology there with NCCL_TOPO_DUMP_FILE",
                text_of(pci, "busid"));
  import_machine_say(reader->machine, "pci %s, class %s, is neither GPU nor NIC nor a switch with anything below it",
                     text_of(pci, "busid"), text_of(pci, "class"));
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

static gboolean read_nvlink(Reader *reader, const ImportXml *nvlink, guint gpu, GError **error) {
  ImportPart *part = import_machine_part(reader->machine, gpu);
  const char *target = text_of(nvlink, "target");
  guint links = (guint)number_of(nvlink, "count");
  if (number_of(nvlink, "tclass") >> 8 == CLASS_NVSWITCH) {
    part->switch_links += links;
    return TRUE;
  }
  guint other = GPOINTER_TO_UINT(g_hash_table_lookup(reader->places, target));
  if (other == 0)
    return fail(reader, nvlink, error, "NVLinks of GPU %s go to \"%s\", which is no GPU of this file", part->name,
                target);
  if (other - 1 == gpu)
    import_machine_say(reader->machine, "line %u: NVLinks of GPU %s to itself", nvlink->line, part->name);
  else
    add_pair(reader->machine, gpu, other - 1, links);
  return TRUE;
}

static gboolean read_nvlinks(Reader *reader, const ImportXml *element, GError **error) {
  const ImportXml *gpu = strcmp(element->name, "pci") == 0 ? child_of(element, "gpu") : NULL;
  guint place = GPOINTER_TO_UINT(g_hash_table_lookup(reader->places, text_of(element, "busid")));
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

static void name_cpu(Reader *reader, const ImportXml *cpu) {
  const char *arch = text_of(cpu, "arch"), *vendor = *text_of(cpu, "vendor") != '\0' ? text_of(cpu, "vendor") : arch;
  g_autofree char *model = g_strdup_printf("%s.%s.%s", vendor, text_of(cpu, "familyid"), text_of(cpu, "modelid"));
  const char *name = import_ids_get(reader->ids, "cpus", model);
  if (name == NULL)
    name = import_ids_pair(reader->ids, "cpus", vendor, "*");
  if (name != NULL && reader->machine->cpu == NULL)
    reader->machine->cpu = g_strdup(name);
}

static gboolean read_system(Reader *reader, const ImportXml *root, GError **error) {
  const char *host = NULL;
  if (strcmp(root->name, "graphs") == 0)
    return fail(reader, root, error,
                "a graph (NCCL_GRAPH_FILE): what NCCL found on a machine, not what is plugged into what; expected a "
                "topology (NCCL_TOPO_DUMP_FILE)");
  if (strcmp(root->name, "system") != 0)
    return fail(reader, root, error, "expected <system>, found <%s>", root->name);
  if (!check_numbers(reader, root, error))
    return FALSE;
  for (guint i = 0; i < root->children->len; i++) {
    const ImportXml *cpu = g_ptr_array_index(root->children, i);
    if (strcmp(cpu->name, "cpu") != 0)
      return fail(reader, cpu, error, "expected <cpu> in <system>, found <%s>", cpu->name);
    const char *its = import_xml_get(cpu, "host_hash");
    if (host != NULL && its != NULL && strcmp(host, its) != 0)
      return fail(reader, cpu, error, "a second host (host_hash %s): dump the topology of one machine", its);
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
  Reader reader = {.path = path,
                   .machine = machine,
                   .ids = ids,
                   .places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                   .cards = g_ptr_array_new_with_free_func(g_free)};
  gboolean good = read_system(&reader, root, error);
  g_hash_table_unref(reader.places);
  g_ptr_array_unref(reader.cards);
  return good ? g_steal_pointer(&machine) : NULL;
}
