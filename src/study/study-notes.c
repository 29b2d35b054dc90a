/* SPDX-License-Identifier: MIT */
/* What a walk assumes, in words. */
#include <string.h>

#include "kernel-time.h"
#include "model-samples.h"
#include "plan.h"
#include "study-recipe.h"
#include "study-walk.h"

static void note(GPtrArray *notes, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void note(GPtrArray *notes, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(notes, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

static void note_trust(GPtrArray *notes, const char *name, int trust) {
  if (trust == HW_TRUST_RECALLED || trust == HW_TRUST_DERIVED)
    note(notes, "figures of %s are %s, not measured", name, hw_trust_names[trust]);
}

static gboolean adapts_experts(const StudyWalk *walk) {
  static const char *const linears[] = {"gate_proj", "up_proj", "down_proj"};
  gboolean any = FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(linears); i++)
    any |= model_lora_adapts_experts(&walk->model_recipe.lora, &walk->shape, linears[i]);
  return any;
}

/* Of a decoder beside an encoder, what nobody said. */
static void note_stacks(GPtrArray *notes, const StudyWalk *walk) {
  if (walk->shape.encoder_layers == 0)
    return;
  if (!conf_settings_given(walk->settings, "training.decoder_length"))
    note(notes, "training.decoder_length is not stated: %" G_GUINT64_FORMAT " tokens, as training.sequence_length",
         walk->model_recipe.decoder_length);
  if (!conf_settings_given(walk->settings, "training.attention"))
    note(notes, "attention is eager: no flash kernel adds the bias of %s to its scores", walk->shape.name);
}

/* What the Program of a workload leaves out. */
static void note_program(GPtrArray *notes, const StudyWalk *walk) {
  static const char *const kernels[] = {
      [MODEL_KERNELS_EAGER] = "norms, rotary embedding and activations run as separate kernels, as without fusion",
      [MODEL_KERNELS_FUSED] = "norms, rotary embedding, activations, masked softmax and dropout run as one kernel each",
      [MODEL_KERNELS_NORMS] = "norms and rotary embedding run as one kernel each, activations as separate ones",
      [MODEL_KERNELS_RMS_NORM] = "norms run as one kernel each, rotary embedding and activations as separate ones",
      [MODEL_KERNELS_LIGER] =
          "norms, rotary embedding and gated activations run as one kernel each, in place (Liger-Kernel)"};
  note(notes, "%s", kernels[walk->model_recipe.kernels]);
  if (walk->shape.dropout > 0 && walk->model_recipe.dropout == walk->shape.dropout)
    note(notes, "dropout %g everywhere is the largest of config.json; training.dropout = 0 leaves it out",
         walk->shape.dropout);
  if (!conf_settings_given(walk->settings, "training.micro_batch") &&
      !conf_settings_given(walk->settings, "training.global_batch"))
    note(notes, "no batch is stated: one sequence per GPU");
  else if (!conf_settings_given(walk->settings, "training.micro_batch") &&
           !conf_settings_given(walk->settings, "training.gradient_accumulation"))
    note(notes,
         "no micro-batch is stated: one sequence per GPU at a time, accumulated %" G_GUINT64_FORMAT
         " times to the global batch",
         walk->recipe.gradient_accumulation);
  note_stacks(notes, walk);
  char *samples = model_samples_note(&walk->model_recipe);
  if (samples != NULL)
    g_ptr_array_add(notes, samples);
  if (walk->model_recipe.lora.rank > 0 && walk->shape.experts > 0)
    note(notes, "%s",
         adapts_experts(walk) ? "adapters stand beside each expert's layers too, none beside routers"
                              : "adapters stand beside attention and dense MLPs alone, none in experts");
  if (walk->model_recipe.sequence_length % 1000 == 0)
    note(notes, "the sequence length is %" G_GUINT64_FORMAT ": \"4k\" is 4000, and 4096 is written out",
         walk->model_recipe.sequence_length);
  if (walk->tool_recipe != NULL)
    g_ptr_array_add(notes, study_recipe_note(walk->tool_recipe, &walk->recipe, walk->settings));
  for (char **assumed = walk->shape.assumed; assumed != NULL && *assumed != NULL; assumed++)
    note(notes, "%s", *assumed);
  plan_notes(&walk->recipe, notes);
  if (walk->recipe.zero_stage > 0 && walk->recipe.ranks > 1)
    note(notes, "shards differ by padding at most: every rank plays the largest");
}

static void note_paged(GPtrArray *notes, const HwCluster *cluster, const RunReport *report) {
  gboolean stated = cluster->host_link != NULL && cluster->host_link->managed > 0;
  if (report->paged == 0)
    return;
  g_autofree char *rate = stated ? base_format_byte_rate(cluster->host_link->managed) : NULL;
  g_autofree char *time =
      stated ? base_format_time(sim_time_of_amount((double)report->paged, cluster->host_link->managed)) : NULL;
  if (report->paged_host > 0)
    note(
        notes,
        "paged states move in and out at %s, %s of each step: all of them, for the driver evicts what came longest ago",
        rate, time);
  else if (stated)
    note(notes, "paged states have room on the GPU and stay there");
  else
    note(notes, "paged states stay on the GPU: [host] link says no rate at which they would move to the host");
}

/* Why an oversubscribed spine may cost little or nothing. */
static void note_spine(GPtrArray *notes, const HwCluster *cluster) {
  if (cluster->fabric == HW_FABRIC_SINGLE_SWITCH || cluster->oversubscription <= 1)
    return;
  if (cluster->nodes <= cluster->nodes_per_leaf)
    note(notes,
         "the spine is oversubscribed, but all %u nodes are under the same leaves (of %u nodes): nothing crosses it",
         cluster->nodes, cluster->nodes_per_leaf);
  else
    note(notes, "nodes are placed leaf by leaf and alone on the fabric, so that few transfers cross the spine");
}

/* What playing any Program leaves out. */
void study_walk_note_play(GPtrArray *notes, const StudyWalk *walk, const RunReport *report) {
  const HwCluster *cluster = walk->cluster;
  g_autofree char *basis = walk->shape.profile != NULL
                               ? g_strdup_printf("layers take the times of %s", walk->shape.profile)
                               : kernel_basis(cluster->gpu);
  note(notes, "%s; %s", basis,
       walk->contention
           ? "they slow down beside collectives, by the SMs and memory bandwidth that these take, and beside "
             "each other"
           : "compute does not slow down beside communication");
  note_paged(notes, cluster, report);
  note_spine(notes, cluster);
  if (cluster->slowest > 0)
    note(notes, "kernels take %.1f %% longer than on a typical GPU: the expected slowest of %u, for whom all wait",
         100 * cluster->slowest, hw_cluster_gpus(cluster));
  note(notes,
       "memory is as PyTorch's caching allocator holds it%s; where it gives its cache back the host waits for all "
       "streams",
       walk->memory.expandable_segments ? ", in expandable segments" : "");
  note(notes, "collectives are NCCL's, in %s fidelity", walk->fidelity);
  if (!walk->library->exact) {
    g_autofree char *table = g_path_get_basename(walk->library->table);
    note(notes, "the tuning table of NCCL %s is not shipped: %s chooses, the nearest older", walk->knobs.version,
         table);
  }
  note_trust(notes, cluster->gpu->name, cluster->gpu->trust);
  if (cluster->gpus_per_node > 1)
    note_trust(notes, cluster->intra->name, cluster->intra->trust);
  if (cluster->nodes > 1) {
    note_trust(notes, cluster->nic->name, cluster->nic->trust);
    note_trust(notes, cluster->platform->name, cluster->platform->trust);
  }
  if (!report->repeats)
    note(notes, "the steps had not settled when play stopped: the last one played is shown");
}

char **study_walk_notes(const StudyWalk *walk) {
  GPtrArray *notes = g_ptr_array_new();
  note_program(notes, walk);
  g_ptr_array_add(notes, NULL);
  return (char **)g_ptr_array_free(notes, FALSE);
}

/* Those of the Program, then those of the play; takes both. */
char **study_walk_join(char **first, char **then) {
  guint n = first != NULL ? g_strv_length(first) : 0, m = g_strv_length(then);
  char **all = g_renew(char *, first, n + m + 1);
  memcpy(all + n, then, (m + 1) * sizeof *then);
  g_free(then);
  return all;
}
