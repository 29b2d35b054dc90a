/* SPDX-License-Identifier: MIT */
/* Chakra traces: what they hold, read back as any reader of Protocol Buffers would. */
#include "program-chakra.h"
#include "program-trace.h"
#include "trace.h"

typedef struct {
  guint64 id, type, micros, ps, comm_type, comm_size;
  gboolean host;
  char *name, *group, *needs;
} Node;

static void node_clear(gpointer data) {
  Node *node = data;
  g_free(node->name);
  g_free(node->group);
  g_free(node->needs);
}

static guint64 read_varint(const guint8 **at, const guint8 *end) {
  guint64 value = 0;
  for (guint shift = 0; *at < end; shift += 7) {
    guint8 byte = *(*at)++;
    value |= (guint64)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  CU_FAIL_FATAL("cut off");
  return 0;
}

/* The next field: its number, and either a value or the bytes at [data, data + value). */
static guint64 read_field(const guint8 **at, const guint8 *end, const guint8 **ret_data, guint64 *ret_value) {
  guint64 key = read_varint(at, end);
  *ret_value = read_varint(at, end);
  *ret_data = *at;
  CU_ASSERT_TRUE_FATAL((key & 7) == 0 || ((key & 7) == 2 && *ret_value <= (guint64)(end - *at)));
  if ((key & 7) == 2)
    *at += *ret_value;
  return key >> 3;
}

static void read_attribute(const guint8 *at, const guint8 *end, Node *node) {
  g_autofree char *name = NULL;
  while (at < end) {
    const guint8 *data;
    guint64 value, field = read_field(&at, end, &data, &value);
    if (field == 1)
      name = g_strndup((const char *)data, value);
    else if (g_strcmp0(name, "duration_ps") == 0 && field == 9)
      node->ps = value;
    else if (g_strcmp0(name, "comm_type") == 0 && field == 9)
      node->comm_type = value;
    else if (g_strcmp0(name, "comm_size") == 0 && field == 9)
      node->comm_size = value;
    else if (g_strcmp0(name, "is_cpu_op") == 0 && field == 27)
      node->host = value != 0;
    else if (g_strcmp0(name, "pg_name") == 0 && field == 29)
      node->group = g_strndup((const char *)data, value);
  }
}

static Node read_node(const guint8 *at, const guint8 *end) {
  Node node = {.needs = g_strdup("")};
  while (at < end) {
    const guint8 *data;
    guint64 value, field = read_field(&at, end, &data, &value);
    if (field == 1)
      node.id = value;
    else if (field == 2)
      node.name = g_strndup((const char *)data, value);
    else if (field == 3)
      node.type = value;
    else if (field == 5) {
      char *more = g_strdup_printf("%s %" G_GUINT64_FORMAT, node.needs, value);
      g_free(node.needs);
      node.needs = more;
    } else if (field == 7)
      node.micros = value;
    else if (field == 10)
      read_attribute(data, data + value, &node);
  }
  return node;
}

/* All nodes behind the metadata. */
static GArray *read_all(const GByteArray *bytes) {
  GArray *nodes = g_array_new(FALSE, FALSE, sizeof(Node));
  g_array_set_clear_func(nodes, node_clear);
  const guint8 *at = bytes->data, *end = at + bytes->len, *data;
  guint64 length = read_varint(&at, end), value;
  const guint8 *metadata = at;
  CU_ASSERT_TRUE_FATAL(read_field(&metadata, at + length, &data, &value) == 1 &&
                       strncmp((const char *)data, "0.0.4", value) == 0);
  for (at += length; at < end; at += length) {
    length = read_varint(&at, end);
    CU_ASSERT_TRUE_FATAL(length <= (guint64)(end - at));
    Node node = read_node(at, at + length);
    g_array_append_val(nodes, node);
  }
  return nodes;
}

static Program *program_of(const char *rows) {
  GError *error = NULL;
  ProgramOrigin origin = {0};
  g_autofree char *text = g_strconcat("# foretrain_trace = 1\n# tokens = 1000\n# dtype = bf16\n"
                                      "# streams = host compute comm\n# role.r = 0-3\n"
                                      "# communicator.all = 0-3\n# communicator.pair = 0-1 | 2-3\n" COLUMNS
                                      "r,first,load,host,host,load,,setup,,,0,,,,,,,,,,\n",
                                      rows, NULL);
  Program *program = program_trace_read("a.trace.csv", text, strlen(text), &origin, &error);
  if (program == NULL)
    printf("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  program_origin_clear(&origin);
  return program;
}

static void check_node(GArray *nodes, guint index, const char *name, guint64 type, const char *needs) {
  const Node *node = &g_array_index(nodes, Node, index);
  CU_ASSERT_EQUAL(node->id, index + 1);
  CU_ASSERT_EQUAL(node->type, type);
  CU_ASSERT_STRING_EQUAL(node->name, name);
  CU_ASSERT_STRING_EQUAL(node->needs, needs);
}

/* The gather runs beside f; the host waits for it, so g and what follows are issued after that wait. */
static void rows_are_nodes(void) {
  GError *error = NULL;
  g_autoptr(Program) program =
      program_of("r,steady,f,compute,compute,f,0,forward,0,3600001,0,,,,,,,,,,\n"
                 "r,steady,gather,comm,collective,gather,1,gather,0,,0,,,,8000,all-gather,all,,,,\n"
                 "r,steady,look,host,host,look,,forward,0,,2000000,,,,,,,gather,,,\n"
                 "r,steady,g,compute,compute,g,1,backward,0,5000000,0,,,,,,,gather,,,\n"
                 "r,steady,reduce,comm,collective,reduce,1,reduce,0,,0,,,,8000,reduce-scatter,pair,g,,,\n");
  for (guint32 rank = 0; rank < 4; rank++) {
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    CU_ASSERT_TRUE_FATAL(program_chakra_write(program, rank, program->durations, bytes, &error));
    g_autoptr(GArray) nodes = read_all(bytes);
    CU_ASSERT_EQUAL_FATAL(nodes->len, 5);
    check_node(nodes, 0, "layer0.f", 4, "");
    check_node(nodes, 1, "layer1.gather", 7, "");
    check_node(nodes, 2, "look", 4, " 2");
    check_node(nodes, 3, "layer1.g", 4, " 1 3 2");
    check_node(nodes, 4, "layer1.reduce", 7, " 2 3 4");
    const Node *node = &g_array_index(nodes, Node, 0);
    CU_ASSERT_TRUE(node[0].micros == 4 && node[0].ps == 3600001 && !node[0].host);
    CU_ASSERT_TRUE(node[1].comm_type == 2 && node[1].comm_size == 2000 && strcmp(node[1].group, "1") == 0);
    CU_ASSERT_TRUE(node[2].micros == 2 && node[2].host);
    CU_ASSERT_TRUE(node[4].comm_type == 7 && node[4].comm_size == 8000);
    CU_ASSERT_STRING_EQUAL(node[4].group, rank < 2 ? "2" : "3");
  }
  g_autofree char *groups = program_chakra_groups(program);
  CU_ASSERT_STRING_EQUAL(groups, "{\"1\":[0,1,2,3],\"2\":[0,1],\"3\":[2,3]}\n");
}

static void copies_are_refused(void) {
  GError *error = NULL;
  g_autoptr(GByteArray) bytes = g_byte_array_new();
  g_autoptr(Program) program = program_of("r,steady,fetch,comm,copy,fetch,0,forward,0,,0,pinned,,,8000,,,,,,\n");
  HARNESS_FAILS(program_chakra_write(program, 0, program->durations, bytes, &error), error, "\"fetch\" has no node");
}

int main(void) {
  return harness_run(
      "program-chakra",
      (HarnessCase[]){{"rows are nodes", rows_are_nodes}, {"copies are refused", copies_are_refused}, {NULL, NULL}});
}
