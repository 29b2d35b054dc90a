/* SPDX-License-Identifier: MIT */
/* Small networks, worked out by hand, under both solvers. Rates are in bytes/s and times in seconds, in the comments
 * too. */
#include <string.h>

#include "harness.h"
#include "net-play.h"

#define SECONDS(s) ((SimTime)((s)*1e12))

static const NetSolver solvers[] = {NET_SOLVER_LAZY, NET_SOLVER_FULL};

/* A flow over one or two links with coefficient, weight and count 1 and no cap. */
static PlayFlow plain(double volume, guint32 n, guint32 first, guint32 second) {
  return (PlayFlow){.volume = volume,
                    .cap = G_MAXDOUBLE,
                    .weight = 1,
                    .count = 1,
                    .n = n,
                    .links = {first, second},
                    .coefficients = {1, 1}};
}

static PlayScript script_of(double *capacities, guint32 n_links, PlayFlow *flows, guint32 n_flows) {
  return (PlayScript){.n_links = n_links, .capacities = capacities, .n_flows = n_flows, .flows = flows};
}

/* The rate of a flow at the end of the first instant. */
static double first_rate(const PlayResult *result, guint32 flow) {
  return g_array_index(result->rates, double, flow);
}

/* One link of 10: both go at 5. The first ends at 20/5 = 4; the second has 40 - 20 = 20 left, and at 10 ends at 6. The
 * link carried 60 and was busy for 6. */
static void two_flows_one_link(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {10};
    PlayFlow flows[] = {plain(20, 1, 0, 0), plain(40, 1, 0, 0)};
    PlayScript script = script_of(capacities, 1, flows, 2);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(first_rate(result, 0), 5);
    CU_ASSERT_EQUAL(first_rate(result, 1), 5);
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(4));
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(6));
    CU_ASSERT_EQUAL(result->link_bytes[0], 60);
    CU_ASSERT_EQUAL(result->link_busy[0], SECONDS(6));
  }
}

/* The parking lot: 0 runs over links A (10) and B (4); 1 over A; 2 over B. B is the tighter: 0 and 2 get 2, and 1 gets
 * what is left of A: 8. */
static void parking_lot(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {10, 4};
    PlayFlow flows[] = {plain(100, 2, 0, 1), plain(100, 1, 0, 0), plain(100, 1, 1, 0)};
    PlayScript script = script_of(capacities, 2, flows, 3);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(first_rate(result, 0), 2);
    CU_ASSERT_EQUAL(first_rate(result, 1), 8);
    CU_ASSERT_EQUAL(first_rate(result, 2), 2);
    /* 1 ends at 100/8 = 12.5; 0 and 2 go on at 2, limited by B, until 50. */
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(12.5));
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(50));
    CU_ASSERT_EQUAL(result->ends[2], SECONDS(50));
  }
}

/* Weights 3 and 1 on a link of 8: 6 and 2. */
static void weights(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {8};
    PlayFlow flows[] = {plain(60, 1, 0, 0), plain(60, 1, 0, 0)};
    flows[0].weight = 3;
    PlayScript script = script_of(capacities, 1, flows, 2);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(first_rate(result, 0), 6);
    CU_ASSERT_EQUAL(first_rate(result, 1), 2);
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(10)); /* 60/6 */
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(15)); /* 20 by then, and (60 - 20)/8 = 5 more */
  }
}

/* A cap of 2 on a link of 10: 2 and 8. A cap of 7 does not bind: 5 and 5. Weight 3 with cap 3, against 1, on 8:
 * unlimited it would get 6, so 3, and the other 5. Without links the cap alone limits. */
static void caps(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {10, 10, 8};
    PlayFlow flows[] = {plain(20, 1, 0, 0), plain(20, 1, 0, 0), plain(20, 1, 1, 0), plain(20, 1, 1, 0),
                        plain(20, 1, 2, 0), plain(20, 1, 2, 0), plain(20, 0, 0, 0)};
    flows[0].cap = 2;
    flows[2].cap = 7;
    flows[4].cap = 3;
    flows[4].weight = 3;
    flows[6].cap = 4;
    PlayScript script = script_of(capacities, 3, flows, 7);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    const double rates[] = {2, 8, 5, 5, 3, 5, 4};
    for (guint32 i = 0; i < 7; i++)
      CU_ASSERT_EQUAL(first_rate(result, i), rates[i]);
    CU_ASSERT_EQUAL(result->ends[6], SECONDS(5));
  }
}

/* Coefficient 3 on a link of 8 beside a coefficient of 1: both go at r with 4r = 8, so 2; the link carries 3 × 2 + 2.
 * When the flow of coefficient 3 ends at 10/2 = 5, the link has carried 40; the other has 20 - 10 left and ends at 5 +
 * 10/8. */
