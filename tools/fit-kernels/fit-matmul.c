/* SPDX-License-Identifier: MIT */
/* The matmul sections: which GPU, from which rows, and who takes whose figures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit.h"

#define SMALLEST_M    128
#define SHORTEST_TOLD 1024 /* of a matmul whose speed tells anything: the least of its three extents */

typedef struct {
  const char *gpu;
  HwMatmulDtype dtype;
  const char *shared; /* the compute capability that takes these figures too; NULL: none */
  const char *like;   /* few rows: figures of this fit, and a rate of its own */
  const char *passes; /* whose dgrad and wgrad, where it has none measured */
  const char *limit;  /* whose sustained share, where it has none measured */
  HwMatmul fitted;
} MatmulCase;

static MatmulCase matmuls[] = {
    {"a100-pcie-80gb", HW_MATMUL_16BIT, NULL, NULL, NULL, NULL, {0}},
    {"v100-sxm2-32gb", HW_MATMUL_16BIT, "sm70", NULL, "a100-pcie-80gb", NULL, {0}},
    {"a100-sxm4-80gb", HW_MATMUL_16BIT, "sm80", NULL, "a100-pcie-80gb", NULL, {0}},
    {"rtx-a6000", HW_MATMUL_16BIT, "sm86", NULL, "a100-pcie-80gb", NULL, {0}},
    {"rtx3090", HW_MATMUL_16BIT, NULL, "rtx-a6000", "a100-pcie-80gb", NULL, {0}},
    {"l40s", HW_MATMUL_16BIT, "sm89", NULL, "a100-pcie-80gb", NULL, {0}},
    {"rtx4090", HW_MATMUL_16BIT, NULL, "l40s", "a100-pcie-80gb", "rtx4090", {0}},
    {"h200-sxm5-141gb", HW_MATMUL_16BIT, NULL, NULL, "a100-pcie-80gb", NULL, {0}},
    {"h100-sxm5-80gb", HW_MATMUL_16BIT, "sm90", NULL, "a100-pcie-80gb", NULL, {0}},
    {"b200-sxm-180gb", HW_MATMUL_16BIT, "sm100", NULL, NULL, NULL, {0}},
    {"gb200-per-gpu-186gb", HW_MATMUL_16BIT, NULL, NULL, "b200-sxm-180gb", NULL, {0}},
    {"b300-sxm-288gb", HW_MATMUL_16BIT, "sm103", NULL, "b200-sxm-180gb", "gb200-per-gpu-186gb", {0}},
    {"gb300-per-gpu-288gb", HW_MATMUL_16BIT, NULL, NULL, "b200-sxm-180gb", "gb200-per-gpu-186gb", {0}},
    {"rtx-pro-6000", HW_MATMUL_16BIT, "sm120", NULL, "a100-pcie-80gb", NULL, {0}},
    {"l40s", HW_MATMUL_FP8, "sm89", NULL, "a100-pcie-80gb", "l40s", {0}},
    {"h200-sxm5-141gb", HW_MATMUL_FP8, NULL, NULL, "a100-pcie-80gb", NULL, {0}},
    {"h100-sxm5-80gb", HW_MATMUL_FP8, "sm90", NULL, "a100-pcie-80gb", NULL, {0}},
    {"b200-sxm-180gb", HW_MATMUL_FP8, "sm100", NULL, "b200-sxm-180gb", "b200-sxm-180gb", {0}},
    {"gb200-per-gpu-186gb", HW_MATMUL_FP8, NULL, NULL, "b200-sxm-180gb", "gb200-per-gpu-186gb", {0}},
    {"b300-sxm-288gb", HW_MATMUL_FP8, "sm103", NULL, "b200-sxm-180gb", "gb200-per-gpu-186gb", {0}},
    {"rtx-pro-6000", HW_MATMUL_FP8, "sm120", NULL, "a100-pcie-80gb", "rtx-pro-6000", {0}},
    {"v100-sxm2-32gb", HW_MATMUL_FP32, "sm70", NULL, NULL, NULL, {0}},
    {"a100-pcie-80gb", HW_MATMUL_FP32, "sm80", NULL, NULL, NULL, {0}},
    {"l4", HW_MATMUL_FP32, "sm86 sm89 sm120", NULL, NULL, NULL, {0}},
    {"h100-sxm5-80gb", HW_MATMUL_FP32, "sm90 sm100 sm103", NULL, NULL, NULL, {0}},
};
static const char *const matmul_names[] = {"fp32", "16bit", "fp8"};

