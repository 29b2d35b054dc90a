/* SPDX-License-Identifier: MIT */
/* The catalogue: that every shipped section is complete and sane, what is found by name, what a broken file is told. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "hw-catalog.h"

static HwCatalog *shipped(void) {
  GError *error = NULL;
  HwCatalog *catalog = hw_catalog_load(&error);
  if (catalog == NULL)
    g_error("%s", error->message);
  return catalog;
}

static void check_origin(const char *name, const char *source, int trust) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(source);
  CU_ASSERT_TRUE(strlen(source) > 10);
  CU_ASSERT_TRUE(trust >= HW_TRUST_MEASURED && trust <= HW_TRUST_RECALLED);
  CU_ASSERT_TRUE(g_ascii_islower(name[0]));
}

static void check_rate(const HwGpu *gpu, double peak, double sustained) {
  CU_ASSERT_TRUE(sustained <= peak);
  CU_ASSERT_EQUAL(sustained == 0, peak == 0);
  /* The lowest sustained share on any device is the L4's, whose 72 W hold fp32 to 0.31 of its peak. */
  if (sustained < 0.3 * peak)
    printf("\n    %s: %g of %g\n", gpu->name, sustained, peak);
  CU_ASSERT_TRUE(sustained >= 0.3 * peak);
}

