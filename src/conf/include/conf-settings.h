/* SPDX-License-Identifier: MIT */
/* Settings: layers of checked values over schema tables, each with its origin; higher origins win, whatever the order
 * in which they come, and of one origin the last.
 *
 *   ConfSettings *settings = conf_settings_new(schemas, n_schemas);         // the defaults
 *   conf_settings_load(settings, "workloads/a.ini", CONF_ORIGIN_FILE, error); // unknown keys: errors with advice
 *   conf_settings_set(settings, "training.micro_batch=2", error);             // --set
 *   conf_settings_fill(settings, &schema, &shape, error);                     // typed, range-checked, into a struct
 *   conf_settings_fail(settings, "training.micro_batch", error, "does not divide %d", 12);
 *                                  // the error names the file, line and column (or --set) the value came from
 *
 * Values are checked against kind, range and names when they enter, so fill fails only on required keys. A file
 * (BASE_PATH) is looked for when its name enters: beside the file that names it (--set: in the current folder), then in
 * the data folders and their workloads. Its canonical text stays as it was written. A default's file is looked for when
 * it is filled. */
#pragma once

#include "base-errors.h"
#include "conf-schema.h"
#include "conf-text.h"

typedef enum { CONF_ORIGIN_DEFAULT, CONF_ORIGIN_RECIPE, CONF_ORIGIN_FILE, CONF_ORIGIN_COMMAND_LINE } ConfOrigin;
extern const char *const conf_origin_names[]; /* "default", "recipe", "file", "command line" */

typedef struct ConfSettings ConfSettings;

/* Copies the schema descriptions, not the key tables, which are static. A key that stands in two schemas, and initial
 * values that do not pass their own check, are a broken contract. */
ConfSettings *conf_settings_new(const ConfSchema *schemas, gsize n_schemas);
ConfSettings *conf_settings_copy(const ConfSettings *settings);
void conf_settings_free(ConfSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfSettings, conf_settings_free)

/* Lays a file over what is there, but under what a higher origin gave. Nothing changes on error. Unknown groups
 * and keys are errors with the nearest name; all of a file's errors come together, a line each. */
gboolean conf_settings_load(ConfSettings *settings, const char *path, ConfOrigin origin, GError **error);
gboolean conf_settings_load_text(ConfSettings *settings, const ConfText *text, ConfOrigin origin, GError **error);
/* The same, where errors are gathered: what is good is laid. */
void conf_settings_load_some(ConfSettings *settings, const ConfText *text, ConfOrigin origin, BaseErrors *errors);
/* "group.key=value", or "key=value" where no other group has that key; spaces allowed around "="; the place in errors
 * is `--set group.key=value`. */
gboolean conf_settings_set(ConfSettings *settings, const char *assignment, GError **error);
/* One value with an origin; `place` (may be NULL) is where it stands for errors, copied. */
gboolean conf_settings_put(ConfSettings *settings, const char *name, const char *value, ConfOrigin origin,
                           const BasePlace *place, GError **error);

/* The whole name ("cluster.nodes") of what people call a key: "cluster.nodes", or "nodes" where no other group has it.
 * Caller frees. Errors: no such key, several of them. */
char *conf_settings_name(const ConfSettings *settings, const char *name, GError **error);
/* The row that describes a key. */
const BaseField *conf_settings_field(const ConfSettings *settings, const char *name);
/* The origin that the value has. */
ConfOrigin conf_settings_origin(const ConfSettings *settings, const char *name);

/* Whether a schema has the key: for names that are not our own rooms'. */
gboolean conf_settings_knows(const ConfSettings *settings, const char *name);
/* Whether any layer above the defaults gave it. `name` is "group.key". */
gboolean conf_settings_given(const ConfSettings *settings, const char *name);
/* Canonical text ("41943040000 B/s"), borrowed; NULL where there is no value at all. */
const char *conf_settings_get(const ConfSettings *settings, const char *name);
/* Of a key that is a number or has a unit, in SI; 0 where it has no value. */
double conf_settings_number(const ConfSettings *settings, const char *name);
/* Where the value stands; for a default or none, where its group stands in the last file that has it. An unknown name
 * is a broken contract here and in the functions above and below. Strings in *ret are borrowed, until the key changes.
 */
void conf_settings_place(const ConfSettings *settings, const char *name, BasePlace *ret);
/* Sets SIM_ERROR_INPUT at the place of `name`, says so where the value is the default; always returns FALSE. */
gboolean conf_settings_fail(const ConfSettings *settings, const char *name, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Writes the fields of every key of `schema` that has a value (none on error). `schema` may be another than those given
 * to conf_settings_new, if its keys are among theirs with the same kinds and names tables. BASE_TEXT and BASE_PATH
 * fields are freed first and get a copy, so the struct starts zeroed and is cleared with conf_struct_clear. */
gboolean conf_settings_fill(const ConfSettings *settings, const ConfSchema *schema, gpointer ret, GError **error);
void conf_struct_clear(const ConfSchema *schema, gpointer object);

/* Every key that has a value, in schema order: the canonical form that run keys hash and the database keeps. */
typedef void (*ConfVisit)(const char *name, const char *value, ConfOrigin origin, gpointer user);
void conf_settings_visit(const ConfSettings *settings, ConfVisit visit, gpointer user);
/* Appends every given value of the schema's keys, but those whose names stand in `except` (NULL: none), with its origin
 * and file: equal texts, equal values. */
void conf_settings_append_given(const ConfSettings *settings, const ConfSchema *schema, const char *const *except,
                                GString *text);
/* Gives the keys of `schema` the values, origins and places that they have in `from`, settings of the same schemas; a
 * value of a higher origin stays, as if what gave them had been loaded over it; an equal one keeps its place. */
void conf_settings_take(ConfSettings *settings, const ConfSettings *from, const ConfSchema *schema);
/* As if nobody had given the key; it must have no default. */
void conf_settings_forget(ConfSettings *settings, const char *name);
