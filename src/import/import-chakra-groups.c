/* SPDX-License-Identifier: MIT */
/* ASTRA-sim's file of communicator groups, {"1": [0, 1, 2, 3], "2": [4, 5]}, as rank lists. */
#include "import-chakra-groups.h"

#include "base-error.h"
#include "conf-json.h"
#include "program-ranks.h"

struct ImportChakraGroups {
  GHashTable *of; /* char * → GArray of guint32 */
  GArray *all;
};

static void free_ranks(gpointer ranks) {
  g_array_unref(ranks);
}

static gint by_rank(gconstpointer a, gconstpointer b) {
  guint32 one = *(const guint32 *)a, other = *(const guint32 *)b;
  return (one > other) - (one < other);
}

static GArray *read_ranks(const ConfJson *json, const char *name, guint32 most, GError **error) {
  g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint i = 0; i < PROGRAM_MOST_RANKS; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", name, i);
    guint64 rank;
    if (!conf_json_has(json, path))
      break;
    if (!conf_json_count(json, path, &rank, error))
      return NULL;
    if (rank >= most) {
      conf_json_fail(json, path, error, "rank %" G_GUINT64_FORMAT " of %u ranks", rank, most);
      return NULL;
    }
    guint32 small = (guint32)rank;
    g_array_append_val(ranks, small);
  }
  g_array_sort(ranks, by_rank);
  for (guint i = 1; i < ranks->len; i++)
    if (g_array_index(ranks, guint32, i) == g_array_index(ranks, guint32, i - 1)) {
      conf_json_fail(json, name, error, "names rank %u twice", g_array_index(ranks, guint32, i));
      return NULL;
    }
  if (ranks->len > 0)
    return g_steal_pointer(&ranks);
  conf_json_fail(json, name, error, "is no list of ranks; write it like \"1\": [0, 1, 2, 3]");
  return NULL;
}

static gboolean read_all(ImportChakraGroups *groups, const char *path, guint32 most, guint32 *highest, GError **error) {
  g_autoptr(ConfJson) json = conf_json_load(path, error);
  if (json == NULL)
    return FALSE;
  for (const char *const *name = conf_json_keys(json); *name != NULL; name++) {
    GArray *ranks = read_ranks(json, *name, most, error);
    if (ranks == NULL)
      return FALSE;
    *highest = MAX(*highest, g_array_index(ranks, guint32, ranks->len - 1));
    g_hash_table_replace(groups->of, g_strdup(*name), ranks);
  }
  return TRUE;
}

ImportChakraGroups *import_chakra_groups_load(const char *path, guint32 ranks, GError **error) {
  g_autoptr(ImportChakraGroups) groups = g_new0(ImportChakraGroups, 1);
  guint32 highest = 0;
  groups->of = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_ranks);
  groups->all = g_array_new(FALSE, FALSE, sizeof(guint32));
  if (path != NULL && !read_all(groups, path, ranks > 0 ? ranks : PROGRAM_MOST_RANKS, &highest, error))
    return NULL;
  for (guint32 rank = 0; rank < (ranks > 0 ? ranks : highest + 1); rank++)
    g_array_append_val(groups->all, rank);
  return g_steal_pointer(&groups);
}

void import_chakra_groups_free(ImportChakraGroups *groups) {
  if (groups == NULL)
    return;
  g_hash_table_unref(groups->of);
  g_array_unref(groups->all);
  g_free(groups);
}

guint32 import_chakra_groups_ranks(const ImportChakraGroups *groups) {
  return groups->all->len;
}

const GArray *import_chakra_group(const ImportChakraGroups *groups, const char *name) {
  const GArray *ranks = name != NULL ? g_hash_table_lookup(groups->of, name) : NULL;
  gboolean all = name == NULL || *name == '\0' || g_str_equal(name, "0");
  return ranks != NULL ? ranks : all ? groups->all : NULL;
}