static void shipped_gpus_are_sane(void) {
  g_autoptr(HwCatalog) catalog = shipped();
  const char *const *names = hw_catalog_gpu_names(catalog);
  CU_ASSERT_EQUAL(g_strv_length((char **)names), 28);
  for (; *names != NULL; names++) {
    const HwGpu *gpu = hw_catalog_gpu(catalog, *names, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(gpu);
    CU_ASSERT_STRING_EQUAL(gpu->name, *names);
    check_origin(gpu->name, gpu->source, gpu->trust);
    check_rate(gpu, gpu->peak_bf16, gpu->matmul_bf16);
    check_rate(gpu, gpu->peak_fp16, gpu->matmul_fp16);
    check_rate(gpu, gpu->peak_fp8, gpu->matmul_fp8);
    check_rate(gpu, gpu->peak_tf32, gpu->matmul_tf32);
    check_rate(gpu, gpu->peak_fp32, gpu->matmul_fp32);
    check_rate(gpu, gpu->memory_bandwidth, gpu->memory_bandwidth_sustained);
    /* Vendors sell "80 GB" and build 80 GiB: usable is less than 1.0737 (GiB over GB) times the nominal size; what ECC
     * and the driver keep back, up to 8 % of it (A10G, L4), leaves more than 0.95 of the nominal size. */
    CU_ASSERT_TRUE((double)gpu->memory_usable < 1.075 * (double)gpu->memory_nominal);
    CU_ASSERT_TRUE((double)gpu->memory_usable > 0.95 * (double)gpu->memory_nominal);
    CU_ASSERT_TRUE(gpu->context_bytes > 256 * 1048576ull && gpu->context_bytes < 1024 * 1048576ull);
    CU_ASSERT_TRUE(gpu->kernel_floor >= SIM_MICROSECOND && gpu->kernel_floor <= 4 * SIM_MICROSECOND);
    /* cuBLAS: 32 MiB on sm90; else 4096 KiB × 2 + 16 KiB × 8 = 8 519 680 bytes. */
    CU_ASSERT_EQUAL(gpu->workspace_bytes, gpu->compute_capability == 90 ? 33554432 : 8519680);
    CU_ASSERT_TRUE(gpu->sms >= 58 && gpu->sms <= 170);
  }
}

/* Every CPU that a topology can name has a host; shares are shares, and the forms of a GPU say where they come from. */
static void shipped_kernels_are_sane(void) {
  static const char *const cpus[] = {"intel-skylake", "intel-cascade-lake", "intel-icelake", "intel-spr", "intel-emr",
                                     "amd-rome",      "amd-milan",          "amd-genoa",     "amd-turin"};
  g_autoptr(HwCatalog) catalog = shipped();
  for (gsize i = 0; i < G_N_ELEMENTS(cpus); i++) {
    const HwHost *host = hw_catalog_host(catalog, cpus[i], NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    check_origin(host->name, host->source, host->trust);
    /* Reports of eager operations run from 5 to 12 us a kernel; older CPUs a third more. */
    CU_ASSERT_TRUE(host->forward_kernel > 4 * SIM_MICROSECOND && host->forward_kernel < 16 * SIM_MICROSECOND);
    CU_ASSERT_TRUE(host->compiled_kernel < host->forward_kernel);
    /* A forward of Megatron-Core's linear layer is published at 74 us on the fastest of them. */
    CU_ASSERT_TRUE(host->matmul + host->layer_function > 60 * SIM_MICROSECOND);
    CU_ASSERT_TRUE(host->checkpoint > 10 * host->matmul);
  }
  for (const char *const *name = hw_catalog_gpu_names(catalog); *name != NULL; name++) {
    const HwGpu *gpu = hw_catalog_gpu(catalog, *name, NULL, NULL);
    for (int d = 0; d < HW_MATMUL_DTYPES; d++) {
      const HwMatmul *form = gpu->matmul[d];
      CU_ASSERT_TRUE(form != NULL || (d == HW_MATMUL_FP8 && gpu->peak_fp8 == 0));
      if (form == NULL)
        continue;
      check_origin(form->name, form->source, form->trust);
      CU_ASSERT_TRUE(form->rate > 0.5 && form->rate < 1.4 && form->sustained > 0.7 && form->sustained <= 1);
      CU_ASSERT_TRUE(form->quantum <= 1 && form->serial <= 1 && form->half <= 1 && form->quarter <= 1);
      CU_ASSERT_TRUE(form->dgrad <= 1 && form->wgrad <= 1 && form->wgrad > 0.8);
    }
    for (int f = 0; f < HW_FLASHES; f++)
      if (gpu->attention[f] != NULL)
        check_origin(gpu->attention[f]->name, gpu->attention[f]->source, gpu->attention[f]->trust);
    check_origin(gpu->memory->name, gpu->memory->source, gpu->memory->trust);
    CU_ASSERT_TRUE(gpu->memory->stream > 0.9 && gpu->memory->stream < 1.1);
    check_origin(gpu->contention->name, gpu->contention->source, gpu->contention->trust);
    check_origin(gpu->variation->name, gpu->variation->source, gpu->variation->trust);
  }
}

static void shipped_links_are_sane(void) {
  g_autoptr(HwCatalog) catalog = shipped();
  for (const char *const *name = hw_catalog_link_names(catalog); *name != NULL; name++) {
    const HwLink *link = hw_catalog_link(catalog, *name, NULL, NULL);
    check_origin(link->name, link->source, link->trust);
    CU_ASSERT_TRUE(link->achievable <= link->raw);
    CU_ASSERT_TRUE(link->achievable > 0.3 * link->raw);
  }
  CU_ASSERT_EQUAL(g_strv_length((char **)hw_catalog_platform_names(catalog)), 10);
  for (const char *const *name = hw_catalog_platform_names(catalog); *name != NULL; name++) {
    const HwPlatform *platform = hw_catalog_platform(catalog, *name, NULL, NULL);
    check_origin(platform->name, platform->source, platform->trust);
    CU_ASSERT_TRUE(platform->launch_floor >= 5 * SIM_MICROSECOND && platform->launch_floor <= platform->graph_floor);
  }
}

static void values_are_in_si(void) {
  g_autoptr(HwCatalog) catalog = shipped();
  const HwGpu *h100 = hw_catalog_gpu(catalog, "H100-SXM5-80GB", NULL, NULL);
  /* 132 SMs × 4 tensor cores × 512 multiply-adds × 2 × 1.83 GHz = 989.43 TFLOP/s; fp8 doubles it. */
  CU_ASSERT_DOUBLE_EQUAL(h100->peak_bf16, 132 * 4 * 512 * 2 * 1.83e9, 1e11);
  CU_ASSERT_DOUBLE_EQUAL(h100->peak_fp8 / h100->peak_bf16, 2, 1e-3);
  CU_ASSERT_EQUAL(h100->matmul_bf16, 794.5e12);
  CU_ASSERT_EQUAL(h100->memory_usable, 84943715697ull); /* 79.11 × 2^30 = 84 943 715 696.6 */
  CU_ASSERT_EQUAL(h100->memory_nominal, 80000000000ull);
  CU_ASSERT_EQUAL(h100->kernel_floor, 3 * SIM_MICROSECOND);
  CU_ASSERT_EQUAL(h100->compute_capability, 90);
  CU_ASSERT_STRING_EQUAL(h100->architecture, "hopper");
  const HwGpu *v100 = hw_catalog_gpu(catalog, "v100-sxm2-32gb", NULL, NULL);
  CU_ASSERT_EQUAL(v100->peak_bf16, 0);
  CU_ASSERT_EQUAL(v100->peak_tf32, 0);
  const HwLink *ndr = hw_catalog_link(catalog, "ib-ndr400", NULL, NULL);
  CU_ASSERT_EQUAL(ndr->raw, 50e9); /* 400 Gb/s */
  CU_ASSERT_EQUAL(ndr->scope, HW_LINK_NETWORK);
  CU_ASSERT_EQUAL(hw_catalog_platform(catalog, "efa", NULL, NULL)->nic_latency, 75 * SIM_MICROSECOND);
}

static void names_are_advised(void) {
  g_autoptr(HwCatalog) catalog = shipped();
  GError *error = NULL;
  BasePlace place = {.file = "a.ini", .line = 3, .column = 7, .key = "node.gpu"};
  HARNESS_FAILS(hw_catalog_gpu(catalog, "h100-sxm-80gb", &place, &error), error,
                "a.ini:3:7: node.gpu: the catalogue has no gpu \"h100-sxm-80gb\"; did you mean \"h100-sxm5-80gb\"?");
  HARNESS_FAILS(hw_catalog_gpu(catalog, "MI300X", &place, &error), error,
                "a.ini:3:7: node.gpu: \"MI300X\": AMD GPUs are not modelled yet");
  HARNESS_FAILS(hw_catalog_link(catalog, "nvlink4-nvswich3", NULL, &error), error,
                "did you mean \"nvlink4-nvswitch3\"?");
  HARNESS_FAILS(hw_catalog_gpu(catalog, "A800", NULL, &error), error, "did you mean \"a800-sxm4-80gb\"?");
  HARNESS_FAILS(hw_catalog_gpu(catalog, "GH200", NULL, &error), error, "; there are gh200-96gb, gh200-144gb");
  HARNESS_FAILS(hw_catalog_platform(catalog, "carrier-pigeon", NULL, &error), error,
                "expected one of infiniband, azure, roce, efa");
}

static void note_figure(const char *name, const char *value, gpointer user) {
  g_string_append_printf(user, "%s=%s\n", name, value);
}

static void visits_what_was_asked(void) {
  g_autoptr(HwCatalog) catalog = shipped();
  g_autoptr(GString) text = g_string_new(NULL);
  hw_catalog_visit_used(catalog, note_figure, text);
  CU_ASSERT_STRING_EQUAL(text->str, "");
  hw_catalog_platform(catalog, "roce", NULL, NULL);
  hw_catalog_link(catalog, "ib-hdr200", NULL, NULL);
  hw_catalog_link(catalog, "no-such-link", NULL, NULL);
  hw_catalog_visit_used(catalog, note_figure, text);
  /* Links before platforms, whatever the order of asking. 200 Gb/s = 25e9 B/s; 5.3 us = 5.3e-06 s. */
  CU_ASSERT_STRING_EQUAL(text->str, "link.ib-hdr200.scope=network\n"
                                    "link.ib-hdr200.raw=25000000000 B/s\n"
                                    "link.ib-hdr200.achievable=24000000000 B/s\n"
                                    "link.ib-hdr200.pageable=0 B/s\n"
                                    "link.ib-hdr200.managed=0 B/s\n"
                                    "platform.roce.nic_latency=0 s\n"
                                    "platform.roce.hop_latency=0 s\n"
                                    "platform.roce.launch_floor=5.3e-06 s\n"
                                    "platform.roce.launch_per_gpu=5.75e-06 s\n"
                                    "platform.roce.graph_floor=1.55e-05 s\n"
                                    "platform.roce.peer=0 s\n"
                                    "platform.roce.short_peer=0 s\n"
                                    "platform.roce.short_bytes=0 B\n"
                                    "platform.roce.nvls_chunk=0 B\n"
                                    "platform.roce.nvls_tree_chunk=0 B\n"
                                    "platform.roce.gdr=yes\n"
                                    "platform.roce.nccl_tests=threads\n");
  g_string_truncate(text, 0);
  hw_catalog_gpu(catalog, "v100-sxm2-16gb", NULL, NULL);
  hw_catalog_visit_used(catalog, note_figure, text);
  CU_ASSERT_TRUE(g_str_has_prefix(text->str, "gpu.v100-sxm2-16gb.architecture=volta\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "gpu.v100-sxm2-16gb.peak_bf16=0 FLOP/s\n"));
  CU_ASSERT_PTR_NULL(strstr(text->str, "source"));
}

/* Loads a catalogue whose links.ini is `links` and whose other files are the shipped ones. */
static HwCatalog *load_links(const char *links, GError **error) {
  g_autofree char *root = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename(root, "topologies", "catalog", NULL);
  g_autofree char *file = g_build_filename(folder, "links.ini", NULL);
  g_autofree char *above = g_build_filename(root, "topologies", NULL);
  g_autofree char *before = g_strdup(g_getenv("FORETRAIN_DATA"));
  g_mkdir_with_parents(folder, 0700);
  g_file_set_contents(file, links, -1, NULL);
  g_setenv("FORETRAIN_DATA", root, TRUE);
  HwCatalog *catalog = hw_catalog_load(error);
  if (before != NULL)
    g_setenv("FORETRAIN_DATA", before, TRUE);
  else
    g_unsetenv("FORETRAIN_DATA");
  g_remove(file);
  g_rmdir(folder);
  g_rmdir(above);
  g_rmdir(root);
  return catalog;
}

#define ORIGIN "source = a test of my own\ntrust = measured\n"

static void own_file_comes_first(void) {
  g_autoptr(HwCatalog) catalog =
      load_links("[mine]\nscope = pcie\nraw = 8 GB/s\nachievable = 6 GB/s ; measured\n" ORIGIN, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  CU_ASSERT_EQUAL(hw_catalog_link(catalog, "MINE", NULL, NULL)->achievable, 6e9);
  CU_ASSERT_PTR_NULL(hw_catalog_link(catalog, "ib-ndr400", NULL, NULL));
  CU_ASSERT_PTR_NOT_NULL(hw_catalog_gpu(catalog, "l40s", NULL, NULL));
}

static void refuses_broken_files(void) {
  GError *error = NULL;
  HARNESS_FAILS(load_links("# mine\n[a]\nscope = pcie\nraw = 8 GB/s\nachievable = 6 GB/s\ntrust = measured\n", &error),
                error, "links.ini:2:1: a: lacks \"source\"");
  HARNESS_FAILS(load_links("[a]\nscope = pcie\nraw = 8 GB/s\nachievable = 6 GB/s\nsource = me\n", &error), error,
                "links.ini:1:1: a: lacks \"trust\"");
  HARNESS_FAILS(
      load_links("[a]\nscope = pcie\nraw = 8 GB/s\nachievable = 6 GB/s\nsource =\ntrust = measured\n", &error), error,
      "lacks \"source\"");
  HARNESS_FAILS(
      load_links("[a]\nscope = pcie\nraw = 8 GB/s\nachievable = 6 GB/s\nsource = me\ntrust = guessed\n", &error), error,
      "a.trust: expected one of measured, published, derived, recalled, found \"guessed\"");
  HARNESS_FAILS(load_links("[a]\nscope = pci\nraw = 8 GB/s\nachievable = 6 GB/s\n" ORIGIN, &error), error,
                "links.ini:2:");
  HARNESS_FAILS(load_links("[a]\nscope = pcie\nraw = 8\nachievable = 6 GB/s\n" ORIGIN, &error), error,
                "a.raw: \"8\" lacks a unit");
  HARNESS_FAILS(load_links("[a]\nscope = pcie\nraw = 8 GB/s\nachievable = 0 GB/s\n" ORIGIN, &error), error,
                "a.achievable: 0 GB/s is out of range: expected at least 1 B/s");
  HARNESS_FAILS(load_links("[a]\nscope = pcie\nraw = 8 GB/s\nachievable = 9 GB/s\n" ORIGIN, &error), error,
                "a.achievable: a sustained rate");
  HARNESS_FAILS(load_links("[a]\nscope = pcie\nraw = 8 GB/s\nachievable = 6 GB/s\nlatncy = 1 us\n" ORIGIN, &error),
                error, "links.ini:5:1: a.latncy: no such key");
}

int main(void) {
  return harness_run("hw-catalog", (HarnessCase[]){{"shipped GPUs are sane", shipped_gpus_are_sane},
                                                   {"shipped links and platforms are sane", shipped_links_are_sane},
                                                   {"shipped kernels are sane", shipped_kernels_are_sane},
                                                   {"values are in SI", values_are_in_si},
                                                   {"names are advised", names_are_advised},
                                                   {"visits what was asked", visits_what_was_asked},
                                                   {"an own file comes first", own_file_comes_first},
                                                   {"refuses broken files", refuses_broken_files},
                                                   {NULL, NULL}});
}
