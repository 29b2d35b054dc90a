/* The three catalogue files, their sections as structs in file order, and which of them were asked for. */
#include "hw-catalog.h"

#include <string.h>

#include "base-names.h"
#include "conf-path.h"
#include "conf-text.h"
#include "hw-section.h"

const char *const hw_trust_names[] = {"measured", "published", "derived", "recalled", NULL};
const char *const hw_link_scope_names[] = {"nvswitch", "nvlink", "pcie", "network", "host", NULL};

#define GPU(key, kind, field, required)                                                                                \
  { key, kind, G_STRUCT_OFFSET(HwGpu, field), required }
#define LINK(key, kind, field)                                                                                         \
  { key, kind, G_STRUCT_OFFSET(HwLink, field), TRUE }
#define PLATFORM(key, kind, field)                                                                                     \
  { key, kind, G_STRUCT_OFFSET(HwPlatform, field), TRUE }
#define ORIGIN(Type)                                                                                                   \
  {"source", HW_FIELD_TEXT, G_STRUCT_OFFSET(Type, source), TRUE, .about = TRUE},                                       \
      {"trust", HW_FIELD_NAME, G_STRUCT_OFFSET(Type, trust), TRUE, hw_trust_names, .about = TRUE}, {                   \
    "note", HW_FIELD_TEXT, G_STRUCT_OFFSET(Type, note), FALSE, .about = TRUE                                           \
  }

static const HwField gpu_fields[] = {
    GPU("architecture", HW_FIELD_TEXT, architecture, TRUE),
    GPU("compute_capability", HW_FIELD_COUNT, compute_capability, TRUE),
    GPU("peak_bf16", HW_FIELD_FLOP_RATE, peak_bf16, FALSE),
    GPU("matmul_bf16", HW_FIELD_FLOP_RATE, matmul_bf16, FALSE),
    GPU("peak_fp16", HW_FIELD_FLOP_RATE, peak_fp16, FALSE),
    GPU("matmul_fp16", HW_FIELD_FLOP_RATE, matmul_fp16, FALSE),
    GPU("peak_fp8", HW_FIELD_FLOP_RATE, peak_fp8, FALSE),
    GPU("matmul_fp8", HW_FIELD_FLOP_RATE, matmul_fp8, FALSE),
    GPU("peak_tf32", HW_FIELD_FLOP_RATE, peak_tf32, FALSE),
    GPU("matmul_tf32", HW_FIELD_FLOP_RATE, matmul_tf32, FALSE),
    GPU("peak_fp32", HW_FIELD_FLOP_RATE, peak_fp32, TRUE),
    GPU("matmul_fp32", HW_FIELD_FLOP_RATE, matmul_fp32, TRUE),
    GPU("memory_bandwidth", HW_FIELD_BYTE_RATE, memory_bandwidth, TRUE),
    GPU("memory_bandwidth_sustained", HW_FIELD_BYTE_RATE, memory_bandwidth_sustained, TRUE),
    GPU("kernel_floor", HW_FIELD_TIME, kernel_floor, TRUE),
    GPU("memory_nominal", HW_FIELD_BYTES, memory_nominal, TRUE),
    GPU("memory_usable", HW_FIELD_BYTES, memory_usable, TRUE),
    GPU("context", HW_FIELD_BYTES, context_bytes, TRUE),
    GPU("workspace", HW_FIELD_BYTES, workspace_bytes, TRUE),
    GPU("sms", HW_FIELD_COUNT, sms, TRUE),
    GPU("l2", HW_FIELD_BYTES, l2_bytes, TRUE),
    ORIGIN(HwGpu),
};

static const HwField link_fields[] = {
    {"scope", HW_FIELD_NAME, G_STRUCT_OFFSET(HwLink, scope), TRUE, hw_link_scope_names},
    LINK("raw", HW_FIELD_BYTE_RATE, raw),
    LINK("achievable", HW_FIELD_BYTE_RATE, achievable),
    ORIGIN(HwLink),
};

static const char *const no_yes_names[] = {"no", "yes", NULL};

static const HwField platform_fields[] = {
    PLATFORM("nic_latency", HW_FIELD_TIME, nic_latency),
    PLATFORM("hop_latency", HW_FIELD_TIME, hop_latency),
    PLATFORM("launch_floor", HW_FIELD_TIME, launch_floor),
    PLATFORM("launch_per_gpu", HW_FIELD_TIME, launch_per_gpu),
    PLATFORM("graph_floor", HW_FIELD_TIME, graph_floor),
    {"gdr", HW_FIELD_NAME, G_STRUCT_OFFSET(HwPlatform, gdr), TRUE, no_yes_names},
    ORIGIN(HwPlatform),
};

