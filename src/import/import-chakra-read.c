/* SPDX-License-Identifier: MIT */
/* Messages of a Chakra trace to nodes, through protobuf-c, one message at a time. */
#include <math.h>
#include <string.h>

#include "base-error.h"
#include "import-chakra-node.h"
#include "import-chakra.h"
#include "import-chakra.pb-c.h"

typedef ImportChakra__Attribute Attribute;
typedef ImportChakra__Node Message;

/* et_def.proto's NodeType and CollectiveCommType. */
enum { INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, COMM_SEND, COMM_RECV, COMM_COLL };
static const int operations[] = {
    [0] = COLL_ALL_REDUCE,     [1] = COLL_REDUCE,    [2] = COLL_ALL_GATHER, [3] = IMPORT_CHAKRA_NONE,
    [4] = IMPORT_CHAKRA_NONE,  [5] = COLL_BROADCAST, [6] = COLL_ALL_TO_ALL, [7] = COLL_REDUCE_SCATTER,
    [8] = COLL_REDUCE_SCATTER, [9] = COLL_ALL_REDUCE /* a barrier is one of a few bytes */};
#define BARRIER       9
#define BARRIER_BYTES 4

#define LONGEST    ((guint64)(G_MAXINT64 / SIM_MICROSECOND / 4)) /* us: 26 days */
#define MOST_BYTES ((guint64)1 << 50)                            /* a PiB is no message */

/* ---- Attributes ---- */

static const Attribute *find(const Message *message, const char *name) {
  for (size_t i = 0; i < message->n_attributes; i++)
    if (strcmp(message->attributes[i]->name, name) == 0)
      return message->attributes[i];
  return NULL;
}

static double real_of(const Attribute *attribute) {
  switch (attribute != NULL ? attribute->value_case : IMPORT_CHAKRA__ATTRIBUTE__VALUE__NOT_SET) {
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_REAL:
    return attribute->real;
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_SINGLE:
    return attribute->single;
  default:
    return NAN;
  }
}

/* FALSE: there is none, or no whole number. */
static gboolean number_of(const Attribute *attribute, gint64 *ret) {
  switch (attribute != NULL ? attribute->value_case : IMPORT_CHAKRA__ATTRIBUTE__VALUE__NOT_SET) {
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_INT32:
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_SINT32:
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_SFIXED32:
    *ret = attribute->int32;
    return TRUE;
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_UINT32:
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_FIXED32:
    *ret = attribute->uint32;
    return TRUE;
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_INT64:
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_SINT64:
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_SFIXED64:
    *ret = attribute->int64;
    return TRUE;
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_UINT64:
  case IMPORT_CHAKRA__ATTRIBUTE__VALUE_FIXED64:
    *ret = (gint64)attribute->uint64;
    return TRUE;
  default:
    return FALSE;
  }
}

static gboolean flag_of(const Attribute *attribute) {
  gint64 number = 0;
  if (attribute != NULL && attribute->value_case == IMPORT_CHAKRA__ATTRIBUTE__VALUE_FLAG)
    return attribute->flag;
  return number_of(attribute, &number) && number != 0;
}

/* Text that a person may read: valid, in one line. */
static const char *text_in(ImportChakraTrace *trace, const char *text) {
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  for (char *at = valid; *at != '\0'; at++)
    if ((guchar)*at < ' ' || *at == 0x7f)
      *at = ' ';
  return g_string_chunk_insert_const(trace->names, valid);
}

/* A number may stand for a name: PyTorch's streams, with `before` in front. */
static const char *text_of(ImportChakraTrace *trace, const Attribute *attribute, const char *before) {
  gint64 number;
  if (attribute != NULL && attribute->value_case == IMPORT_CHAKRA__ATTRIBUTE__VALUE_TEXT)
    return text_in(trace, attribute->text);
  if (!number_of(attribute, &number))
    return NULL;
  g_autofree char *text = g_strdup_printf("%s%" G_GINT64_FORMAT, before, number);
  return g_string_chunk_insert_const(trace->names, text);
}

/* ---- Nodes ---- */

static gboolean fail(const ImportChakraTrace *trace, const ImportChakraNode *node, GError **error, const char *what) {
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: node %" G_GUINT64_FORMAT " (%.60s): %s", trace->path, node->id,
              node->name, what);
  return FALSE;
}

static gboolean read_times(ImportChakraTrace *trace, const Message *message, ImportChakraNode *node, GError **error) {
  gint64 exact;
  if (message->duration_us > LONGEST || message->start_us > LONGEST * 1000000)
    return fail(trace, node, error, "begins or lasts longer than any trace does");
  node->start = (SimTime)message->start_us; /* to sort by alone: of any unit */
  node->duration = (SimTime)message->duration_us * SIM_MICROSECOND;
  node->issue = IMPORT_CHAKRA_NONE;
  if (number_of(find(message, "duration_ps"), &exact))
    node->duration = exact;
  if (number_of(find(message, "issue_ps"), &exact))
    node->issue = exact;
  if (node->duration < 0 || node->duration > (SimTime)LONGEST * SIM_MICROSECOND || node->issue < IMPORT_CHAKRA_NONE ||
      node->issue > (SimTime)LONGEST * SIM_MICROSECOND)
    return fail(trace, node, error, "duration_ps or issue_ps is negative or longer than 26 days");
  return TRUE;
}

