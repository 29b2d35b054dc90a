/* SPDX-License-Identifier: MIT */
/* Whole runs of Llama-2-7B under ZeRO-3, summary only: from settings to a report, and of that the play per step.
 *
 *   8 GPUs and 16 384 GPUs folded; Llama 3.1 405B on as many over tensor, pipeline and data, of 256 micro-batches; with
 *   --all also every rank of 16 384, which takes a minute.
 *
 * Targets on a machine of 2 cores: 1 ms per played step on 8 GPUs; 50 ms folded and 60 s unfolded on 16 384;
 * 2 s for 405B. */
#include <sys/resource.h>

#include "bench.h"
#include "study.h"

#define REPEATS 5 /* the fastest counts */

static void bench_run(const char *what, const char *workload, guint nodes, gboolean fold, int repeats) {
  GError *error = NULL;
  g_autoptr(Study) study = study_open(workload, &error);
  g_autofree char *set = g_strdup_printf("cluster.nodes=%u", nodes);
  if (study == NULL || !study_set(study, set, &error))
    g_error("%s", error->message);
  double whole = G_MAXDOUBLE, play = G_MAXDOUBLE, tasks = 0;
  StudyOptions options = {.fold = fold};
  for (int i = 0; i < repeats; i++) {
    double begin = bench_seconds();
    g_autoptr(RunReport) report = study_run(study, &options, &error);
    if (report == NULL)
      g_error("%s", error->message);
    whole = MIN(whole, bench_seconds() - begin);
    play = MIN(play, report->wall_seconds / (report->steps_played + 1));
    tasks = (double)report->events / (report->steps_played + 1);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("  %-26s whole %9.4f s, play %8.3f ms a step, %9.0f events a step, %5.1f million events/s, %6.0f MB so far\n",
         what, whole, 1e3 * play, tasks, tasks / play / 1e6, (double)usage.ru_maxrss / 1024);
}

int main(int argc, char **argv) {
  bench_head("runs of llama2-7b, ZeRO-3, and of llama3.1-405b, tensor 8, pipeline 16, data 128");
  bench_run("8 GPUs, folded", "llama2-7b", 1, TRUE, REPEATS);
  bench_run("512 GPUs, unfolded", "llama2-7b", 64, FALSE, 1);
  bench_run("16 384 GPUs, folded", "llama2-7b", 2048, TRUE, REPEATS);
  bench_run("405B, 16 384 GPUs, folded", "llama3.1-405b-megatron", 2048, TRUE, 1);
  if (argc > 1 && strcmp(argv[1], "--all") == 0)
    bench_run("16 384 GPUs, unfolded", "llama2-7b", 2048, FALSE, 1);
  return 0;
}
