#include "coll-graph.h"
#include "machine.h"
static void show(const char *text, const char *more, guint32 n, guint32 nodes, const char *version) {
  g_auto(Machine) built = {0};
  const HwMachine *m = machine_must(&built, text, more);
  CollSearchRules rules;
  GError *error = NULL;
  if (!coll_search_rules_load(version, &rules, &error))
    g_error("%s", error->message);
  guint32 gpus[64];
  for (guint32 i = 0; i < n; i++)
    gpus[i] = i;
  CollGraphRequest r = {gpus, n, nodes, n * nodes, 0, 0, 2, TRUE, TRUE};
  gint64 t0 = g_get_monotonic_time();
  g_autoptr(CollGraphs) g = coll_graphs_new(m, &rules, &r, &error);
  if (!g) {
    printf("%s\n", error->message);
    return;
  }
  gint64 t1 = g_get_monotonic_time();
  g_autoptr(GString) s = g_string_new(NULL);
  coll_graphs_describe(g, gpus, s);
  printf("== %s %u GPUs %u nodes %s: %ld us\n%s", more, n, nodes, version, (long)(t1 - t0), s->str);
}
static void all(void) {
  show(NULL, "cluster.topology=dgx-h100", 4, 2, "2.30");
  show(NULL, "cluster.topology=dgx-h100", 2, 2, "2.30");
  show(NULL, "cluster.topology=aws-p5", 1, 2, "2.30");

  show(NULL, "cluster.topology=dgx-a100", 8, 1, "2.30");
  show(NULL, "cluster.topology=dgx-h100", 8, 1, "2.30");
  show(NULL, "cluster.topology=dgx-h100", 6, 1, "2.30");
  show(NULL, "cluster.topology=dgx-h100", 2, 1, "2.30");
  show(NULL, "cluster.topology=dgx-h100", 1, 1, "2.30");
  show(NULL, "cluster.topology=dgx-h100", 8, 2, "2.30");
  show(NULL, "cluster.topology=dgx-h100", 8, 2, "2.28");
  show(NULL, "cluster.topology=dgx-h100", 1, 2, "2.30");
  show("[node]\ngpu = h100-sxm5-80gb\ngpus = 4\nintra = nvlink4-mesh\n[environment]\nplatform=infiniband\n",
       "cluster.nodes=1", 4, 1, "2.30");
  show("[node]\ngpu = h100-sxm5-80gb\ngpus = 4\nintra = "
       "nvlink4-mesh\nnic=ib-hdr200\nnics=4\ncpu=amd-genoa\n[environment]\nplatform=infiniband\n",
       "cluster.nodes=2", 4, 2, "2.22");
  show(NULL, "cluster.topology=aws-p4d", 8, 2, "2.30");
  show(NULL, "cluster.topology=dgx-a100", 8, 2, "2.30");
  show(NULL, "cluster.topology=dgx-a100", 1, 2, "2.30");
  show(NULL, "cluster.topology=dgx-b200", 8, 1, "2.30");
  show(NULL, "cluster.topology=dgx-b200", 8, 4, "2.30");
  show(NULL, "cluster.topology=box-l40s", 8, 1, "2.30");
  show(NULL, "cluster.topology=aws-p5", 8, 2, "2.30");
  show(NULL, "cluster.topology=dgx2-v100", 16, 2, "2.30");
  show(NULL, "cluster.topology=h100-eth100", 8, 2, "2.30");
}
int main(void) {
  return harness_run("g", (HarnessCase[]){{"all", all}, {NULL, NULL}});
}
