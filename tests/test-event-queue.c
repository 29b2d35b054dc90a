/* SPDX-License-Identifier: MIT */
/* The event queue against an unsorted array that is searched anew each time, and the promises about ties. */
#include "event-queue.h"
#include "harness.h"

#define EVENTS 60
#define PHASES (EVENT_PHASE_SAMPLES + 1)

/* The dumb twin of one event. */
typedef struct {
  EventPhase phase;
  guint64 identity;
  SimTime at; /* SIM_TIME_NEVER when not pending */
} Twin;

typedef struct {
  EventQueue *queue;
  Event events[EVENTS];
  Twin twins[EVENTS];
  EventTie tie;
  gboolean fault; /* the twin forgets phases */
  GRand *random;
  guint mismatches, again;
} World;

static gboolean twin_before(const World *world, const Twin *a, const Twin *b) {
  if (a->at != b->at)
    return a->at < b->at;
  if (a->phase != b->phase && !world->fault)
    return a->phase < b->phase;
  return world->tie == EVENT_TIE_REVERSE ? a->identity > b->identity : a->identity < b->identity;
}

static const Twin *twin_first(const World *world) {
  const Twin *first = NULL;
  for (guint i = 0; i < EVENTS; i++)
    if (world->twins[i].at != SIM_TIME_NEVER && (first == NULL || twin_before(world, &world->twins[i], first)))
      first = &world->twins[i];
  return first;
}

static void expect(World *world, gboolean truth) {
  world->mismatches += !truth;
}

/* One opcode: schedule or move (often to the present instant), or cancel. */
static void operate(World *world) {
  guint i = (guint)g_rand_int_range(world->random, 0, EVENTS);
  if (g_rand_int_range(world->random, 0, 4) > 0) {
    SimTime at = event_now(world->queue) + g_rand_int_range(world->random, 0, 6);
    event_schedule(world->queue, &world->events[i], at);
    world->twins[i].at = at;
  } else {
    event_cancel(world->queue, &world->events[i]);
    world->twins[i].at = SIM_TIME_NEVER;
  }
}

static void compare(World *world) {
  const Twin *first = twin_first(world);
  guint pending = 0;
  for (guint i = 0; i < EVENTS; i++) {
    expect(world, event_is_pending(&world->events[i]) == (world->twins[i].at != SIM_TIME_NEVER));
    pending += world->twins[i].at != SIM_TIME_NEVER;
  }
  expect(world, event_queue_pending(world->queue) == pending);
  expect(world, event_queue_next(world->queue) == (first != NULL ? first->at : SIM_TIME_NEVER));
}

/* Time goes on in place of an event where none is pending until then. */
static void pass(World *world) {
  SimTime before = event_now(world->queue), at = before + g_rand_int_range(world->random, 0, 4);
  guint64 played = event_queue_played(world->queue);
  const Twin *first = twin_first(world);
  gboolean passed = event_queue_pass(world->queue, at);
  expect(world, passed == (first == NULL || first->at > at));
  expect(world, event_now(world->queue) == (passed ? at : before));
  expect(world, event_queue_played(world->queue) == played + (passed != FALSE));
  compare(world);
}

static void world_played(Event *event, gpointer owner) {
  World *world = owner;
  Twin *twin = &world->twins[event - world->events];
  expect(world, twin_first(world) == twin);
  expect(world, event_now(world->queue) == twin->at);
  twin->at = SIM_TIME_NEVER;
  compare(world);
  for (gint n = g_rand_int_range(world->random, 0, 4); n > 0; n--) {
    operate(world);
    compare(world);
  }
  if (g_rand_boolean(world->random)) {
    world->again++;
    twin->at = event_now(world->queue) + g_rand_int_range(world->random, 0, 3);
    event_schedule(world->queue, event, twin->at);
  }
  pass(world);
}