static void coefficients(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {8};
    PlayFlow flows[] = {plain(10, 1, 0, 0), plain(20, 1, 0, 0)};
    flows[0].coefficients[0] = 3;
    PlayScript script = script_of(capacities, 1, flows, 2);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(first_rate(result, 0), 2);
    CU_ASSERT_EQUAL(first_rate(result, 1), 2);
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(5));
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(6.25));
    CU_ASSERT_EQUAL(result->link_bytes[0], 50);
  }
}

/* A class of 3 and a single flow share a link of 8: 2 each. The class ends at 4/2 = 2, having moved 12; the single one
 * has 4 of its 8 left and ends at 2.5. */
static void counts(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {8};
    PlayFlow flows[] = {plain(4, 1, 0, 0), plain(8, 1, 0, 0)};
    flows[0].count = 3;
    PlayScript script = script_of(capacities, 1, flows, 2);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(first_rate(result, 0), 2);
    CU_ASSERT_EQUAL(first_rate(result, 1), 2);
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(2));
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(2.5));
    CU_ASSERT_EQUAL(result->link_bytes[0], 20);
  }
}

/* 100 bytes at 10; at 2 the link falls to 4, at 12 it rises to 20: 20 + 40 + 20 t = 100 gives t = 2, so 14. A change to
 * the same capacity at 13 changes nothing. */
static void capacity_changes(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {10};
    PlayFlow flows[] = {plain(100, 1, 0, 0)};
    PlayChange changes[] = {{SECONDS(2), 0, 4}, {SECONDS(12), 0, 20}, {SECONDS(13), 0, 20}};
    PlayScript script = script_of(capacities, 1, flows, 1);
    script.n_changes = 3;
    script.changes = changes;
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(14));
    CU_ASSERT_EQUAL(result->link_bytes[0], 100);
    CU_ASSERT_EQUAL(result->link_busy[0], SECONDS(14));
  }
}

/* Link of 12. 0 starts at 0 alone: 12 until 1. 1 joins: 6 each until 2. 2 joins: 4 each. 0 has 30 - 12 - 6 = 12 left:
 * ends at
 * 5. 1 has 24 - 6 - 12 = 6 left, 2 has 20 - 12 = 8 left, 6 each: 1 ends at 6, 2 has 2 left at 12: ends at 6 + 1/6, to
 * the nearest picosecond 6.166666666667. */
static void staggered_starts(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {12};
    PlayFlow flows[] = {plain(30, 1, 0, 0), plain(24, 1, 0, 0), plain(20, 1, 0, 0)};
    flows[1].start = SECONDS(1);
    flows[2].start = SECONDS(2);
    PlayScript script = script_of(capacities, 1, flows, 3);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(5));
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(6));
    CU_ASSERT_EQUAL(result->ends[2], G_GINT64_CONSTANT(6166666666667));
  }
}

/* Two flows of 20 on a link of 10, at 5 each. At 2 the first is cancelled, 10 moved; the second has 10 left: ends at 3.
 */
static void cancels(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {10};
    PlayFlow flows[] = {plain(20, 1, 0, 0), plain(20, 1, 0, 0)};
    flows[0].cancel = SECONDS(2);
    PlayScript script = script_of(capacities, 1, flows, 2);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(result->ends[0], SIM_TIME_NEVER);
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(3));
    CU_ASSERT_EQUAL(result->link_bytes[0], 30);
  }
}

/* A volume of 0 ends where it starts and leaves no trace on the flow beside it: the service of that one is not anchored
 * anew at 1, so at 10/3 its 10 bytes end at 3 to the picosecond. */
static void nothing_to_move(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {10.0 / 3};
    PlayFlow flows[] = {plain(10, 1, 0, 0), plain(0, 1, 0, 0), plain(0, 0, 0, 0)};
    flows[1].start = flows[2].start = SECONDS(1);
    flows[2].cap = 1;
    PlayScript script = script_of(capacities, 1, flows, 3);
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(3));
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(1));
    CU_ASSERT_EQUAL(result->ends[2], SECONDS(1));
    CU_ASSERT_EQUAL(result->link_bytes[0], 10);
  }
}

typedef struct {
  GString *text;
  char name;
  NetFlow flow;
} Named;

static void append_name(NetFlow *flow, gpointer owner) {
  (void)flow;
  Named *named = owner;
  g_string_append_c(named->text, named->name);
}

/* Three equal flows end in one instant: in the order of their identities, whatever the order of their starts. */
static void completions_by_identity(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    g_autoptr(EventQueue) queue = event_queue_new(EVENT_TIE_FORWARD, 0);
    g_autoptr(NetSystem) net = net_system_new(queue, solvers[s]);
    const guint32 link = net_link_add(net, 10), one = 1;
    const NetRoute *route = net_route_new(net, &link, &one, 1);
    g_autoptr(GString) text = g_string_new(NULL);
    Named named[] = {{text, 'c'}, {text, 'a'}, {text, 'b'}};
    const guint64 identities[] = {30, 10, 20};
    for (guint i = 0; i < 3; i++) {
      net_flow_init(&named[i].flow, append_name, &named[i], identities[i]);
      net_flow_start(net, &named[i].flow, route, 10, 1, 1, G_MAXDOUBLE);
    }
    while (event_queue_step(queue))
      ;
    CU_ASSERT_STRING_EQUAL(text->str, "abc");
    CU_ASSERT_EQUAL(event_queue_played(queue), 5); /* settle, three ends, settle */
  }
}

