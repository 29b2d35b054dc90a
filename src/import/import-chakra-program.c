/* SPDX-License-Identifier: MIT */
/* Nodes of Chakra traces into rows: on which stream, with whom, and what they wait for. */
#include <math.h>
#include <string.h>

#include "base-error.h"
#include "conf-data.h"
#include "import-chakra-groups.h"
#include "import-chakra-node.h"
#include "import-chakra-sends.h"
#include "import-chakra.h"
#include "kernel-op.h"

#define NAME_MOST 60

typedef struct {
  ProgramBuilder *builder;
  const ImportChakraOptions *options;
  const ImportChakraGroups *groups;
  const ImportChakraTrace *trace;
  guint32 rank;
  gboolean alone;         /* the file stands for all ranks */
  guint32 *rows;          /* by node */
  guint32 *streams;       /* by node; 0 is the host */
  GHashTable *streams_of; /* char * → guint32 */
  GArray *last;           /* guint32 by stream: its newest row; PROGRAM_NONE */
} Writing;

static gboolean fail(const Writing *writing, const ImportChakraNode *node, GError **error, const char *what) {
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: node %" G_GUINT64_FORMAT " (%.60s): %s", writing->trace->path,
              node->id, node->name, what);
  return FALSE;
}

/* ---- Where ---- */

static gboolean communicates(const ImportChakraNode *node) {
  return node->kind == IMPORT_CHAKRA_COLLECTIVE || node->kind == IMPORT_CHAKRA_SEND ||
         node->kind == IMPORT_CHAKRA_RECEIVE;
}

static char *stream_name(const ImportChakraNode *node) {
  if (node->stream != NULL)
    return g_strdup(node->stream);
  switch (node->kind) {
  case IMPORT_CHAKRA_COLLECTIVE:
    return g_strdup_printf("comm %s", node->group != NULL && *node->group != '\0' ? node->group : "all");
  case IMPORT_CHAKRA_SEND:
    return g_strdup_printf("send to %" G_GINT64_FORMAT, node->peer);
  case IMPORT_CHAKRA_RECEIVE:
    return g_strdup_printf("receive from %" G_GINT64_FORMAT, node->peer);
  default:
    return g_strdup(node->kind == IMPORT_CHAKRA_COPY ? "copies" : "compute");
  }
}

static guint32 stream_of(Writing *writing, const ImportChakraNode *node) {
  if (node->kind == IMPORT_CHAKRA_HOST || node->kind == IMPORT_CHAKRA_NOTHING)
    return 0;
  g_autofree char *name = stream_name(node);
  gpointer found;
  if (g_hash_table_lookup_extended(writing->streams_of, name, NULL, &found))
    return GPOINTER_TO_UINT(found);
  guint32 stream = program_builder_stream(writing->builder, name);
  g_hash_table_insert(writing->streams_of, g_steal_pointer(&name), GUINT_TO_POINTER(stream));
  return stream;
}

static guint32 slot_of(ProgramBuilder *builder, const char *name, const guint32 *ranks, guint32 n) {
  guint32 slot = program_builder_slot(builder, name);
  return slot != PROGRAM_NONE ? slot : program_builder_communicator(builder, name, ranks, n);
}

static gboolean has_rank(const GArray *ranks, guint32 rank) {
  for (guint i = 0; i < ranks->len; i++)
    if (g_array_index(ranks, guint32, i) == rank)
      return TRUE;
  return FALSE;
}

static const GArray *members_of(const Writing *writing, const ImportChakraNode *node, GError **error) {
  const GArray *ranks = import_chakra_group(writing->groups, node->group);
  if (ranks == NULL)
    fail(writing, node, error, "whom its group has is not known; give the file of groups (--groups), {\"1\": [0, 1]}");
  else if (writing->alone && ranks->len < import_chakra_groups_ranks(writing->groups))
    fail(writing, node, error, "its group is not all ranks, and one file does not say what the others do; give all");
  else if (!has_rank(ranks, writing->rank))
    fail(writing, node, error, "its group does not have this file's rank");
  else
    return ranks;
  return NULL;
}

/* ---- Rows ---- */

static guint32 timed_row(Writing *writing, const ImportChakraNode *node, guint32 stream, const char *name) {
  KernelOp op = {.kind = KERNEL_MEMORY, .dtype = KERNEL_BF16, .batch = 1};
  guint32 timed = program_builder_timed_op(writing->builder, &op, node->duration);
  return program_builder_compute(writing->builder, stream, name, timed);
}

