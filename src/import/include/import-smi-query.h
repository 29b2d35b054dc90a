/* SPDX-License-Identifier: MIT */
/* What "nvidia-smi -q" prints, as text or as XML (-x), as a machine: which GPUs, how many, their links.
 *
 *   g_autoptr(ImportMachine) machine = import_smi_query_load("q.txt", error);
 *
 *   Attached GPUs                     : 8
 *   GPU 00000000:18:00.0                         <gpu id="00000000:18:00.0">
 *       Product Name                  : NVIDIA H100 80GB HBM3   <product_name>NVIDIA H100 80GB HBM3</…>
 *       PCI
 *           Device Id                 : 0x233010DE
 *           GPU Link Info … Max       : 5 … 16x
 *       Fabric
 *           State                     : Completed                     an NVSwitch joins them
 *
 * It knows nothing of sockets, switches and NICs. Parts of it (-d MEMORY), terminals' escapes and text around it are
 * taken. Refused (SIM_ERROR_INPUT, at the line): no GPU, GPUs of two kinds, fewer than are attached. */
#pragma once

#include "import-machine.h"

ImportMachine *import_smi_query_load(const char *path, GError **error);
