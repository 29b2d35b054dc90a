/* SPDX-License-Identifier: MIT */
/* Features from the identity and the settings of a report. */
#include "trust-case.h"

#include <string.h>

const char *const trust_word_names[TRUST_WORDS + 1] = {
    [TRUST_ARCHITECTURE] = "architecture",
    [TRUST_FRAMEWORK] = "framework",
    [TRUST_BOUND] = "bound_by",
    [TRUST_GPU] = "gpu",
    [TRUST_FAMILY] = "family",
    [TRUST_PRECISION] = "precision",
    [TRUST_ATTENTION] = "attention",
    [TRUST_COMPILE] = "compile",
    [TRUST_OPTIMIZER] = "optimizer",
    [TRUST_CHECKPOINTING] = "activation_checkpointing",
    [TRUST_TRAINABLE] = "trainable",
    [TRUST_STAGE] = "zero_stage",
    [TRUST_SHARDING] = "shard_group",
    [TRUST_OFFLOAD] = "offload",
    [TRUST_NETWORK] = "network",
};

const char *const trust_number_names[TRUST_NUMBERS + 1] = {
    [TRUST_GPUS] = "gpus",
    [TRUST_PARAMETERS] = "parameters",
    [TRUST_SEQUENCE] = "sequence_length",
    [TRUST_TOKENS] = "micro_batch_tokens",
    [TRUST_ACCUMULATION] = "gradient_accumulation",
    [TRUST_TENSOR] = "tensor",
    [TRUST_PIPELINE] = "pipeline",
    [TRUST_CONTEXT] = "context",
    [TRUST_EXPERT] = "expert",
    [TRUST_NETWORK_RATE] = "network_rate",
};

/* Settings that features are read from. Canonical order, so that one walk finds them all. */
typedef enum {
  FAMILY,
  ATTENTION,
  COMPILE,
  OPTIMIZER,
  TRAINABLE,
  SHARDING,
  OFFLOAD_OPTIMIZER,
  OFFLOAD_PARAMETERS,
  TENSOR,
  PIPELINE,
  CONTEXT,
  EXPERT,
  PLATFORM,
  SETTINGS
} Setting;

static const char *const setting_names[SETTINGS] = {
    [FAMILY] = "model.family",
    [ATTENTION] = "training.attention",
    [COMPILE] = "training.compile",
    [OPTIMIZER] = "training.optimizer",
    [TRAINABLE] = "training.trainable",
    [SHARDING] = "parallel.shard_group",
    [OFFLOAD_OPTIMIZER] = "parallel.offload_optimizer",
    [OFFLOAD_PARAMETERS] = "parallel.offload_parameters",
    [TENSOR] = "parallel.tensor",
    [PIPELINE] = "parallel.pipeline",
    [CONTEXT] = "parallel.context",
    [EXPERT] = "parallel.expert",
    [PLATFORM] = "environment.platform",
};

/* Families whose layers do what another's do, but for a bias, a norm of heads or a window: they are validated as
 * one. */
static const char *validated_as(const char *family) {
  static const char *const like_llama[] = {"mistral", "qwen2", "qwen3", "phi3", "mimo", "baichuan", "internlm2", NULL};
  return family != NULL && g_strv_contains(like_llama, family) ? "llama" : family;
}

/* Each from where the last one stood: in canonical order that is one walk. */
static void find_settings(const RunIdentity *identity, const char *ret[SETTINGS]) {
  guint32 at = 0, n = identity->n_settings;
  for (int s = 0; s < SETTINGS; s++) {
    ret[s] = NULL;
    for (guint32 tried = 0; tried < n && ret[s] == NULL; tried++, at = (at + 1) % n)
      if (strcmp(identity->settings[at].name, setting_names[s]) == 0)
        ret[s] = identity->settings[at].value;
  }
}

/* Beginnings of settings that change the step and that no feature tells. What only names a default of the framework
 * (dtypes, versions) is left out, and what moves a step by little: how the optimizer launches, clipping, the
 * allocator. */
static const char *const option_names[] = {
    "model.profile",
    "training.flash_version",
    "training.attention_waits",
    "training.use_cache",
    "training.checkpoint_early_stop",
    "training.paged_states",
    "training.dropout",
    "training.loss",
    "training.fused_kernels",
    "parallel.distributed_debug",
    "ddp.",
    "deepspeed.",
    "fsdp.",
    "megatron.",
    "nanotron.",
    "cluster.slow_",
    "cluster.gpu_spread",
    "fabric.oversubscription",
    "nccl.",
};

static gboolean is_option(const RunSetting *setting) {
  if (setting->usual || strcmp(setting->name, "nccl.version") == 0)
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(option_names); i++)
    if (strncmp(setting->name, option_names[i], strlen(option_names[i])) == 0)
      return TRUE;
  return FALSE;
}

static char **find_options(const RunIdentity *identity) {
  g_autoptr(GPtrArray) options = g_ptr_array_new();
  for (guint32 i = 0; i < identity->n_settings; i++)
    if (is_option(&identity->settings[i]))
      g_ptr_array_add(options, g_strdup_printf("%s=%s", identity->settings[i].name, identity->settings[i].value));
  if (options->len == 0)
    return NULL;
  g_ptr_array_add(options, NULL);
  return (char **)g_ptr_array_steal(options, NULL);
}