typedef enum { GPUS, LINKS, PLATFORMS, KINDS } Kind;

static const struct {
  const char *file, *singular;
  const HwField *fields;
  gsize n_fields, size;
} kinds[KINDS] = {
    [GPUS] = {"gpus.ini", "gpu", gpu_fields, G_N_ELEMENTS(gpu_fields), sizeof(HwGpu)},
    [LINKS] = {"links.ini", "link", link_fields, G_N_ELEMENTS(link_fields), sizeof(HwLink)},
    [PLATFORMS] = {"platforms.ini", "platform", platform_fields, G_N_ELEMENTS(platform_fields), sizeof(HwPlatform)},
};

/* Every entry struct begins with its name. */
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwGpu, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwLink, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwPlatform, name) == 0);

typedef struct {
  char **names;   /* in file order, NULL-terminated */
  char *entries;  /* n structs side by side */
  gboolean *used; /* asked for */
  guint n;
} Shelf;

struct HwCatalog {
  Shelf shelves[KINDS];
};

static gpointer shelf_entry(const Shelf *shelf, Kind kind, guint index) {
  return shelf->entries + index * kinds[kind].size;
}

/* A sustained rate above the part's peak, or one without the other, is a slip of the pen. */
static const char *gpu_slip(const HwGpu *gpu) {
  const struct {
    const char *key;
    double peak, sustained;
  } pairs[] = {
      {"matmul_bf16", gpu->peak_bf16, gpu->matmul_bf16},
      {"matmul_fp16", gpu->peak_fp16, gpu->matmul_fp16},
      {"matmul_fp8", gpu->peak_fp8, gpu->matmul_fp8},
      {"matmul_tf32", gpu->peak_tf32, gpu->matmul_tf32},
      {"matmul_fp32", gpu->peak_fp32, gpu->matmul_fp32},
      {"memory_bandwidth_sustained", gpu->memory_bandwidth, gpu->memory_bandwidth_sustained},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++)
    if (pairs[i].sustained > pairs[i].peak || (pairs[i].sustained == 0) != (pairs[i].peak == 0))
      return pairs[i].key;
  return NULL;
}

static gboolean check_entry(const ConfText *text, Kind kind, const char *section, gconstpointer entry, GError **error) {
  const char *slip = NULL;
  if (kind == GPUS)
    slip = gpu_slip(entry);
  else if (kind == LINKS && ((const HwLink *)entry)->achievable > ((const HwLink *)entry)->raw)
    slip = "achievable";
  if (slip == NULL)
    return TRUE;
  g_autofree char *key = g_strdup_printf("%s.%s", section, slip);
  BasePlace place;
  conf_text_place(text, section, conf_text_get(text, section, slip) != NULL ? slip : NULL, &place);
  place.key = key;
  base_error_set_at(error, &place, "a sustained rate goes with the vendor's figure and is not above it");
  return FALSE;
}

