/* SPDX-License-Identifier: MIT */
/* The one writer of JSON: every verb's --json, exported traces, texts kept in the database.
 *
 *   g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
 *   base_json_map(json, NULL);                             // {
 *   base_json_text(json, "gpu", "h100-sxm-80");            //   "gpu" : "h100-sxm-80",
 *   base_json_list(json, "times_ps");                      //   "times_ps" : [
 *   base_json_integer(json, NULL, 5);                      //     5
 *   base_json_end(json);                                   //   ]
 *   base_json_end(json);                                   // }
 *
 * Written at once into `text`, no tree is held. The result is JSON whatever the values: quotes, backslashes and control
 * characters are escaped, UTF-8 is kept, bytes that are none become U+FFFD, a text of NULL and a number that is not
 * finite become null. A key is needed in a map and must be NULL elsewhere: all else is a broken contract. json-glib
 * builds a tree first and passes bytes that are not UTF-8; its layout is kept. */
#pragma once

#include <glib.h>

typedef enum {
  BASE_JSON_SPREAD,  /* a value a line, indented by two; the text ends with a line feed */
  BASE_JSON_COMPACT, /* no white space at all */
} BaseJsonStyle;

#define BASE_JSON_DEPTH_MAX 32

typedef struct BaseJson BaseJson;

/* `text` is the caller's and outlives the writer. */
BaseJson *base_json_new(GString *text, BaseJsonStyle style);
/* Every map and list must have ended. */
void base_json_free(BaseJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BaseJson, base_json_free)

void base_json_map(BaseJson *json, const char *key);
void base_json_list(BaseJson *json, const char *key);
/* Of the innermost map or list. */
void base_json_end(BaseJson *json);
void base_json_text(BaseJson *json, const char *key, const char *value);
void base_json_integer(BaseJson *json, const char *key, gint64 value);
/* The 17 digits that read back as the same double. */
void base_json_number(BaseJson *json, const char *key, double value);
/* A number whose digits the caller has: "12.000345". */
void base_json_digits(BaseJson *json, const char *key, const char *digits);
void base_json_null(BaseJson *json, const char *key);
/* COMPACT: the next value, or the end, stands on a new line. */
void base_json_break(BaseJson *json);
