/* SPDX-License-Identifier: MIT */
/* Keys with sourced defaults, Daly's equations, and the replay. Exponentials are made of sums here, so that every
 * compiler and library prints the same. */
#include "study-reliability.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conf-csv.h"
#include "conf-path.h"
#include "study-reliability-keys.h"
#include "study-walk.h"

#define FIELD(key, kind, member, ...) BASE_ROW("reliability", key, kind, StudyReliability, member, __VA_ARGS__)

#define MOST_SPARES 10000

static const char *const network_names[] = {"own", "shared", NULL};

static const BaseField keys[] = {
    FIELD("node_mtbf", BASE_TIME, node_mtbf, .min = 1, .max = 1e10,
          .help = "mean time between failures of one node, as in 6000 h: without its GPUs where gpu_mtbf is said or "
                  "nothing is (a published one)"),
    FIELD("gpu_mtbf", BASE_TIME, gpu_mtbf, .min = 1, .max = 1e10,
          .help = "mean time between failures of one GPU (a published one, unless node_mtbf is said alone)"),
    FIELD("spare_nodes", BASE_COUNT, spares, .max = MOST_SPARES,
          .help = "nodes that stand by and are paid for; with repair (a node is always at hand, and costs nothing)"),
    FIELD("repair", BASE_TIME, repair, .min = 0, .max = 1e8,
          .help = "from the failure of a node until it stands by again, of spare_nodes"),
    FIELD("restart", BASE_TIME, restart, .min = 0, .max = 1e7,
          .help = "from a failure until training goes on: detection, diagnosis, start (a published one)"),
    FIELD("checkpoint_interval", BASE_TIME, interval, .min = 1, .max = 1e7,
          .help = "training between two checkpoints (what loses least, by Daly)"),
    FIELD("checkpoint_stall", BASE_TIME, stall, .min = 0, .max = 1e6,
          .help = "for which training stands still at each checkpoint that is written beside it (a published one)"),
    FIELD("storage_bandwidth", BASE_BYTE_RATE, storage_bandwidth, .min = 1e3, .max = 1e13,
          .help = "of a node that writes a checkpoint (a published one)"),
    FIELD("synchronous_checkpoints", BASE_FLAG, synchronous,
          .help = "training waits until a checkpoint is written (no)"),
    FIELD("storage_network", BASE_NAME, shared, .names = network_names,
          .help = "how checkpoints go: over NICs of their own, or shared, over those of the training (own)"),
};
const ConfSchema study_reliability_schema = {keys, G_N_ELEMENTS(keys)};

/* Gives each key of the file that nobody gave its value. */
static gboolean put_defaults(ConfSettings *settings, GError **error) {
  g_autofree char *path = conf_path_find("reliability.csv", NULL, "topologies/catalog", NULL, NULL, error);
  g_autoptr(ConfCsv) csv = path != NULL ? conf_csv_load(path, error) : NULL;
  if (csv == NULL)
    return FALSE;
  gboolean whole = conf_settings_given(settings, "reliability.node_mtbf");
  for (guint row = 0; row < csv->n_rows; row++) {
    g_autofree char *name = g_strconcat("reliability.", conf_csv_cell(csv, row, 0), NULL);
    BasePlace place;
    conf_csv_place(csv, row, 1, &place);
    if (!conf_settings_given(settings, name) && !(whole && g_str_equal(name, "reliability.gpu_mtbf")) &&
        !conf_settings_put(settings, name, conf_csv_cell(csv, row, 1), CONF_ORIGIN_FILE, &place, error))
      return FALSE;
  }
  return TRUE;
}

gboolean study_reliability_load(const Study *study, StudyReliability *ret, GError **error) {
  g_autoptr(ConfSettings) settings = conf_settings_copy(study->settings);
  StudyReliability read = {0};
  if (!put_defaults(settings, error) || !conf_settings_fill(settings, &study_reliability_schema, &read, error))
    return FALSE;
  read.has_spares = conf_settings_given(settings, "reliability.spare_nodes");
  if (read.has_spares && !conf_settings_given(settings, "reliability.repair"))
    return conf_settings_fail(settings, "reliability.spare_nodes", error,
                              "say how long a node is away, as in reliability.repair=2 days");
  *ret = read;
  return TRUE;
}

#define WHOLE_BYTES 12 /* fp32 parameters and two moments */
#define HALF_BYTES  2  /* 16-bit parameters beside them */

StudyTraining study_training(const RunReport *report) {
  const RunIdentity *identity = &report->identity;
  gboolean whole = g_str_has_prefix(identity->framework, "fsdp") || strcmp(identity->framework, "ddp") == 0;
  return (StudyTraining){identity->nodes,
                         (double)identity->parameters * (whole ? WHOLE_BYTES : WHOLE_BYTES + HALF_BYTES),
                         report->days_to_train * BASE_DAY, identity->gpus};
}

#define TERMS 30 /* of series whose terms fall by half at least */

/* e^x for x >= 0. */
static double exponential(double x) {
  double sum = 1, term = 1, whole = floor(x), power = 1;
  for (int i = 1; i < TERMS; i++)
    sum += term *= (x - whole) / i;
  for (double i = 0; i < whole && power < 1e300; i++)
    power *= G_E;
  return power * sum;
}

/* ln x for 0 < x < 1: x = m 2^k, and ln m = 2 artanh((m - 1) / (m + 1)). */
static double logarithm(double x) {
  int exponent;
  double m = frexp(x, &exponent), y = (m - 1) / (m + 1), power = y, sum = 0;
  for (int i = 1; i < 2 * TERMS; i += 2, power *= y * y)
    sum += power / i;
  return 2 * sum + exponent * G_LN2;
}

