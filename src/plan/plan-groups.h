/* Communicators of data parallelism: slots over all ranks, in which ranks side by side share one copy of what is
 * sharded, and ranks alike in their copies hold the same shard of it.
 *
 *   ranks 0 … 7, size 4:   side by side {0 1 2 3} {4 5 6 7}     alike {0 4} {1 5} {2 6} {3 7}
 *
 * Private to this floor. */
#pragma once

#include "program.h"

/* All ranks. */
guint32 plan_groups_everyone(ProgramBuilder *builder, guint32 ranks);
guint32 plan_groups_beside(ProgramBuilder *builder, const char *name, guint32 ranks, guint32 size);
guint32 plan_groups_alike(ProgramBuilder *builder, const char *name, guint32 ranks, guint32 size);
