/* Facts as `# key = value` lines. */
#include "program-head.h"

#include <math.h>
#include <string.h>

#include "base-names.h"
#include "kernel-op.h"

typedef enum { TEXT, COUNT, NUMBER, NAME, LIST } FactKind;

typedef struct {
  const char *key;
  FactKind kind;
  gsize offset;
  gboolean needed;
  guint64 least, most; /* COUNT */
  const char *const *names;
  const char *help;
} Fact;

#define FIELD(field) G_STRUCT_OFFSET(ProgramHead, field)
#define ANY          0, G_MAXINT64

/* clang-format off */
static const Fact facts[] = {
    {"foretrain_trace", COUNT, FIELD(version), TRUE, 1, PROGRAM_TRACE_VERSION, NULL, "version of the format: 1"},
    {"workload", TEXT, FIELD(origin.workload), FALSE, ANY, NULL, "what reports and the database call it; left out: the file's name"},
    {"model", TEXT, FIELD(origin.model), FALSE, ANY, NULL, "name of the model"},
    {"parameters", COUNT, FIELD(origin.parameters), FALSE, ANY, NULL, "of the model"},
    {"framework", TEXT, FIELD(origin.framework), FALSE, ANY, NULL, "whose policies it shows"},
    {"zero_stage", COUNT, FIELD(origin.zero_stage), FALSE, 0, 3, NULL, "ZeRO stage, 0 to 3"},
    {"sequence_length", COUNT, FIELD(origin.sequence_length), FALSE, ANY, NULL, "tokens of a sequence"},
    {"micro_batch", COUNT, FIELD(origin.micro_batch), FALSE, ANY, NULL, "sequences per GPU and micro-batch"},
    {"gradient_accumulation", COUNT, FIELD(origin.gradient_accumulation), FALSE, ANY, NULL, "micro-batches per step"},
    {"global_batch", COUNT, FIELD(origin.global_batch), FALSE, ANY, NULL, "sequences per step, all ranks"},
    {"precision", TEXT, FIELD(origin.precision), FALSE, ANY, NULL, "of training"},
    {"activation_checkpointing", TEXT, FIELD(origin.activation_checkpointing), FALSE, ANY, NULL, "what backward recomputes"},
    {"topology", TEXT, FIELD(origin.topology), FALSE, ANY, NULL, "cluster it was made for: nothing depends on it"},
    {"gpu", TEXT, FIELD(origin.gpu), FALSE, ANY, NULL, "GPU of the catalogue whose the durations are; left out: they are kept on any"},
    {"total_tokens", NUMBER, FIELD(origin.total_tokens), FALSE, ANY, NULL, "of the whole training: gives days and price"},
    {"tokens", COUNT, FIELD(tokens), TRUE, ANY, NULL, "per step, all ranks"},
    {"model_flops", NUMBER, FIELD(model_flops), FALSE, ANY, NULL, "per step, all ranks: attention in full, nothing twice"},
    {"hardware_flops", NUMBER, FIELD(hardware_flops), FALSE, ANY, NULL, "per step, all ranks: as executed"},
    {"dtype", NAME, FIELD(dtype), TRUE, ANY, kernel_dtype_names, "of the matmuls: whose peak MFU divides by"},
    {"note", LIST, FIELD(origin.notes), FALSE, ANY, NULL, "an assumption that reports repeat; may stand several times"},
    {"set", LIST, FIELD(origin.settings), FALSE, ANY, NULL, "a setting to play it with, under --set, as in set = nccl.algo = ring; may stand several times"},
};
/* clang-format on */

static void print_value(const Fact *fact, const ProgramHead *head, GString *text) {
  const void *field = (const char *)head + fact->offset;
  g_autofree char *value = NULL;
  switch (fact->kind) {
  case TEXT:
    value = g_strdup(*(char *const *)field);
    break;
  case COUNT:
    if (*(const guint64 *)field > 0 || fact->needed)
      value = g_strdup_printf("%" G_GUINT64_FORMAT, *(const guint64 *)field);
    break;
  case NUMBER:
    if (*(const double *)field > 0)
      value = base_quantity_canonical(*(const double *)field, BASE_UNIT_NONE);
    break;
  case NAME:
    value = g_strdup(fact->names[*(const int *)field]);
    break;
  case LIST:
    for (char *const *item = *(char **const *)field; item != NULL && *item != NULL; item++)
      g_string_append_printf(text, "# %s = %s\n", fact->key, *item);
  }
  if (value != NULL)
    g_string_append_printf(text, "# %s = %s\n", fact->key, value);
}

void program_head_print(const ProgramHead *head, GString *text) {
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    print_value(&facts[i], head, text);
}

static const Fact *find_fact(const char *key) {
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    if (strcmp(facts[i].key, key) == 0)
      return &facts[i];
  return NULL;
}

static void add_item(char ***list, const char *value) {
  guint n = *list != NULL ? g_strv_length(*list) : 0;
  *list = g_renew(char *, *list, n + 2);
  (*list)[n] = g_strdup(value);
  (*list)[n + 1] = NULL;
}

static gboolean read_name(const char *const *names, const char *value, int *ret, const BasePlace *place,
                          GError **error) {
  int index = base_names_find(names, value);
  if (index < 0) {
    g_autofree char *advice = base_names_advice(names, value);
    base_error_set_at(error, place, "no such choice \"%s\"%s", value, advice);
    return FALSE;
  }
  *ret = index;
  return TRUE;
}

static gboolean read_value(const Fact *fact, void *field, const char *value, const BasePlace *place, GError **error) {
  char *end;
  switch (fact->kind) {
  case TEXT:
    g_free(*(char **)field);
    *(char **)field = g_strdup(value);
    return TRUE;
  case COUNT:
    if (g_ascii_isdigit(*value) && g_ascii_string_to_unsigned(value, 10, fact->least, fact->most, field, NULL))
      return TRUE;
    base_error_set_at(error, place,
                      "expected a whole number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ", found \"%s\"",
                      fact->least, fact->most, value);
    return FALSE;
  case NUMBER:
    *(double *)field = g_ascii_strtod(value, &end);
    if (end != value && *end == '\0' && isfinite(*(double *)field) && *(double *)field >= 0)
      return TRUE;
    base_error_set_at(error, place, "expected a number from 0 on, found \"%s\"", value);
    return FALSE;
  case NAME:
    return read_name(fact->names, value, field, place, error);
  default:
    add_item(field, value);
    return TRUE;
  }
}

gboolean program_head_read(ProgramHead *head, const char *key, const char *value, const BasePlace *place,
                           gboolean *ret_known, GError **error) {
  const Fact *fact = find_fact(key);
  *ret_known = fact != NULL;
  return fact == NULL || read_value(fact, (char *)head + fact->offset, value, place, error);
}

gboolean program_head_repeats(const char *key) {
  const Fact *fact = find_fact(key);
  return fact != NULL && fact->kind == LIST;
}

const char *program_head_missing(GHashTable *seen) {
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    if (facts[i].needed && !g_hash_table_contains(seen, facts[i].key))
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
    g_string_append_printf(text, "%-26s %s%s\n", facts[i].key, facts[i].help, facts[i].needed ? " (needed)" : "");
}

void program_origin_clear(ProgramOrigin *origin) {
  char **texts[] = {
      &origin->workload, &origin->model, &origin->framework, &origin->precision, &origin->activation_checkpointing,
      &origin->topology, &origin->gpu};
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    g_free(*texts[i]);
  g_strfreev(origin->notes);
  g_strfreev(origin->settings);
  *origin = (ProgramOrigin){0};
}
