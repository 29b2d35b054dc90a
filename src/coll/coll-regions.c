/* SPDX-License-Identifier: MIT */
/* Reads regions from text, and tells by crossings whether a point lies in one. */
#include "coll-regions.h"

#include <string.h>

#include "base-names.h"
#include "base-version.h"
#include "coll-tuning.h"
#include "conf-path.h"
#include "conf-text.h"

#define MOST_BYTES           200000000000 /* products of two differences stay within 64 bits */
#define MOST_RANKS           2000000
#define WORDS_BEFORE_CORNERS 4

static gboolean refuse(const char *found, const char *expected, GError **error) {
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected %s, found \"%s\"", expected, found);
  return FALSE;
}

static gboolean read_name(const char *word, const char *const *names, int *ret, GError **error) {
  *ret = base_names_find(names, word);
  g_autofree char *advice = base_names_join(names);
  return *ret >= 0 || refuse(word, advice, error);
}

static gboolean read_corner(const char *word, CollRegion *region, GError **error) {
  g_auto(GStrv) halves = g_strsplit(word, "x", -1);
  gint64 bytes, ranks;
  if (g_strv_length(halves) != 2 || region->n == COLL_REGION_CORNERS ||
      !g_ascii_string_to_signed(halves[0], 10, 0, MOST_BYTES, &bytes, NULL) ||
      !g_ascii_string_to_signed(halves[1], 10, 0, MOST_RANKS, &ranks, NULL))
    return refuse(word, "at most 20 corners, each as bytes x ranks: 1048576x16", error);
  region->bytes[region->n] = bytes;
  region->ranks[region->n++] = ranks;
  return TRUE;
}

static gboolean read_region(const char *text, CollRegion *region, GError **error) {
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  guint64 per_node;
  if (g_strv_length(words) < WORDS_BEFORE_CORNERS + 3 ||
      !g_ascii_string_to_unsigned(words[1], 10, 1, MOST_RANKS, &per_node, NULL))
    return refuse(text, "operation, GPUs per node, algorithm, protocol and three corners or more", error);
  region->per_node = (guint32)per_node;
  if (!read_name(words[0], coll_operation_names, &region->operation, error) ||
      !read_name(words[2], coll_algorithm_names, &region->algorithm, error) ||
      !read_name(words[3], coll_protocol_names, &region->protocol, error))
    return FALSE;
  for (char **word = words + WORDS_BEFORE_CORNERS; *word != NULL; word++)
    if (!read_corner(*word, region, error))
      return FALSE;
  return TRUE;
}

static gboolean fail_at(const ConfText *text, const char *section, const char *key, GError **error) {
  BasePlace place;
  conf_text_place(text, section, key, &place);
  place.key = key;
  base_error_prefix_at(error, &place);
  return FALSE;
}

static gboolean is_region(const char *key) {
  return strcmp(key, "since") != 0 && strcmp(key, "source") != 0 && strcmp(key, "trust") != 0;
}

static gboolean add(const ConfText *text, const char *platform, const char *key, CollRegions *regions, GError **error) {
  CollRegion region = {.n = 0};
  const char *value = conf_text_get(text, platform, key);
  if (regions->n == COLL_REGIONS ||
      g_strlcpy(region.platform, platform, sizeof region.platform) >= sizeof region.platform)
    refuse(platform, "a platform of at most 15 letters, and at most 32 regions in all", error);
  else if (read_region(value, &region, error)) {
    regions->regions[regions->n++] = region;
    return TRUE;
  }
  return fail_at(text, platform, key, error);
}

static gboolean add_platform(const ConfText *text, const char *platform, guint32 release, CollRegions *regions,
                             GError **error) {
  const char *since = conf_text_get(text, platform, "since");
  guint32 first;
  if (since == NULL || conf_text_get(text, platform, "source") == NULL || !base_version_parse(since, &first)) {
    refuse(platform, "a platform with \"since\", a version of NCCL, and \"source\"", error);
    return fail_at(text, platform, NULL, error);
  }
  for (const char *const *key = conf_text_keys(text, platform); *key != NULL && release >= first; key++)
    if (is_region(*key) && !add(text, platform, *key, regions, error))
      return FALSE;
  return TRUE;
}

gboolean coll_regions_load(guint32 release, CollRegions *ret, GError **error) {
  g_autofree char *path = conf_path_find("nccl-tuners.ini", NULL, "topologies/catalog", NULL, NULL, error);
  g_autoptr(ConfText) text = path != NULL ? conf_text_load(path, error) : NULL;
  if (text == NULL)
    return FALSE;
  g_autofree CollRegions *regions = g_new0(CollRegions, 1);
  for (const char *const *platform = conf_text_groups(text); *platform != NULL; platform++)
    if (!add_platform(text, *platform, release, regions, error))
      return FALSE;
  *ret = *regions;
  return TRUE;
}

/* Which side of the line from corner `a` to `b` the point lies on; 0: on the line. */
static gint64 side(const CollRegion *region, guint32 a, guint32 b, gint64 bytes, gint64 ranks) {
  return (region->bytes[b] - region->bytes[a]) * (ranks - region->ranks[a]) -
         (bytes - region->bytes[a]) * (region->ranks[b] - region->ranks[a]);
}

static gboolean between(gint64 value, gint64 a, gint64 b) {
  return value >= MIN(a, b) && value <= MAX(a, b);
}

static gboolean holds(const CollRegion *region, gint64 bytes, gint64 ranks) {
  gboolean inside = FALSE;
  for (guint32 b = 0, a = region->n - 1; b < region->n; a = b++) {
    gint64 turn = side(region, a, b, bytes, ranks);
    if (turn == 0 && between(bytes, region->bytes[a], region->bytes[b]) &&
        between(ranks, region->ranks[a], region->ranks[b]))
      return TRUE;
    gboolean rises = region->ranks[b] > region->ranks[a];
    if ((region->ranks[a] > ranks) != (region->ranks[b] > ranks) && (turn > 0) == rises)
      inside = !inside;
  }
  return inside;
}

const CollRegion *coll_regions_find(const CollRegions *regions, const char *platform, CollOperation operation,
                                    guint32 per_node, guint64 bytes, guint32 ranks) {
  if (bytes > MOST_BYTES || ranks > MOST_RANKS)
    return NULL;
  for (guint32 i = 0; i < regions->n; i++) {
    const CollRegion *region = &regions->regions[i];
    if (region->operation == (int)operation && region->per_node == per_node &&
        strcmp(region->platform, platform) == 0 && holds(region, (gint64)bytes, ranks))
      return region;
  }
  return NULL;
}
