/* SPDX-License-Identifier: MIT */
/* Setting up a run, and its loop. */
#include "run-play.h"

#include "base-error.h"
#include "base-pages.h"
#include "coll-schedule.h"
#include "run-state.h"

/* Ranks: of each of more, large pages would be half empty (16 384 GPUs, each played: 2.5 GB for 2.0). */
#define MOST_ON_LARGE 512

static void add_network(RunPlay *play) {
  const RunSystem *system = play->system;
  play->net = net_system_new(play->queue, play->options->solver);
  for (guint32 i = 0; i < system->n_links; i++)
    net_link_add(play->net, system->links[i].capacity);
  play->nowhere = net_route_new(play->net, NULL, NULL, 0);
  play->link_bytes = g_new0(double, 2 * system->n_links);
  play->link_busy = g_new0(SimTime, 2 * system->n_links);
  play->communicators = g_new0(RunCommunicator, system->program->n_communicators);
  for (guint32 c = 0; c < system->program->n_communicators; c++) {
    for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++) {
      const CollRoute *route = coll_group_route(system->groups[c], algorithm);
      play->communicators[c].routes[algorithm] = net_route_new(play->net, route->links, route->coefficients, route->n);
    }
    play->communicators[c].moves = g_array_new(FALSE, TRUE, sizeof(RunMove));
    play->communicators[c].planned = g_array_new(FALSE, FALSE, sizeof(RunPlanned));
  }
}

static void add_tables(RunPlay *play) {
  const Program *program = play->system->program;
  play->tables = g_malloc0(program->n_roles * sizeof *play->tables);
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      run_table_init(&play->tables[r][s], &program->roles[r].sections[s], play->options);
  if (play->options->tables != NULL)
    run_tables_lend(play->options->tables, play);
}

static void add_ranks(RunPlay *play) {
  const Program *program = play->system->program;
  play->n_ranks = program->n_ranks;
  play->ranks = g_new0(RunRank, program->n_ranks);
  for (guint32 i = 0; i < program->n_ranks; i++) {
    RunRank *rank = &play->ranks[i];
    rank->play = play;
    rank->index = i;
    rank->rank = &program->ranks[i];
    rank->role = &program->roles[rank->rank->role];
    rank->device.streams = g_new0(RunStream, program->n_streams);
    for (guint32 s = 0; s < program->n_streams; s++)
      run_stream_init(&rank->device.streams[s], rank, s);
    rank->device.ended_calls = g_new0(guint32, program->n_slots);
  }
  run_planes_init(play);
  run_memory_begin(play);
  for (guint32 i = 0; i < program->n_ranks; i++) {
    run_host_init(&play->ranks[i]);
    run_contention_begin(&play->ranks[i]);
  }
}

/* The network first: it looks at flows that are still under way. */
static void clear(RunPlay *play) {
  const Program *program = play->system->program;
  net_system_free(play->net);
  for (guint32 i = 0; i < play->n_ranks; i++) {
    RunRank *rank = &play->ranks[i];
    run_steps_clear(rank);
    g_free(rank->replay.notes.data);
    g_free(rank->window.moves.data);
    g_free(rank->replay.layout[0].data);
    g_free(rank->replay.layout[1].data);
    g_free(rank->device.streams);
    g_free(rank->device.ended_calls);
  }
  if (play->options->tables != NULL)
    run_tables_return(play->options->tables, play);
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS && play->options->tables == NULL; s++)
      run_table_clear(&play->tables[r][s]);
  run_memory_clear(play);
  run_planes_clear(play);
  run_communicators_clear(play);
  g_free(play->hosts);
  g_free(play->hosts_playing);
  g_free(play->tables);
  g_free(play->ranks);
  run_contention_clear(play);
  g_free(play->link_bytes);
  g_free(play->link_busy);
  event_queue_free(play->queue);
}

/* A flow whose end lies beyond SimTime has no event either. */
static gboolean moves_for_ever(const RunPlay *play) {
  for (guint32 c = 0; c < play->system->program->n_communicators; c++)
    if (play->communicators[c].open != NULL && play->communicators[c].open->arrived > 0)
      return TRUE;
  return FALSE;
}

static gboolean play_steps(RunPlay *play, GError **error) {
  do
    run_hosts_due(play);
  while (!play->over && !play->endless && event_queue_step(play->queue));
  if (play->over)
    return TRUE;
  sim_require(play->endless || moves_for_ever(play), run_now(play), play->run_key,
              "nothing is left to happen and step %u has not ended: a wait that cannot end", play->steps_ended);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "training steps take longer than can be played: over 106 days for the first few");
  return FALSE;
}

static gboolean has_chunks(const CollGroup *group, const ProgramRow *row, GError **error) {
  CollPlan plan;
  if (group->size == 1)
    return TRUE;
  coll_plan(group, &row->call, &plan);
  if (coll_schedule_has(&row->call, &plan))
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "--fidelity=step: \"%s\" is %s in %s, of which only flow fidelity is modelled; "
              "--set nccl.algo=ring,tree plays it in rings and trees",
              row->name, coll_operation_names[row->call.operation], coll_algorithm_names[plan.algorithm]);
  return FALSE;
}

/* Step fidelity writes out rings and trees; what NCCL would run otherwise is refused by name. */
static gboolean check_chunks(const RunSystem *system, GError **error) {
  const Program *program = system->program;
  for (guint32 rank = 0; rank < program->n_ranks; rank++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      const ProgramSection *section = &program->roles[program->ranks[rank].role].sections[s];
      for (guint32 i = 0; i < section->n_rows; i++) {
        const ProgramRow *row = &section->rows[i];
        if (row->kind == PROGRAM_COLLECTIVE &&
            !has_chunks(system->groups[program_group(program, rank, row->group)], row, error))
          return FALSE;
      }
    }
  return TRUE;
}

RunReport *run_play(const RunSystem *system, const RunOptions *options, const char *run_key, GError **error) {
  if (options->chunks && !check_chunks(system, error))
    return NULL;
  gint64 started = g_get_monotonic_time();
  base_pages_large(system->program->n_ranks <= MOST_ON_LARGE);
  RunPlay play = {.system = system, .options = options, .run_key = run_key};
  play.queue = event_queue_new(options->tie, options->tie_seed);
  event_queue_trace(play.queue, options->trace);
  play.traced = base_trace_points(options->trace, run_trace_names);
  add_network(&play);
  net_system_trace(play.net, options->trace);
  add_tables(&play);
  run_hosts_init(&play);
  run_contention_init(&play);
  add_ranks(&play);
  RunReport *report = play_steps(&play, error) && !play.again ? run_results(&play) : NULL;
  if (report != NULL)
    report->wall_seconds = (double)(g_get_monotonic_time() - started) / G_USEC_PER_SEC;
  clear(&play);
  if (!play.again)
    return report;
  RunOptions plain = *options;
  if (play.misjudged)
    plain.recall = NULL;
  else
    plain.every_step = TRUE;
  return run_play(system, &plain, run_key, error);
}
