/* SPDX-License-Identifier: MIT */
/* Plays a script of flows on the network and writes down every instant. */
#include "net-play.h"

static void play_flow_done(NetFlow *flow, gpointer owner) {
  (void)flow;
  PlayActor *actor = owner;
  actor->active = FALSE;
  event_cancel(actor->play->queue, &actor->cancel);
  actor->play->result->ends[actor - actor->play->actors] = event_now(actor->play->queue);
}

static void play_flow_cancel(Event *event, gpointer owner) {
  (void)event;
  PlayActor *actor = owner;
  actor->active = FALSE;
  net_flow_cancel(actor->play->net, &actor->flow);
}

static void play_flow_start(Event *event, gpointer owner) {
  (void)event;
  PlayActor *actor = owner;
  const PlayFlow *flow = &actor->play->script->flows[actor - actor->play->actors];
  actor->active = TRUE;
  const NetRoute *route = net_route_new(actor->play->net, flow->links, flow->coefficients, flow->n);
  for (gint starts = flow->again ? 2 : 1; starts > 0; starts--) {
    net_flow_cancel(actor->play->net, &actor->flow);
    net_flow_start(actor->play->net, &actor->flow, route, flow->volume, flow->weight, flow->count, flow->cap);
  }
  if (flow->gone)
    play_flow_cancel(NULL, actor);
}

static void play_change(Event *event, gpointer owner) {
  Play *play = owner;
  const PlayChange *change = &play->script->changes[event - play->changes];
  play->capacities[change->link] = change->capacity;
  net_link_set_capacity(play->net, change->link, change->capacity);
}

static void play_write_down(Play *play) {
  SimTime now = event_now(play->queue);
  g_array_append_val(play->result->instants, now);
  for (guint32 i = 0; i < play->script->n_flows; i++) {
    double rate = play->actors[i].active ? play->actors[i].flow.rate : 0;
    g_array_append_val(play->result->rates, rate);
  }
}

static void play_begin(Play *play) {
  const PlayScript *script = play->script;
  for (guint32 i = 0; i < script->n_links; i++)
    net_link_add(play->net, script->capacities[i]);
  play->capacities = g_memdup2(script->capacities, script->n_links * sizeof(double));
  play->actors = g_new0(PlayActor, script->n_flows + 1);
  for (guint32 i = 0; i < script->n_flows; i++) {
    PlayActor *actor = &play->actors[i];
    actor->play = play;
    event_init(&actor->start, play_flow_start, actor, EVENT_PHASE_STARTS, i);
    event_init(&actor->cancel, play_flow_cancel, actor, EVENT_PHASE_HOST, i);
    net_flow_init(&actor->flow, play_flow_done, actor, i);
    event_schedule(play->queue, &actor->start, script->flows[i].start);
    if (script->flows[i].cancel > 0)
      event_schedule(play->queue, &actor->cancel, script->flows[i].cancel);
    play->result->ends[i] = SIM_TIME_NEVER;
  }
  play->changes = g_new0(Event, script->n_changes + 1);
  for (guint32 i = 0; i < script->n_changes; i++) {
    event_init(&play->changes[i], play_change, play, EVENT_PHASE_FREES, i);
    event_schedule(play->queue, &play->changes[i], script->changes[i].at);
  }
}

PlayResult *play_looking(const PlayScript *script, NetSolver solver, gboolean rates, PlayLook look) {
  g_autoptr(EventQueue) queue = event_queue_new(EVENT_TIE_FORWARD, 0);
  PlayResult *result = g_new0(PlayResult, 1);
  result->ends = g_new(SimTime, script->n_flows + 1);
  result->link_bytes = g_new(double, script->n_links + 1);
  result->link_busy = g_new(SimTime, script->n_links + 1);
  result->instants = g_array_new(FALSE, FALSE, sizeof(SimTime));
  result->rates = g_array_new(FALSE, FALSE, sizeof(double));
  Play play = {.script = script, .queue = queue, .net = net_system_new(queue, solver), .result = result};
  play_begin(&play);
  while (event_queue_step(queue)) {
    if (event_queue_next(queue) == event_now(queue))
      continue;
    if (rates)
      play_write_down(&play);
    if (look != NULL)
      look(&play);
  }
  for (guint32 i = 0; i < script->n_links; i++) {
    result->link_bytes[i] = net_link_bytes(play.net, i);
    result->link_busy[i] = net_link_busy(play.net, i);
  }
  result->events = event_queue_played(queue);
  net_system_free(play.net);
  g_free(play.actors);
  g_free(play.capacities);
  g_free(play.changes);
  return result;
}

PlayResult *play(const PlayScript *script, NetSolver solver) {
  return play_looking(script, solver, TRUE, NULL);
}

void play_result_free(PlayResult *result) {
  if (result == NULL)
    return;
  g_free(result->ends);
  g_free(result->link_bytes);
  g_free(result->link_busy);
  g_array_unref(result->instants);
  g_array_unref(result->rates);
  g_free(result);
}

gboolean play_same_bits(const void *a, const void *b, gsize n) {
  return n == 0 || memcmp(a, b, n) == 0;
}

gboolean play_results_equal(const PlayScript *script, const PlayResult *a, const PlayResult *b) {
  return play_same_bits(a->ends, b->ends, script->n_flows * sizeof(SimTime)) &&
         play_same_bits(a->link_bytes, b->link_bytes, script->n_links * sizeof(double)) &&
         play_same_bits(a->link_busy, b->link_busy, script->n_links * sizeof(SimTime)) &&
         a->instants->len == b->instants->len && a->rates->len == b->rates->len &&
         play_same_bits(a->instants->data, b->instants->data, a->instants->len * sizeof(SimTime)) &&
         play_same_bits(a->rates->data, b->rates->data, a->rates->len * sizeof(double));
}