/* Asking a link in the middle does not change what it says at the end, nor when: 7/3 bytes at 1/3 bytes/s end at 7 and
 * are 2 to the nearest byte; 3 s into it, 1. */
static void asking_leaves_no_trace(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double bytes[2];
    for (gboolean ask = FALSE; ask <= TRUE; ask++) {
      g_autoptr(EventQueue) queue = event_queue_new(EVENT_TIE_FORWARD, 0);
      g_autoptr(NetSystem) net = net_system_new(queue, solvers[s]);
      const guint32 link = net_link_add(net, 1.0 / 3), idle = net_link_add(net, 1), one = 1;
      GString *text = g_string_new(NULL);
      Named named[] = {{text, 'x'}, {text, 'y'}};
      net_flow_init(&named[0].flow, append_name, &named[0], 0);
      net_flow_start(net, &named[0].flow, net_route_new(net, &link, &one, 1), 7.0 / 3, 1, 1, G_MAXDOUBLE);
      net_flow_init(&named[1].flow, append_name, &named[1], 1);
      net_flow_start(net, &named[1].flow, net_route_new(net, &idle, &one, 1), 1.7, 1, 1, G_MAXDOUBLE);
      while (event_queue_step(queue))
        if (ask)
          CU_ASSERT_TRUE(net_link_bytes(net, link) >= 0 && net_link_busy(net, link) <= SECONDS(7));
      bytes[ask] = net_link_bytes(net, link);
      CU_ASSERT_EQUAL(net_link_busy(net, link), SECONDS(7));
      CU_ASSERT_STRING_EQUAL(text->str, "yx");
      g_string_free(text, TRUE);
    }
    CU_ASSERT_EQUAL(bytes[0], 2);
    CU_ASSERT_EQUAL(bytes[1], bytes[0]);
  }
}

/* At 1 link A goes from 1 to 5 and B from 10 to 6. While the lazy solver fills upwards, C (12), which carries a flow of
 * each, first has 5 + 10; in the end 5 + 6, as before 1 + 10. No flow waits for C at any time. Of the first's 100 bytes
 * 1 goes until then, of the second's 10. The third goes over D (1) from 1 on, started twice; the fourth, over it and A,
 * goes at once, and is nothing. */
static void room_that_comes_back(void) {
  for (guint s = 0; s < G_N_ELEMENTS(solvers); s++) {
    double capacities[] = {1, 10, 12, 1};
    PlayFlow flows[] = {plain(100, 2, 0, 2), plain(100, 2, 1, 2), plain(7, 1, 3, 0), plain(7, 2, 3, 0)};
    PlayChange changes[] = {{SECONDS(1), 0, 5}, {SECONDS(1), 1, 6}};
    flows[2].start = flows[3].start = SECONDS(1);
    flows[2].again = flows[3].gone = TRUE;
    PlayScript script = script_of(capacities, 4, flows, 4);
    script.n_changes = 2;
    script.changes = changes;
    g_autoptr(PlayResult) result = play(&script, solvers[s]);
    CU_ASSERT_EQUAL(first_rate(result, 0), 1);
    CU_ASSERT_EQUAL(first_rate(result, 1), 10);
    CU_ASSERT_EQUAL(g_array_index(result->rates, double, 4), 5);
    CU_ASSERT_EQUAL(g_array_index(result->rates, double, 5), 6);
    CU_ASSERT_EQUAL(result->ends[0], SECONDS(1 + 99.0 / 5));
    CU_ASSERT_EQUAL(result->ends[1], SECONDS(16));
    CU_ASSERT_EQUAL(result->ends[2], SECONDS(8));
    CU_ASSERT_EQUAL(result->ends[3], SIM_TIME_NEVER);
    CU_ASSERT_EQUAL(result->link_bytes[3], 7);
  }
}

int main(void) {
  return harness_run("net-share", (HarnessCase[]){{"two flows, one link", two_flows_one_link},
                                                  {"parking lot", parking_lot},
                                                  {"weights", weights},
                                                  {"caps", caps},
                                                  {"coefficients", coefficients},
                                                  {"counts", counts},
                                                  {"capacity changes", capacity_changes},
                                                  {"staggered starts", staggered_starts},
                                                  {"cancels", cancels},
                                                  {"nothing to move", nothing_to_move},
                                                  {"completions by identity", completions_by_identity},
                                                  {"asking leaves no trace", asking_leaves_no_trace},
                                                  {"room that comes back", room_that_comes_back},
                                                  {NULL, NULL}});
}
