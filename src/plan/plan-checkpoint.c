/* SPDX-License-Identifier: MIT */
/* Reading and applying ways of activation checkpointing. */
#include "plan-checkpoint.h"

#include "base-names.h"

static const char *const kind_names[] = {"none", "full", "attention", "every-2nd-matmul", "layers", "fraction", NULL};
static const char *const plain_names[] = {"none",      "full",     "attention",  "every-2nd-matmul",
                                          "selective", "layers:K", "fraction:F", NULL};
#define LAYERS_PREFIX   "layers:"
#define FRACTION_PREFIX "fraction:"

static gboolean parse_layers(const char *count, PlanCheckpointing *ret, char **ret_fault) {
  guint64 every = 0;
  if (!g_ascii_string_to_unsigned(count, 10, 1, G_MAXUINT32, &every, NULL)) {
    *ret_fault = g_strdup_printf("\"%s\" is not a whole number of layers; layers:2 recomputes every second", count);
    return FALSE;
  }
  *ret = (PlanCheckpointing){.kind = PLAN_CHECKPOINT_LAYERS, .every = every};
  return TRUE;
}

static gboolean parse_fraction(const char *share, PlanCheckpointing *ret, char **ret_fault) {
  char *end = NULL;
  double fraction = g_ascii_strtod(share, &end);
  if (end == share || *end != '\0' || !(fraction >= 0 && fraction <= 1)) {
    *ret_fault =
        g_strdup_printf("\"%s\" is not a share from 0 to 1; fraction:0.5 recomputes half of the layers", share);
    return FALSE;
  }
  *ret = (PlanCheckpointing){.kind = PLAN_CHECKPOINT_FRACTION, .fraction = fraction};
  return TRUE;
}

gboolean plan_checkpointing_parse(const char *text, PlanCheckpointKind selective, PlanCheckpointing *ret,
                                  char **ret_fault) {
  if (g_str_has_prefix(text, LAYERS_PREFIX))
    return parse_layers(text + strlen(LAYERS_PREFIX), ret, ret_fault);
  if (g_str_has_prefix(text, FRACTION_PREFIX))
    return parse_fraction(text + strlen(FRACTION_PREFIX), ret, ret_fault);
  if (g_ascii_strcasecmp(text, "selective") == 0) {
    *ret = (PlanCheckpointing){.kind = (int)selective, .selective = TRUE};
    return TRUE;
  }
  for (int kind = PLAN_CHECKPOINT_NONE; kind < PLAN_CHECKPOINT_LAYERS; kind++)
    if (g_ascii_strcasecmp(text, kind_names[kind]) == 0) {
      *ret = (PlanCheckpointing){.kind = kind};
      return TRUE;
    }
  g_autofree char *advice = base_names_advice(plain_names, text);
  *ret_fault = g_strdup_printf("unknown activation checkpointing \"%s\"%s", text, advice);
  return FALSE;
}

/* fms-fsdp's rule: a block is recomputed when the share of the blocks so far passes the next half. */
static guint64 chosen_before(double fraction, guint32 layers) {
  return (guint64)((double)layers * fraction + 0.5);
}

gboolean plan_checkpointing_whole(const PlanCheckpointing *checkpointing, guint32 layer) {
  switch (checkpointing->kind) {
  case PLAN_CHECKPOINT_FULL:
    return TRUE;
  case PLAN_CHECKPOINT_LAYERS:
    return (layer + 1) % checkpointing->every == 0;
  case PLAN_CHECKPOINT_FRACTION:
    return chosen_before(checkpointing->fraction, layer + 1) > chosen_before(checkpointing->fraction, layer);
  default:
    return FALSE;
  }
}

ModelRecompute plan_checkpointing_of(const PlanCheckpointing *checkpointing, guint32 layer) {
  if (checkpointing->kind == PLAN_CHECKPOINT_ATTENTION)
    return MODEL_RECOMPUTE_ATTENTION;
  if (checkpointing->kind == PLAN_CHECKPOINT_EVERY_2ND_MATMUL)
    return checkpointing->stops ? MODEL_RECOMPUTE_EVERY_2ND_MATMUL_STOPPED : MODEL_RECOMPUTE_EVERY_2ND_MATMUL;
  if (!plan_checkpointing_whole(checkpointing, layer))
    return MODEL_RECOMPUTE_NONE;
  return checkpointing->stops ? MODEL_RECOMPUTE_ALL_STOPPED : MODEL_RECOMPUTE_ALL;
}

char *plan_checkpointing_text(const PlanCheckpointing *checkpointing) {
  const char *name = kind_names[checkpointing->kind];
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  switch (checkpointing->kind) {
  case PLAN_CHECKPOINT_LAYERS:
    return g_strdup_printf(LAYERS_PREFIX "%" G_GUINT64_FORMAT, checkpointing->every);
  case PLAN_CHECKPOINT_FRACTION:
    return g_strdup_printf(FRACTION_PREFIX "%s", g_ascii_formatd(number, sizeof number, "%g", checkpointing->fraction));
  default:
    return checkpointing->selective ? g_strdup_printf("selective (%s)", name) : g_strdup(name);
  }
}
