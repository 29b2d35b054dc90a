/* SPDX-License-Identifier: MIT */
/* The flash attention sections: which GPU, from which rows, and who takes whose figures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit.h"

typedef struct {
  const char *gpu;
  HwFlash flash;
  const char *shared; /* compute capabilities that take these figures too */
  const char *like;   /* few rows: these figures, and rates of its own */
  const char *limit;  /* the same chip under the same limit: whose sustained share */
  HwAttention fitted;
} AttentionCase;

static AttentionCase attentions[] = {
    {"a100-sxm4-80gb", HW_FLASH_2, "sm70 sm80", NULL, NULL, {0}},
    {"a100-pcie-80gb", HW_FLASH_2, NULL, "a100-sxm4-80gb", NULL, {0}},
    {"l40s", HW_FLASH_2, "sm89", NULL, NULL, {0}},
    {"rtx-a6000", HW_FLASH_2, "sm86", "l40s", NULL, {0}},
    {"rtx3090", HW_FLASH_2, NULL, "l40s", NULL, {0}},
    {"rtx4090", HW_FLASH_2, NULL, "l40s", NULL, {0}},
    {"h100-sxm5-80gb", HW_FLASH_2, "sm90", NULL, NULL, {0}},
    {"h20-96gb", HW_FLASH_2, NULL, "h100-sxm5-80gb", NULL, {0}},
    {"rtx-pro-6000", HW_FLASH_2, "sm120", NULL, NULL, {0}},
    {"h200-sxm5-141gb", HW_FLASH_3, NULL, NULL, NULL, {0}},
    {"h100-sxm5-80gb", HW_FLASH_3, "sm90", NULL, "h200-sxm5-141gb", {0}},
    {"h20-96gb", HW_FLASH_3, NULL, "h100-sxm5-80gb", NULL, {0}},
    {"b200-sxm-180gb", HW_FLASH_3, "sm100", NULL, NULL, {0}},
    {"gb200-per-gpu-186gb", HW_FLASH_3, NULL, NULL, NULL, {0}},
    {"gb300-per-gpu-288gb", HW_FLASH_3, "sm103", NULL, NULL, {0}},
};
#define FIRST_CLOCK                                                                                                    \
  (1350.0 / 1410)             /* of A100, to which Triton's test fixes it, of its boost clock (data sheet, 2021) */
#define BACKWARD_ROWS_LEAST 3 /* with fewer, backward is to forward as on A100 */
static const char *const flash_names[] = {"flash2", "flash3"};

static gboolean is_attention(const KernelSample *row, gpointer user) {
  return row->op.kind == KERNEL_ATTENTION && row->op.flash != KERNEL_FLASH_1 &&
         kernel_sample_flash(row) == *(HwFlash *)user && row->op.k <= 128;
}

static double predict_first(const AttentionCase *second, const KernelSample *row, double share) {
  HwGpu gpu = *fit_gpu(second->gpu);
  HwAttention form = second->fitted;
  form.first_forward = form.first_backward = share;
  form.sustained = FIRST_CLOCK;
  gpu.attention[HW_FLASH_2] = gpu.attention[HW_FLASH_3] = &form;
  return kernel_sample_predict(&gpu, row);
}

/* The first FlashAttention's rate, of FlashAttention-2's: a row's time is what the rate leaves alone, and arithmetic /
 * share. */
static double first_share(const AttentionCase *second, KernelPass pass) {
  double sum = 0;
  guint n = 0;
  for (guint i = 0; i < fit_table->len; i++) {
    const KernelSample *row = &g_array_index(fit_table, KernelSample, i);
    if (row->op.flash != KERNEL_FLASH_1 || strcmp(row->gpu, second->gpu) != 0 || row->op.pass != pass)
      continue;
    double whole = predict_first(second, row, 1), arithmetic = predict_first(second, row, 0.5) - whole;
    sum += arithmetic / (row->seconds - (whole - arithmetic));
    n++;
  }
  return sum / n;
}

/* `limited`: the rate that the power limit leaves is sought too, from a matmul's up. */
static void turn_attention_knobs(Fit *fit, gboolean rates_alone, gboolean limited) {
  HwAttention *form = &fit->attention;
  const FitKnob all[] = {
      {&form->forward, 0.1, 1.2, FALSE},
      {&form->backward, 0.1, 1.2, FALSE},
      {&form->fill_forward, 8, 2048, FALSE},
      {&fit->floor_forward, 2, 30, FALSE},
      {&form->narrow_forward, 0.3, 1.1, FALSE},
      {&form->narrow_backward, 0.3, 1.1, FALSE},
      {&form->fill_backward, 8, 2048, FALSE},
      {&fit->floor_backward, 4, 40, FALSE},
      {&form->sustained, form->sustained, 1, FALSE},
  };
  fit->n_knobs = rates_alone ? 2 : limited ? G_N_ELEMENTS(all) : G_N_ELEMENTS(all) - 1;
  memcpy(fit->knobs, all, sizeof all);
}

