/* The first pass over a JSON text: one walk checks it, finds every value, and cleans it for json-glib. For this room
 * alone.
 *
 *     { // a comment            {
 *       "betas": [0.9, 0.95,],    "betas": [0.9, 0.95 ],     marks: "" "betas" "betas.0" "betas.1"
 *     }                         }
 *
 * Comments and trailing commas become spaces, and NaN and Infinity (which Python writes) become an empty text, so
 * offsets, lines and columns stay true. All else must be JSON as the standard has it: this pass words the errors. */
#pragma once

#include "base-error.h"

typedef struct {
  guint line, column; /* of the key; of the value for list elements and the root */
  gsize start, end;   /* the value's bytes */
} ConfJsonMark;

/* `data` is valid UTF-8 without NULs and is cleaned in place. `marks`: path → ConfJsonMark, both g_malloc'd, added to
 * as values end. Errors: SIM_ERROR_INPUT with line, column and the path so far. Cost: one pass. */
gboolean conf_json_scan(const char *file, char *data, gsize length, GHashTable *marks, GError **error);
