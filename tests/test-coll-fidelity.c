/* SPDX-License-Identifier: MIT */
/* Two fidelities of one call: a flow with a latency, and every chunk its own transfer on the net. Alone on the machine
 * they must agree within 2 % from 64 MiB on, 5 % from 1 MiB, 10 % below. With the argument "large": calls and groups
 * that take longer to play. */
#include <string.h>

#include "cluster.h"
#include "coll-pipeline.h"
#include "group.h"
#include "harness.h"
#include "run-state.h"
#include "study.h"

/* A net and a queue under one communicator of all GPUs of a cluster. */
typedef struct {
  TestCluster built;
  CollGroup *group;
  RunSystem system;
  RunOptions options;
  RunPlay play;
  RunCommunicator communicator;
  SimTime ended;
} Bench;

static Bench *bench_new(const char *topology, guint32 nodes, guint32 per_node, const char *extra) {
  Bench *bench = g_new0(Bench, 1);
  g_autofree char *gpus = g_strdup_printf("cluster.gpus_per_node=%u", per_node);
  bench->built = cluster_new(topology, nodes, gpus, extra, NULL);
  const HwCluster *cluster = bench->built.cluster;
  guint32 n = nodes * per_node;
  bench->group = group_of_first(cluster, n);
  bench->system = (RunSystem){.links = cluster->links, .n_links = cluster->n_links, .groups = &bench->group};
  bench->play = (RunPlay){.system = &bench->system, .options = &bench->options, .communicators = &bench->communicator};
  bench->play.queue = event_queue_new(EVENT_TIE_SHUFFLE, harness_seed());
  bench->play.net = net_system_new(bench->play.queue, NET_SOLVER_LAZY);
  for (guint32 i = 0; i < cluster->n_links; i++)
    net_link_add(bench->play.net, cluster->links[i].capacity);
  return bench;
}

static void bench_free(Bench *bench) {
  run_chunks_forget(&bench->communicator);
  net_system_free(bench->play.net);
  event_queue_free(bench->play.queue);
  coll_group_free(bench->group);
  cluster_clear(&bench->built);
  g_free(bench);
}

static void has_ended(gpointer owner) {
  Bench *bench = owner;
  bench->ended = event_now(bench->play.queue);
}

static SimTime play_chunks(Bench *bench, const CollCall *call, const CollPlan *plan) {
  SimTime start = event_now(bench->play.queue);
  bench->ended = -1;
  RunChunks *chunks = run_chunks_new(&bench->play, 0, call, plan, has_ended, bench);
  while (event_queue_step(bench->play.queue))
    ;
  run_chunks_free(chunks);
  CU_ASSERT_TRUE_FATAL(bench->ended >= 0);
  return bench->ended - start;
}

static double tolerance(guint64 bytes) {
  return bytes >= 64 << 20 ? 0.02 : bytes >= 1 << 20 ? 0.05 : 0.10;
}

/* Greatest errors so far, printed at the end: below 1 MiB, below 64 MiB, from there on. */
static void check_call(Bench *bench, CollAlgorithm algorithm, const CollCall *call, double worst[3]) {
  CollPlan plan;
  coll_plan_forced(bench->group, call, algorithm, &plan);
  SimTime flow = plan.latency + sim_time_of_amount(plan.volume, plan.cap), step = play_chunks(bench, call, &plan);
  double error = (double)(step - flow) / (double)flow;
  double *band = &worst[call->bytes >= 64 << 20 ? 2 : call->bytes >= 1 << 20 ? 1 : 0];
  *band = MAX(*band, ABS(error));
  if (ABS(error) > tolerance(call->bytes)) {
    printf("\n    %s %s of %" G_GUINT64_FORMAT " bytes over %u × %u: flow %.2f us, step %.2f us",
           coll_algorithm_names[plan.algorithm], coll_operation_names[call->operation], call->bytes,
           bench->group->nodes, bench->group->size / bench->group->nodes, (double)flow / 1e6, (double)step / 1e6);
    CU_FAIL("fidelities differ");
  }
}

