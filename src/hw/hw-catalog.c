/* SPDX-License-Identifier: MIT */
/* The catalogue files, their sections as structs in file order, and which of them were asked for. */
#include "hw-catalog.h"

#include <string.h>

#include "base-names.h"
#include "conf-path.h"
#include "conf-text.h"
#include "hw-fields.h"

const char *const hw_trust_names[] = {"measured", "published", "derived", "recalled", NULL};
const char *const hw_link_scope_names[] = {"nvswitch", "nvlink", "pcie", "network", "host", NULL};

/* Every entry struct begins with its name. */
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwGpu, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwLink, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwPlatform, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwHost, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwMatmul, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwAttention, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwMemory, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwContention, name) == 0);
G_STATIC_ASSERT(G_STRUCT_OFFSET(HwVariation, name) == 0);

typedef struct {
  char **names;   /* in file order, NULL-terminated */
  char *entries;  /* n structs side by side */
  gboolean *used; /* asked for */
  guint n;
} Shelf;

struct HwCatalog {
  Shelf shelves[HW_KINDS];
};

static gpointer shelf_entry(const Shelf *shelf, HwKind kind, guint index) {
  return shelf->entries + index * hw_kinds[kind].size;
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

static gboolean check_entry(const ConfText *text, HwKind kind, const char *section, gconstpointer entry,
                            GError **error) {
  const char *slip = NULL;
  if (kind == HW_GPUS)
    slip = gpu_slip(entry);
  else if (kind == HW_LINKS && ((const HwLink *)entry)->achievable > ((const HwLink *)entry)->raw)
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
  g_auto(GStrv) folders = conf_path_folders("topologies/catalog", error);
  if (folders == NULL)
    return NULL;
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

static gboolean load_shelf(Shelf *shelf, HwKind kind, GError **error) {
  g_autofree char *path = find_file(hw_kinds[kind].file, error);
  if (path == NULL)
    return FALSE;
  g_autoptr(ConfText) text = conf_text_load(path, error);
  if (text == NULL)
    return FALSE;
  shelf->names = g_strdupv((char **)conf_text_groups(text));
  shelf->n = g_strv_length(shelf->names);
  shelf->entries = g_malloc0_n(shelf->n, hw_kinds[kind].size);
  shelf->used = g_new0(gboolean, shelf->n);
  for (guint i = 0; i < shelf->n; i++) {
    gpointer entry = shelf_entry(shelf, kind, i);
    *(char **)entry = g_strdup(shelf->names[i]);
    if (!hw_section_read(text, shelf->names[i], hw_kinds[kind].fields, hw_kinds[kind].n_fields, entry, error) ||
        !check_entry(text, kind, shelf->names[i], entry, error))
      return FALSE;
  }
  return TRUE;
}

/* The entry that was fitted to the GPU's own measurements, "NAME.VARIANT", or that of its compute capability. */
static gconstpointer find_form(HwCatalog *catalog, HwKind kind, const HwGpu *gpu, const char *variant) {
  const Shelf *shelf = &catalog->shelves[kind];
  g_autofree char *own = g_strdup_printf("%s.%s", gpu->name, variant);
  g_autofree char *shared = g_strdup_printf("sm%" G_GUINT64_FORMAT ".%s", gpu->compute_capability, variant);
  int found = base_names_find((const char *const *)shelf->names, own);
  if (found < 0)
    found = base_names_find((const char *const *)shelf->names, shared);
  return found >= 0 ? shelf_entry(shelf, kind, (guint)found) : NULL;
}

static gboolean lacks_form(const HwGpu *gpu, const char *missing, GError **error) {
  BasePlace nowhere = {.key = gpu->name};
  base_error_set_at(error, &nowhere,
                    "no section for %s in topologies/catalog/%s: neither for the GPU nor for its compute capability "
                    "%" G_GUINT64_FORMAT,
                    missing, missing, gpu->compute_capability);
  return FALSE;
}

static gboolean has_section(const HwCatalog *catalog, HwKind kind, GError **error) {
  if (catalog->shelves[kind].n == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "topologies/catalog/%s has no section", hw_kinds[kind].file);
  return catalog->shelves[kind].n > 0;
}

static gboolean link_forms(HwCatalog *catalog, GError **error) {
  if (!has_section(catalog, HW_CONTENTIONS, error) || !has_section(catalog, HW_VARIATIONS, error) ||
      !has_section(catalog, HW_POWERS, error))
    return FALSE;
  const char *const matmuls[HW_MATMUL_DTYPES] = {"fp32", "16bit", "fp8"};
  const char *const attentions[HW_FLASHES] = {"flash2", "flash3"};
  const Shelf *shelf = &catalog->shelves[HW_GPUS];
  for (guint i = 0; i < shelf->n; i++) {
    HwGpu *gpu = shelf_entry(shelf, HW_GPUS, i);
    for (int d = 0; d < HW_MATMUL_DTYPES; d++)
      gpu->matmul[d] = find_form(catalog, HW_MATMULS, gpu, matmuls[d]);
    for (int f = 0; f < HW_FLASHES; f++)
      gpu->attention[f] = find_form(catalog, HW_ATTENTIONS, gpu, attentions[f]);
    gpu->memory = find_form(catalog, HW_MEMORIES, gpu, "memory");
    gpu->contention = shelf_entry(&catalog->shelves[HW_CONTENTIONS], HW_CONTENTIONS, 0);
    gpu->variation = shelf_entry(&catalog->shelves[HW_VARIATIONS], HW_VARIATIONS, 0);
    gpu->power = shelf_entry(&catalog->shelves[HW_POWERS], HW_POWERS, 0);
    if (gpu->matmul[HW_MATMUL_FP32] == NULL || gpu->matmul[HW_MATMUL_16BIT] == NULL ||
        (gpu->peak_fp8 > 0 && gpu->matmul[HW_MATMUL_FP8] == NULL))
      return lacks_form(gpu, hw_kinds[HW_MATMULS].file, error);
    if (gpu->attention[HW_FLASH_2] == NULL && gpu->attention[HW_FLASH_3] == NULL)
      return lacks_form(gpu, hw_kinds[HW_ATTENTIONS].file, error);
    if (gpu->memory == NULL)
      return lacks_form(gpu, hw_kinds[HW_MEMORIES].file, error);
  }
  return TRUE;
}

HwCatalog *hw_catalog_load(GError **error) {
  g_autoptr(HwCatalog) catalog = g_new0(HwCatalog, 1);
  for (HwKind kind = HW_GPUS; kind < HW_KINDS; kind++)
    if (!load_shelf(&catalog->shelves[kind], kind, error))
      return NULL;
  return link_forms(catalog, error) ? g_steal_pointer(&catalog) : NULL;
}

void hw_catalog_free(HwCatalog *catalog) {
  if (catalog == NULL)
    return;
  for (HwKind kind = HW_GPUS; kind < HW_KINDS; kind++) {
    Shelf *shelf = &catalog->shelves[kind];
    for (guint i = 0; i < shelf->n; i++) {
      gpointer entry = shelf_entry(shelf, kind, i);
      g_free(*(char **)entry);
      base_fields_clear(hw_kinds[kind].fields, hw_kinds[kind].n_fields, entry);
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

static gconstpointer look_up(const HwCatalog *catalog, HwKind kind, const char *name, const BasePlace *place,
                             GError **error) {
  const Shelf *shelf = &catalog->shelves[kind];
  int found = base_names_find((const char *const *)shelf->names, name);
  if (found >= 0) {
    shelf->used[found] = TRUE;
    return shelf_entry(shelf, kind, found);
  }
  g_autofree char *advice = advice_for(shelf, name);
  BasePlace nowhere = {0};
  base_error_set_at(error, place != NULL ? place : &nowhere, "the catalogue has no %s \"%s\"%s",
                    hw_kinds[kind].singular, name, advice);
  return NULL;
}

/* MI250X, MI300X, mi355x-oam … */
static gboolean is_amd(const char *name) {
  return g_ascii_strncasecmp(name, "mi", 2) == 0 && g_ascii_isdigit(name[2]);
}

static void use(const HwCatalog *catalog, HwKind kind, gconstpointer entry) {
  const Shelf *shelf = &catalog->shelves[kind];
  if (entry != NULL)
    shelf->used[(gsize)((const char *)entry - shelf->entries) / hw_kinds[kind].size] = TRUE;
}

const HwGpu *hw_catalog_gpu(const HwCatalog *catalog, const char *name, const BasePlace *place, GError **error) {
  if (is_amd(name) && base_names_find((const char *const *)catalog->shelves[HW_GPUS].names, name) < 0) {
    BasePlace nowhere = {0};
    base_error_set_at(error, place != NULL ? place : &nowhere, "\"%s\": AMD GPUs are not modelled yet", name);
    return NULL;
  }
  const HwGpu *gpu = look_up(catalog, HW_GPUS, name, place, error);
  for (int d = 0; gpu != NULL && d < HW_MATMUL_DTYPES; d++)
    use(catalog, HW_MATMULS, gpu->matmul[d]);
  for (int f = 0; gpu != NULL && f < HW_FLASHES; f++)
    use(catalog, HW_ATTENTIONS, gpu->attention[f]);
  if (gpu != NULL) {
    use(catalog, HW_MEMORIES, gpu->memory);
    use(catalog, HW_CONTENTIONS, gpu->contention);
    use(catalog, HW_VARIATIONS, gpu->variation);
    use(catalog, HW_POWERS, gpu->power);
  }
  return gpu;
}

const HwLink *hw_catalog_link(const HwCatalog *catalog, const char *name, const BasePlace *place, GError **error) {
  return look_up(catalog, HW_LINKS, name, place, error);
}

const HwPlatform *hw_catalog_platform(const HwCatalog *catalog, const char *name, const BasePlace *place,
                                      GError **error) {
  return look_up(catalog, HW_PLATFORMS, name, place, error);
}

const HwHost *hw_catalog_host(const HwCatalog *catalog, const char *name, const BasePlace *place, GError **error) {
  return look_up(catalog, HW_HOSTS, name, place, error);
}

const char *const *hw_catalog_gpu_names(const HwCatalog *catalog) {
  return (const char *const *)catalog->shelves[HW_GPUS].names;
}

const char *const *hw_catalog_link_names(const HwCatalog *catalog) {
  return (const char *const *)catalog->shelves[HW_LINKS].names;
}

const char *const *hw_catalog_platform_names(const HwCatalog *catalog) {
  return (const char *const *)catalog->shelves[HW_PLATFORMS].names;
}

static void visit_entry(const Shelf *shelf, HwKind kind, guint index, HwCatalogVisit visit, gpointer user) {
  for (gsize f = 0; f < hw_kinds[kind].n_fields; f++) {
    const BaseField *field = &hw_kinds[kind].fields[f];
    if (field->marks & HW_ABOUT)
      continue;
    g_autofree char *name = g_strdup_printf("%s.%s.%s", hw_kinds[kind].singular, shelf->names[index], field->key);
    g_autofree char *value = base_field_print(field, shelf_entry(shelf, kind, index));
    visit(name, value, user);
  }
}

void hw_catalog_visit_used(const HwCatalog *catalog, HwCatalogVisit visit, gpointer user) {
  for (HwKind kind = HW_GPUS; kind < HW_KINDS; kind++)
    for (guint i = 0; i < catalog->shelves[kind].n; i++)
      if (catalog->shelves[kind].used[i])
        visit_entry(&catalog->shelves[kind], kind, i, visit, user);
}

void hw_catalog_forget_used(HwCatalog *catalog) {
  for (HwKind kind = HW_GPUS; kind < HW_KINDS; kind++)
    memset(catalog->shelves[kind].used, 0, catalog->shelves[kind].n * sizeof *catalog->shelves[kind].used);
}
