/* SPDX-License-Identifier: MIT */
/* topologies/catalog/hardware-ids.ini: what identities in other tools' files are in the catalogue. Private to this
 * floor.
 *
 *   g_autoptr(ImportIds) ids = import_ids_load(error);
 *   import_ids_get(ids, "gpus", "2330")          // "h100-sxm5-80gb"; NULL: not known
 *   import_ids_nic(ids, "roce", 180e9 / 8)       // "roce-200g": the least rate that holds it */
#pragma once

#include "base-error.h"

typedef struct ImportIds ImportIds;

ImportIds *import_ids_load(GError **error);
void import_ids_free(ImportIds *ids);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportIds, import_ids_free)

/* Borrowed. */
const char *import_ids_get(const ImportIds *ids, const char *group, const char *key);
/* The GPU of a product's name, "NVIDIA H100 80GB HBM3" in any case; NULL: not known. */
const char *import_ids_gpu(const ImportIds *ids, const char *product);
/* "FIRST.SECOND", as in [intra]. */
const char *import_ids_pair(const ImportIds *ids, const char *group, const char *first, const char *second);
/* By the platform and the rate in bytes/s; NULL: none holds it. */
const char *import_ids_nic(const ImportIds *ids, const char *platform, double rate);
/* Of a link of the catalogue, by the beginning of its name; NULL: none. */
const char *import_ids_platform(const ImportIds *ids, const char *link);
/* Whether the two identities are levels of one PCIe switch. */
gboolean import_ids_flattened(const ImportIds *ids, guint64 upper, guint64 lower);
