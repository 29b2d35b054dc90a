/* SPDX-License-Identifier: MIT */
/* Clusters from the text of a topology file, for tests of machines and of what is built on them.
 *
 *   g_auto(Machine) built = {0};
 *   GError *error = NULL;
 *   if (!machine_build(&built, "[node]\n…", "cluster.nodes=2", &error)) …      // settings as --set, between ';'
 *   built.cluster->machine
 */
#pragma once

#include "conf-settings.h"
#include "harness.h"
#include "hw-cluster.h"

typedef struct {
  HwCatalog *catalog;
  ConfSettings *settings;
  HwCluster *cluster;
} Machine;

void machine_clear(Machine *machine);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Machine, machine_clear)

/* `text` NULL: `more` names a topology. */
gboolean machine_build(Machine *ret, const char *text, const char *more, GError **error);

const HwMachine *machine_must(Machine *ret, const char *text, const char *more);

/* The machine in a topology file's own lines ([pci], [nvlink], [nics]). Appends. */
void machine_print(const HwMachine *machine, GString *text);
