/* SPDX-License-Identifier: MIT */
/* Reads the tuning file through a schema table and picks the rows of one architecture. */
#include "coll-tuning.h"

#include <string.h>

#include "base-names.h"
#include "base-version.h"
#include "coll-tuning-keys.h"
#include "conf-data.h"
#include "conf-path.h"
#include "conf-settings.h"

const char *const coll_algorithm_names[] = {
    "ring", "tree", "nvls", "nvls-tree", "collnet-direct", "collnet-chain", "pat", "symmetric", "p2p", "p2p-all", NULL};
const char *const coll_protocol_names[] = {"LL", "LL128", "Simple", NULL};

/* In the order of their rows; Ada has Ampere's rows, as NCCL treats compute capability 8.x alike. */
static const char *const architectures[] = {"volta", "ampere", "hopper", "blackwell", NULL};

/* Numbers between blanks, exactly as many as there are corrections. */
static gboolean read_corrections(const ConfSettings *settings, const char *key, const char *text, double *ret,
                                 GError **error) {
  for (int i = 0; i <= COLL_CORRECTIONS; i++) {
    char *end;
    double value = g_ascii_strtod(text, &end);
    if ((end == text) != (i == COLL_CORRECTIONS) || (i == COLL_CORRECTIONS && *g_strstrip(end) != '\0'))
      return conf_settings_fail(settings, key, error, "expected %d numbers", COLL_CORRECTIONS);
    if (i < COLL_CORRECTIONS)
      ret[i] = value;
    text = end;
  }
  return TRUE;
}

static gboolean read_all_corrections(const ConfSettings *settings, CollTuning *tuning, GError **error) {
  static const char *const keys[] = {"tree.correction_ll", "tree.correction_ll128", "tree.correction_simple"};
  for (int p = 0; p < COLL_PROTOCOLS; p++)
    if (!read_corrections(settings, keys[p], conf_settings_get(settings, keys[p]), tuning->tree.correction[p], error))
      return FALSE;
  return TRUE;
}

static gboolean check_slots(const ConfSettings *settings, const CollTuning *tuning, GError **error) {
  for (int p = 0; p < COLL_PROTOCOLS; p++)
    if (tuning->slots < 2 * tuning->ring_chunk[p])
      return conf_settings_fail(settings, "steps.slots", error, "a connection must hold two chunks of a ring in %s",
                                coll_protocol_names[p]);
  return TRUE;
}

/* A table that is based on another must say where its own rows come from. */
static gboolean check_sources(const ConfText *text, GError **error) {
  for (const char *const *group = conf_text_groups(text); *group != NULL; group++) {
    const char *const *keys = conf_text_keys(text, *group);
    if (*keys == NULL || strcmp(*group, "table") == 0 || conf_text_get(text, *group, "source") != NULL)
      continue;
    BasePlace place;
    conf_text_place(text, *group, *keys, &place);
    base_error_set_at(error, &place, "the group has no source: every row needs one");
    return FALSE;
  }
  return TRUE;
}

static ConfText *read_table(const char *path, GByteArray *all, GError **error) {
  gsize length;
  g_autofree char *data = conf_data_text(path, &length, error);
  if (data == NULL)
    return NULL;
  g_byte_array_prepend(all, (const guint8 *)data, (guint)length);
  g_autoptr(ConfText) text = conf_text_parse(path, data, length, error);
  return text != NULL && check_sources(text, error) ? g_steal_pointer(&text) : NULL;
}

/* Lays a table over those that it is based on. `files`: the text of all, the oldest first; `younger`: the paths of
 * those that are based on it. */
static gboolean load_chain(ConfSettings *settings, const char *table, GPtrArray *younger, GByteArray *files,
                           GError **error) {
  g_autofree char *path = conf_path_find(table, ".ini", "topologies/catalog", NULL, NULL, error);
  g_autoptr(ConfText) text = path != NULL ? read_table(path, files, error) : NULL;
  if (text == NULL)
    return FALSE;
  const char *based_on = conf_text_get(text, "table", "based_on");
  if (g_ptr_array_find_with_equal_func(younger, path, g_str_equal, NULL)) {
    BasePlace place;
    conf_text_place(text, "table", "based_on", &place);
    base_error_set_at(error, &place, "tables are based on each other in a circle");
    return FALSE;
  }
  g_ptr_array_add(younger, g_steal_pointer(&path));
  return (based_on == NULL || load_chain(settings, based_on, younger, files, error)) &&
         conf_settings_load_text(settings, text, CONF_ORIGIN_FILE, error);
}

