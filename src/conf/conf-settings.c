/* SPDX-License-Identifier: MIT */
/* Layers of values: each key has one slot, and the highest origin that gave it holds it. */
#include "conf-settings.h"

#include <string.h>

#include "conf-search.h"
#include "conf-table.h"

const char *const conf_origin_names[] = {"default", "recipe", "file", "command line", NULL};

typedef struct {
  char *text; /* canonical; NULL: no value (a BASE_LATER key without initial) */
  BaseValue value;
  char *path; /* BASE_PATH: where the file was found; NULL for a default, which is looked for when it is filled */
  ConfOrigin origin;
  char *file; /* where it stands, as in BasePlace */
  guint line, column;
} Slot;

typedef struct {
  char *file;
  guint line, column;
} GroupPlace;

struct ConfSettings {
  ConfTable *table;
  Slot *slots;        /* by position in the table */
  char *file;         /* the first that was loaded */
  GHashTable *groups; /* name → GroupPlace in the last file that has the group */
};

static void slot_clear(Slot *slot) {
  g_clear_pointer(&slot->text, g_free);
  g_clear_pointer(&slot->path, g_free);
  g_clear_pointer(&slot->file, g_free);
}

static Slot slot_copy(const Slot *slot) {
  Slot copy = *slot;
  copy.text = g_strdup(slot->text);
  copy.path = g_strdup(slot->path);
  copy.file = g_strdup(slot->file);
  return copy;
}

static void group_place_free(gpointer data) {
  GroupPlace *place = data;
  g_free(place->file);
  g_free(place);
}

static void remember_group(ConfSettings *settings, const char *group, const BasePlace *place) {
  GroupPlace *kept = g_new(GroupPlace, 1);
  *kept = (GroupPlace){g_strdup(place->file), place->line, place->column};
  g_hash_table_insert(settings->groups, g_strdup(group), kept);
}

static ConfSettings *settings_new(ConfTable *table) {
  ConfSettings *settings = g_new0(ConfSettings, 1);
  settings->table = table;
  settings->slots = g_new0(Slot, table->n_keys);
  settings->groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, group_place_free);
  return settings;
}

/* The canonical text, and what it says. */
static gboolean parse_value(const BaseField *key, const char *text, char **ret_text, BaseValue *ret, GError **error) {
  g_autofree char *clean = g_strstrip(g_strdup(text));
  if (!base_field_parse(key, clean, ret, error))
    return FALSE;
  *ret_text = base_field_canonical(key, ret);
  ret->text = NULL;
  return TRUE;
}

ConfSettings *conf_settings_new(const ConfSchema *schemas, gsize n_schemas) {
  ConfSettings *settings = settings_new(conf_table_new(schemas, n_schemas));
  for (gsize i = 0; i < settings->table->n_keys; i++) {
    const BaseField *key = settings->table->keys[i];
    g_autoptr(GError) error = NULL;
    if (key->initial != NULL)
      parse_value(key, key->initial, &settings->slots[i].text, &settings->slots[i].value, &error);
    sim_require(error == NULL, 0, NULL, "the default of %s: %s", settings->table->names[i], error->message);
  }
  return settings;
}

ConfSettings *conf_settings_copy(const ConfSettings *settings) {
  ConfSettings *copy = settings_new(conf_table_ref(settings->table));
  copy->file = g_strdup(settings->file);
  for (gsize i = 0; i < settings->table->n_keys; i++)
    copy->slots[i] = slot_copy(&settings->slots[i]);
  GHashTableIter iter;
  gpointer group, place;
  g_hash_table_iter_init(&iter, settings->groups);
  while (g_hash_table_iter_next(&iter, &group, &place)) {
    const GroupPlace *kept = place;
    remember_group(copy, group, &(BasePlace){.file = kept->file, .line = kept->line, .column = kept->column});
  }
  return copy;
}

void conf_settings_free(ConfSettings *settings) {
  if (settings == NULL)
    return;
  for (gsize i = 0; i < settings->table->n_keys; i++)
    slot_clear(&settings->slots[i]);
  g_free(settings->slots);
  g_hash_table_unref(settings->groups);
  conf_table_unref(settings->table);
  g_free(settings->file);
  g_free(settings);
}

/* Names that come from our own rooms are there. */
static gsize index_of(const ConfSettings *settings, const char *name) {
  gsize index = 0;
  gboolean found = conf_table_find(settings->table, name, &index);
  sim_require(found, 0, NULL, "no schema has the key %s", name);
  return index;
}

