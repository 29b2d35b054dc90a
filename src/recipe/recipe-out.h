/* SPDX-License-Identifier: MIT */
/* A recipe as it is written: keys with dots in them, in the order of the file, and the form that a tool reads. Private
 * to this floor.
 *
 *   g_autoptr(RecipeOut) out = recipe_out_new(settings);
 *   recipe_out_say(out, "zero_optimization.stage", "3");        // 3
 *   recipe_out_text(out, "optimizer.type", "AdamW");            // "AdamW", where the form quotes
 *   recipe_out_print(out, RECIPE_OUT_JSON, remarks, text);
 *
 * Keys of one group stand together. Remarks are comments; JSON has none, and gets a list under "_comment", which tools
 * that read JSON leave unread. */
#pragma once

#include "conf-settings.h"

typedef enum { RECIPE_OUT_JSON, RECIPE_OUT_YAML, RECIPE_OUT_TOML, RECIPE_OUT_SCRIPT } RecipeOutForm;

typedef struct {
  char *path, *value;
  gboolean quoted;
} RecipeOutKey;

typedef struct {
  const ConfSettings *settings;
  GPtrArray *keys; /* RecipeOutKey */
} RecipeOut;

RecipeOut *recipe_out_new(const ConfSettings *settings);
void recipe_out_free(RecipeOut *out);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RecipeOut, recipe_out_free)

/* A number, a flag (true, false) or a whole list as the form has it. */
void recipe_out_say(RecipeOut *out, const char *path, const char *value);
void recipe_out_text(RecipeOut *out, const char *path, const char *value);
/* The setting's value, where somebody gave it: a number; a flag as true or false. */
void recipe_out_given(RecipeOut *out, const char *path, const char *setting);
void recipe_out_given_flag(RecipeOut *out, const char *path, const char *setting);

/* The setting has this value. */
gboolean recipe_out_is(const RecipeOut *out, const char *setting, const char *value);
/* Its value as a whole number; 0 where it has none. */
guint64 recipe_out_count(const RecipeOut *out, const char *setting);

/* `remarks`: lines of a comment at the end. Of a script keys are the arguments of `program`, one that is "true" a mere
 * switch. Appends. */
void recipe_out_print(const RecipeOut *out, RecipeOutForm form, const GPtrArray *remarks, const char *program,
                      GString *text);
