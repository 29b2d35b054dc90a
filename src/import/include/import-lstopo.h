/* SPDX-License-Identifier: MIT */
/* hwloc's machine as ours: the XML that "lstopo machine.xml" writes (hwloc 1.x to 3).
 *
 *   g_autoptr(ImportMachine) machine = import_lstopo_load("machine.xml", error);
 *
 *   Machine > Package > … NUMANode local_memory, L3Cache …        sockets, processors, host memory
 *                     > Bridge 0-1 > Bridge 1-1 > PCIDev > OSDev  root port, switch ports, a GPU or a NIC, its name
 *
 * A bridge with several bridges or devices below it is a switch; ports with one alone are its links. It never says how
 * NVLinks join the GPUs. An idle GPU shows a slower link than it has: those of generation 1 and 2 are left to the
 * catalogue. Not hwloc's own library: that keeps no lines for errors, and prints some by itself. Refused
 * (SIM_ERROR_INPUT, at the element): other XML, AMD and Intel GPUs by name, a machine of several machines. */
#pragma once

#include "import-machine.h"

ImportMachine *import_lstopo_load(const char *path, GError **error);
