/* SPDX-License-Identifier: MIT */
/* One rank's steady step as an MLCommons Chakra execution trace, which ASTRA-sim and others play.
 *
 *   g_autoptr(GByteArray) bytes = g_byte_array_new();
 *   if (!program_chakra_write(program, 3, durations, bytes, error)) return FALSE;     // contents of step.3.et
 *   g_autofree char *groups = program_chakra_groups(program);                         // {"1":[0,1,2,3]}
 *
 * A row is a node: compute COMP_NODE, a collective COMM_COLL_NODE with attributes comm_type, comm_size (what a rank
 * brings: of an all-gather its shard) and pg_name (the number of its group), a host row a COMP_NODE with is_cpu_op.
 * Dependencies are the row's needs, the row before it on its stream, and the last host row that waited. Durations are
 * of whole microseconds there, so the attribute duration_ps has them exactly; stream, layer and issue_ps, what issuing
 * a row costs the host, are attributes that `import chakra` reads back. Memory has no place in it. Errors
 * (SIM_ERROR_INPUT): rows that copy to or from the host, or use its cores. Format:
 * messages GlobalMetadata and Node, each with its length before it; mlcommons/chakra, schema/protobuf/et_def.proto. */
#pragma once

#include "program.h"

/* Appends. `durations` by op. */
gboolean program_chakra_write(const Program *program, guint32 rank, const SimTime *durations, GByteArray *out,
                              GError **error);
/* JSON: ranks of each group by its number, from 1 on. Caller frees. */
char *program_chakra_groups(const Program *program);
