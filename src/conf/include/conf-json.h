/* SPDX-License-Identifier: MIT */
/* JSON as people write it: comments (//, slash-star, #), trailing commas, a BOM and line ends of CR are taken, all else
 * is as the standard has it (conf-pull.h). Duplicate keys of one object are errors.
 *
 *   g_autoptr(ConfJson) json = conf_json_load("models/llama-2-7b.json", error);
 *   guint64 layers;
 *   if (!conf_json_count(json, "num_hidden_layers", &layers, error)) return FALSE;   // absent or null: an error
 *
 * Keys are paths with dots, elements of lists have their number ("rope_scaling.factor", "betas.0"). Numbers in quotes
 * are taken ("4096"), and 5e8 where a whole number is wanted if it is whole. NaN and Infinity, which Python writes, may
 * stand in a file but are no numbers when asked for. */
#pragma once

#include "base-error.h"

typedef struct ConfJson ConfJson;

/* The root must be an object. Errors (SIM_ERROR_INPUT): no such file (with the nearest name), not UTF-8, and each
 * mistake of JSON at its line and column: a missing comma, an unfilled template, a key given twice, … */
ConfJson *conf_json_load(const char *path, GError **error);
ConfJson *conf_json_parse(const char *name, const char *data, gsize length, GError **error);
void conf_json_free(ConfJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfJson, conf_json_free)

const char *conf_json_file(const ConfJson *json);
/* Present and not null. */
gboolean conf_json_has(const ConfJson *json, const char *path);
/* Each: SIM_ERROR_INPUT with file, line, key, what was found and what was expected; *ret then untouched.
 * Counts go to 2^63 - 1, exactly. Flags may be "yes", "off", 1, … in place of true and false. */
gboolean conf_json_count(const ConfJson *json, const char *path, guint64 *ret, GError **error);
gboolean conf_json_number(const ConfJson *json, const char *path, double *ret, GError **error);
gboolean conf_json_flag(const ConfJson *json, const char *path, gboolean *ret, GError **error);
/* Borrowed. */
gboolean conf_json_string(const ConfJson *json, const char *path, const char **ret, GError **error);
/* Line and column of the key (of the deepest part of `path` that exists); ret->key is `path` itself, borrowed from you.
 */
void conf_json_place(const ConfJson *json, const char *path, BasePlace *ret);
/* SIM_ERROR_INPUT at the key; always FALSE. */
gboolean conf_json_fail(const ConfJson *json, const char *path, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* The same for a key that must be there and is not: says what it would hold ("a whole number") and the nearest key that
 * is there. */
gboolean conf_json_fail_missing(const ConfJson *json, const char *path, const char *expected, GError **error);
/* Keys of the root object in order, NULL-terminated; borrowed. */
const char *const *conf_json_keys(const ConfJson *json);
