/* SPDX-License-Identifier: MIT */
/* The matrix of "nvidia-smi topo -m" as a machine.
 *
 *   g_autoptr(ImportMachine) machine = import_smi_topo_load("topo.txt", error);
 *
 *           GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity    NV#: so many NVLinks, to each other or into
 *   GPU0     X      NV18    PXB     0-31            0                     a switch
 *   GPU1    NV18     X      NODE    0-31            0                PIX: one PCI switch, PXB: a tree of them,
 *   NIC0    PXB     NODE     X                                       PHB, NODE: one socket, SYS: across sockets
 *
 * Indentation, escape sequences of terminals, text before and after (Markdown, legends), and columns of other names
 * (mlx5_0) are taken. What GPUs and NICs these are a matrix never says. Refused (SIM_ERROR_INPUT, at the line): no
 * matrix, rows that are short, missing or contradict their columns, and the matrices of other vendors' tools. */
#pragma once

#include "import-machine.h"

ImportMachine *import_smi_topo_load(const char *path, GError **error);
