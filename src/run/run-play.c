/* Setting up a run, and its loop. */
#include "run-play.h"

#include "base-error.h"
#include "kernel-op.h"
#include "kernel-time.h"
#include "run-state.h"

static RunWaiters waiters_of(const ProgramSection *section) {
  RunWaiters waiters = {.offsets = g_new0(guint32, section->n_rows + 1)};
  for (guint32 i = 0; i < section->n_rows; i++)
    for (guint32 k = 0; k < section->rows[i].n_needs; k++)
      waiters.offsets[section->needs[section->rows[i].needs + k] + 1]++;
  for (guint32 i = 0; i < section->n_rows; i++)
    waiters.offsets[i + 1] += waiters.offsets[i];
  waiters.rows = g_new(guint32, waiters.offsets[section->n_rows]);
  g_autofree guint32 *at = g_memdup2(waiters.offsets, section->n_rows * sizeof(guint32));
  for (guint32 i = 0; i < section->n_rows; i++)
    for (guint32 k = 0; k < section->rows[i].n_needs; k++)
      waiters.rows[at[section->needs[section->rows[i].needs + k]]++] = i;
  return waiters;
}

static void add_network(RunPlay *play) {
  const RunSystem *system = play->system;
  play->net = net_system_new(play->queue, play->options->solver);
  for (guint32 i = 0; i < system->n_links; i++)
    net_link_add(play->net, system->links[i].capacity);
  play->link_bytes = g_new0(double, 2 * system->n_links);
  play->link_busy = g_new0(SimTime, 2 * system->n_links);
  play->communicators = g_new0(RunCommunicator, system->program->n_communicators);
  for (guint32 c = 0; c < system->program->n_communicators; c++) {
    for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++) {
      const CollRoute *route = coll_group_route(system->groups[c], algorithm);
      play->communicators[c].routes[algorithm] =
          net_route_new(play->net, route->links, route->coefficients, route->n);
    }
  }
}

static void add_ranks(RunPlay *play) {
  const Program *program = play->system->program;
  play->n_ranks = program->n_ranks;
  play->ranks = g_new0(RunRank, program->n_ranks);
  play->waiters = g_malloc0(program->n_roles * sizeof *play->waiters);
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      play->waiters[r][s] = waiters_of(&program->roles[r].sections[s]);
      play->most_rows = MAX(play->most_rows, program->roles[r].sections[s].n_rows);
    }
  for (guint32 i = 0; i < program->n_ranks; i++) {
    RunRank *rank = &play->ranks[i];
    rank->play = play;
    rank->index = i;
    rank->rank = &program->ranks[i];
    rank->role = &program->roles[rank->rank->role];
    rank->streams = g_new0(RunStream, program->n_streams);
    rank->orders = g_new0(RunOrder, program->n_communicators);
    rank->samples = g_array_new(FALSE, FALSE, sizeof(RunMemorySample));
    run_memory_begin(rank);
    run_host_init(rank);
  }
}

static void measure_ops(RunPlay *play) {
  const Program *program = play->system->program;
  play->durations = g_new(SimTime, program->n_ops);
  for (guint32 i = 0; i < program->n_ops; i++)
    play->durations[i] = kernel_time(play->system->gpu, &program->ops[i]);
}

static void clear(RunPlay *play) {
  const Program *program = play->system->program;
  for (guint32 i = 0; i < play->n_ranks; i++) {
    RunRank *rank = &play->ranks[i];
    for (int number = 0; number < RUN_MOST_STEPS; number++)
      run_step_forget(rank, rank->steps[number]);
    g_free(rank->streams);
    g_free(rank->orders);
    g_array_unref(rank->samples);
  }
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      g_free(play->waiters[r][s].offsets);
      g_free(play->waiters[r][s].rows);
    }
  g_free(play->waiters);
  g_free(play->ranks);
  g_free(play->durations);
  for (guint32 c = 0; c < program->n_communicators; c++)
    run_chunks_forget(&play->communicators[c]);
  g_free(play->communicators);
  g_free(play->link_bytes);
  g_free(play->link_busy);
  net_system_free(play->net);
  g_ptr_array_unref(play->transfers);
  event_queue_free(play->queue);
}

RunReport *run_play(const RunSystem *system, const RunOptions *options, const char *run_key) {
  gint64 started = g_get_monotonic_time();
  RunPlay play = {.system = system, .options = options, .run_key = run_key};
  play.queue = event_queue_new(options->tie, options->tie_seed);
  play.transfers = g_ptr_array_new_with_free_func(run_transfer_free);
  measure_ops(&play);
  add_network(&play);
  add_ranks(&play);
  while (!play.over && event_queue_step(play.queue))
    ;
  sim_require(play.over, run_now(&play), run_key,
              "nothing is left to happen and step %u has not ended: a wait that cannot end", play.steps_ended);
  RunReport *report = run_results(&play);
  report->wall_seconds = (double)(g_get_monotonic_time() - started) / G_USEC_PER_SEC;
  clear(&play);
  return report;
}