static guint differ(EventTie tie, gboolean fault) {
  g_autoptr(EventQueue) queue = event_queue_new(tie, 0);
  World world = {.queue = queue, .tie = tie, .fault = fault, .random = harness_random()};
  for (guint i = 0; i < EVENTS; i++) {
    EventPhase phase = (EventPhase)(i % PHASES);
    guint64 identity = (i * 37) % EVENTS; /* 37 and 60 share no factor: a permutation */
    world.twins[i] = (Twin){phase, identity, SIM_TIME_NEVER};
    event_init(&world.events[i], world_played, &world, phase, identity);
  }
  for (guint i = 0; i < 20000; i++) {
    gboolean any = twin_first(&world) != NULL;
    if (g_rand_int_range(world.random, 0, 3) == 0)
      expect(&world, event_queue_step(queue) == any);
    else
      operate(&world);
    compare(&world);
  }
  CU_ASSERT_TRUE(world.again > 100);
  g_rand_free(world.random);
  return world.mismatches;
}

static void equals_twin(void) {
  CU_ASSERT_EQUAL(differ(EVENT_TIE_FORWARD, FALSE), 0);
  CU_ASSERT_EQUAL(differ(EVENT_TIE_REVERSE, FALSE), 0);
}

static void comparison_can_fail(void) {
  CU_ASSERT_TRUE(differ(EVENT_TIE_FORWARD, TRUE) > 0);
  CU_ASSERT_TRUE(differ(EVENT_TIE_REVERSE, TRUE) > 0);
}

/* An event that writes down when it played. */
typedef struct {
  Event event;
  SimTime at;
  EventPhase phase;
  guint64 identity;
  GPtrArray *order;
} Noted;

static void note(Event *event, gpointer owner) {
  (void)event;
  Noted *noted = owner;
  g_ptr_array_add(noted->order, noted);
}

#define NOTED 720

/* Plays NOTED events over 3 instants and all phases; scheduled in an order that is none of theirs. */
static GPtrArray *play_noted(Noted *noted, EventTie tie, guint64 seed) {
  g_autoptr(EventQueue) queue = event_queue_new(tie, seed);
  GPtrArray *order = g_ptr_array_new();
  for (guint i = 0; i < NOTED; i++) {
    guint k = (i * 7) % NOTED; /* 7 and 720 share no factor */
    noted[k] = (Noted){.at = k % 3, .phase = (EventPhase)(k / 3 % PHASES), .identity = 1000 + k, .order = order};
    event_init(&noted[k].event, note, &noted[k], noted[k].phase, noted[k].identity);
    event_schedule(queue, &noted[k].event, noted[k].at);
  }
  while (event_queue_step(queue))
    ;
  CU_ASSERT_EQUAL(event_queue_played(queue), NOTED);
  return order;
}

static void phases_in_order(GPtrArray *order) {
  CU_ASSERT_EQUAL_FATAL(order->len, NOTED);
  for (guint i = 1; i < order->len; i++) {
    const Noted *a = g_ptr_array_index(order, i - 1), *b = g_ptr_array_index(order, i);
    CU_ASSERT_TRUE(a->at < b->at || (a->at == b->at && a->phase <= b->phase));
  }
}

static gboolean same_group(const Noted *a, const Noted *b) {
  return a->at == b->at && a->phase == b->phase;
}

/* Descents of identity between neighbours of one instant and phase: 0 when ascending. NOTED events in 18 groups of 40
 * have 18 × 39 = 702 such neighbours. */
static guint descents(GPtrArray *order) {
  guint n = 0;
  for (guint i = 1; i < order->len; i++) {
    const Noted *a = g_ptr_array_index(order, i - 1), *b = g_ptr_array_index(order, i);
    n += same_group(a, b) && a->identity > b->identity;
  }
  return n;
}

static void each_once(GPtrArray *order) {
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  for (guint i = 0; i < order->len; i++)
    CU_ASSERT_TRUE(g_hash_table_add(seen, g_ptr_array_index(order, i)));
}

static void ties_permute_within_phases(void) {
  static Noted noted[NOTED];
  g_autoptr(GPtrArray) forward = play_noted(noted, EVENT_TIE_FORWARD, 0);
  phases_in_order(forward);
  CU_ASSERT_EQUAL(descents(forward), 0);
  g_autoptr(GPtrArray) reverse = play_noted(noted, EVENT_TIE_REVERSE, 0);
  phases_in_order(reverse);
  CU_ASSERT_EQUAL(descents(reverse), 702);
  g_autofree guint *counts = g_new0(guint, 8);
  for (guint64 seed = 0; seed < 8; seed++) {
    g_autoptr(GPtrArray) shuffled = play_noted(noted, EVENT_TIE_SHUFFLE, seed * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15));
    phases_in_order(shuffled);
    each_once(shuffled);
    counts[seed] = descents(shuffled);
    /* A random order descends at half of its 702 neighbours, with a deviation of about sqrt(702/12) = 8. */
    CU_ASSERT_TRUE(counts[seed] > 250 && counts[seed] < 450);
    g_autoptr(GPtrArray) again = play_noted(noted, EVENT_TIE_SHUFFLE, seed * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15));
    CU_ASSERT_EQUAL(memcmp(again->pdata, shuffled->pdata, NOTED * sizeof(gpointer)), 0);
  }
}