/* Without a duration: what the GPU makes of a square matmul of so many operations, or of so many bytes. */
static guint32 compute_row(Writing *writing, const ImportChakraNode *node, guint32 stream, const char *name) {
  if (node->duration > 0 || (node->operations < 1 && node->bytes == 0))
    return timed_row(writing, node, stream, name);
  guint64 side = (guint64)MAX(1, round(cbrt(node->operations / 2)));
  KernelOp op = {.kind = KERNEL_MATMUL,
                 .dtype = KERNEL_BF16,
                 .batch = 1,
                 .m = side,
                 .n = side,
                 .k = side,
                 .flops = node->operations,
                 .bytes = node->bytes};
  guint32 shaped = node->operations < 1 ? program_builder_memory_op(writing->builder, node->bytes)
                                        : program_builder_op(writing->builder, &op);
  return program_builder_compute(writing->builder, stream, name, shaped);
}

#define MOST_GATHERED ((guint64)1 << 53)

/* CollCall's payload of an all-gather is what all have in the end. */
static gboolean collective_row(Writing *writing, const ImportChakraNode *node, guint32 stream, const char *name,
                               guint32 *ret, GError **error) {
  const GArray *ranks = members_of(writing, node, error);
  if (ranks == NULL)
    return FALSE;
  if (node->operation == IMPORT_CHAKRA_NONE)
    return fail(writing, node, error,
                "is a gather or a scatter, which NCCL has no operation for; --keep-communication takes its duration");
  if (node->bytes > MOST_GATHERED / ranks->len)
    return fail(writing, node, error, "comm_size is more than all ranks together hold");
  gboolean all = ranks->len == import_chakra_groups_ranks(writing->groups);
  g_autofree char *group = all ? g_strdup("all") : g_strconcat("group-", node->group, NULL);
  CollCall call = {(CollOperation)node->operation,
                   node->operation == COLL_ALL_GATHER ? node->bytes * ranks->len : node->bytes};
  if (ranks->len == 1 || call.bytes == 0)
    *ret = timed_row(writing, node, stream, name);
  else
    *ret = program_builder_collective(
        writing->builder, stream, name,
        slot_of(writing->builder, group, (const guint32 *)(gpointer)ranks->data, ranks->len), call, PROGRAM_HINT_NONE);
  return TRUE;
}

static gboolean send_row(Writing *writing, const ImportChakraNode *node, guint32 stream, const char *name, guint32 *ret,
                         GError **error) {
  guint32 peer = (guint32)node->peer;
  gboolean sends = node->kind == IMPORT_CHAKRA_SEND;
  guint32 pair[] = {MIN(writing->rank, peer), MAX(writing->rank, peer)};
  if (writing->alone)
    return fail(writing, node, error, "sends or receives, and one file does not say what its peer does; give all");
  g_autofree char *group = g_strdup_printf("%u-to-%u", sends ? writing->rank : peer, sends ? peer : writing->rank);
  *ret = node->bytes == 0
             ? timed_row(writing, node, stream, name)
             : program_builder_collective(writing->builder, stream, name, slot_of(writing->builder, group, pair, 2),
                                          (CollCall){COLL_SEND_RECV, node->bytes}, PROGRAM_HINT_NONE);
  return TRUE;
}

/* Without "layer3." in front where the layer is known, and short. */
static char *row_name(const ImportChakraNode *node) {
  g_autofree char *before = g_strdup_printf("layer%d.", node->layer);
  const char *name =
      node->layer >= 0 && g_str_has_prefix(node->name, before) ? node->name + strlen(before) : node->name;
  const char *end = name;
  while (*end != '\0' && g_utf8_next_char(end) - name <= NAME_MOST)
    end = g_utf8_next_char(end);
  return end > name ? g_strndup(name, (gsize)(end - name)) : g_strdup("node");
}

static void need_others(Writing *writing, const ImportChakraNode *node, guint32 stream) {
  for (guint k = 0; k < node->n_needs; k++) {
    guint other = import_chakra_need(writing->trace, node, k);
    if (writing->streams[other] != 0 && writing->streams[other] != stream)
      program_builder_need(writing->builder, writing->rows[other]);
  }
}

static gboolean needs_gpu(const Writing *writing, const ImportChakraNode *node) {
  for (guint k = 0; k < node->n_needs; k++)
    if (writing->streams[import_chakra_need(writing->trace, node, k)] != 0)
      return TRUE;
  return FALSE;
}