/* Beside the file that names it (the current folder for the command line), then in the data folders. */
static char *find_path(const char *name, ConfOrigin origin, const BasePlace *place, GError **error) {
  static const char *const folders[] = {"", "workloads", "workloads/models", NULL};
  gboolean beside_file = place->file != NULL && (origin == CONF_ORIGIN_FILE || origin == CONF_ORIGIN_RECIPE);
  g_autofree char *beside = beside_file ? g_path_get_dirname(place->file) : NULL;
  return conf_path_search(name, NULL, folders, beside, TRUE, place, error);
}

static gboolean put_at(ConfSettings *settings, gsize index, const char *text, ConfOrigin origin, const BasePlace *place,
                       GError **error) {
  const BaseField *key = settings->table->keys[index];
  g_autofree char *canonical = NULL;
  BaseValue value;
  if (!parse_value(key, text, &canonical, &value, error)) {
    base_error_prefix_at(error, place);
    return FALSE;
  }
  g_autofree char *path = NULL;
  if (key->kind == BASE_PATH && origin != CONF_ORIGIN_DEFAULT) {
    path = find_path(canonical, origin, place, error);
    if (path == NULL)
      return FALSE;
  }
  Slot *slot = &settings->slots[index];
  if (slot->origin > origin)
    return TRUE;
  slot_clear(slot);
  *slot = (Slot){.text = g_steal_pointer(&canonical),
                 .value = value,
                 .path = g_steal_pointer(&path),
                 .origin = origin,
                 .file = g_strdup(place->file),
                 .line = place->line,
                 .column = place->column};
  return TRUE;
}

/* `name` is the person's. */
static gboolean put_named(ConfSettings *settings, const char *name, const char *value, ConfOrigin origin,
                          const BasePlace *place, GError **error) {
  const char *dot = strchr(name, '.');
  if (dot == NULL) {
    const char *near = conf_table_nearest(settings->table, name);
    g_autofree char *advice = near != NULL ? g_strdup_printf("; did you mean \"%s\"?", near) : g_strdup("");
    base_error_set_at(error, &(BasePlace){.file = place->file, .line = place->line, .column = place->column},
                      "expected \"group.key=value\", found the key \"%s\" without a group%s", name, advice);
    return FALSE;
  }
  g_autofree char *group = g_strndup(name, (gsize)(dot - name));
  gsize index;
  return conf_table_find_advised(settings->table, group, dot + 1, place, &index, error) &&
         put_at(settings, index, value, origin, place, error);
}

gboolean conf_settings_put(ConfSettings *settings, const char *name, const char *value, ConfOrigin origin,
                           const BasePlace *place, GError **error) {
  BasePlace at = place != NULL ? *place : (BasePlace){0};
  at.key = name;
  return put_named(settings, name, value, origin, &at, error);
}

gboolean conf_settings_set(ConfSettings *settings, const char *assignment, GError **error) {
  g_autofree char *readable = g_utf8_make_valid(assignment, -1);
  g_autofree char *file = g_strconcat("--set ", readable, NULL);
  BasePlace place = {.file = file};
  if (!g_utf8_validate(assignment, -1, NULL)) {
    base_error_set_at(error, &place, "is not UTF-8 text");
    return FALSE;
  }
  const char *equals = strchr(assignment, '=');
  if (equals == NULL) {
    base_error_set_at(error, &place, "expected \"group.key=value\", found no \"=\"");
    return FALSE;
  }
  g_autofree char *given = g_strstrip(g_strndup(assignment, (gsize)(equals - assignment)));
  g_autofree char *whole = strchr(given, '.') == NULL ? conf_settings_name(settings, given, NULL) : NULL;
  const char *name = whole != NULL ? whole : given;
  place.key = name;
  return put_named(settings, name, equals + 1, CONF_ORIGIN_COMMAND_LINE, &place, error);
}

/* A group whose keys are free is one value. Its own key ("lines") may give the whole. */
static gboolean load_lines(ConfSettings *settings, const ConfText *text, gsize index, ConfOrigin origin,
                           GError **error) {
  const BaseField *key = settings->table->keys[index];
  g_autoptr(GString) lines = g_string_new(NULL);
  BasePlace place;
  for (const char *const *line = conf_text_keys(text, key->group); *line != NULL; line++) {
    if (lines->len > 0)
      g_string_append(lines, ", ");
    if (strcmp(*line, key->key) != 0)
      g_string_append_printf(lines, "%s = ", *line);
    g_string_append(lines, conf_text_get(text, key->group, *line));
  }
  conf_text_place(text, key->group, NULL, &place);
  place.key = settings->table->names[index];
  return put_at(settings, index, lines->str, origin, &place, error);
}

static gboolean load_key(ConfSettings *settings, const ConfText *text, const char *group, const char *key,
                         ConfOrigin origin, GError **error) {
  BasePlace place;
  gsize index;
  conf_text_place(text, group, key, &place);
  return conf_table_find_advised(settings->table, group, key, &place, &index, error) &&
         put_at(settings, index, conf_text_get(text, group, key), origin, &place, error);
}