static HwMatmulDtype form_of(KernelDtype dtype) {
  return dtype == KERNEL_FP32 ? HW_MATMUL_FP32 : dtype == KERNEL_FP8 ? HW_MATMUL_FP8 : HW_MATMUL_16BIT;
}

typedef struct {
  HwMatmulDtype dtype;
  gboolean sustained, lengthy;
  KernelPass pass;
} MatmulWish;

static gboolean is_matmul(const KernelSample *row, gpointer user) {
  const MatmulWish *wish = user;
  return row->op.kind == KERNEL_MATMUL && form_of(row->op.dtype) == wish->dtype && row->op.pass == wish->pass &&
         row->op.m >= SMALLEST_M && row->sustained == wish->sustained &&
         (row->sustained || wish->dtype == HW_MATMUL_FP32 || (row->seconds > KERNEL_LONG_SECONDS) == wish->lengthy);
}

static MatmulCase *find_matmul(const char *gpu, HwMatmulDtype dtype) {
  for (guint i = 0; i < G_N_ELEMENTS(matmuls); i++)
    if (strcmp(matmuls[i].gpu, gpu) == 0 && matmuls[i].dtype == dtype)
      return &matmuls[i];
  return NULL;
}

static void fit_passes(MatmulCase *item, Fit *fit) {
  HwMatmul *form = &fit->matmul;
  if (item->passes != NULL || item->dtype == HW_MATMUL_FP32) {
    const MatmulCase *donor = item->passes != NULL ? find_matmul(item->passes, HW_MATMUL_16BIT) : NULL;
    form->dgrad = donor != NULL ? donor->fitted.dgrad : 1;
    form->wgrad = donor != NULL ? donor->fitted.wgrad : 1;
    return;
  }
  MatmulWish wish = {item->dtype, TRUE, FALSE, KERNEL_FORWARD};
  double speeds[KERNEL_PASSES];
  wish.pass = KERNEL_DGRAD;
  g_autoptr(GArray) backward = fit_choose(item->gpu, is_matmul, &wish);
  const char *source = g_array_index(backward, KernelSample, 0).source;
  for (wish.pass = KERNEL_FORWARD; wish.pass < KERNEL_PASSES; wish.pass++) {
    g_autoptr(GArray) rows = fit_choose(item->gpu, is_matmul, &wish);
    speeds[wish.pass] = fit_speed(&fit->gpu, rows, source, SHORTEST_TOLD);
  }
  form->dgrad = MIN(1, speeds[KERNEL_DGRAD] / speeds[KERNEL_FORWARD]);
  form->wgrad = MIN(1, speeds[KERNEL_WGRAD] / speeds[KERNEL_FORWARD]);
}

/* Of the longest of `lengthy` alone; 1: they are too few. */
static double lasting_speed(const HwGpu *gpu, const GArray *lengthy) {
  g_autoptr(GArray) lasting = g_array_new(FALSE, FALSE, sizeof(KernelSample));
  for (guint i = 0; i < lengthy->len; i++)
    if (g_array_index(lengthy, KernelSample, i).seconds > FIT_LASTING_SECONDS)
      g_array_append_val(lasting, g_array_index(lengthy, KernelSample, i));
  return lasting->len >= FIT_LASTING_LEAST ? fit_speed(gpu, lasting, NULL, SHORTEST_TOLD) : 1;
}