/* What it waits for, then its time; the other way about where it is said what issuing costs. */
static guint32 host_row(Writing *writing, const ImportChakraNode *node, const char *name) {
  gboolean issued = node->issue != IMPORT_CHAKRA_NONE;
  if (!issued && needs_gpu(writing, node)) {
    program_builder_host(writing->builder, "wait");
    need_others(writing, node, 0);
  }
  guint32 row = program_builder_host(writing->builder, name);
  program_builder_cost(writing->builder, issued ? node->issue : node->duration);
  if (issued)
    need_others(writing, node, 0);
  return row;
}

static gboolean gpu_row(Writing *writing, const ImportChakraNode *node, guint32 stream, const char *name, guint32 *ret,
                        GError **error) {
  if (communicates(node) && writing->options->keep_communication)
    *ret = timed_row(writing, node, stream, name);
  else if (node->kind == IMPORT_CHAKRA_COMPUTE || (node->kind == IMPORT_CHAKRA_COPY && node->bytes == 0))
    *ret = compute_row(writing, node, stream, name);
  else if (node->kind == IMPORT_CHAKRA_COPY)
    *ret = program_builder_copy(writing->builder, stream, name, node->bytes, PROGRAM_PINNED);
  else if (!(node->kind == IMPORT_CHAKRA_COLLECTIVE ? collective_row(writing, node, stream, name, ret, error)
                                                    : send_row(writing, node, stream, name, ret, error)))
    return FALSE;
  program_builder_cost(writing->builder, MAX(0, node->issue));
  need_others(writing, node, stream);
  return TRUE;
}

static ProgramPhase phase_of(const ImportChakraNode *node) {
  if (node->phase != IMPORT_CHAKRA_NONE)
    return (ProgramPhase)node->phase;
  if (node->kind != IMPORT_CHAKRA_COLLECTIVE)
    return PROGRAM_FORWARD;
  return node->operation == COLL_ALL_GATHER ? PROGRAM_GATHER : PROGRAM_REDUCE;
}

static gboolean write_node(Writing *writing, guint index, GError **error) {
  const ImportChakraNode *node = &g_array_index(writing->trace->nodes, ImportChakraNode, index);
  g_autofree char *name = row_name(node);
  guint32 stream = stream_of(writing, node), row = PROGRAM_NONE;
  program_builder_context(writing->builder, phase_of(node), node->layer, -1);
  if (stream == 0)
    row = host_row(writing, node, name);
  else if (!gpu_row(writing, node, stream, name, &row, error))
    return FALSE;
  writing->rows[index] = row;
  writing->streams[index] = stream;
  while (writing->last->len <= stream)
    g_array_append_val(writing->last, (guint32){PROGRAM_NONE});
  g_array_index(writing->last, guint32, stream) = row;
  return TRUE;
}

static gboolean write_section(Writing *writing, ProgramSectionKind section, GError **error) {
  program_builder_section(writing->builder, section);
  g_array_set_size(writing->last, 0);
  for (guint i = 0; i < writing->trace->nodes->len; i++)
    if (!write_node(writing, i, error))
      return FALSE;
  program_builder_context(writing->builder, PROGRAM_SETUP, -1, -1);
  program_builder_host(writing->builder, "end of the step");
  for (guint32 stream = 1; stream < writing->last->len; stream++)
    program_builder_need(writing->builder, g_array_index(writing->last, guint32, stream));
  return TRUE;
}

static gboolean write_role(Writing *writing, GError **error) {
  guint n = writing->trace->nodes->len;
  writing->rows = g_new(guint32, n);
  writing->streams = g_new(guint32, n);
  writing->last = g_array_new(FALSE, FALSE, sizeof(guint32));
  gboolean good = write_section(writing, PROGRAM_FIRST, error) && write_section(writing, PROGRAM_STEADY, error);
  g_array_unref(writing->last);
  g_free(writing->streams);
  g_free(writing->rows);
  return good;
}

static Program *build(const GPtrArray *traces, const ImportChakraGroups *groups, const ImportChakraOptions *options,
                      GError **error) {
  g_autoptr(ProgramBuilder) builder = program_builder_new();
  g_autoptr(GHashTable) streams = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  guint32 ranks = import_chakra_groups_ranks(groups);
  for (guint32 i = 0; i < traces->len; i++) {
    g_autofree char *name = traces->len > 1 ? g_strdup_printf("rank %u", i) : g_strdup("rank");
    Writing writing = {.builder = builder,
                       .options = options,
                       .groups = groups,
                       .trace = g_ptr_array_index(traces, i),
                       .rank = i,
                       .alone = traces->len == 1 && ranks > 1,
                       .streams_of = streams};
    program_builder_role(builder, name, traces->len > 1 ? 1 : ranks);
    if (!write_role(&writing, error))
      return NULL;
  }
  program_builder_facts(builder, 0, 0, 0, KERNEL_FP32);
  return program_builder_end(g_steal_pointer(&builder));
}

