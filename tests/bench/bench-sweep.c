/* SPDX-License-Identifier: MIT */
/* Sweep throughput: grids over Llama-2-7B (32 layers) and over layouts of Llama-2-70B, on one core, summaries into a
 * database, new points; then the same points again, which are found by their keys.
 *
 * Targets: 1 000 configurations/s; a thousand layouts over tensor and pipeline ranks in a minute. */
#include <glib/gstdio.h>
#include <sys/resource.h>

#include "bench.h"
#include "study-sweep.h"

typedef struct {
  const char *what, *workload;
  const char *axes[9];
} Load;

static void sweep(const char *what, const StudySweep *asked) {
  GError *error = NULL;
  StudySweepResult result;
  double begin = bench_seconds();
  if (!study_sweep_run(asked, &result, NULL, &error))
    g_error("%s", error->message);
  double seconds = bench_seconds() - begin;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("  %-44s %6" G_GUINT64_FORMAT " points, %5" G_GUINT64_FORMAT " played, %5.0f per second "
         "of processor time, %6.2f s, %4.0f MB so far\n",
         what, result.points, result.played, (double)result.points / seconds, seconds, (double)usage.ru_maxrss / 1024);
}

static void bench_load(const Load *load, const char *folder, guint number) {
  GError *error = NULL;
  g_autoptr(Study) study = study_open(load->workload, &error);
  g_autoptr(StudyGrid) grid = study_grid_new();
  for (gsize i = 0; study != NULL && i < G_N_ELEMENTS(load->axes) && load->axes[i] != NULL; i++)
    if (!study_grid_add(grid, study, load->axes[i], &error))
      break;
  if (error != NULL)
    g_error("%s", error->message);
  g_autofree char *path = g_strdup_printf("%s/%u.db", folder, number);
  StudySweep asked = {.base = study, .grid = grid, .database = path, .options = {.fold = TRUE}, .threads = 1};
  sweep(load->what, &asked);
  sweep("the same, known", &asked);
}

int main(void) {
  static const Load loads[] = {
      {"ZeRO 0 to 3, nodes, sequence length",
       "llama2-7b",
       {"zero_stage=0,1,2,3", "nodes=1..10:1", "sequence_length=1024..4096:128"}},
      {"FSDP2, nodes, NIC rate, price",
       "llama2-7b",
       {"framework=fsdp2", "nodes=2..9:1", "cluster.nic_bandwidth=100..400 Gb/s:50", "price.gpu_hour=1..4 USD:0.5"}},
      {"ZeRO-3, sequence length and micro-batch", "llama2-7b", {"sequence_length=512..8192:64", "micro_batch=1..8:1"}},
      {"layouts of 70B on 512 GPUs",
       "llama2-70b",
       {"framework=megatron", "zero_stage=1", "nodes=64", "tensor=1,2,4,8", "pipeline=1,2,4,8,16",
        "sequence_parallel=no,yes", "micro_batch=1,2,4", "gradient_accumulation=16,64,256",
        "activation_checkpointing=none,selective,full"}},
  };
  g_autofree char *folder = g_dir_make_tmp("foretrain-bench-XXXXXX", NULL);
  bench_head("sweeps, one thread");
  for (guint i = 0; i < G_N_ELEMENTS(loads); i++)
    bench_load(&loads[i], folder, i);
  g_autofree char *remove = g_strdup_printf("rm -rf '%s'", folder);
  g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL);
  return 0;
}
