/* SPDX-License-Identifier: MIT */
/* What a unit makes for several later ones (ModelSide), over the units of a walk: one tensor for all, how long it
 * lives, and one gradient for all.
 *
 *   forward    maker ─ reader ─ reader ┤ ends, where no backward wants it
 *   backward   reader ─ reader ─┤ ends; maker          else it is there until the maker's own backward begins
 *
 *   gradient   the first reader to come hands over its part, which becomes the gradient; others are added in place
 *
 * Private to this floor. */
#pragma once

#include "plan-walk.h"

/* Links the units' tensors and says when they end; after units and their tensors were added. */
void plan_sides_link(PlanWalk *walk);
/* Whether what the operation joins is the gradient already, so that there is nothing to add. */
gboolean plan_sides_is_first(const PlanWalk *walk, guint32 unit, const ModelOp *op);
/* Whether the tensor is another unit's, so that this one has none of its own. */
gboolean plan_sides_is_read(const ModelUnit *unit, guint tensor);
