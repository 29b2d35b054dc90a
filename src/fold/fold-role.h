/* SPDX-License-Identifier: MIT */
/* What of a role can be told from outside: its rows, with slots and tensors by the order in which it names
 * them.
 *
 *   role "shard 0"  gather(communicator 0), reduce(communicator 8)      one shape: gather(first), reduce(second)
 *   role "shard 1"  gather(communicator 1), reduce(communicator 8)
 *
 * So ranks in different communicators of equal form can be equal, though the rows of a role name them outright.
 * Operations are compared by their index in the Program, since this floor cannot see into them. Private to this
 * floor. */
#pragma once

#include "program.h"

typedef struct {
  guint32 *shapes;  /* by role */
  guint32 *offsets; /* by role, n_roles + 1, into slots */
  guint32 *slots;   /* Program slots in the order in which the role names them */
} FoldRoles;

/* Cost: O(rows of all roles × slots that a role names); those that differ from all others at first sight are not read
 * through. */
void fold_roles_init(FoldRoles *roles, const Program *program);
void fold_roles_clear(FoldRoles *roles);
/* The how-manieth that the role names, from 1; 0: it does not name it. */
guint32 fold_roles_slot(const FoldRoles *roles, guint32 role, guint32 slot);
