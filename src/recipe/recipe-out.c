/* SPDX-License-Identifier: MIT */
/* Keys as JSON, YAML, TOML, or the arguments of a program. */
#include "recipe-out.h"

#include <string.h>

#include "base-display.h"
#include "base-json.h"

static void key_free(gpointer data) {
  RecipeOutKey *key = data;
  g_free(key->path);
  g_free(key->value);
  g_free(key);
}

RecipeOut *recipe_out_new(const ConfSettings *settings) {
  RecipeOut *out = g_new0(RecipeOut, 1);
  out->settings = settings;
  out->keys = g_ptr_array_new_with_free_func(key_free);
  return out;
}

void recipe_out_free(RecipeOut *out) {
  if (out == NULL)
    return;
  g_ptr_array_unref(out->keys);
  g_free(out);
}

static void add(RecipeOut *out, const char *path, const char *value, gboolean quoted) {
  RecipeOutKey *key = g_new(RecipeOutKey, 1);
  *key = (RecipeOutKey){g_strdup(path), g_strdup(value), quoted};
  g_ptr_array_add(out->keys, key);
}

void recipe_out_say(RecipeOut *out, const char *path, const char *value) {
  add(out, path, value, FALSE);
}

void recipe_out_text(RecipeOut *out, const char *path, const char *value) {
  add(out, path, value, TRUE);
}

void recipe_out_given(RecipeOut *out, const char *path, const char *setting) {
  const char *value = conf_settings_get(out->settings, setting);
  if (value != NULL && conf_settings_given(out->settings, setting))
    recipe_out_say(out, path, value);
}

void recipe_out_given_flag(RecipeOut *out, const char *path, const char *setting) {
  if (conf_settings_given(out->settings, setting))
    recipe_out_say(out, path, recipe_out_is(out, setting, "yes") ? "true" : "false");
}

gboolean recipe_out_is(const RecipeOut *out, const char *setting, const char *value) {
  return g_strcmp0(conf_settings_get(out->settings, setting), value) == 0;
}

guint64 recipe_out_count(const RecipeOut *out, const char *setting) {
  const char *value = conf_settings_get(out->settings, setting);
  return value != NULL ? g_ascii_strtoull(value, NULL, 10) : 0;
}

/* ---- Groups ---- */

/* Parts of a path that both have, the last part of each left out. */
static guint shared_depth(char **a, char **b) {
  guint depth = 0;
  while (a != NULL && a[depth + 1] != NULL && b[depth + 1] != NULL && a[depth] != NULL &&
         strcmp(a[depth], b[depth]) == 0)
    depth++;
  return depth;
}

static const RecipeOutKey *key_at(const RecipeOut *out, guint index) {
  return g_ptr_array_index(out->keys, index);
}

static void print_json(const RecipeOut *out, const GPtrArray *remarks, GString *text) {
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  g_auto(GStrv) last = NULL;
  guint open = 0;
  base_json_map(json, NULL);
  for (guint i = 0; i < out->keys->len; i++) {
    const RecipeOutKey *key = key_at(out, i);
    char **parts = g_strsplit(key->path, ".", -1);
    guint shared = shared_depth(last, parts), depth = g_strv_length(parts) - 1;
    for (; open > shared; open--)
      base_json_end(json);
    for (; open < depth; open++)
      base_json_map(json, parts[open]);
    if (key->quoted)
      base_json_text(json, parts[depth], key->value);
    else
      base_json_digits(json, parts[depth], key->value);
    g_strfreev(last);
    last = parts;
  }
  for (; open > 0; open--)
    base_json_end(json);
  base_json_list(json, "_comment");
  for (guint i = 0; i < remarks->len; i++)
    base_json_text(json, NULL, g_ptr_array_index(remarks, i));
  base_json_end(json);
  base_json_end(json);
}

static void print_yaml(const RecipeOut *out, GString *text) {
  g_auto(GStrv) last = NULL;
  for (guint i = 0; i < out->keys->len; i++) {
    const RecipeOutKey *key = key_at(out, i);
    char **parts = g_strsplit(key->path, ".", -1);
    guint depth = g_strv_length(parts) - 1;
    for (guint level = shared_depth(last, parts); level < depth; level++)
      g_string_append_printf(text, "%*s%s:\n", (int)(2 * level), "", parts[level]);
    g_string_append_printf(text, "%*s%s: %s\n", (int)(2 * depth), "", parts[depth], key->value);
    g_strfreev(last);
    last = parts;
  }
}

static void print_toml(const RecipeOut *out, GString *text) {
  g_autofree char *section = NULL;
  for (guint i = 0; i < out->keys->len; i++) {
    const RecipeOutKey *key = key_at(out, i);
    const char *dot = strrchr(key->path, '.'), *quote = key->quoted ? "\"" : "";
    g_autofree char *own = g_strndup(key->path, dot != NULL ? (gsize)(dot - key->path) : 0);
    if (g_strcmp0(own, section) != 0) {
      g_string_append_printf(text, "%s[%s]\n", i > 0 ? "\n" : "", own);
      g_free(section);
      section = g_steal_pointer(&own);
    }
    g_string_append_printf(text, "%s = %s%s%s\n", dot != NULL ? dot + 1 : key->path, quote, key->value, quote);
  }
}

static void print_script(const RecipeOut *out, const char *program, GString *text) {
  g_string_append_printf(text, "#!/bin/sh\n%s", program);
  for (guint i = 0; i < out->keys->len; i++) {
    const RecipeOutKey *key = key_at(out, i);
    gboolean flag = !key->quoted && strcmp(key->value, "true") == 0;
    g_string_append_printf(text, " \\\n  %s%s%s", key->path, flag ? "" : " ", flag ? "" : key->value);
  }
  g_string_append(text, " \\\n  \"$@\"\n");
}

void recipe_out_print(const RecipeOut *out, RecipeOutForm form, const GPtrArray *remarks, const char *program,
                      GString *text) {
  if (form == RECIPE_OUT_JSON)
    print_json(out, remarks, text);
  else if (form == RECIPE_OUT_YAML)
    print_yaml(out, text);
  else if (form == RECIPE_OUT_TOML)
    print_toml(out, text);
  else
    print_script(out, program, text);
  if (remarks->len > 0 && form != RECIPE_OUT_JSON)
    g_string_append_c(text, '\n');
  for (guint i = 0; i < remarks->len && form != RECIPE_OUT_JSON; i++)
    base_display_append(text, "# %s", (const char *)g_ptr_array_index(remarks, i));
}
