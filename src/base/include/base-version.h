/* SPDX-License-Identifier: MIT */
/* Versions of software as one number that can be compared.
 *
 *   guint32 version;
 *   base_version_parse("0.14.4", &version) && version >= BASE_VERSION(0, 14, 4)
 */
#pragma once

#include <glib.h>

#define BASE_VERSION(major, minor, patch) ((guint32)(((major)*1000 + (minor)) * 1000 + (patch)))

/* "0.14", "v2.1.0", "2.21.5-1", "2.6.0+cu124": up to three numbers, each below 1000, and what names a build behind at
 * least two, which is passed over; numbers left out are 0. */
gboolean base_version_parse(const char *text, guint32 *ret);
/* "0.14.4"; caller frees. */
char *base_version_text(guint32 version);
/* Both of the first two numbers, "2.21": what tables are for. Caller frees. */
char *base_version_minor_text(guint32 version);
