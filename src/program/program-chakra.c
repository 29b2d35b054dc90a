/* SPDX-License-Identifier: MIT */
/* Rows into messages of Protocol Buffers: a key is number << 3 | type, integers are varints, texts and messages have
 * their length before them. */
#include "program-chakra.h"

#include <string.h>

#include "base-error.h"
#include "base-json.h"

#define VERSION "0.0.4"
enum { VARINT = 0, LENGTH = 2 }; /* wire types */
enum { METADATA_VERSION = 1 };
enum { NODE_ID = 1, NODE_NAME, NODE_TYPE, NODE_DATA_DEPS = 5, NODE_DURATION = 7, NODE_ATTR = 10 };
enum { ATTR_NAME = 1, ATTR_INT64 = 9, ATTR_BOOL = 27, ATTR_STRING = 29 };
enum { COMP_NODE = 4, COMM_COLL_NODE = 7 };

static void add_varint(GByteArray *out, guint64 value) {
  guint8 byte;
  for (; value >= 0x80; value >>= 7) {
    byte = (guint8)(value | 0x80);
    g_byte_array_append(out, &byte, 1);
  }
  byte = (guint8)value;
  g_byte_array_append(out, &byte, 1);
}

static void add_number(GByteArray *out, guint field, guint64 value) {
  add_varint(out, (guint64)field << 3 | VARINT);
  add_varint(out, value);
}

static void add_bytes(GByteArray *out, guint field, const void *data, gsize length) {
  add_varint(out, (guint64)field << 3 | LENGTH);
  add_varint(out, length);
  g_byte_array_append(out, data, (guint)length);
}

static void add_text(GByteArray *out, guint field, const char *text) {
  add_bytes(out, field, text, strlen(text));
}

/* A message of its own, its length before it. */
static void add_message(GByteArray *out, const GByteArray *message) {
  add_varint(out, message->len);
  g_byte_array_append(out, message->data, message->len);
}

static GByteArray *attribute(const char *name) {
  GByteArray *attr = g_byte_array_new();
  add_text(attr, ATTR_NAME, name);
  return attr;
}

static void end_attribute(GByteArray *node, GByteArray *attr) {
  add_bytes(node, NODE_ATTR, attr->data, attr->len);
  g_byte_array_unref(attr);
}

static void add_attribute_number(GByteArray *node, const char *name, guint field, guint64 value) {
  GByteArray *attr = attribute(name);
  add_number(attr, field, value);
  end_attribute(node, attr);
}

static void add_attribute_text(GByteArray *node, const char *name, const char *value) {
  GByteArray *attr = attribute(name);
  add_text(attr, ATTR_STRING, value);
  end_attribute(node, attr);
}

/* et_def.proto's CollectiveCommType; send-recv has none. */
static int comm_type(CollOperation operation) {
  static const int types[COLL_OPERATIONS] = {
      [COLL_ALL_REDUCE] = 0, [COLL_ALL_GATHER] = 2, [COLL_REDUCE_SCATTER] = 7, [COLL_BROADCAST] = 5,
      [COLL_REDUCE] = 1,     [COLL_SEND_RECV] = -1, [COLL_ALL_TO_ALL] = 6};
  return types[operation];
}

static void add_collective(const Program *program, guint32 rank, const ProgramRow *row, GByteArray *node) {
  guint32 group = program_group(program, rank, row->group);
  guint64 ranks = program->communicators[group].n_ranks;
  g_autofree char *name = g_strdup_printf("%u", group + 1);
  add_attribute_number(node, "comm_type", ATTR_INT64, (guint64)comm_type(row->call.operation));
  add_attribute_number(node, "comm_size", ATTR_INT64,
                       row->call.operation == COLL_ALL_GATHER ? row->call.bytes / ranks : row->call.bytes);
  add_attribute_text(node, "pg_name", name);
}

static void add_name(const ProgramRow *row, GByteArray *node) {
  g_autofree char *name = row->layer >= 0 ? g_strdup_printf("layer%d.%s", row->layer, row->name) : NULL;
  add_text(node, NODE_NAME, name != NULL ? name : row->name);
}

