/* SPDX-License-Identifier: MIT */
/* NCCL's machine (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE) as ours.
 *
 *   g_autoptr(ImportMachine) machine = import_nccl_topology_load("topo.xml", error);
 *   GString *text = import_machine_text(machine, &(ImportParts){.gpu = "h100-sxm5-80gb"}, error);
 *
 * Full dumps, and the skeletons that clouds ship, which hold sockets and PCI alone. Two-level PCIe switches that NCCL
 * flattens are one here too; a link without a speed is generation 3, as NCCL takes it. Refused (SIM_ERROR_INPUT, at the
 * element): malformed XML, graphs, AMD GPUs by name, several hosts, elements that do not say what they are. */
#pragma once

#include "import-machine.h"

ImportMachine *import_nccl_topology_load(const char *path, GError **error);
