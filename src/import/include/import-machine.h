/* SPDX-License-Identifier: MIT */
/* A machine as another tool's file states it: devices in trees of switches under sockets, NVLinks, NICs; and what it
 * leaves open. Written as a topology.
 *
 *   ImportMachine *machine = import_machine_new("machine.xml", "an NCCL topology");
 *   guint socket = import_machine_add(machine, HW_PART_SOCKET, IMPORT_NO_PART);
 *   guint gpu = import_machine_add(machine, HW_PART_GPU, socket);
 *   import_machine_assume(machine, "the GPUs are h100-sxm5-80gb: it is what --gpu says");
 *   GString *text = import_machine_text(machine, &parts, error);      // [node], [pci], [nvlink], [nics] and comments
 *
 * Parts are added parents first. Read by import-nccl-topology.h, import-smi-topo.h, import-smi-query.h and
 * import-lstopo.h. */
#pragma once

#include "hw-machine.h"

#define IMPORT_NO_PART G_MAXUINT

typedef struct {
  HwPartKind kind;
  guint parent;  /* IMPORT_NO_PART: a socket */
  guint64 order; /* by which parts of a kind are numbered, then by their place */
  guint index;   /* 3 of gpu.3, as import_machine_number gives it */
  gboolean gone; /* left out */
  char *link;    /* "gen4x16" to its parent; NULL: not said */
  char *name;    /* "mlx5_0", "0000:0f:00.0": what the file calls it; NULL: nothing */
  /* of a GPU */
  guint switch_links; /* NVLinks into the NVSwitch */
  double c2c;         /* bytes/s to its socket; 0: none */
  /* of a NIC; rate 0: not said */
  double rate;
  SimTime latency;
  guint card, port;
  gboolean gdr, ethernet; /* ethernet: the file says that it is no InfiniBand */
  char *nic;              /* its entry in the catalogue, NULL: not known */
} ImportPart;

typedef struct {
  guint a, b, links; /* places of two GPUs; NVLinks between them */
} ImportPair;

typedef struct {
  char *file, *what;
  GPtrArray *parts;     /* ImportPart */
  GArray *pairs;        /* ImportPair, each pair once */
  GPtrArray *said;      /* char *: what of the file was not taken, and why */
  GPtrArray *assumed;   /* char *: what it does not say and was taken */
  char *gpu, *cpu;      /* names in the catalogue; NULL: not known */
  gboolean knows_links; /* the file would say if there were NVLinks */
  gboolean flat;        /* it says nothing of sockets and switches: those here are a guess, and not written */
  guint64 dram;         /* bytes of host memory; 0: not said */
} ImportMachine;

/* What the person says of the machine: names in the catalogue, each may be NULL. */
typedef struct {
  const char *gpu, *nic, *intra, *platform;
  guint nics; /* where the file shows none; 0: one beside each GPU, if `nic` says what they are */
} ImportParts;

ImportMachine *import_machine_new(const char *file, const char *what);
void import_machine_free(ImportMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportMachine, import_machine_free)

/* Returns the part's place in `parts`. */
guint import_machine_add(ImportMachine *machine, HwPartKind kind, guint parent);
static inline ImportPart *import_machine_part(const ImportMachine *machine, guint part) {
  return (ImportPart *)g_ptr_array_index(machine->parts, part);
}
guint import_machine_count(const ImportMachine *machine, HwPartKind kind);
/* The part of a kind with an index; IMPORT_NO_PART: none. After numbering. */
guint import_machine_find(const ImportMachine *machine, HwPartKind kind, guint index);
void import_machine_number(ImportMachine *machine);
void import_machine_say(ImportMachine *machine, const char *format, ...) G_GNUC_PRINTF(2, 3);
void import_machine_assume(ImportMachine *machine, const char *format, ...) G_GNUC_PRINTF(2, 3);

struct ImportIds;
/* Names the GPUs by the PCI device of one ("2330"; NULL: not said), and says so where the catalogue lacks it. Errors
 * (SIM_ERROR_INPUT, at the line): it is another than those before. */
gboolean import_machine_take_gpu(ImportMachine *machine, const struct ImportIds *ids, const char *device,
                                 const char *busid, guint line, GError **error);
/* Names the processor, "GenuineIntel", "6", "143", and says so where another is taken for it. The first counts. */
void import_machine_take_cpu(ImportMachine *machine, const struct ImportIds *ids, const char *vendor,
                             const char *family, const char *model);

/* How far two devices are: 0 under one switch, 1 under switches of one tree, 2 in one socket, 3 across. */
guint import_machine_distance(const ImportMachine *machine, guint a, guint b);
/* Takes out NICs that are no GPU's nearest, as NCCL leaves them aside, and says which; numbers the rest. Switches
 * with nothing left below them go too. */
void import_machine_drop_far_nics(ImportMachine *machine);

/* The topology. Errors (SIM_ERROR_INPUT): no GPU, GPUs that nothing names, names that the catalogue lacks. */
GString *import_machine_text(ImportMachine *machine, const ImportParts *parts, GError **error);
/* "0000:0f:00.0" as a number that sorts as the driver does. */
guint64 import_busid_order(const char *busid);
