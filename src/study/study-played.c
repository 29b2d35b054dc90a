/* SPDX-License-Identifier: MIT */
/* Packed reports by the text of what decides them. */
#include "study-played.h"

#include "run-pack.h"
#include "study-memory.h"

#define MOST_PLAYED 256
#define MOST_BYTES  16384 /* of one */

static gboolean may_share(const StudyWalk *walk, const StudyOptions *options) {
  return walk->own_cache == NULL && walk->shape.profile == NULL && !options->timeline && options->trace == NULL;
}

/* A machine is of all settings of the cluster but its prices; the cache forgets plays together with machines. */
char *study_played_key(const StudyWalk *walk, const StudyOptions *options) {
  if (!may_share(walk, options))
    return NULL;
  g_autofree char *program = study_cache_program_key(walk);
  GString *key = g_string_new(program);
  conf_settings_append_given(walk->settings, &study_memory_schema, NULL, key);
  g_string_append_printf(key, "on %p, %s, %d: %d %d %d %d %d %d %" G_GUINT64_FORMAT, (gpointer)walk->machine,
                         walk->fidelity, walk->contention, options->fold, options->net_full, options->every_step,
                         options->every_micro_batch, options->apart, (int)options->tie, options->tie_seed);
  return g_string_free(key, FALSE);
}

RunReport *study_played_find(const StudyWalk *walk, const char *key) {
  GBytes *packed = key != NULL ? g_hash_table_lookup(study_cache_played(walk->cache), key) : NULL;
  gsize n = 0;
  const guint8 *bytes = packed != NULL ? g_bytes_get_data(packed, &n) : NULL;
  return bytes != NULL ? run_report_unpack(bytes, n) : NULL;
}

void study_played_keep(const StudyWalk *walk, const char *key, const RunReport *report) {
  if (key == NULL)
    return;
  GHashTable *played = study_cache_played(walk->cache);
  GByteArray *bytes = g_byte_array_new();
  run_report_pack(report, bytes);
  g_autoptr(GBytes) packed = g_byte_array_free_to_bytes(bytes);
  if (g_bytes_get_size(packed) > MOST_BYTES)
    return;
  if (g_hash_table_size(played) >= MOST_PLAYED)
    g_hash_table_remove_all(played);
  g_hash_table_insert(played, g_strdup(key), g_steal_pointer(&packed));
}
