/* SPDX-License-Identifier: MIT */
/* DeepSpeed's stage 3 before 0.6.
 *
 *   gather a parameter   C: zeros ─ the host waits for the device ─ A: gather ─ lists: copy out, a view of each rank
 *   enter a module       what it lacks and what is ahead of it is there: the host waits for the device again
 *   reduce a bucket      of each parameter: R: c10d's flat buffer: copy in, a view of each rank ─ reduce-scatter
 *
 * So compute overlaps with the one gather that was issued ahead of it and with reductions, and with nothing that the
 * host does. What a view takes of the host, from its making in Python to its copy, is what ranks add to a collective
 * over lists.
 *
 * Nothing is interleaved: what is reduced are views of the bucket itself. c10d's flat buffer is as large as the
 * parameter, padded, and is held while it is reduced; without reduce_scatter the bucket is all-reduced where it lies.
 * Source: DeepSpeed 0.3.15 to 0.5.10, runtime/zero/partition_parameters.py (_allgather_param,
 * _reduce_scatter_gradient) and stage3.py (fetch_sub_module, _synchronize_communication); PyTorch 1.8,
 * ProcessGroupNCCL.cpp (allgather, reduce_scatter). */
#include "plan-deepspeed-single.h"

#include "mem-tenant.h"
#include "model-host.h"
#include "plan-deepspeed-engine.h"

gboolean plan_deepspeed_single(const PlanDeepspeedEngine *engine) {
  return engine->recipe->version < PLAN_DEEPSPEED_TOGETHER;
}

gboolean plan_deepspeed_single_lists(const PlanDeepspeedEngine *engine) {
  return engine->recipe->version < PLAN_DEEPSPEED_LISTS;
}

void plan_deepspeed_single_wait(PlanDeepspeedEngine *engine, const PlanStream *gathers, guint32 gather) {
  plan_walk_host(engine->walk, "wait for the device");
  plan_stream_block(&engine->streams.compute);
  plan_stream_block(gathers);
  plan_stream_block(&engine->streams.reduce);
  program_builder_need(engine->builder, gather);
}

void plan_deepspeed_single_before(PlanDeepspeedEngine *engine, const PlanStream *gathers, guint32 gather,
                                  guint64 elements) {
  plan_stream_pass(&engine->streams.compute, "zero a gathered parameter",
                   plan_deepspeed_op(engine, elements, engine->walk->element_bytes));
  plan_deepspeed_single_wait(engine, gathers, gather);
}

/* Copies between a flat buffer and views of it, one of each rank, that the host issues one by one. */
static guint32 copy_views(PlanDeepspeedEngine *engine, PlanStream *stream, const char *name, guint64 bytes) {
  guint32 op = program_builder_memory_ops(engine->builder, 2 * bytes, engine->owners);
  plan_walk_cost(engine->walk, (SimTime)engine->owners * model_host_cost(engine->walk->host, MODEL_HOST_LISTED_RANK));
  return plan_stream_pass(stream, name, op);
}

guint32 plan_deepspeed_single_after(PlanDeepspeedEngine *engine, PlanStream *gathers, guint32 gather,
                                    guint64 elements) {
  guint64 bytes = elements * engine->walk->element_bytes;
  guint32 flat = program_builder_tensor(engine->builder, "flat gathered parameter", MEM_COMMUNICATION, bytes, 0);
  plan_walk_take(engine->walk, flat);
  plan_stream_need(gathers, gather);
  guint32 row = copy_views(engine, gathers, "copy out of the gathered list", bytes);
  plan_walk_give(engine->walk, flat, PROGRAM_NONE);
  return row;
}

void plan_deepspeed_single_reduce(PlanDeepspeedEngine *engine, guint32 slot) {
  const PlanOpenBucket *bucket = &engine->bucket.open;
  for (guint i = 0; i < bucket->members->len; i++) {
    guint64 elements = engine->parameters->list[plan_open_bucket_member(bucket, i)].elements, owners = engine->owners;
    guint64 bytes = (elements + owners - 1) / owners * owners * engine->bytes.sent;
    guint32 flat = program_builder_tensor(engine->builder, "flat list to reduce", MEM_COMMUNICATION, bytes, 0);
    copy_views(engine, &engine->streams.reduce, "copy into the list to reduce", bytes);
    plan_walk_take(engine->walk, flat);
    plan_stream_collective(&engine->streams.reduce, engine->streams.comm, "reduce-scatter gradient", slot,
                           (CollCall){COLL_REDUCE_SCATTER, bytes}, PROGRAM_HINT_BUCKET);
    plan_walk_give(engine->walk, flat, engine->streams.comm);
  }
}
