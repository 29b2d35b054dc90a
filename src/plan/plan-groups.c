/* Which rank is in which group. */
#include "plan-groups.h"

guint32 plan_groups_everyone(ProgramBuilder *builder, guint32 ranks) {
  g_autofree guint32 *everyone = g_new(guint32, ranks);
  for (guint32 i = 0; i < ranks; i++)
    everyone[i] = i;
  return program_builder_communicator(builder, "data-parallel", everyone, ranks);
}

guint32 plan_groups_beside(ProgramBuilder *builder, const char *name, guint32 ranks, guint32 size) {
  g_autofree guint32 *of_rank = g_new(guint32, ranks);
  for (guint32 i = 0; i < ranks; i++)
    of_rank[i] = i / size;
  return program_builder_communicators(builder, name, of_rank, ranks);
}

guint32 plan_groups_alike(ProgramBuilder *builder, const char *name, guint32 ranks, guint32 size) {
  g_autofree guint32 *of_rank = g_new(guint32, ranks);
  for (guint32 i = 0; i < ranks; i++)
    of_rank[i] = i % size;
  return program_builder_communicators(builder, name, of_rank, ranks);
}