static AttentionCase *find_attention(const char *gpu, HwFlash flash) {
  for (guint i = 0; gpu != NULL && i < G_N_ELEMENTS(attentions); i++)
    if (strcmp(attentions[i].gpu, gpu) == 0 && attentions[i].flash == flash)
      return &attentions[i];
  return NULL;
}

/* Bursts and long loops of the same kernel tell what the limit leaves of it. */
static gboolean has_both_clocks(const GArray *rows) {
  guint n_sustained = 0;
  for (guint i = 0; i < rows->len; i++)
    n_sustained += g_array_index(rows, KernelSample, i).sustained;
  return n_sustained > 0 && n_sustained < rows->len;
}

/* Kernels that fill the tensor cores meet the power limit as matmuls do, where nothing else was measured;
 * FlashAttention-2 on Hopper does not fill them. */
static double attention_sustained(const AttentionCase *item, const HwGpu *gpu, const HwMatmul *own) {
  if (item->flash == HW_FLASH_2 && gpu->compute_capability >= 90)
    return 1;
  return own != NULL ? own->sustained : 1;
}

/* Of what a burst would do: rows at the clocks that the limit leaves, long loops and bursts of kernels that last.
 * 0: they are too few. */
static double limited_speed(const HwGpu *gpu, const GArray *rows) {
  g_autoptr(GArray) limited = g_array_new(FALSE, FALSE, sizeof(KernelSample));
  for (guint i = 0; i < rows->len; i++) {
    KernelSample row = g_array_index(rows, KernelSample, i);
    if (!row.sustained && row.seconds <= FIT_LASTING_SECONDS)
      continue;
    row.sustained = FALSE;
    g_array_append_val(limited, row);
  }
  return limited->len >= FIT_LASTING_LEAST ? MIN(1, fit_speed(gpu, limited, NULL, 0)) : 0;
}

static void fit_attention(AttentionCase *item, Fit *fit) {
  static const guint64 blocks[] = {64, 128, 256};
  const HwAttention start = {.block = 128,
                             .forward = 0.7,
                             .backward = 0.6,
                             .narrow_forward = 0.85,
                             .narrow_backward = 0.85,
                             .fill_forward = 100,
                             .fill_backward = 200,
                             .first_forward = 1,
                             .first_backward = 1,
                             .bandwidth = 0.9};
  const HwGpu *gpu = fit_gpu(item->gpu);
  fit->gpu = *gpu;
  for (int f = 0; f < HW_FLASHES; f++)
    fit->gpu.attention[f] = &fit->attention;
  fit->rows = fit_choose(item->gpu, is_attention, &item->flash);
  const AttentionCase *like = find_attention(item->like, item->flash);
  double sustained = attention_sustained(item, gpu, gpu->matmul[HW_MATMUL_16BIT]);
  double best = INFINITY, floors[2] = {0};
  HwAttention found = start;
  for (guint b = 0; b < (like != NULL ? 1 : G_N_ELEMENTS(blocks)); b++) {
    fit->attention = like != NULL ? like->fitted : start;
    fit->attention.sustained = sustained;
    fit->floor_forward = like != NULL ? sim_time_to_seconds(like->fitted.floor_forward) * 1e6 : 5;
    fit->floor_backward = like != NULL ? sim_time_to_seconds(like->fitted.floor_backward) * 1e6 : 15;
    if (like == NULL)
      fit->attention.block = blocks[b];
    turn_attention_knobs(fit, like != NULL, has_both_clocks(fit->rows) && sustained < 1);
    double now = fit_search(fit);
    if (now < best) {
      best = now;
      found = fit->attention;
      floors[0] = fit->floor_forward;
      floors[1] = fit->floor_backward;
    }
  }
  fit->attention = found;
  fit->floor_forward = floors[0];
  fit->floor_backward = floors[1];
  fit_apply(fit);
  guint n_backward = 0;
  for (guint i = 0; i < fit->rows->len; i++) {
    const KernelSample *row = &g_array_index(fit->rows, KernelSample, i);
    n_backward += row->both || row->op.pass != KERNEL_FORWARD;
  }
  const AttentionCase *limit = find_attention(item->limit, item->flash), *backward = &attentions[0];
  double limited = limit != NULL ? limit->fitted.sustained : limited_speed(&fit->gpu, fit->rows);
  if (limited > 0 && item->like == NULL)
    fit->attention.sustained = limited;
  if (n_backward < BACKWARD_ROWS_LEAST) {
    fit->attention.backward = backward->fitted.backward * fit->attention.forward / backward->fitted.forward;
    fit->attention.narrow_backward = backward->fitted.narrow_backward;
    fit->attention.fill_backward = backward->fitted.fill_backward;
    fit->floor_backward = sim_time_to_seconds(backward->fitted.floor_backward) * 1e6;
    fit_apply(fit);
  }
  item->fitted = fit->attention;
}