static void fit_sustained(const MatmulCase *item, Fit *fit, gboolean base_sustained) {
  HwMatmul *form = &fit->matmul;
  const MatmulCase *donor = item->limit != NULL ? find_matmul(item->limit, HW_MATMUL_16BIT) : NULL;
  form->sustained = donor != NULL && donor != item ? donor->fitted.sustained : 1;
  if (item->limit != NULL || base_sustained || item->dtype == HW_MATMUL_FP32)
    return;
  MatmulWish wish = {item->dtype, TRUE, FALSE, KERNEL_FORWARD};
  g_autoptr(GArray) rows = fit_choose(item->gpu, is_matmul, &wish);
  wish.sustained = FALSE;
  wish.lengthy = TRUE;
  g_autoptr(GArray) lengthy = fit_choose(item->gpu, is_matmul, &wish);
  double found = fit_speed(&fit->gpu, rows->len > 0 ? rows : lengthy, NULL, SHORTEST_TOLD);
  form->sustained = MIN(found > 0 ? MIN(1, found) : 1, lasting_speed(&fit->gpu, lengthy));
}

static void turn_knobs(Fit *fit, gboolean rate_alone, gboolean few) {
  HwMatmul *form = &fit->matmul;
  const FitKnob all[] = {
      {&form->rate, 0.3, 1.4, FALSE},  {&form->bandwidth, 0.2, 1.2, FALSE}, {&fit->floor_forward, 1, 20, FALSE},
      {&form->fill, 16, 512, FALSE},   {&form->quantum, 0, 1, TRUE},        {&form->half, 0.5, 1, FALSE},
      {&form->quarter, 0.3, 1, FALSE}, {&form->serial, 0, 1, TRUE},         {&form->split, 0.2, 8, FALSE},
  };
  fit->n_knobs = rate_alone ? 3 : few ? 5 : G_N_ELEMENTS(all);
  memcpy(fit->knobs, all, sizeof all);
}

static void fit_matmul(MatmulCase *item, Fit *fit) {
  static const guint64 tiles[][2] = {{128, 256}, {256, 128}, {128, 128}, {256, 256}, {192, 128}, {256, 192}};
  const HwMatmul start = {.tile_m = 128,
                          .tile_n = 256,
                          .rate = 0.95,
                          .half = 0.95,
                          .quarter = 0.8,
                          .fill = 100,
                          .quantum = 0.7,
                          .split = 1,
                          .bandwidth = 0.9,
                          .serial = 0.1,
                          .dgrad = 1,
                          .wgrad = 1,
                          .sustained = 1};
  fit->gpu = *fit_gpu(item->gpu);
  for (int d = 0; d < HW_MATMUL_DTYPES; d++)
    fit->gpu.matmul[d] = &fit->matmul;
  static const HwMemory streams = {.stream = 0.9};
  fit->gpu.memory = &streams;
  MatmulWish wish = {item->dtype, FALSE, FALSE, KERNEL_FORWARD};
  fit->rows = fit_choose(item->gpu, is_matmul, &wish);
  gboolean base_sustained = fit->rows->len == 0;
  wish.sustained = base_sustained;
  if (base_sustained) {
    g_array_unref(fit->rows);
    fit->rows = fit_choose(item->gpu, is_matmul, &wish);
  }
  const MatmulCase *like = item->like != NULL ? find_matmul(item->like, item->dtype) : NULL;
  double best = INFINITY;
  HwMatmul found = start;
  double found_floor = 3;
  for (guint t = 0; t < (like != NULL ? 1 : G_N_ELEMENTS(tiles)); t++) {
    fit->matmul = like != NULL ? like->fitted : start;
    fit->matmul.sustained = 1;
    fit->floor_forward = like != NULL ? sim_time_to_seconds(like->fitted.floor) * 1e6 : 3;
    if (like == NULL) {
      fit->matmul.tile_m = tiles[t][0];
      fit->matmul.tile_n = tiles[t][1];
    }
    turn_knobs(fit, like != NULL, fit->rows->len < 20);
    double now = fit_search(fit);
    if (now < best) {
      best = now;
      found = fit->matmul;
      found_floor = fit->floor_forward;
    }
  }
  fit->matmul = found;
  fit->floor_forward = found_floor;
  fit_apply(fit);
  fit_sustained(item, fit, base_sustained);
  fit_passes(item, fit);
  item->fitted = fit->matmul;
}