static void load_group(ConfSettings *settings, const ConfText *text, const char *group, ConfOrigin origin,
                       BaseErrors *errors) {
  BasePlace place;
  GError *cause = NULL;
  gsize lines;
  conf_text_place(text, group, NULL, &place);
  if (!conf_table_check_group(settings->table, group, &place, &cause)) {
    base_errors_add(errors, cause);
    return;
  }
  remember_group(settings, group, &place);
  if (conf_table_find_lines(settings->table, group, &lines)) {
    load_lines(settings, text, lines, origin, &cause);
    base_errors_add(errors, cause);
    return;
  }
  for (const char *const *key = conf_text_keys(text, group); *key != NULL; key++) {
    load_key(settings, text, group, *key, origin, &cause);
    base_errors_add(errors, g_steal_pointer(&cause));
  }
}

void conf_settings_load_some(ConfSettings *settings, const ConfText *text, ConfOrigin origin, BaseErrors *errors) {
  for (const char *const *group = conf_text_groups(text); *group != NULL; group++)
    load_group(settings, text, *group, origin, errors);
  if (settings->file == NULL)
    settings->file = g_strdup(conf_text_file(text));
}

gboolean conf_settings_load_text(ConfSettings *settings, const ConfText *text, ConfOrigin origin, GError **error) {
  g_autoptr(ConfSettings) next = conf_settings_copy(settings);
  BaseErrors errors = {0};
  conf_settings_load_some(next, text, origin, &errors);
  if (!base_errors_end(&errors, error))
    return FALSE;
  ConfSettings before = *settings;
  *settings = *next;
  *next = before;
  return TRUE;
}

gboolean conf_settings_load(ConfSettings *settings, const char *path, ConfOrigin origin, GError **error) {
  g_autoptr(ConfText) text = conf_text_load(path, error);
  return text != NULL && conf_settings_load_text(settings, text, origin, error);
}

char *conf_settings_name(const ConfSettings *settings, const char *name, GError **error) {
  g_autofree char *several = NULL;
  char *whole = conf_table_whole_name(settings->table, name, &several);
  if (whole != NULL)
    return whole;
  const char *near = conf_table_nearest(settings->table, name);
  if (several != NULL)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" could be any of %s", name, several);
  else
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no setting is called \"%s\"%s%s%s", name,
                near != NULL ? "; did you mean \"" : "; foretrain list settings shows all", near != NULL ? near : "",
                near != NULL ? "\"?" : "");
  return NULL;
}

const BaseField *conf_settings_field(const ConfSettings *settings, const char *name) {
  return settings->table->keys[index_of(settings, name)];
}

ConfOrigin conf_settings_origin(const ConfSettings *settings, const char *name) {
  return settings->slots[index_of(settings, name)].origin;
}

gboolean conf_settings_knows(const ConfSettings *settings, const char *name) {
  gsize index;
  return conf_table_find(settings->table, name, &index);
}

gboolean conf_settings_given(const ConfSettings *settings, const char *name) {
  return settings->slots[index_of(settings, name)].origin > CONF_ORIGIN_DEFAULT;
}

const char *conf_settings_get(const ConfSettings *settings, const char *name) {
  return settings->slots[index_of(settings, name)].text;
}

double conf_settings_number(const ConfSettings *settings, const char *name) {
  return settings->slots[index_of(settings, name)].value.number;
}

void conf_settings_place(const ConfSettings *settings, const char *name, BasePlace *ret) {
  gsize index = index_of(settings, name);
  const Slot *slot = &settings->slots[index];
  const GroupPlace *group = g_hash_table_lookup(settings->groups, settings->table->keys[index]->group);
  if (slot->origin > CONF_ORIGIN_DEFAULT)
    *ret = (BasePlace){.file = slot->file, .line = slot->line, .column = slot->column};
  else if (group != NULL)
    *ret = (BasePlace){.file = group->file, .line = group->line, .column = group->column};
  else
    *ret = (BasePlace){.file = settings->file};
  ret->key = settings->table->names[index];
}

gboolean conf_settings_fail(const ConfSettings *settings, const char *name, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  const Slot *slot = &settings->slots[index_of(settings, name)];
  gboolean is_default = slot->origin == CONF_ORIGIN_DEFAULT && slot->text != NULL;
  g_autofree char *remark = is_default ? g_strdup_printf(" (%s is the default)", slot->text) : g_strdup("");
  BasePlace place;
  conf_settings_place(settings, name, &place);
  base_error_set_at(error, &place, "%s%s", message, remark);
  return FALSE;
}

