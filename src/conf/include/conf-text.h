/* SPDX-License-Identifier: MIT */
/* An INI text: groups, keys and values without comments, and where each stands; duplicates are refused.
 *
 * Taken: `#` and `;` comments (whole line, or after white space), CRLF, CR alone, a UTF-8 BOM, blank lines, space
 * around `=`, a value in quotes ("4096" or '4096', where # and ; are letters). Places stay here so that a later error
 * can name file, line and column: GKeyFile keeps none, and takes neither comments behind values nor the operators of
 * budgets.
 *
 *   g_autoptr(ConfText) text = conf_text_load("workloads/a.ini", error);
 *   const char *value = conf_text_get(text, "training", "micro_batch");      // NULL where it is absent
 *   conf_text_place(text, "training", "micro_batch", &place);
 */
#pragma once

#include <glib.h>

#include "base-error.h"

typedef struct ConfText ConfText;

/* Errors (SIM_ERROR_INPUT): no such file (with the nearest name in its folder), not UTF-8, a line that is neither group
 * nor `key = value`, a key before any group, the same group or key twice (both places named). */
ConfText *conf_text_load(const char *path, GError **error);
/* A file of budgets, in which "step <= 1.9 s" is a line: its key is "step <", its value "1.9 s". "step < 1.9 s" is all
 * key. */
ConfText *conf_text_load_budgets(const char *path, GError **error);
/* The same from memory; `name` stands for the file in errors. */
ConfText *conf_text_parse(const char *name, const char *data, gsize length, GError **error);
void conf_text_free(ConfText *text);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfText, conf_text_free)

const char *conf_text_file(const ConfText *text);
/* Group names in order of the file, NULL-terminated; borrowed. */
const char *const *conf_text_groups(const ConfText *text);
/* Keys of a group in order of the file, NULL-terminated; borrowed; NULL where there is no such group. */
const char *const *conf_text_keys(const ConfText *text, const char *group);
/* The value without its comment and outer spaces; borrowed. */
const char *conf_text_get(const ConfText *text, const char *group, const char *key);
/* Strings in *ret are borrowed from the text. `key` may be NULL: the group's own place. */
void conf_text_place(const ConfText *text, const char *group, const char *key, BasePlace *ret);