static void print_matmul(const char *name, const HwMatmul *form, const char *source, const char *text,
                         const char *trust) {
  printf("\n[%s]\ntile_m = %d\ntile_n = %d\n", name, (int)form->tile_m, (int)form->tile_n);
  printf("rate = %.4f\nhalf_tile = %.3f\nquarter_tile = %.3f\nfill = %.0f\nquantum = %.3f\nsplit = %.3f\n", form->rate,
         form->half, form->quarter, form->fill, form->quantum, form->split);
  printf("bandwidth = %.3f\nserial = %.3f\nfloor = %.2f us\ndgrad = %.3f\nwgrad = %.3f\nsustained = %.3f\n",
         form->bandwidth, form->serial, sim_time_to_seconds(form->floor) * 1e6, form->dgrad, form->wgrad,
         form->sustained);
  printf("source = %s\ntrust = %s\nnote = %s\n", source, trust, text);
}

void fit_print_matmuls(void) {
  fputs(
      "# Matmuls by tiles and waves: src/kernel/kernel-matmul.c is the form. Written by tools/fit-kernels from\n"
      "# tests/truth/kernels.csv; change those, not this file.\n"
      "#\n"
      "# tile_m, tile_n   the largest tile; half_tile, quarter_tile: rates of smaller ones, of its own\n"
      "# rate             share of the GPU's sustained matmul rate (gpus.ini) that full waves reach in a short burst\n"
      "# fill             a tile's start and end, as length of k\n"
      "# quantum          share of a last wave's idle SMs that is lost\n"
      "# split            traffic of fp32 parts where k is split\n"
      "# bandwidth        share of the GPU's sustained bandwidth at which operands stream; serial: share of the "
      "shorter of\n"
      "#                  arithmetic and traffic that the longer does not hide\n"
      "# dgrad, wgrad     rate of the backward matmuls, of forward's\n"
      "# sustained        rate once the power limit acts, of a burst's: what training runs at\n"
      "#\n"
      "# [GPU.16bit] is fitted to that GPU; [smNN.16bit] is what GPUs of that compute capability take that have none "
      "of their\n"
      "# own. fp8 rows hold the pass that quantises the operand, which the fit takes off at streaming speed.\n",
      stdout);
  for (guint i = 0; i < G_N_ELEMENTS(matmuls); i++) {
    MatmulCase *item = &matmuls[i];
    Fit fit = {0};
    fit_matmul(item, &fit);
    g_autofree char *text = fit_note(&fit), *from = fit_sources(fit.rows);
    g_autofree char *name = g_strdup_printf("%s.%s", item->gpu, matmul_names[item->dtype]);
    g_autofree char *remarks = g_strdup_printf(
        "%s%s%s%s%s%s", text, item->like != NULL ? "; rate alone is its own, the rest is of " : "",
        item->like != NULL ? item->like : "", item->passes != NULL ? "; dgrad and wgrad of " : "",
        item->passes != NULL ? item->passes : "", item->limit != NULL ? "; sustained taken from a like GPU" : "");
    print_matmul(name, &item->fitted, from, remarks, "measured");
    g_auto(GStrv) shared = g_strsplit(item->shared != NULL ? item->shared : "", " ", -1);
    for (guint s = 0; shared[s] != NULL && *shared[s] != '\0'; s++) {
      g_autofree char *other = g_strdup_printf("%s.%s", shared[s], matmul_names[item->dtype]);
      g_autofree char *why = g_strdup_printf("figures of %s, for GPUs without measurements", item->gpu);
      print_matmul(other, &item->fitted, from, why, "derived");
    }
    g_array_unref(fit.rows);
  }
}
