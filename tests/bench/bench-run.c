/* SPDX-License-Identifier: MIT */
/* Whole runs of Llama-2-7B under ZeRO-3, summary only: from settings to a report, and of that the play per step.
 *
 *   8 GPUs and 16 384 GPUs folded; with --all also every rank of 16 384, which takes a minute.
 *
 * Targets on a machine of 2 cores: 1 ms per played step on 8 GPUs; 50 ms folded and 60 s unfolded on 16 384. */
#include <sys/resource.h>

#include "bench.h"
#include "study.h"

#define REPEATS 5 /* the fastest counts */

static void bench_run(const char *what, guint nodes, gboolean fold, int repeats) {
  GError *error = NULL;
  g_autoptr(Study) study = study_open("llama2-7b", &error);
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
  printf("  %-24s whole %9.4f s, play %8.3f ms a step, %9.0f events a step, %5.1f million events/s, %6.0f MB so far\n",
         what, whole, 1e3 * play, tasks, tasks / play / 1e6, (double)usage.ru_maxrss / 1024);
}

int main(int argc, char **argv) {
  bench_head("run of llama2-7b, ZeRO-3");
  bench_run("8 GPUs, folded", 1, TRUE, REPEATS);
  bench_run("512 GPUs, unfolded", 64, FALSE, 1);
  bench_run("16 384 GPUs, folded", 2048, TRUE, REPEATS);
  if (argc > 1 && strcmp(argv[1], "--all") == 0)
    bench_run("16 384 GPUs, unfolded", 2048, FALSE, 1);
  return 0;
}