/* Two seeds, two orders: else a shuffle would prove less than it seems to. */
static void seeds_differ(void) {
  static Noted noted[NOTED];
  g_autoptr(GPtrArray) one = play_noted(noted, EVENT_TIE_SHUFFLE, 16);
  g_autoptr(GPtrArray) other = play_noted(noted, EVENT_TIE_SHUFFLE, 32);
  CU_ASSERT_NOT_EQUAL(memcmp(one->pdata, other->pdata, NOTED * sizeof(gpointer)), 0);
}

typedef struct {
  EventQueue *queue;
  Event tick, other;
  guint ticks, others;
} Clock;

static void tick(Event *event, gpointer owner) {
  Clock *clock = owner;
  CU_ASSERT_FALSE(event_is_pending(event));
  CU_ASSERT_EQUAL(event_now(clock->queue), 10 * clock->ticks);
  if (++clock->ticks == 5)
    event_cancel(clock->queue, &clock->other);
  if (clock->ticks < 100)
    event_schedule(clock->queue, event, event_now(clock->queue) + 10);
}

static void other_tick(Event *event, gpointer owner) {
  Clock *clock = owner;
  clock->others++;
  event_schedule(clock->queue, event, event_now(clock->queue) + 10);
}

/* Ticks at 0, 10, … 990; the other ticks after it, in a later phase, until the fifth tick, at 40, takes it away: at 0,
 * 10, 20 and 30. */
static void reschedules_itself(void) {
  g_autoptr(EventQueue) queue = event_queue_new(EVENT_TIE_FORWARD, 0);
  Clock clock = {.queue = queue};
  event_init(&clock.tick, tick, &clock, EVENT_PHASE_COMPLETIONS, 0);
  event_init(&clock.other, other_tick, &clock, EVENT_PHASE_FREES, 0);
  event_schedule(queue, &clock.other, 0);
  event_schedule(queue, &clock.tick, 0);
  while (event_queue_step(queue))
    ;
  CU_ASSERT_EQUAL(clock.ticks, 100);
  CU_ASSERT_EQUAL(clock.others, 4);
  CU_ASSERT_EQUAL(event_now(queue), 990);
  CU_ASSERT_EQUAL(event_queue_played(queue), 104);
  CU_ASSERT_EQUAL(event_queue_pending(queue), 0);
  CU_ASSERT_EQUAL(event_queue_next(queue), SIM_TIME_NEVER);
}

#define MANY 40000

/* One of many: what the queue must play it for. */
typedef struct {
  Event event;
  SimTime at;        /* SIM_TIME_NEVER when not pending */
  SimTime scheduled; /* when it was last scheduled */
  gpointer crowd;
} Member;

typedef struct {
  EventQueue *queue;
  Member *members;
  GRand *random;
  SimTime range;      /* how far ahead most are scheduled */
  const Member *last; /* played */
  guint again, encores, wrong;
  guint64 played, cancelled;
} Crowd;

/* Mostly within the range, sometimes now, sometimes a hundred times as far. */
static void member_schedule(Crowd *crowd, Member *member) {
  SimTime now = event_now(crowd->queue), ahead = (SimTime)(g_rand_double(crowd->random) * (double)crowd->range);
  gint kind = g_rand_int_range(crowd->random, 0, 50);
  member->at = kind == 0 ? now : kind == 1 ? now + 100 * ahead : now + ahead;
  member->scheduled = now;
  event_schedule(crowd->queue, &member->event, member->at);
}

static Member *anyone(Crowd *crowd) {
  return &crowd->members[g_rand_int_range(crowd->random, 0, MANY)];
}