/* The first data folder that has the file; never the current folder. */
static char *find_file(const char *file, GError **error) {
  g_auto(GStrv) folders = conf_path_folders("topologies/catalog");
  for (char **folder = folders; *folder != NULL; folder++) {
    g_autofree char *path = g_build_filename(*folder, file, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
      return g_steal_pointer(&path);
  }
  g_autofree char *looked = g_strjoinv(", ", folders);
  g_set_error(
      error, SIM_ERROR, SIM_ERROR_INPUT,
      "no catalogue file \"topologies/catalog/%s\" (looked in: %s); FORETRAIN_DATA names the folder above topologies",
      file, looked);
  return NULL;
}

static gboolean load_shelf(Shelf *shelf, Kind kind, GError **error) {
  g_autofree char *path = find_file(kinds[kind].file, error);
  if (path == NULL)
    return FALSE;
  g_autoptr(ConfText) text = conf_text_load(path, error);
  if (text == NULL)
    return FALSE;
  shelf->names = g_strdupv((char **)conf_text_groups(text));
  shelf->n = g_strv_length(shelf->names);
  shelf->entries = g_malloc0_n(shelf->n, kinds[kind].size);
  shelf->used = g_new0(gboolean, shelf->n);
  for (guint i = 0; i < shelf->n; i++) {
    gpointer entry = shelf_entry(shelf, kind, i);
    *(char **)entry = g_strdup(shelf->names[i]);
    if (!hw_section_read(text, shelf->names[i], kinds[kind].fields, kinds[kind].n_fields, entry, error) ||
        !check_entry(text, kind, shelf->names[i], entry, error))
      return FALSE;
  }
  return TRUE;
}

HwCatalog *hw_catalog_load(GError **error) {
  g_autoptr(HwCatalog) catalog = g_new0(HwCatalog, 1);
  for (Kind kind = GPUS; kind < KINDS; kind++)
    if (!load_shelf(&catalog->shelves[kind], kind, error))
      return NULL;
  return g_steal_pointer(&catalog);
}

void hw_catalog_free(HwCatalog *catalog) {
  if (catalog == NULL)
    return;
  for (Kind kind = GPUS; kind < KINDS; kind++) {
    Shelf *shelf = &catalog->shelves[kind];
    for (guint i = 0; i < shelf->n; i++) {
      gpointer entry = shelf_entry(shelf, kind, i);
      g_free(*(char **)entry);
      hw_section_clear(kinds[kind].fields, kinds[kind].n_fields, entry);
    }
    g_strfreev(shelf->names);
    g_free(shelf->entries);
    g_free(shelf->used);
  }
  g_free(catalog);
}

/* "h100" begins several names: all of them, in file order. Else the nearest. */
static char *advice_for(const Shelf *shelf, const char *name) {
  g_autoptr(GPtrArray) begun = g_ptr_array_new();
  for (guint i = 0; i < shelf->n; i++)
    if (*name != '\0' && g_ascii_strncasecmp(shelf->names[i], name, strlen(name)) == 0)
      g_ptr_array_add(begun, shelf->names[i]);
  g_ptr_array_add(begun, NULL);
  if (begun->len < 3)
    return base_names_advice((const char *const *)shelf->names, name);
  g_autofree char *names = base_names_join((const char *const *)begun->pdata);
  return g_strdup_printf("; there are %s", names);
}

static gconstpointer look_up(const HwCatalog *catalog, Kind kind, const char *name, const BasePlace *place,
                             GError **error) {
  const Shelf *shelf = &catalog->shelves[kind];
  int found = base_names_find((const char *const *)shelf->names, name);
  if (found >= 0) {
    shelf->used[found] = TRUE;
    return shelf_entry(shelf, kind, found);
  }
  g_autofree char *advice = advice_for(shelf, name);
  BasePlace nowhere = {0};
  base_error_set_at(error, place != NULL ? place : &nowhere, "the catalogue has no %s \"%s\"%s", kinds[kind].singular,
                    name, advice);
  return NULL;
}

/* MI250X, MI300X, mi355x-oam … */
static gboolean is_amd(const char *name) {
  return g_ascii_strncasecmp(name, "mi", 2) == 0 && g_ascii_isdigit(name[2]);
}

const HwGpu *hw_catalog_gpu(const HwCatalog *catalog, const char *name, const BasePlace *place, GError **error) {
  if (is_amd(name) && base_names_find((const char *const *)catalog->shelves[GPUS].names, name) < 0) {
    BasePlace nowhere = {0};
    base_error_set_at(error, place != NULL ? place : &nowhere, "\"%s\": AMD GPUs are not modelled yet", name);
    return NULL;
  }
  return look_up(catalog, GPUS, name, place, error);
}

const HwLink *hw_catalog_link(const HwCatalog *catalog, const char *name, const BasePlace *place, GError **error) {
  return look_up(catalog, LINKS, name, place, error);
}

const HwPlatform *hw_catalog_platform(const HwCatalog *catalog, const char *name, const BasePlace *place,
                                      GError **error) {
  return look_up(catalog, PLATFORMS, name, place, error);
}

const char *const *hw_catalog_gpu_names(const HwCatalog *catalog) {
  return (const char *const *)catalog->shelves[GPUS].names;
}

const char *const *hw_catalog_link_names(const HwCatalog *catalog) {
  return (const char *const *)catalog->shelves[LINKS].names;
}

const char *const *hw_catalog_platform_names(const HwCatalog *catalog) {
  return (const char *const *)catalog->shelves[PLATFORMS].names;
}

static void visit_entry(const Shelf *shelf, Kind kind, guint index, HwCatalogVisit visit, gpointer user) {
  for (gsize f = 0; f < kinds[kind].n_fields; f++) {
    const HwField *field = &kinds[kind].fields[f];
    if (field->about)
      continue;
    g_autofree char *name = g_strdup_printf("%s.%s.%s", kinds[kind].singular, shelf->names[index], field->key);
    g_autofree char *value = hw_section_canonical(field, shelf_entry(shelf, kind, index));
    visit(name, value, user);
  }
}

void hw_catalog_visit_used(const HwCatalog *catalog, HwCatalogVisit visit, gpointer user) {
  for (Kind kind = GPUS; kind < KINDS; kind++)
    for (guint i = 0; i < catalog->shelves[kind].n; i++)
      if (catalog->shelves[kind].used[i])
        visit_entry(&catalog->shelves[kind], kind, i, visit, user);
}
