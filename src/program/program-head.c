/* SPDX-License-Identifier: MIT */
/* Facts as `# key = value` lines. */
#include "program-head.h"

#include <math.h>
#include <string.h>

#include "base-display.h"
#include "base-field.h"
#include "base-names.h"
#include "kernel-op.h"

#define FACT(key, kind, member, ...)   BASE_ROW(NULL, key, kind, ProgramHead, member, __VA_ARGS__)
#define TEXT(key, member, help_)       FACT(key, BASE_TEXT, origin.member, .help = help_)
#define LIST(key, member, help_)       FACT(key, BASE_LIST, origin.member, .help = help_)
#define COUNT(key, member, help_, ...) FACT(key, BASE_COUNT, member, .help = help_, __VA_ARGS__)
#define NUMBER(key, member, help_)     FACT(key, BASE_NUMBER, member, .max = INFINITY, .help = help_)

static const BaseField facts[] = {
    COUNT("foretrain_trace", version, "version of the format: 1", .min = 1, .max = PROGRAM_TRACE_VERSION,
          .required = TRUE),
    TEXT("workload", workload, "what reports and the database call it; left out: the file's name"),
    TEXT("model", model, "name of the model"),
    COUNT("parameters", origin.parameters, "of the model"),
    TEXT("framework", framework, "whose policies it shows"),
    COUNT("zero_stage", origin.zero_stage, "ZeRO stage, 0 to 3", .max = 3),
    COUNT("sequence_length", origin.sequence_length, "tokens of a sequence"),
    COUNT("micro_batch", origin.micro_batch, "sequences per GPU and micro-batch"),
    COUNT("gradient_accumulation", origin.gradient_accumulation, "micro-batches per step"),
    COUNT("global_batch", origin.global_batch, "sequences per step, all ranks"),
    TEXT("precision", precision, "of training"),
    TEXT("activation_checkpointing", activation_checkpointing, "what backward recomputes"),
    TEXT("topology", topology, "cluster it was made for: nothing depends on it"),
    TEXT("gpu", gpu, "GPU of the catalogue whose the durations are; left out: they are kept on any"),
    NUMBER("total_tokens", origin.total_tokens, "of the whole training: gives days and price"),
    COUNT("tokens", tokens, "per step, all ranks", .required = TRUE),
    NUMBER("model_flops", model_flops, "per step, all ranks: attention in full, nothing twice"),
    NUMBER("hardware_flops", hardware_flops, "per step, all ranks: as executed"),
    FACT("dtype", BASE_NAME, dtype, .names = kernel_dtype_names, .required = TRUE,
         .help = "of the matmuls: whose peak MFU divides by"),
    LIST("note", notes, "an assumption that reports repeat; may stand several times"),
    LIST("set", settings,
         "a setting to play it with, under --set, as in set = nccl.algo = ring; may stand several times"),
};

/* Counts and numbers of 0 say nothing, unless they must be there. */
static gboolean is_empty(const BaseField *fact, const char *value) {
  return value == NULL || (!fact->required && base_kind_is_number(fact->kind) && strcmp(value, "0") == 0);
}

static void print_fact(const BaseField *fact, const ProgramHead *head, GString *text) {
  if (fact->kind == BASE_LIST) {
    const char *const *items = *(const char *const *const *)((const char *)head + fact->offset);
    for (; items != NULL && *items != NULL; items++)
      base_display_append(text, "# %s = %s", fact->key, *items);
    return;
  }
  g_autofree char *value = base_field_print(fact, head);
  if (!is_empty(fact, value))
    base_display_append(text, "# %s = %s", fact->key, value);
}

void program_head_print(const ProgramHead *head, GString *text) {
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    print_fact(&facts[i], head, text);
}

gboolean program_head_read(ProgramHead *head, const char *key, const char *value, const BasePlace *place,
                           gboolean *ret_known, GError **error) {
  const BaseField *fact = base_fields_find(facts, G_N_ELEMENTS(facts), key);
  *ret_known = fact != NULL;
  if (fact == NULL || base_field_read(fact, value, head, error))
    return TRUE;
  base_error_prefix_at(error, place);
  return FALSE;
}

gboolean program_head_repeats(const char *key) {
  const BaseField *fact = base_fields_find(facts, G_N_ELEMENTS(facts), key);
  return fact != NULL && fact->kind == BASE_LIST;
}

const char *program_head_missing(GHashTable *seen) {
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    if (facts[i].required && !g_hash_table_contains(seen, facts[i].key))
      return facts[i].key;
  return NULL;
}

char *program_head_advice(const char *key) {
  const char *names[G_N_ELEMENTS(facts) + 5] = {"streams", "pool.STREAM", "role.NAME", "communicator.NAME"};
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    names[i + 4] = facts[i].key;
  return base_names_advice(names, key);
}

void program_head_reference(GString *text) {
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    g_string_append_printf(text, "%-26s %s%s\n", facts[i].key, facts[i].help, facts[i].required ? " (needed)" : "");
}

void program_head_key_json(const char *key, const char *help, gboolean required, BaseJson *json) {
  base_json_map(json, NULL);
  base_json_text(json, "key", key);
  base_json_text(json, "meaning", help);
  base_json_integer(json, "required", required);
  base_json_end(json);
}

void program_head_reference_json(BaseJson *json) {
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    program_head_key_json(facts[i].key, facts[i].help, facts[i].required, json);
}

void program_origin_clear(ProgramOrigin *origin) {
  ProgramHead head = {.origin = *origin};
  base_fields_clear(facts, G_N_ELEMENTS(facts), &head);
  *origin = (ProgramOrigin){0};
}