static gboolean read_bytes(ImportChakraTrace *trace, const Message *message, const char *key, ImportChakraNode *node,
                           GError **error) {
  gint64 bytes = 0;
  double real = real_of(find(message, key));
  if (!number_of(find(message, key), &bytes) && isfinite(real) && fabs(real) < (double)MOST_BYTES)
    bytes = (gint64)real;
  g_autofree char *what = g_strconcat(key, " is negative or more than a PiB", NULL);
  if (bytes < 0 || (guint64)bytes > MOST_BYTES)
    return fail(trace, node, error, what);
  node->bytes = (guint64)bytes;
  return TRUE;
}

static gboolean read_compute(ImportChakraTrace *trace, const Message *message, ImportChakraNode *node, GError **error) {
  const Attribute *operations_of = find(message, "num_ops");
  gint64 number = 0;
  double real = real_of(operations_of);
  node->operations = number_of(operations_of, &number) ? (double)number : isnan(real) ? 0 : real;
  if (!(node->operations >= 0 && node->operations < 1e24))
    return fail(trace, node, error, "num_ops is negative or beyond all sense");
  return read_bytes(trace, message, "tensor_size", node, error);
}

static gboolean read_dimensions(ImportChakraTrace *trace, const Message *message, const ImportChakraNode *node,
                                GError **error) {
  const Attribute *involved = find(message, "involved_dim");
  if (involved == NULL || involved->value_case != IMPORT_CHAKRA__ATTRIBUTE__VALUE_FLAGS || involved->flags == NULL)
    return TRUE;
  for (size_t i = 0; i < involved->flags->n_values; i++)
    if (!involved->flags->values[i])
      return fail(trace, node, error,
                  "involved_dim leaves out a dimension of a network that the trace does not describe; name the ranks "
                  "by pg_name and a file of groups");
  return TRUE;
}

static gboolean read_collective(ImportChakraTrace *trace, const Message *message, ImportChakraNode *node,
                                GError **error) {
  gint64 type = -1;
  if (!number_of(find(message, "comm_type"), &type) || type < 0 || type >= (gint64)G_N_ELEMENTS(operations))
    return fail(trace, node, error, "has no comm_type of 0 to 9");
  node->operation = operations[type];
  if (!read_bytes(trace, message, "comm_size", node, error) || !read_dimensions(trace, message, node, error))
    return FALSE;
  if (type == BARRIER && node->bytes == 0)
    node->bytes = BARRIER_BYTES;
  return TRUE;
}

static gboolean read_peer(ImportChakraTrace *trace, const Message *message, ImportChakraNode *node, GError **error) {
  const char *key = node->kind == IMPORT_CHAKRA_SEND ? "comm_dst" : "comm_src";
  if (!number_of(find(message, key), &node->peer) || node->peer < 0 || node->peer > G_MAXINT32)
    return fail(trace, node, error, node->kind == IMPORT_CHAKRA_SEND ? "has no comm_dst" : "has no comm_src");
  if (!number_of(find(message, "comm_tag"), &node->tag))
    node->tag = 0;
  return read_bytes(trace, message, "comm_size", node, error);
}

static gboolean read_kind(ImportChakraTrace *trace, const Message *message, ImportChakraNode *node, GError **error) {
  gboolean host = flag_of(find(message, "is_cpu_op"));
  switch (message->type) {
  case METADATA:
    node->kind = IMPORT_CHAKRA_NOTHING;
    return TRUE;
  case MEM_LOAD:
  case MEM_STORE:
    node->kind = IMPORT_CHAKRA_COPY;
    return read_bytes(trace, message, "tensor_size", node, error);
  case COMP:
    node->kind = host ? IMPORT_CHAKRA_HOST : IMPORT_CHAKRA_COMPUTE;
    return host || read_compute(trace, message, node, error);
  case COMM_COLL: /* PyTorch's operator on the host is of this type too; what the GPU runs of it is another node */
    node->kind = host && find(message, "comm_type") == NULL ? IMPORT_CHAKRA_HOST : IMPORT_CHAKRA_COLLECTIVE;
    return node->kind == IMPORT_CHAKRA_HOST || read_collective(trace, message, node, error);
  case COMM_SEND:
  case COMM_RECV:
    node->kind = message->type == COMM_SEND ? IMPORT_CHAKRA_SEND : IMPORT_CHAKRA_RECEIVE;
    if (host && find(message, "comm_size") == NULL) {
      node->kind = IMPORT_CHAKRA_HOST;
      return TRUE;
    }
    return read_peer(trace, message, node, error);
  default:
    return fail(trace, node, error, "is of no type that the format has (1 to 7)");
  }
}

