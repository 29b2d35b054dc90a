/* SPDX-License-Identifier: MIT */
/* The memory-bound sections: shares of the sustained bandwidth, measured directly. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit.h"

/* Memory-bound kernels: a share of the sustained bandwidth is measured directly, (bytes / (time - floors)) / bandwidth,
 * and its median taken over the rows of a kind and direction. */
typedef struct {
  const char *key;
  KernelKind kind;
  gboolean any_pass;
  KernelPass pass;
  double recalled; /* where nothing was measured on any GPU */
} MemoryKey;

static const MemoryKey memory_keys[] = {
    {"stream", KERNEL_MEMORY, TRUE, KERNEL_FORWARD, 0.95},
    {"norm_forward", KERNEL_NORM, FALSE, KERNEL_FORWARD, 0.7},
    {"norm_backward", KERNEL_NORM, FALSE, KERNEL_DGRAD, 0.7},
    {"rotary", KERNEL_ROTARY, TRUE, KERNEL_FORWARD, 0.5},
    {"softmax_forward", KERNEL_SOFTMAX, FALSE, KERNEL_FORWARD, 0.6},
    {"softmax_backward", KERNEL_SOFTMAX, FALSE, KERNEL_DGRAD, 0.6},
    {"loss_forward", KERNEL_LOSS, FALSE, KERNEL_FORWARD, 0.5},
    {"loss_backward", KERNEL_LOSS, FALSE, KERNEL_DGRAD, 0.5},
    {"gather", KERNEL_GATHER, TRUE, KERNEL_FORWARD, 0.5},
    {"optimizer", KERNEL_OPTIMIZER, TRUE, KERNEL_FORWARD, 0.85},
    {"reduction", KERNEL_REDUCTION, TRUE, KERNEL_FORWARD, 0.7},
};

static double measured_share(const char *name, const MemoryKey *key, GString *text, GHashTable *seen) {
  const HwGpu *gpu = fit_gpu(name);
  g_autofree double *shares = g_new(double, fit_table->len);
  guint n = 0;
  for (guint i = 0; i < fit_table->len; i++) {
    KernelSample *row = &g_array_index(fit_table, KernelSample, i);
    if (strcmp(row->gpu, name) != 0 || row->op.kind != key->kind || row->both ||
        (!key->any_pass && row->op.pass != key->pass))
      continue;
    double floors = kernel_launches(&row->op) * sim_time_to_seconds(gpu->kernel_floor);
    if (row->seconds > 2 * floors) {
      shares[n++] = (double)row->op.bytes / (row->seconds - floors) / gpu->memory_bandwidth_sustained;
      g_hash_table_add(seen, row->source);
    }
  }
  if (n == 0)
    return 0;
  double share = kernel_quantile(shares, n, 0.5);
  g_string_append_printf(text, "%s%s of %u rows", text->len > 0 ? ", " : "", key->key, n);
  return share;
}

void fit_print_memories(void) {
  fputs("# Memory-bound kernels: time = launches x kernel_floor + bytes moved / (share x sustained bandwidth), both of "
        "gpus.ini.\n"
        "# Written by tools/fit-kernels from tests/truth/kernels.csv; change those, not this file.\n"
        "#\n"
        "# stream     elementwise kernels and copies over whole tensors\n"
        "# norm       layer and RMS norms as PyTorch runs them, fp32 inside; rotary: eager rotary embedding, slices "
        "and copies\n"
        "# loss       log-softmax and its gradient over a vocabulary; gather: rows of an embedding\n"
        "# bandwidth  sustained by the GPU on which these were measured: what norms, rotary embeddings and losses take "
        "beyond\n"
        "#            their bytes' way is their SMs' time, as long on a GPU of the same kind with another memory\n"
        "# optimizer  many tensors in, many out; reduction: their norm. Not in the table: 0.85 and 0.7 recalled\n"
        "#\n"
        "# A share that was not measured on a GPU is the median of the GPUs on which it was.\n",
        stdout);
  static const char *const gpus[][2] = {{"v100-sxm2-32gb", "sm70"},  {"a100-sxm4-80gb", "sm80"},
                                        {"a100-pcie-80gb", NULL},    {"l4", NULL},
                                        {"l40s", "sm86 sm89 sm120"}, {"h100-sxm5-80gb", "sm90"},
                                        {"h100-nvl-94gb", NULL},     {"b200-sxm-180gb", "sm100 sm103"}};
  double shares[G_N_ELEMENTS(gpus)][G_N_ELEMENTS(memory_keys)];
  GString *texts[G_N_ELEMENTS(gpus)];
  GHashTable *seen[G_N_ELEMENTS(gpus)];
  for (guint g = 0; g < G_N_ELEMENTS(gpus); g++) {
    texts[g] = g_string_new(NULL);
    seen[g] = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint k = 0; k < G_N_ELEMENTS(memory_keys); k++)
      shares[g][k] = measured_share(gpus[g][0], &memory_keys[k], texts[g], seen[g]);
  }
  for (guint k = 0; k < G_N_ELEMENTS(memory_keys); k++) {
    double known[G_N_ELEMENTS(gpus)];
    guint n = 0;
    for (guint g = 0; g < G_N_ELEMENTS(gpus); g++)
      if (shares[g][k] > 0)
        known[n++] = shares[g][k];
    double usual = n > 0 ? kernel_quantile(known, n, 0.5) : memory_keys[k].recalled;
    for (guint g = 0; g < G_N_ELEMENTS(gpus); g++)
      shares[g][k] = shares[g][k] > 0 ? shares[g][k] : usual;
  }
  for (guint g = 0; g < G_N_ELEMENTS(gpus); g++) {
    g_autofree char *names =
        g_strdup_printf("%s%s%s", gpus[g][0], gpus[g][1] != NULL ? " " : "", gpus[g][1] != NULL ? gpus[g][1] : "");
    g_auto(GStrv) sections = g_strsplit(names, " ", -1);
    g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(seen[g]), (GCompareFunc)strcmp);
    g_autoptr(GPtrArray) listed = g_ptr_array_new();
    for (GList *key = keys; key != NULL; key = key->next)
      g_ptr_array_add(listed, key->data);
    g_autofree char *from = fit_cite(listed);
    for (guint s = 0; sections[s] != NULL; s++) {
      printf("\n[%s.memory]\nbandwidth = %.0f GB/s\n", sections[s],
             fit_gpu(gpus[g][0])->memory_bandwidth_sustained / 1e9);
      for (guint k = 0; k < G_N_ELEMENTS(memory_keys); k++)
        printf("%s = %.3f\n", memory_keys[k].key, shares[g][k]);
      if (s == 0)
        printf("source = %s\ntrust = measured\nnote = measured: %s\n", from, texts[g]->str);
      else
        printf("source = %s\ntrust = derived\nnote = shares of %s, for GPUs without measurements\n", from, gpus[g][0]);
    }
    g_string_free(texts[g], TRUE);
    g_hash_table_unref(seen[g]);
  }
}
