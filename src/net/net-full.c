/* The textbook's progressive filling of everything: slow, plain, the oracle.
 *
 * All flows rise together, in proportion to their weights, until one is stopped: by its cap, or by a link that is full. Those
 * stopped keep their rate, the others rise on. The level of a link is what is left of it, after the stopped, per unit of weight
 * still rising. O(flows × links) a round, a round per distinct level.
 *
 * A link's load is a sum over distinct rates in ascending order of rate times an integer (coefficient × count, summed), so
 * that neither the order of flows nor whether equal ones form a class can change a bit. */
#include <string.h>

#include "net-state.h"

/* What the flows of one rate put on a link. */
typedef struct {
  double rate;
  guint64 times; /* coefficient × count */
} Share;

typedef struct {
  GArray *shares;   /* Share, of the stopped flows, ascending by rate */
  guint64 rising;   /* sum of coefficient × count × weight */
  double level;
} Fill;

static void add_share(GArray *shares, double rate, guint64 times) {
  guint i = 0;
  while (i < shares->len && g_array_index(shares, Share, i).rate < rate)
    i++;
  if (i < shares->len && g_array_index(shares, Share, i).rate == rate) {
    g_array_index(shares, Share, i).times += times;
    return;
  }
  Share share = {rate, times};
  g_array_insert_val(shares, i, share);
}

static double sum_shares(const GArray *shares) {
  double sum = 0;
  for (guint i = 0; i < shares->len; i++)
    sum += g_array_index(shares, Share, i).rate * (double)g_array_index(shares, Share, i).times;
  return sum;
}

static void find_level(Fill *fill, double capacity) {
  fill->level = fill->rising > 0 ? (capacity - sum_shares(fill->shares)) / (double)fill->rising : G_MAXDOUBLE;
}

static void stop_flow(NetFlow *flow, Fill *fills, double rate) {
  flow->solved = rate;
  flow->stopped = TRUE;
  for (guint32 i = 0; i < flow->route->n; i++) {
    Fill *fill = &fills[flow->route->links[i]];
    guint64 times = (guint64)flow->route->coefficients[i] * flow->count;
    fill->rising -= times * flow->weight;
    add_share(fill->shares, rate, times);
  }
}

static double lowest_link(const NetFlow *flow, const Fill *fills) {
  double level = G_MAXDOUBLE;
  for (guint32 i = 0; i < flow->route->n; i++)
    level = MIN(level, fills[flow->route->links[i]].level);
  return level;
}

/* Stops every flow that the least level stops; FALSE where none was rising. */
static gboolean round_of_filling(NetSystem *net, Fill *fills) {
  double least = G_MAXDOUBLE;
  gboolean any = FALSE;
  for (guint i = 0; i < net->flows->len; i++) {
    const NetFlow *flow = g_ptr_array_index(net->flows, i);
    if (flow->stopped)
      continue;
    any = TRUE;
    least = MIN(least, MIN(lowest_link(flow, fills), flow->cap / flow->weight));
  }
  for (guint i = 0; i < net->flows->len; i++) {
    NetFlow *flow = g_ptr_array_index(net->flows, i);
    if (flow->stopped)
      continue;
    if (flow->cap / flow->weight == least)
      stop_flow(flow, fills, flow->cap);
    else if (lowest_link(flow, fills) == least)
      stop_flow(flow, fills, least * flow->weight);
  }
  for (guint i = 0; any && i < net->links->len; i++)
    find_level(&fills[i], g_array_index(net->links, NetLink, i).capacity);
  return any;
}

void net_solve_full(NetSystem *net) {
  g_autofree Fill *fills = g_new0(Fill, net->links->len);
  for (guint i = 0; i < net->links->len; i++)
    fills[i].shares = g_array_new(FALSE, FALSE, sizeof(Share));
  for (guint i = 0; i < net->flows->len; i++) {
    NetFlow *flow = g_ptr_array_index(net->flows, i);
    flow->stopped = FALSE;
    for (guint32 k = 0; k < flow->route->n; k++)
      fills[flow->route->links[k]].rising += (guint64)flow->route->coefficients[k] * flow->count * flow->weight;
  }
  for (guint i = 0; i < net->links->len; i++)
    find_level(&fills[i], g_array_index(net->links, NetLink, i).capacity);
  while (round_of_filling(net, fills))
    ;
  for (guint i = 0; i < net->links->len; i++) {
    g_array_index(net->links, NetLink, i).load = sum_shares(fills[i].shares);
    g_array_unref(fills[i].shares);
  }
}