static int phase_of(const Attribute *attribute) {
  if (attribute != NULL && attribute->value_case == IMPORT_CHAKRA__ATTRIBUTE__VALUE_TEXT)
    for (int phase = 0; phase < PROGRAM_PHASES; phase++)
      if (strcmp(program_phase_names[phase], attribute->text) == 0)
        return phase;
  return IMPORT_CHAKRA_NONE;
}

static gboolean add_node(ImportChakraTrace *trace, const Message *message, GError **error) {
  gint64 layer;
  ImportChakraNode node = {.id = message->id,
                           .name = text_in(trace, message->name),
                           .group = text_of(trace, find(message, "pg_name"), ""),
                           .stream = text_of(trace, find(message, "stream"), "stream "),
                           .operation = IMPORT_CHAKRA_NONE,
                           .phase = phase_of(find(message, "phase")),
                           .peer = IMPORT_CHAKRA_NONE,
                           .layer = IMPORT_CHAKRA_NONE,
                           .needs = trace->needs->len,
                           .n_needs = (guint)(message->n_after + message->n_needs),
                           .n_controls = (guint)message->n_after};
  if (number_of(find(message, "layer"), &layer) && layer >= 0 && layer <= G_MAXINT16)
    node.layer = (gint32)layer;
  trace->has_data_needs |= message->n_needs > 0;
  g_array_append_vals(trace->needs, message->after, (guint)message->n_after);
  g_array_append_vals(trace->needs, message->needs, (guint)message->n_needs);
  if (!read_kind(trace, message, &node, error) || !read_times(trace, message, &node, error))
    return FALSE;
  g_array_append_val(trace->nodes, node);
  return TRUE;
}

/* ---- The file ---- */

/* FALSE: it is cut off. */
static gboolean read_length(const guint8 *data, gsize length, gsize *at, gsize *ret) {
  guint64 value = 0;
  for (guint shift = 0; *at < length && shift < 64; shift += 7) {
    guint8 byte = data[(*at)++];
    value |= (guint64)(byte & 0x7f) << shift;
    if (byte >= 0x80)
      continue;
    *ret = value;
    return value <= length - *at;
  }
  return FALSE;
}

static gboolean broken(const char *path, gsize at, GError **error) {
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: byte %zu: no message of a Chakra trace begins here (messages of Protocol Buffers, each with its "
              "length before it), or the file is cut off",
              path, at);
  return FALSE;
}

static gboolean read_message(ImportChakraTrace *trace, const guint8 *data, gsize length, gboolean head, gsize at,
                             GError **error) {
  if (head) {
    ImportChakra__Head *message = import_chakra__head__unpack(NULL, length, data);
    if (message != NULL)
      import_chakra__head__free_unpacked(message, NULL);
    return message != NULL || broken(trace->path, at, error);
  }
  Message *message = import_chakra__node__unpack(NULL, length, data);
  gboolean good = message != NULL ? add_node(trace, message, error) : broken(trace->path, at, error);
  if (message != NULL)
    import_chakra__node__free_unpacked(message, NULL);
  return good;
}

/* PyTorch's own form, of which Chakra's tools make theirs. */
static gboolean check_form(const char *path, const char *data, gsize length, GError **error) {
  gboolean own = length > 0 && *data == '{' && g_strstr_len(data, (gssize)MIN(length, 256), "\"schema\"") != NULL;
  if (own)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: is a PyTorch execution trace, not yet Chakra's; give it beside the profiler's trace of the same "
                "run (foretrain import kineto TRACE --execution FILE), or convert both with chakra_trace_link and "
                "chakra_converter",
                path);
  return !own;
}

ImportChakraTrace *import_chakra_read(const char *path, GBytes *bytes, GError **error) {
  g_autoptr(ImportChakraTrace) trace = g_new0(ImportChakraTrace, 1);
  gsize length, at = 0;
  const guint8 *data = g_bytes_get_data(bytes, &length);
  trace->path = g_strdup(path);
  trace->nodes = g_array_new(FALSE, FALSE, sizeof(ImportChakraNode));
  trace->needs = g_array_new(FALSE, FALSE, sizeof(guint64));
  trace->names = g_string_chunk_new(4096);
  if (!check_form(path, (const char *)data, length, error))
    return NULL;
  while (at < length) {
    gsize begin = at, size;
    if (!read_length(data, length, &at, &size)) {
      broken(path, begin, error);
      return NULL;
    }
    if (!read_message(trace, data + at, size, begin == 0, begin, error))
      return NULL;
    at += size;
  }
  if (trace->nodes->len > 0)
    return g_steal_pointer(&trace);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: holds no nodes", path);
  return NULL;
}