static void check_group(const char *topology, guint32 nodes, guint32 per_node, guint64 most, double worst[3]) {
  static const guint64 sizes[] = {8, 32 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30};
  Bench *bench = bench_new(topology, nodes, per_node, NULL);
  for (CollOperation operation = 0; operation <= COLL_REDUCE_SCATTER; operation++)
    for (gsize s = 0; s < G_N_ELEMENTS(sizes) && sizes[s] <= most; s++) {
      check_call(bench, COLL_RING, &(CollCall){operation, sizes[s]}, worst);
      if (operation == COLL_ALL_REDUCE)
        check_call(bench, COLL_TREE, &(CollCall){operation, sizes[s]}, worst);
    }
  bench_free(bench);
}

static void print_worst(const double worst[3]) {
  printf(" (worst: %.3f %% below 1 MiB, %.3f %% below 64 MiB, %.3f %% above) ", worst[0] * 100, worst[1] * 100,
         worst[2] * 100);
}

static void one_node(void) {
  double worst[3] = {0};
  for (guint32 n = 2; n <= 8; n *= 2)
    check_group("dgx-h100", 1, n, 1 << 30, worst);
  check_group("aws-p4d", 1, 8, 1 << 30, worst);
  print_worst(worst);
}

static void several_nodes(void) {
  double worst[3] = {0};
  check_group("dgx-h100", 2, 8, 256 << 20, worst);
  check_group("dgx-h100", 4, 8, 64 << 20, worst);
  check_group("dgx-h100", 8, 8, 64 << 20, worst);
  check_group("dgx-h100", 5, 3, 64 << 20, worst);
  check_group("aws-p4d", 2, 8, 64 << 20, worst);
  print_worst(worst);
}

static void larger_calls_and_groups(void) {
  double worst[3] = {0};
  for (guint32 nodes = 2; nodes <= 16; nodes *= 2)
    check_group("dgx-h100", nodes, 8, 1 << 30, worst);
  check_group("dgx-a100", 13, 4, 1 << 30, worst);
  check_group("dgx2-v100", 3, 16, 1 << 30, worst);
  check_group("aws-p4d", 4, 8, 1 << 30, worst);
  print_worst(worst);
}

static void check_pipeline(const CollGroup *group, const CollCall *call, CollPlan *plan) {
  CollSteps steps;
  coll_steps(group, call, plan, &steps);
  plan->base = steps.base;
  g_autoptr(CollSchedule) schedule = coll_schedule_new(group, call, plan);
  CU_ASSERT_EQUAL(coll_pipeline(group, plan->algorithm, &steps), coll_pipeline_walk(schedule));
}

/* The closed form, the walk over one node's places and the walk over all transfers are one number; over a slow network
 * slots bind. */
static void pipelines_agree(void) {
  static const guint32 groups[][2] = {{1, 2}, {1, 5}, {2, 1}, {2, 8}, {4, 3}, {7, 2}, {13, 1}};
  static const guint64 sizes[] = {0, 8, 100001, 16 << 20, 1 << 30};
  for (gsize g = 0; g < G_N_ELEMENTS(groups); g++)
    for (guint slow_network = 0; slow_network < 2; slow_network++) {
      Bench *bench =
          bench_new("dgx-h100", groups[g][0], groups[g][1], slow_network ? "environment.platform=tcpx" : NULL);
      for (CollOperation operation = 0; operation <= COLL_REDUCE_SCATTER; operation++)
        for (CollProtocol protocol = 0; protocol < COLL_PROTOCOLS; protocol++)
          for (gsize s = 0; s < G_N_ELEMENTS(sizes); s++) {
            CollCall call = {operation, sizes[s]};
            CollPlan plan = {.algorithm = COLL_RING,
                             .protocol = protocol,
                             .channels = bench->group->channels,
                             .cap = bench->group->rates[COLL_RING]};
            check_pipeline(bench->group, &call, &plan);
            plan.algorithm = COLL_TREE;
            if (operation == COLL_ALL_REDUCE)
              check_pipeline(bench->group, &call, &plan);
          }
      bench_free(bench);
    }
}

/* Half the NICs' bandwidth is taken away: chunks must notice, so that the agreement above says something. */
static void chunks_feel_the_links(void) {
  Bench *bench = bench_new("dgx-h100", 2, 8, NULL);
  CollCall call = {COLL_ALL_GATHER, 256 << 20};
  CollPlan plan;
  coll_plan(bench->group, &call, &plan);
  SimTime alone = play_chunks(bench, &call, &plan);
  for (guint32 nic = 0; nic < 8; nic++) {
    guint32 link = hw_cluster_nic_out(bench->built.cluster, 0, nic);
    net_link_set_capacity(bench->play.net, link, bench->built.cluster->links[link].capacity / 2);
  }
  SimTime slowed = play_chunks(bench, &call, &plan);
  /* All 16 hops of a ring go at the pace of its slowest, half a NIC, behind which the others' hops hide. */
  SimTime busy = sim_time_of_amount(plan.volume, bench->built.cluster->nic_bandwidth / 2);
  CU_ASSERT_TRUE(slowed >= busy && slowed < busy / 20 * 21 && alone < busy / 5 * 3);
  bench_free(bench);
}