const char *trust_case_bound(const RunClass *slowest, double bound_from) {
  SimTime host = slowest->host + slowest->by_cause[RUN_CAUSE_HOST];
  SimTime communication = slowest->exposed - slowest->by_cause[RUN_CAUSE_HOST];
  SimTime most = MAX(MAX(host, communication), slowest->bubble);
  if ((double)most < bound_from * (double)slowest->step || most == 0)
    return "compute";
  return most == host ? "host" : most == communication ? "communication" : "bubble";
}

static char *word(const char *text) {
  return g_strdup(text != NULL ? text : "unknown");
}

/* "layers" of "layers:2", "selective" of "selective (attention)". */
static char *word_before_number(const char *text) {
  return text != NULL ? g_strchomp(g_strndup(text, strcspn(text, ":("))) : word(NULL);
}

static const char *offload(const char *const settings[SETTINGS]) {
  gboolean optimizer = g_strcmp0(settings[OFFLOAD_OPTIMIZER], "cpu") == 0;
  gboolean parameters = g_strcmp0(settings[OFFLOAD_PARAMETERS], "cpu") == 0;
  return optimizer && parameters ? "optimizer and parameters"
         : optimizer             ? "optimizer"
         : parameters            ? "parameters"
                                 : "no";
}

static double degree(const char *text) {
  return text != NULL ? (double)g_ascii_strtoull(text, NULL, 10) : 1;
}

void trust_case_read(const RunReport *report, double bound_from, TrustCase *ret) {
  const RunIdentity *identity = &report->identity;
  const char *settings[SETTINGS];
  find_settings(identity, settings);
  gboolean one_node = identity->nodes == 1;
  *ret = (TrustCase){
      .words =
          {
              [TRUST_ARCHITECTURE] = word(identity->architecture),
              [TRUST_FRAMEWORK] = word(identity->framework),
              [TRUST_BOUND] = word(trust_case_bound(run_report_slowest(report), bound_from)),
              [TRUST_GPU] = word(identity->gpu),
              [TRUST_FAMILY] = word(validated_as(settings[FAMILY])),
              [TRUST_PRECISION] = word(identity->precision),
              [TRUST_ATTENTION] = word(settings[ATTENTION]),
              [TRUST_COMPILE] = word(settings[COMPILE]),
              [TRUST_OPTIMIZER] = word(settings[OPTIMIZER]),
              [TRUST_CHECKPOINTING] = word_before_number(identity->activation_checkpointing),
              [TRUST_TRAINABLE] = word_before_number(settings[TRAINABLE]),
              [TRUST_STAGE] = g_strdup_printf("%u", identity->zero_stage),
              [TRUST_SHARDING] = word(settings[SHARDING]),
              [TRUST_OFFLOAD] = word(offload(settings)),
              [TRUST_NETWORK] = word(one_node ? "none" : settings[PLATFORM]),
          },
      .tensor_over_nodes = degree(settings[TENSOR]) * identity->nodes > identity->gpus,
      .numbers =
          {
              [TRUST_GPUS] = identity->gpus,
              [TRUST_PARAMETERS] = (double)identity->parameters,
              [TRUST_SEQUENCE] = (double)identity->sequence_length,
              [TRUST_TOKENS] = (double)identity->sequence_length * (double)identity->micro_batch,
              [TRUST_ACCUMULATION] = (double)identity->gradient_accumulation,
              [TRUST_TENSOR] = degree(settings[TENSOR]),
              [TRUST_PIPELINE] = degree(settings[PIPELINE]),
              [TRUST_CONTEXT] = degree(settings[CONTEXT]),
              [TRUST_EXPERT] = degree(settings[EXPERT]),
              [TRUST_NETWORK_RATE] = one_node ? 0 : identity->network_rate,
          },
      .options = find_options(identity),
  };
}

void trust_case_clear(TrustCase *one) {
  for (int w = 0; w < TRUST_WORDS; w++)
    g_clear_pointer(&one->words[w], g_free);
  g_clear_pointer(&one->options, g_strfreev);
}

TrustCase trust_case_copy(const TrustCase *one) {
  TrustCase copy = *one;
  for (int w = 0; w < TRUST_WORDS; w++)
    copy.words[w] = g_strdup(one->words[w]);
  copy.options = g_strdupv(one->options);
  return copy;
}

char *trust_number_short(TrustNumber number, double value) {
  if (number == TRUST_PARAMETERS)
    return base_format_large(value);
  if (number == TRUST_NETWORK_RATE)
    return base_format_byte_rate(value);
  return g_strdup_printf("%.0f", value);
}

char *trust_number_shown(TrustNumber number, double value) {
  static const char *const forms[TRUST_NUMBERS] = {
      [TRUST_GPUS] = "%s GPUs",
      [TRUST_PARAMETERS] = "%s parameters",
      [TRUST_SEQUENCE] = "sequences of %s tokens",
      [TRUST_TOKENS] = "%s tokens per GPU and micro-batch",
      [TRUST_ACCUMULATION] = "%s micro-batches a step",
      [TRUST_TENSOR] = "tensor parallelism of %s",
      [TRUST_PIPELINE] = "pipeline parallelism of %s",
      [TRUST_CONTEXT] = "context parallelism of %s",
      [TRUST_EXPERT] = "expert parallelism of %s",
      [TRUST_NETWORK_RATE] = "NICs of %s per GPU",
  };
  g_autofree char *figure = trust_number_short(number, value);
  const char *gap = strstr(forms[number], "%s");
  return g_strdup_printf("%.*s%s%s", (int)(gap - forms[number]), forms[number], figure, gap + 2);
}
