/* SPDX-License-Identifier: MIT */
/* Of which layer is what a thread launches: by the module that it is in, and backward by autograd's numbers. Private to
 * this floor.
 *
 *   main thread   ╭ nn.Module: LlamaDecoderLayer_3 ─ aten::mm, sequence number 41 ─╮       layer 3, forward
 *   autograd's    ╭ MmBackward0, sequence number 41, forward thread 1 ─╮                   layer 3, backward
 *                 ╭ nn.Module: LlamaDecoderLayer_3 ─ aten::mm ─╮                           layer 3, recompute
 */
#pragma once

#include "import-kineto-args.h"
#include "import-kineto-read.h"

void import_kineto_keep_op(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at);
/* Operations in order, each with its layer. Scopes are in order. */
void import_kineto_place_ops(ImportKinetoTrace *trace);

/* Of scopes, operations or notes in order: the innermost one of a thread around a time; with the same *back, 0 at
 * first, the next one outward; NULL: no more. */
gconstpointer import_kineto_around(const GArray *array, gint64 thread, SimTime at, guint *back);
/* The innermost scope, and operation; NULL: none. */
const ImportKinetoScope *import_kineto_scope(const ImportKinetoTrace *trace, gint64 thread, SimTime at);
const ImportKinetoOp *import_kineto_op(const ImportKinetoTrace *trace, gint64 thread, SimTime at);