static RunReport *run_study(const char *workload, guint32 nodes, guint stage, const char *algorithm,
                            StudyOptions options) {
  GError *error = NULL;
  g_autoptr(Study) study = study_open(workload, &error);
  g_autofree char *count = g_strdup_printf("cluster.nodes=%u", nodes);
  g_autofree char *algo = g_strdup_printf("nccl.algo=%s", algorithm);
  g_autofree char *zero = g_strdup_printf("parallel.zero_stage=%u", stage);
  CU_ASSERT_TRUE_FATAL(study != NULL && study_set(study, "cluster.topology=dgx-h100", &error) &&
                       study_set(study, "model.layers=2", &error) && study_set(study, count, &error) &&
                       study_set(study, zero, &error) && study_set(study, algo, &error));
  RunReport *report = study_run(study, &options, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(report);
  return report;
}

/* A step in both fidelities: within 2 %; and each the same unfolded, or with simultaneous events in another order. */
static void check_step(const char *workload, guint32 nodes, guint stage, const char *algorithm) {
  const StudyOptions base = {.timeline = TRUE, .fold = TRUE}, unfolded = {.timeline = TRUE};
  const StudyOptions chunked = {.timeline = TRUE, .fold = TRUE, .chunks = TRUE};
  const StudyOptions shuffled = {
      .timeline = TRUE, .chunks = TRUE, .tie = STUDY_TIE_SHUFFLE, .tie_seed = harness_seed()};
  g_autoptr(RunReport) flow = run_study(workload, nodes, stage, algorithm, base);
  g_autoptr(RunReport) all = run_study(workload, nodes, stage, algorithm, unfolded);
  g_autoptr(RunReport) step = run_study(workload, nodes, stage, algorithm, chunked);
  g_autoptr(RunReport) again = run_study(workload, nodes, stage, algorithm, shuffled);
  double times[] = {(double)flow->classes[0].step, (double)step->classes[0].step};
  printf(" (%s, stage %u: flow %.3f ms, step %.3f ms) ", workload, stage, times[0] / 1e9, times[1] / 1e9);
  CU_ASSERT_DOUBLE_EQUAL(times[1] / times[0], 1, 0.02);
  gboolean found = FALSE;
  for (guint32 i = 0; i < step->classes[0].n_collectives; i++)
    found |= strcmp(step->classes[0].collectives[i].algorithm, algorithm) == 0;
  CU_ASSERT_TRUE(found);
  CU_ASSERT_EQUAL(flow->n_classes, 1);
  CU_ASSERT_EQUAL(step->n_classes, 8 * nodes);
  CU_ASSERT_TRUE(step->events > 10 * flow->events);
  for (guint32 i = 0; i < step->n_classes; i++) {
    CU_ASSERT_EQUAL(all->classes[i].step, flow->classes[0].step);
    CU_ASSERT_EQUAL(again->classes[i].step, step->classes[0].step);
  }
  for (guint32 i = 0; i < flow->n_links; i++) {
    CU_ASSERT_EQUAL(all->links[i].bytes, flow->links[i].bytes);
    /* The same bytes pass, but for what alignment adds. */
    CU_ASSERT_DOUBLE_EQUAL(step->links[i].bytes / flow->links[i].bytes, 1, 0.001);
  }
}

static void training_steps(void) {
  check_step("llama2-7b", 2, 3, "ring");
  check_step("gpt2-xl", 4, 0, "tree");
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "large") == 0)
    return harness_run("coll-fidelity",
                       (HarnessCase[]){{"larger calls and groups", larger_calls_and_groups}, {NULL, NULL}});
  return harness_run("coll-fidelity", (HarnessCase[]){{"one node", one_node},
                                                      {"several nodes", several_nodes},
                                                      {"pipelines agree", pipelines_agree},
                                                      {"chunks feel the links", chunks_feel_the_links},
                                                      {"training steps", training_steps},
                                                      {NULL, NULL}});
}
