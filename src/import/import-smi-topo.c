/* SPDX-License-Identifier: MIT */
/* A matrix of relations to a tree: who is under one switch, under one tree of switches, in one socket. */
#include "import-smi-topo.h"

#include <string.h>

#include "import-smi-matrix.h"

/* Devices that a relation up to `most` joins, by their least member. NVLink says nothing of PCI. */
static guint *joined(const ImportMatrix *matrix, ImportRelation most) {
  guint n = matrix->devices->len;
  guint *group = g_new(guint, n);
  for (guint i = 0; i < n; i++)
    group[i] = i;
  for (gboolean changed = TRUE; changed;) {
    changed = FALSE;
    for (guint a = 0; a < n; a++)
      for (guint b = 0; b < n; b++) {
        ImportRelation relation = import_matrix_cell(matrix, a, b)->relation;
        if (relation >= IMPORT_REL_PIX && relation <= most && group[a] > group[b]) {
          group[a] = group[b];
          changed = TRUE;
        }
      }
  }
  return group;
}

/* GPUs that only NVLink relates are in one socket by their NUMA node or processors. */
static void join_by_affinity(const ImportMatrix *matrix, guint *socket) {
  for (guint a = 0; a < matrix->devices->len; a++)
    for (guint b = 0; b < a; b++) {
      const ImportMatrixDevice *one = import_matrix_device(matrix, a), *other = import_matrix_device(matrix, b);
      gboolean numa = one->numa >= 0 && one->numa == other->numa;
      if (!numa && (one->cpus == NULL || g_strcmp0(one->cpus, other->cpus) != 0))
        continue;
      guint from = MAX(socket[a], socket[b]), to = MIN(socket[a], socket[b]);
      for (guint i = 0; i < matrix->devices->len; i++)
        socket[i] = socket[i] == from ? to : socket[i];
    }
}

static guint count_of(const guint *group, guint n, guint which) {
  guint count = 0;
  for (guint i = 0; i < n; i++)
    count += group[i] == which;
  return count;
}

typedef struct {
  ImportMachine *machine;
  guint *socket, *tree, *bridge; /* by device: the least device of its group */
  guint *place;                  /* by device: its part */
} Build;

static guint add_switch(ImportMachine *machine, guint parent) {
  return import_machine_add(machine, HW_PART_SWITCH, parent);
}

/* A group under one bridge is one switch; several bridges of a tree hang under one more. */
static void add_tree(const ImportMatrix *matrix, Build *build, guint first, guint socket) {
  guint n = matrix->devices->len;
  gboolean deep = count_of(build->bridge, n, build->bridge[first]) < count_of(build->tree, n, first);
  gboolean alone = count_of(build->tree, n, first) == 1;
  guint top = alone ? socket : add_switch(build->machine, socket);
  g_autofree guint *under = g_new0(guint, n);
  for (guint i = 0; i < n; i++) {
    if (build->tree[i] != first)
      continue;
    guint bridge = build->bridge[i];
    if (bridge == i)
      under[i] = deep ? add_switch(build->machine, top) : top;
    build->place[i] = import_machine_add(
        build->machine, import_matrix_device(matrix, i)->gpu ? HW_PART_GPU : HW_PART_NIC, under[bridge]);
    import_machine_part(build->machine, build->place[i])->name = g_strdup(import_matrix_device(matrix, i)->name);
  }
}

static void add_sockets(const ImportMatrix *matrix, Build *build) {
  guint n = matrix->devices->len, first_gpu = 0;
  g_autofree guint *part = g_new(guint, n);
  while (first_gpu + 1 < n && !import_matrix_device(matrix, first_gpu)->gpu)
    first_gpu++;
  for (guint i = 0; i < n; i++) {
    gboolean holds_gpu = FALSE;
    for (guint k = 0; k < n; k++)
      holds_gpu = holds_gpu || (build->socket[k] == build->socket[i] && import_matrix_device(matrix, k)->gpu);
    if (!holds_gpu) {
      import_machine_assume(build->machine, "%s sits at the socket of %s: it is near no GPU",
                            import_matrix_device(matrix, i)->name, import_matrix_device(matrix, first_gpu)->name);
      build->socket[i] = build->socket[first_gpu];
    }
    if (build->socket[i] == i)
      part[i] = import_machine_add(build->machine, HW_PART_SOCKET, IMPORT_NO_PART);
  }
  for (guint i = 0; i < n; i++)
    if (build->tree[i] == i)
      add_tree(matrix, build, i, part[build->socket[i]]);
}

static void add_nvlinks(const ImportMatrix *matrix, const Build *build) {
  for (guint a = 0; a < matrix->devices->len; a++)
    for (guint b = a + 1; b < matrix->devices->len; b++) {
      const ImportMatrixCell *cell = import_matrix_cell(matrix, a, b);
      ImportPair pair = {build->place[a], build->place[b], cell->links};
      if (cell->relation == IMPORT_REL_NVLINK)
        g_array_append_val(build->machine->pairs, pair);
    }
}

static ImportMachine *machine_of(const ImportMatrix *matrix) {
  guint n = matrix->devices->len;
  Build build = {.machine = import_machine_new(matrix->path, "a matrix of nvidia-smi topo -m"),
                 .socket = joined(matrix, IMPORT_REL_NODE),
                 .tree = joined(matrix, IMPORT_REL_PXB),
                 .bridge = joined(matrix, IMPORT_REL_PIX),
                 .place = g_new0(guint, n)};
  build.machine->knows_links = TRUE;
  join_by_affinity(matrix, build.socket);
  add_sockets(matrix, &build);
  add_nvlinks(matrix, &build);
  import_machine_assume(build.machine, "PCI links are as usual for these GPUs (topologies/catalog/machine.ini)");
  import_machine_drop_far_nics(build.machine);
  g_free(build.socket);
  g_free(build.tree);
  g_free(build.bridge);
  g_free(build.place);
  return build.machine;
}

ImportMachine *import_smi_topo_load(const char *path, GError **error) {
  g_autoptr(ImportMatrix) matrix = import_matrix_load(path, error);
  return matrix != NULL ? machine_of(matrix) : NULL;
}
