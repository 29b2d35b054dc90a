/* SPDX-License-Identifier: MIT */
/* Both forms to the same few facts of each GPU, and those to a machine without a tree. */
#include "import-smi-query.h"

#include <string.h>

#include "conf-data.h"
#include "import-ids.h"
#include "import-line.h"
#include "import-xml.h"

/* What both forms say of a GPU, and where: below which heads of the text, within which elements. */
typedef enum { PRODUCT, ARCHITECTURE, DEVICE, GENERATION, WIDTH, FABRIC, FACTS } Fact;
static const struct {
  const char *text, *xml;
} facts[FACTS] = {
    [PRODUCT] = {"Product Name", "product_name"},
    [ARCHITECTURE] = {"Product Architecture", "product_architecture"},
    [DEVICE] = {"PCI/Device Id", "pci/pci_device_id"},
    [GENERATION] = {"PCI/GPU Link Info/PCIe Generation/Max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
    [WIDTH] = {"PCI/GPU Link Info/Link Width/Max", "pci/pci_gpu_link_info/link_widths/max_link_width"},
    [FABRIC] = {"Fabric/State", "fabric/state"},
};

typedef struct {
  char *busid;
  char *facts[FACTS]; /* NULL: not said */
  guint line;
} Gpu;

static void gpu_free(gpointer data) {
  Gpu *gpu = data;
  g_free(gpu->busid);
  for (int fact = 0; fact < FACTS; fact++)
    g_free(gpu->facts[fact]);
  g_free(gpu);
}

/* "" where it is not said. */
static const char *fact_of(const Gpu *gpu, Fact fact) {
  return gpu->facts[fact] != NULL ? gpu->facts[fact] : "";
}

typedef struct {
  const char *path;
  GPtrArray *gpus; /* Gpu */
  guint64 attached;
} Query;

static gboolean fail(const Query *query, guint line, GError **error, const char *format, ...) G_GNUC_PRINTF(4, 5);

static gboolean fail(const Query *query, guint line, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  base_error_set_at(error, &(BasePlace){.file = query->path, .line = line}, "%s", message);
  return FALSE;
}

/* The heads that a line of the text stands under, by indentation: four blanks a level. */
#define INDENT 4
#define LEVELS 8

static void take_value(Gpu *gpu, const char *where, const char *value) {
  for (int fact = 0; fact < FACTS; fact++)
    if (strcmp(facts[fact].text, where) == 0 && gpu->facts[fact] == NULL)
      gpu->facts[fact] = g_strdup(value);
}

static Gpu *add_gpu(Query *query, const char *busid, guint line) {
  Gpu *gpu = g_new0(Gpu, 1);
  gpu->busid = g_strstrip(g_strdup(busid));
  gpu->line = line;
  g_ptr_array_add(query->gpus, gpu);
  return gpu;
}

static gboolean begins_gpu(const char *line) {
  return g_str_has_prefix(line, "GPU ") && g_ascii_isxdigit(line[4]) && strchr(line, '.') != NULL;
}

static void take_line(Query *query, char *heads[LEVELS], const char *line, guint number) {
  gsize depth = strspn(line, " ") / INDENT;
  g_auto(GStrv) halves = g_strsplit(line, " : ", 2);
  char *key = halves[0] != NULL ? g_strstrip(halves[0]) : NULL;
  if (key == NULL || *key == '\0' || depth >= LEVELS)
    return;
  if (depth == 0 && begins_gpu(line))
    add_gpu(query, line + 4, number);
  else if (depth == 0 && strcmp(key, "Attached GPUs") == 0 && halves[1] != NULL)
    query->attached = g_ascii_strtoull(g_strstrip(halves[1]), NULL, 10);
  g_free(heads[depth]);
  heads[depth] = g_strdup(key);
  for (gsize i = depth + 1; i < LEVELS; i++)
    g_clear_pointer(&heads[i], g_free);
  if (depth == 0 || halves[1] == NULL || query->gpus->len == 0)
    return;
  g_autoptr(GString) where = g_string_new(heads[1] != NULL ? heads[1] : "");
  for (gsize i = 2; i <= depth; i++)
    g_string_append_printf(where, "/%s", heads[i] != NULL ? heads[i] : "");
  take_value(g_ptr_array_index(query->gpus, query->gpus->len - 1), where->str, g_strstrip(halves[1]));
}

static void read_text(Query *query, const char *text) {
  char *heads[LEVELS] = {NULL};
  g_auto(GStrv) lines = import_lines(text);
  for (guint i = 0; lines[i] != NULL; i++) {
    g_autofree char *plain = import_line_plain(lines[i]);
    take_line(query, heads, plain, i + 1);
  }
  for (gsize i = 0; i < LEVELS; i++)
    g_free(heads[i]);
}

static gboolean read_xml(Query *query, const char *text, gsize length, GError **error) {
  g_autoptr(ImportXml) root = import_xml_parse(query->path, text, length, error);
  if (root == NULL)
    return FALSE;
  if (strcmp(root->name, "nvidia_smi_log") != 0)
    return import_xml_fail(query->path, root, error,
                           "expected <nvidia_smi_log>, as nvidia-smi -q -x writes it, found <%s>", root->name);
  query->attached = g_ascii_strtoull(import_xml_content(root, "attached_gpus"), NULL, 10);
  for (guint i = 0; i < root->children->len; i++) {
    const ImportXml *element = g_ptr_array_index(root->children, i);
    if (strcmp(element->name, "gpu") != 0)
      continue;
    Gpu *gpu = add_gpu(query, import_xml_text(element, "id"), element->line);
    for (int fact = 0; fact < FACTS; fact++)
      gpu->facts[fact] = g_strdup(import_xml_content(element, facts[fact].xml));
  }
  return TRUE;
}

/* "0x233010DE" or "233010DE": device, then NVIDIA's vendor. Else by its name. */
static const char *catalogue_name(const ImportIds *ids, const Gpu *gpu) {
  const char *digits = fact_of(gpu, DEVICE);
  digits += g_str_has_prefix(digits, "0x") ? 2 : 0;
  g_autofree char *device = g_ascii_strdown(digits, strlen(digits) == 8 ? 4 : 0);
  const char *name = *device != '\0' ? import_ids_get(ids, "gpus", device) : NULL;
  return name != NULL ? name : import_ids_gpu(ids, fact_of(gpu, PRODUCT));
}

static gboolean name_gpus(const Query *query, const ImportIds *ids, ImportMachine *machine, GError **error) {
  for (guint i = 0; i < query->gpus->len; i++) {
    const Gpu *gpu = g_ptr_array_index(query->gpus, i), *first = g_ptr_array_index(query->gpus, 0);
    if (g_strcmp0(gpu->facts[PRODUCT], first->facts[PRODUCT]) != 0)
      return fail(query, gpu->line, error, "GPU %s is a %s, others are %s: machines of two kinds are not modelled",
                  gpu->busid, gpu->facts[PRODUCT] != NULL ? gpu->facts[PRODUCT] : "GPU without a name",
                  first->facts[PRODUCT] != NULL ? first->facts[PRODUCT] : "GPUs without a name");
  }
  const Gpu *first = g_ptr_array_index(query->gpus, 0);
  machine->gpu = g_strdup(catalogue_name(ids, first));
  if (machine->gpu == NULL && first->facts[PRODUCT] != NULL)
    import_machine_say(machine, "the GPUs' name, %s, is not in the catalogue of identities", first->facts[PRODUCT]);
  return TRUE;
}

/* "gen5x16"; NULL: not said. */
static char *link_of(const Gpu *gpu) {
  guint64 generation, width;
  g_autofree char *lanes = g_strdup(fact_of(gpu, WIDTH));
  g_strdelimit(lanes, "xX", '\0');
  if (!g_ascii_string_to_unsigned(fact_of(gpu, GENERATION), 10, 1, 6, &generation, NULL) ||
      !g_ascii_string_to_unsigned(lanes, 10, 1, 16, &width, NULL) || (width & (width - 1)) != 0)
    return NULL;
  return g_strdup_printf("gen%ux%u", (guint)generation, (guint)width);
}

/* Half of the GPUs at each of two sockets: where they sit the file does not say. */
static void add_gpus(const Query *query, const ImportIds *ids, ImportMachine *machine) {
  guint n = query->gpus->len, sockets = n > 1 ? 2 : 1, places[2];
  for (guint i = 0; i < sockets; i++)
    places[i] = import_machine_add(machine, HW_PART_SOCKET, IMPORT_NO_PART);
  for (guint i = 0; i < n; i++) {
    const Gpu *gpu = g_ptr_array_index(query->gpus, i);
    g_autofree char *architecture = g_ascii_strdown(fact_of(gpu, ARCHITECTURE), -1);
    const char *links = import_ids_get(ids, "nvlinks", architecture);
    ImportPart *part = import_machine_part(machine, import_machine_add(machine, HW_PART_GPU, places[i * sockets / n]));
    part->name = g_strdup(gpu->busid);
    part->order = i;
    part->link = link_of(gpu);
    if (strcmp(fact_of(gpu, FABRIC), "Completed") == 0 && links != NULL)
      part->switch_links = (guint)g_ascii_strtoull(links, NULL, 10);
  }
  import_machine_number(machine);
}

static ImportMachine *machine_of(const Query *query, GError **error) {
  g_autoptr(ImportIds) ids = import_ids_load(error);
  guint n = query->gpus->len;
  if (ids == NULL)
    return NULL;
  if (n == 0) {
    fail(query, 0, error, "holds no GPU of nvidia-smi -q: expected lines as \"GPU 00000000:18:00.0\", or its XML");
    return NULL;
  }
  if (query->attached > n) {
    fail(query, 0, error,
         "%" G_GUINT64_FORMAT " GPUs are attached, and %u stand in it: query all of them (nvidia-smi -q)",
         query->attached, n);
    return NULL;
  }
  g_autoptr(ImportMachine) machine = import_machine_new(query->path, "what nvidia-smi -q says");
  machine->flat = TRUE;
  if (!name_gpus(query, ids, machine, error))
    return NULL;
  add_gpus(query, ids, machine);
  import_machine_assume(machine, "%u sockets, and PCI switches as usual for these GPUs: the file says nothing of them",
                        import_machine_count(machine, HW_PART_SOCKET));
  return g_steal_pointer(&machine);
}

ImportMachine *import_smi_query_load(const char *path, GError **error) {
  gsize length;
  g_autofree char *text = conf_data_small_text(path, &length, error);
  if (text == NULL)
    return NULL;
  Query query = {.path = path, .gpus = g_ptr_array_new_with_free_func(gpu_free)};
  const char *first = text + strspn(text, " \t\r\n");
  gboolean good = TRUE;
  if (*first == '<')
    good = read_xml(&query, text, length, error);
  else
    read_text(&query, text);
  ImportMachine *machine = good ? machine_of(&query, error) : NULL;
  g_ptr_array_unref(query.gpus);
  return machine;
}