static void print_attention(const char *name, const HwAttention *form, const char *source, const char *text,
                            const char *trust) {
  printf("\n[%s]\nblock = %d\nforward = %.4f\nbackward = %.4f\n", name, (int)form->block, form->forward,
         form->backward);
  printf("narrow_forward = %.3f\nnarrow_backward = %.3f\nfill_forward = %.1f\nfill_backward = %.1f\n",
         form->narrow_forward, form->narrow_backward, form->fill_forward, form->fill_backward);
  printf("first_forward = %.3f\nfirst_backward = %.3f\n", form->first_forward, form->first_backward);
  printf("bandwidth = %.2f\nfloor_forward = %.2f us\nfloor_backward = %.2f us\nsustained = %.3f\n", form->bandwidth,
         sim_time_to_seconds(form->floor_forward) * 1e6, sim_time_to_seconds(form->floor_backward) * 1e6,
         form->sustained);
  printf("source = %s\ntrust = %s\nnote = %s\n", source, trust, text);
}

void fit_print_attentions(void) {
  fputs(
      "# Flash attention by blocks of queries: src/kernel/kernel-attention.c is the form. Written by "
      "tools/fit-kernels from\n"
      "# tests/truth/kernels.csv; change those, not this file.\n"
      "#\n"
      "# block                     queries of a block\n"
      "# forward, backward         share of the GPU's sustained matmul rate (gpus.ini), head dimension 128, short "
      "burst\n"
      "# narrow_forward, _backward rate at head dimension 64, of that at 128\n"
      "# fill_forward, _backward   a block's start and end, as keys\n"
      "# first_forward, _backward  rate of the first FlashAttention in Triton, of this one's: measured on A100 alone\n"
      "#                           (triton-lang/triton test_performance.py, causal, head dimension 64, at 1350 MHz)\n"
      "# bandwidth                 share of the sustained bandwidth\n"
      "# sustained                 rate at the clocks that the power limit leaves, of a burst's: of long loops and of "
      "kernels that\n"
      "#                           last 8 ms, each source counting the same; else as that of matmuls; FlashAttention-2 "
      "on\n"
      "#                           Hopper does not fill the tensor cores and meets no limit\n"
      "#\n"
      "# flash2: FlashAttention-2; flash3: FlashAttention-3 and cuDNN's kernels. [smNN.…]: GPUs without "
      "measurements. V100 has\n"
      "# neither and takes the share that flash2 reaches on A100.\n",
      stdout);
  double first_forward = 1, first_backward = 1;
  for (guint i = 0; i < G_N_ELEMENTS(attentions); i++) {
    AttentionCase *item = &attentions[i];
    Fit fit = {0};
    fit_attention(item, &fit);
    if (i == 0) {
      first_forward = first_share(item, KERNEL_FORWARD);
      first_backward = first_share(item, KERNEL_DGRAD);
    }
    item->fitted.first_forward = first_forward;
    item->fitted.first_backward = first_backward;
    g_autofree char *text = fit_note(&fit), *from = fit_sources(fit.rows);
    g_autofree char *name = g_strdup_printf("%s.%s", item->gpu, flash_names[item->flash]);
    g_autofree char *remarks =
        g_strdup_printf("%s%s%s", text, item->like != NULL ? "; rates alone are its own, the rest is of " : "",
                        item->like != NULL ? item->like : "");
    print_attention(name, &item->fitted, from, remarks, "measured");
    g_auto(GStrv) shared = g_strsplit(item->shared != NULL ? item->shared : "", " ", -1);
    for (guint s = 0; shared[s] != NULL && *shared[s] != '\0'; s++) {
      g_autofree char *other = g_strdup_printf("%s.%s", shared[s], flash_names[item->flash]);
      g_autofree char *why = g_strdup_printf("figures of %s, for GPUs without measurements", item->gpu);
      print_attention(other, &item->fitted, from, why, "derived");
    }
    g_array_unref(fit.rows);
  }
}
