/* SPDX-License-Identifier: MIT */
/* What a machine's parts are called in the catalogue. Private to import-machine.
 *
 *   ImportNaming naming = {.machine = machine, .given = &parts, .ids = ids, .catalog = catalog};
 *   if (!import_machine_name_parts(&naming, error)) return NULL;
 *   … naming.gpu, naming.intra, naming.nic (NULL: it has none), naming.platform, naming.cpu … */
#pragma once

#include "import-ids.h"
#include "import-machine.h"

typedef struct {
  ImportMachine *machine;
  const ImportParts *given;
  ImportIds *ids;
  HwCatalog *catalog;
  const HwGpu *gpu;
  const char *intra, *nic, *platform, *cpu;
  const char *host; /* a GPU's way to host memory; NULL: not known */
} ImportNaming;

/* After numbering. Adds what it assumes to the machine's remarks, and NICs where only the person says that there are
 * some. Errors (SIM_ERROR_INPUT): no GPU, GPUs that nothing names, names that the catalogue lacks. */
gboolean import_machine_name_parts(ImportNaming *naming, GError **error);