static double time_to_failure(GRand *random, double mtbf) {
  return -mtbf * logarithm(1 - 0.999999999 * g_rand_double(random));
}

/* Nodes in repair, by when they are back: a ring, since all take as long. */
typedef struct {
  const StudyReliability *reliability;
  double *back;
  guint64 first, n;
} Repairs;

/* A node fails at `wall`: how long none is there in its place. */
static double wait_for_node(Repairs *repairs, double wall) {
  guint64 places = repairs->reliability->spares + 1;
  if (!repairs->reliability->has_spares)
    return 0;
  for (; repairs->n > 0 && repairs->back[repairs->first] <= wall; repairs->n--)
    repairs->first = (repairs->first + 1) % places;
  repairs->back[(repairs->first + repairs->n++) % places] = wall + repairs->reliability->repair;
  return repairs->n < places ? 0 : repairs->back[repairs->first] - wall;
}

/* From a failure at `wall` until training goes on; restarts may fail too. */
static double restart(GRand *random, Repairs *repairs, double mtbf, double wall) {
  double begin = wall, failure;
  wall += wait_for_node(repairs, wall);
  while ((failure = time_to_failure(random, mtbf)) < repairs->reliability->restart) {
    wall += failure;
    wall += wait_for_node(repairs, wall);
  }
  return wall + repairs->reliability->restart - begin;
}

/* One training, cycle by cycle: its time on the wall. */
static double replay(GRand *random, Repairs *repairs, const StudyTraining *training, const StudyEndurance *plan) {
  const StudyReliability *reliability = repairs->reliability;
  double wall = 0, done = 0, safe = 0, newest = 0, failure = time_to_failure(random, plan->mtbf);
  double unsafe = reliability->synchronous ? 0 : plan->write;
  while (done < training->seconds) {
    double length = MIN(plan->interval, training->seconds - done);
    double cycle = length + (done + length < training->seconds ? plan->stall : 0);
    if (failure >= cycle) {
      failure -= cycle;
      wall += cycle;
      done += length;
      safe = newest; /* an interval is no shorter than the writing of the checkpoint before it */
      newest = done;
      continue;
    }
    wall += failure;
    wall += restart(random, repairs, plan->mtbf, wall);
    safe = failure >= unsafe ? newest : safe;
    done = newest = safe;
    failure = time_to_failure(random, plan->mtbf);
  }
  return wall;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void replay_all(const StudyReliability *reliability, const StudyTraining *training, guint32 seed,
                       StudyEndurance *ret) {
  double walls[STUDY_ENDURE_REPLAYS], sum = 0;
  g_autofree double *back = g_new(double, reliability->spares + 1);
  GRand *random = g_rand_new_with_seed(seed);
  for (guint i = 0; i < STUDY_ENDURE_REPLAYS; i++) {
    Repairs repairs = {.reliability = reliability, .back = back};
    sum += walls[i] = replay(random, &repairs, training, ret);
  }
  g_rand_free(random);
  qsort(walls, STUDY_ENDURE_REPLAYS, sizeof *walls, by_value);
  ret->replayed = sum / STUDY_ENDURE_REPLAYS;
  ret->low = walls[STUDY_ENDURE_REPLAYS / 10];
  ret->high = walls[STUDY_ENDURE_REPLAYS * 9 / 10];
}

static double daly(double stall, double mtbf) {
  double ratio = stall / (2 * mtbf);
  return ratio < 1 ? sqrt(2 * stall * mtbf) * (1 + sqrt(ratio) / 3 + ratio / 9) - stall : mtbf;
}

/* Erlang's B: the share of time in which all servers are busy. */
static double all_busy(guint64 servers, double load) {
  double busy = 1;
  for (guint64 i = 1; i <= servers; i++)
    busy = load * busy / ((double)i + load * busy);
  return busy;
}

static double job_mtbf(const StudyReliability *reliability, const StudyTraining *training) {
  double rate = training->nodes / reliability->node_mtbf;
  if (reliability->gpu_mtbf > 0)
    rate += training->gpus / reliability->gpu_mtbf;
  return 1 / rate;
}

void study_endure(const StudyReliability *reliability, const StudyTraining *training, guint32 seed,
                  StudyEndurance *ret) {
  StudyEndurance plan = {.mtbf = job_mtbf(reliability, training),
                         .write = training->bytes / (reliability->storage_bandwidth * training->nodes)};
  plan.stall = reliability->synchronous ? plan.write : reliability->stall;
  plan.young = sqrt(2 * plan.stall * plan.mtbf);
  plan.daly = daly(plan.stall, plan.mtbf);
  plan.interval = reliability->interval > 0 ? reliability->interval : plan.daly;
  plan.interval = MAX(plan.interval, reliability->synchronous ? 1 : MAX(plan.write, 1));
  double again = reliability->restart + (reliability->synchronous ? 0 : plan.write);
  double each =
      plan.mtbf * exponential(again / plan.mtbf) * (exponential((plan.interval + plan.stall) / plan.mtbf) - 1);
  plan.waiting = reliability->has_spares ? all_busy(reliability->spares + 1, reliability->repair / plan.mtbf) : 0;
  plan.goodput = plan.interval / each * (1 - plan.waiting);
  plan.seconds = training->seconds / plan.goodput;
  plan.failures = plan.seconds * (1 - plan.waiting) / plan.mtbf;
  if (training->seconds > 0)
    replay_all(reliability, training, seed, &plan);
  *ret = plan;
}