/* The row before on its stream, the last host row that waited, and what it needs; each once. */
static void add_dependencies(const ProgramSection *section, guint32 index, const guint32 *last, guint32 waited,
                             GByteArray *node) {
  const ProgramRow *row = &section->rows[index];
  g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(guint32));
  guint32 implied[] = {last[row->stream], waited};
  for (guint i = 0; i < G_N_ELEMENTS(implied) + row->n_needs; i++) {
    guint32 other = i < G_N_ELEMENTS(implied) ? implied[i] : section->needs[row->needs + i - G_N_ELEMENTS(implied)];
    gboolean known = other == PROGRAM_NONE;
    for (guint k = 0; k < found->len; k++)
      known |= g_array_index(found, guint32, k) == other;
    if (known)
      continue;
    g_array_append_val(found, other);
    add_number(node, NODE_DATA_DEPS, (guint64)other + 1);
  }
}

static SimTime duration_of(const ProgramRow *row, const SimTime *durations) {
  return row->kind == PROGRAM_COMPUTE ? durations[row->op] : row->kind == PROGRAM_HOST ? row->host : 0;
}

static void add_node(const Program *program, guint32 rank, guint32 index, const SimTime *durations, const guint32 *last,
                     guint32 waited, GByteArray *out) {
  const ProgramSection *section = &program->roles[program->ranks[rank].role].sections[PROGRAM_STEADY];
  const ProgramRow *row = &section->rows[index];
  g_autoptr(GByteArray) node = g_byte_array_new();
  SimTime duration = duration_of(row, durations);
  add_number(node, NODE_ID, (guint64)index + 1);
  add_name(row, node);
  add_number(node, NODE_TYPE, row->kind == PROGRAM_COLLECTIVE ? COMM_COLL_NODE : COMP_NODE);
  add_dependencies(section, index, last, waited, node);
  if (row->kind != PROGRAM_COLLECTIVE) {
    add_number(node, NODE_DURATION, (guint64)((duration + SIM_MICROSECOND / 2) / SIM_MICROSECOND));
    add_attribute_number(node, "duration_ps", ATTR_INT64, (guint64)duration);
  }
  add_attribute_number(node, "is_cpu_op", ATTR_BOOL, row->kind == PROGRAM_HOST);
  add_attribute_text(node, "phase", program_phase_names[row->phase]);
  add_attribute_text(node, "stream", program->streams[row->stream]);
  add_attribute_number(node, "issue_ps", ATTR_INT64, (guint64)row->host);
  if (row->layer >= 0)
    add_attribute_number(node, "layer", ATTR_INT64, (guint64)row->layer);
  if (row->kind == PROGRAM_COLLECTIVE)
    add_collective(program, rank, row, node);
  add_message(out, node);
}

/* Rows that other simulators have no node for. */
static gboolean check(const ProgramSection *section, GError **error) {
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    gboolean sends = row->kind == PROGRAM_COLLECTIVE && comm_type(row->call.operation) < 0;
    if (row->kind != PROGRAM_COPY && row->kind != PROGRAM_CPU && !sends)
      continue;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "\"%s\" has no node in a Chakra trace: it %s; --format csv has all rows", row->name,
                sends ? "sends to a neighbour" : "copies to or from the host, or uses its cores");
    return FALSE;
  }
  return TRUE;
}

gboolean program_chakra_write(const Program *program, guint32 rank, const SimTime *durations, GByteArray *out,
                              GError **error) {
  const ProgramSection *section = &program->roles[program->ranks[rank].role].sections[PROGRAM_STEADY];
  if (!check(section, error))
    return FALSE;
  g_autofree guint32 *last = g_new(guint32, program->n_streams);
  g_autoptr(GByteArray) metadata = g_byte_array_new();
  guint32 waited = PROGRAM_NONE;
  for (guint32 s = 0; s < program->n_streams; s++)
    last[s] = PROGRAM_NONE;
  add_text(metadata, METADATA_VERSION, VERSION);
  add_message(out, metadata);
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    add_node(program, rank, i, durations, last, waited, out);
    last[row->stream] = i;
    waited = row->kind == PROGRAM_HOST && row->n_needs > 0 ? i : waited;
  }
  return TRUE;
}

char *program_chakra_groups(const Program *program) {
  GString *text = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_COMPACT);
  base_json_map(json, NULL);
  for (guint32 c = 0; c < program->n_communicators; c++) {
    char name[16];
    g_snprintf(name, sizeof name, "%u", c + 1);
    base_json_list(json, name);
    for (guint32 r = 0; r < program->communicators[c].n_ranks; r++)
      base_json_integer(json, NULL, program->communicators[c].ranks[r]);
    base_json_end(json);
  }
  base_json_end(json);
  g_string_append_c(text, '\n');
  return g_string_free(text, FALSE);
}