/* All keys are checked; those of other architectures are kept nowhere. */
static gboolean fill(const ConfSettings *settings, int row, CollTuning *ret, GError **error) {
  g_autofree BaseField *keys =
      g_memdup2(coll_tuning_schema.keys, coll_tuning_schema.n_keys * sizeof *coll_tuning_schema.keys);
  for (gsize i = 0; i < coll_tuning_schema.n_keys; i++)
    if (keys[i].marks != 0 && !(keys[i].marks & (1u << row)))
      keys[i].type = BASE_NOWHERE;
  return conf_settings_fill(settings, &(ConfSchema){keys, coll_tuning_schema.n_keys}, ret, error);
}

/* What the file says once for two. */
static void share(CollTuning *tuning) {
  tuning->ll_cap[COLL_ONE_NODE][COLL_CPU_AMD] = tuning->ll_cap[COLL_ONE_NODE][COLL_CPU_INTEL];
  for (int hop = 0; hop < COLL_HOP_NET; hop++)
    tuning->p2p[hop].base[COLL_LL128] = tuning->p2p[hop].base[COLL_SIMPLE];
}

gboolean coll_tuning_load(const char *table, const char *architecture, CollTuning *ret, GBytes **ret_text,
                          GError **error) {
  int row = strcmp(architecture, "ada") == 0 ? COLL_AMPERE : base_names_find(architectures, architecture);
  if (row < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "NCCL's constants for GPUs of architecture \"%s\" are not known",
                architecture);
    return FALSE;
  }
  g_autoptr(ConfSettings) settings = conf_settings_new(&coll_tuning_schema, 1);
  g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GByteArray) files = g_byte_array_new();
  CollTuning tuning = {.collnet_direct_share = 1};
  if (!load_chain(settings, table, paths, files, error) || !fill(settings, row, &tuning, error) ||
      !check_slots(settings, &tuning, error) || !read_all_corrections(settings, &tuning, error))
    return FALSE;
  share(&tuning);
  *ret = tuning;
  if (ret_text != NULL)
    *ret_text = g_byte_array_free_to_bytes(g_steal_pointer(&files));
  return TRUE;
}

#define TABLE "nccl-"

/* Tables are of minor versions, as a patch of one has the same constants. */
static guint32 minor_of(guint32 version) {
  return version - version % BASE_VERSION(0, 1, 0);
}

char *coll_tuning_find(const char *version, gboolean *ret_exact, GError **error) {
  guint32 wanted = G_MAXUINT32, best = 0, oldest = G_MAXUINT32, each;
  if (version != NULL && !base_version_parse(version, &wanted)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" is not a version of NCCL: such as 2.21 or 2.21.5", version);
    return NULL;
  }
  g_auto(GStrv) names = conf_path_list("topologies/catalog", ".ini", error);
  if (names == NULL)
    return NULL;
  for (char **name = names; *name != NULL; name++) {
    if (!g_str_has_prefix(*name, TABLE) || !base_version_parse(*name + strlen(TABLE), &each))
      continue;
    oldest = MIN(oldest, each);
    best = each <= wanted ? MAX(best, each) : best;
  }
  if (best == 0 && oldest < G_MAXUINT32) {
    g_autofree char *first = base_version_minor_text(oldest);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "NCCL %s is older than the oldest tuning table, " TABLE "%s",
                version, first);
    return NULL;
  }
  g_autofree char *number = base_version_minor_text(best);
  g_autofree char *table = g_strconcat(TABLE, number, NULL);
  *ret_exact = version == NULL || best == minor_of(wanted);
  return conf_path_find(table, ".ini", "topologies/catalog", NULL, NULL, error);
}
