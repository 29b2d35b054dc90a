/* SPDX-License-Identifier: MIT */
/* Looks identities up. */
#include "import-ids.h"

#include <string.h>

#include "base-quantity.h"
#include "conf-path.h"
#include "conf-text.h"

struct ImportIds {
  ConfText *text;
};

ImportIds *import_ids_load(GError **error) {
  g_autofree char *path = conf_path_find("hardware-ids", ".ini", "topologies/catalog", NULL, NULL, error);
  ConfText *text = path != NULL ? conf_text_load(path, error) : NULL;
  if (text == NULL)
    return NULL;
  ImportIds *ids = g_new0(ImportIds, 1);
  ids->text = text;
  return ids;
}

void import_ids_free(ImportIds *ids) {
  if (ids == NULL)
    return;
  conf_text_free(ids->text);
  g_free(ids);
}

const char *import_ids_get(const ImportIds *ids, const char *group, const char *key) {
  return conf_text_get(ids->text, group, key);
}

const char *import_ids_gpu(const ImportIds *ids, const char *product) {
  g_autofree char *key = g_ascii_strdown(product, -1);
  return import_ids_get(ids, "gpu-names", g_strdelimit(key, " ", '-'));
}

const char *import_ids_pair(const ImportIds *ids, const char *group, const char *first, const char *second) {
  g_autofree char *key = g_strdup_printf("%s.%s", first, second);
  return import_ids_get(ids, group, key);
}

const char *import_ids_nic(const ImportIds *ids, const char *platform, double rate) {
  const char *best = NULL;
  double best_rate = G_MAXDOUBLE;
  g_autofree char *prefix = g_strconcat(platform, ".", NULL);
  for (const char *const *key = conf_text_keys(ids->text, "rates"); *key != NULL; key++) {
    double holds;
    if (!g_str_has_prefix(*key, prefix))
      continue;
    g_autofree char *quantity = g_strconcat(*key + strlen(prefix), " Gb/s", NULL);
    if (base_quantity_parse(quantity, BASE_UNIT_BYTE_RATE, &holds, NULL) && holds >= rate && holds < best_rate) {
      best = conf_text_get(ids->text, "rates", *key);
      best_rate = holds;
    }
  }
  return best;
}

const char *import_ids_platform(const ImportIds *ids, const char *link) {
  for (const char *const *key = conf_text_keys(ids->text, "platforms"); *key != NULL; key++)
    if (strcmp(*key, "source") != 0 && g_str_has_prefix(link, *key))
      return conf_text_get(ids->text, "platforms", *key);
  return NULL;
}

/* The last three digits of an identity are left out. */
#define DIGITS_OUT 12

gboolean import_ids_flattened(const ImportIds *ids, guint64 upper, guint64 lower) {
  for (const char *const *key = conf_text_keys(ids->text, "flattened-switches"); *key != NULL; key++) {
    g_auto(GStrv) levels = g_strsplit(conf_text_get(ids->text, "flattened-switches", *key), " ", 2);
    if (strcmp(*key, "source") != 0 && levels[1] != NULL &&
        g_ascii_strtoull(levels[0], NULL, 16) == upper >> DIGITS_OUT &&
        g_ascii_strtoull(levels[1], NULL, 16) == lower >> DIGITS_OUT)
      return TRUE;
  }
  return FALSE;
}