/* Time never goes back, and within an instant keys rise among those scheduled before it. */
static void member_played(Event *event, gpointer owner) {
  Member *member = owner;
  Crowd *crowd = member->crowd;
  const Member *last = crowd->last;
  crowd->wrong += event_now(crowd->queue) != member->at || event_is_pending(event);
  crowd->wrong += last != NULL && last->at == member->at && last->scheduled < last->at &&
                  member->scheduled < member->at && last->event.low > event->low;
  static Member played; /* a copy: the member itself may be scheduled anew */
  played = *member;
  crowd->last = &played;
  crowd->played++;
  member->at = SIM_TIME_NEVER;
  if (event_queue_pending(crowd->queue) == 0 && crowd->encores > 0) {
    crowd->encores--;
    member_schedule(crowd, member);
    crowd->wrong += event_queue_next(crowd->queue) != member->at;
  }
  if (crowd->again > 0) {
    crowd->again--;
    member_schedule(crowd, member);
    Member *other = anyone(crowd);
    if (other->at == SIM_TIME_NEVER || g_rand_boolean(crowd->random)) {
      crowd->cancelled += other->at != SIM_TIME_NEVER; /* moved: played once for two schedules */
      member_schedule(crowd, other);
    } else {
      crowd->cancelled++;
      event_cancel(crowd->queue, &other->event);
      other->at = SIM_TIME_NEVER;
    }
  }
}

static void play_out(Crowd *crowd) {
  SimTime next = event_queue_next(crowd->queue), before = 0;
  while (event_queue_step(crowd->queue)) {
    crowd->wrong += event_now(crowd->queue) < before || event_now(crowd->queue) != next;
    crowd->played += event_queue_pass(crowd->queue, event_now(crowd->queue) + 1) != FALSE;
    before = event_now(crowd->queue);
    next = event_queue_next(crowd->queue);
  }
  guint pending = 0;
  for (guint i = 0; i < MANY; i++)
    pending += crowd->members[i].at != SIM_TIME_NEVER;
  CU_ASSERT_EQUAL(crowd->wrong, 0);
  CU_ASSERT_EQUAL(pending, 0);
  CU_ASSERT_EQUAL(crowd->encores, 0);
  CU_ASSERT_EQUAL(event_queue_played(crowd->queue), crowd->played);
  CU_ASSERT_EQUAL(event_queue_pending(crowd->queue), 0);
}

/* So many that most wait outside the heap; they come and go, move near and far. Everyone plays when it should; the last
 * one a few times more, alone. Without `again` they stand one picosecond apart, and the queue runs dry before that. */
static void play_crowd(SimTime range, guint again) {
  g_autoptr(EventQueue) queue = event_queue_new(EVENT_TIE_FORWARD, 0);
  g_autoptr(GRand) random = harness_random();
  g_autofree Member *members = g_new0(Member, MANY);
  Crowd crowd = {.queue = queue, .members = members, .random = random, .range = range, .again = again, .encores = 50};
  for (guint i = 0; i < MANY; i++) {
    members[i].crowd = &crowd;
    event_init(&members[i].event, member_played, &members[i], (EventPhase)(i % PHASES), i);
    member_schedule(&crowd, &members[i]);
    if (again == 0)
      event_schedule(queue, &members[i].event, members[i].at = i);
  }
  CU_ASSERT_EQUAL(event_queue_pending(queue), MANY);
  play_out(&crowd);
  CU_ASSERT_TRUE(crowd.cancelled >= again / 4);
}

static void many_pending(void) {
  play_crowd(10, 4 * MANY);
  play_crowd(1000, 4 * MANY);
  play_crowd(SIM_MILLISECOND, 4 * MANY);
  play_crowd(10000 * SIM_SECOND, 4 * MANY);
  play_crowd(SIM_MILLISECOND, 0);
}

int main(void) {
  return harness_run("event-queue", (HarnessCase[]){{"equals its dumb twin", equals_twin},
                                                    {"a planted fault is seen", comparison_can_fail},
                                                    {"ties permute within phases", ties_permute_within_phases},
                                                    {"seeds differ", seeds_differ},
                                                    {"reschedules itself", reschedules_itself},
                                                    {"many pending", many_pending},
                                                    {NULL, NULL}});
}