/* ---- Files ---- */

/* The number in "name.12.et", "name.12.et.gz"; -1: there is none. */
static gint64 number_in(const char *path) {
  g_auto(GStrv) parts = g_strsplit(path, ".", -1);
  guint n = g_strv_length(parts), last = n > 0 && g_str_equal(parts[n - 1], "gz") ? n - 1 : n;
  guint64 number;
  if (last < 3 || !g_str_equal(parts[last - 1], "et") ||
      !g_ascii_string_to_unsigned(parts[last - 2], 10, 0, G_MAXINT32, &number, NULL))
    return -1;
  return (gint64)number;
}

static gint by_number(gconstpointer a, gconstpointer b) {
  gint64 one = number_in((*(ImportChakraTrace *const *)a)->path),
         other = number_in((*(ImportChakraTrace *const *)b)->path);
  return (one > other) - (one < other);
}

static gboolean sort_by_number(GPtrArray *traces, GError **error) {
  for (guint i = 0; i < traces->len; i++)
    if (number_in(((ImportChakraTrace *)g_ptr_array_index(traces, i))->path) < 0)
      return TRUE;
  g_ptr_array_sort(traces, by_number);
  for (guint i = 0; i < traces->len && traces->len > 1; i++) {
    const char *path = ((ImportChakraTrace *)g_ptr_array_index(traces, i))->path;
    if (number_in(path) == i)
      continue;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: rank %u's file was to come here: each rank's is needed, once",
                path, i);
    return FALSE;
  }
  return TRUE;
}

static gboolean read_path(GPtrArray *traces, const char *path, GError **error) {
  g_autoptr(GPtrArray) parts = conf_data_parts(path, error);
  for (guint i = 0; parts != NULL && i < parts->len; i++) {
    const ConfPart *part = g_ptr_array_index(parts, i);
    ImportChakraTrace *trace = import_chakra_read(part->path, part->bytes, error);
    if (trace == NULL)
      return FALSE;
    g_ptr_array_add(traces, trace);
    if (!import_chakra_order(trace, error))
      return FALSE;
  }
  return parts != NULL;
}

static ImportChakraGroups *find_groups(const GPtrArray *traces, const ImportChakraOptions *options, GError **error) {
  const char *first = ((ImportChakraTrace *)g_ptr_array_index(traces, 0))->path;
  guint32 ranks = traces->len > 1 ? traces->len : options->ranks;
  if (traces->len > 1 && options->ranks > 0 && options->ranks != traces->len) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: %u ranks, but %u files: give one, or each rank's", first,
                options->ranks, traces->len);
    return NULL;
  }
  return import_chakra_groups_load(options->groups, ranks, error);
}

static void describe(const GPtrArray *traces, const ImportChakraGroups *groups, ProgramOrigin *ret) {
  GPtrArray *notes = g_ptr_array_new();
  guint32 ranks = import_chakra_groups_ranks(groups);
  g_ptr_array_add(notes, g_strdup("nodes take the durations that a Chakra trace states; memory is not in it"));
  if (traces->len == 1 && ranks > 1)
    g_ptr_array_add(notes, g_strdup_printf("all %u ranks do what the one whose trace was read did", ranks));
  g_ptr_array_add(notes, NULL);
  *ret = (ProgramOrigin){.workload = g_path_get_basename(((ImportChakraTrace *)g_ptr_array_index(traces, 0))->path),
                         .framework = g_strdup("chakra"),
                         .notes = (char **)g_ptr_array_free(notes, FALSE)};
}

Program *import_chakra_program(const char *const *paths, guint n, const ImportChakraOptions *options,
                               ProgramOrigin *ret_origin, GError **error) {
  g_autoptr(GPtrArray) traces = g_ptr_array_new_with_free_func((GDestroyNotify)import_chakra_trace_free);
  for (guint i = 0; i < n; i++)
    if (!read_path(traces, paths[i], error))
      return NULL;
  if (!sort_by_number(traces, error))
    return NULL;
  g_autoptr(ImportChakraGroups) groups = find_groups(traces, options, error);
  if (groups == NULL || (traces->len > 1 && !import_chakra_check_sends(traces, error)))
    return NULL;
  g_autoptr(Program) program = build(traces, groups, options, error);
  if (program != NULL)
    describe(traces, groups, ret_origin);
  return g_steal_pointer(&program);
}
