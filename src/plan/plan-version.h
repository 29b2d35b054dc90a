/* A framework's version as one number that can be compared.
 *
 *   guint32 version;
 *   plan_version_parse("0.14.4", &version) && version >= PLAN_VERSION(0, 14, 4)
 */
#pragma once

#include <glib.h>

#define PLAN_VERSION(major, minor, patch) ((guint32)(((major)*1000 + (minor)) * 1000 + (patch)))

/* "0.14", "v2.1.0", "0.19.6": up to three numbers, each below 1000. */
gboolean plan_version_parse(const char *text, guint32 *ret);
/* "0.14.4"; caller frees. */
char *plan_version_text(guint32 version);
