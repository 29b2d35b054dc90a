/* SPDX-License-Identifier: MIT */
/* What points share: the catalogue, and the machines and models that were built so far. Each thread has its own.
 *
 *   g_autoptr(StudyCache) cache = study_cache_new();
 *   for (…) study_point_run(point, base, &options, cache);
 *
 * Results are the same with and without: what is kept is found again only by all settings that it was made of, and the
 * file each of them came from. Files are read once, so what changes on disk meanwhile is not seen. Memory: at most some
 * dozen machines and models. */
#pragma once

#include <glib.h>

typedef struct StudyCache StudyCache;

StudyCache *study_cache_new(void);
void study_cache_free(StudyCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyCache, study_cache_free)
/* Plays whose memory was known from earlier ones; *ret_missed: that were taken to be such, and were not. */
guint64 study_cache_recalled(StudyCache *cache, guint64 *ret_missed);