void conf_settings_visit(const ConfSettings *settings, ConfVisit visit, gpointer user) {
  for (gsize i = 0; i < settings->table->n_keys; i++)
    if (settings->slots[i].text != NULL)
      visit(settings->table->names[i], settings->slots[i].text, settings->slots[i].origin, user);
}

/* The slot of a key of `schema`, which may be another table than the one that checked the value. */
static gsize index_of_key(const ConfSettings *settings, const BaseField *key) {
  gsize index;
  if (conf_table_find_row(settings->table, key, &index))
    return index;
  char name[128];
  g_strlcpy(g_stpcpy(g_stpcpy(name, key->group), "."), key->key, sizeof name / 2);
  index = index_of(settings, name);
  const BaseField *owner = settings->table->keys[index];
  sim_require(owner->kind == key->kind && owner->names == key->names, 0, NULL, "%s has two kinds", name);
  return index;
}

static char *path_of(const ConfSettings *settings, gsize index, GError **error) {
  const Slot *slot = &settings->slots[index];
  if (slot->path != NULL)
    return g_strdup(slot->path);
  BasePlace place;
  conf_settings_place(settings, settings->table->names[index], &place);
  return find_path(slot->text, CONF_ORIGIN_DEFAULT, &place, error);
}

/* What could still fail: required keys that are absent, default files that are not there. */
static gboolean check_filled(const ConfSettings *settings, const BaseField *key, GError **error) {
  gsize index = index_of_key(settings, key);
  if (settings->slots[index].text == NULL) {
    if (!key->required)
      return TRUE;
    g_autofree char *expected = base_field_expected(key);
    const char *help = key->help != NULL ? key->help : key->key;
    return conf_settings_fail(settings, settings->table->names[index], error,
                              "is missing: write \"%s = ...\" under [%s] (%s; expected %s)", key->key, key->group, help,
                              expected);
  }
  if (key->kind != BASE_PATH)
    return TRUE;
  g_autofree char *path = path_of(settings, index, error);
  return path != NULL;
}

static void fill_field(const ConfSettings *settings, const BaseField *key, gpointer object) {
  gsize index = index_of_key(settings, key);
  const Slot *slot = &settings->slots[index];
  if (slot->text == NULL)
    return;
  g_autofree char *path = key->kind == BASE_PATH ? path_of(settings, index, NULL) : NULL;
  BaseValue value = slot->value;
  value.text = path != NULL ? path : slot->text;
  base_field_set(key, object, &value);
}

gboolean conf_settings_fill(const ConfSettings *settings, const ConfSchema *schema, gpointer ret, GError **error) {
  for (gsize k = 0; k < schema->n_keys; k++)
    if (!check_filled(settings, &schema->keys[k], error))
      return FALSE;
  for (gsize k = 0; k < schema->n_keys; k++)
    fill_field(settings, &schema->keys[k], ret);
  return TRUE;
}

void conf_struct_clear(const ConfSchema *schema, gpointer object) {
  base_fields_clear(schema->keys, schema->n_keys, object);
}

void conf_settings_append_given(const ConfSettings *settings, const ConfSchema *schema, const char *const *except,
                                GString *text) {
  for (gsize k = 0; k < schema->n_keys; k++) {
    gsize index = index_of_key(settings, &schema->keys[k]);
    const Slot *slot = &settings->slots[index];
    const char *name = settings->table->names[index];
    if (slot->origin > CONF_ORIGIN_DEFAULT && (except == NULL || !g_strv_contains(except, name)))
      g_string_append_printf(text, "%s=%s\n%d %s\n", name, slot->text, slot->origin, slot->file);
  }
}

void conf_settings_take(ConfSettings *settings, const ConfSettings *from, const ConfSchema *schema) {
  for (gsize k = 0; k < schema->n_keys; k++) {
    const BaseField *key = &schema->keys[k];
    gsize index = index_of_key(settings, key);
    const Slot *own = &settings->slots[index], *other = &from->slots[index];
    gboolean same = own->origin == other->origin && g_strcmp0(own->text, other->text) == 0;
    if (own->origin <= other->origin && !same) {
      slot_clear(&settings->slots[index]);
      settings->slots[index] = slot_copy(other);
    }
    const GroupPlace *group = g_hash_table_lookup(from->groups, key->group);
    if (group != NULL)
      remember_group(settings, key->group,
                     &(BasePlace){.file = group->file, .line = group->line, .column = group->column});
  }
  if (settings->file == NULL)
    settings->file = g_strdup(from->file);
}

void conf_settings_forget(ConfSettings *settings, const char *name) {
  gsize index = index_of(settings, name);
  sim_require(settings->table->keys[index]->initial == NULL, 0, NULL, "%s has a default", name);
  slot_clear(&settings->slots[index]);
  settings->slots[index] = (Slot){0};
}
