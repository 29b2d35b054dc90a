/* SPDX-License-Identifier: MIT */
/* Chakra traces read: what we write comes back row by row; nodes as other tools write them; what is refused, and by
 * which sentence. */
#include <glib/gstdio.h>

#include "import-chakra.h"
#include "kernel-op.h"
#include "program-chakra.h"
#include "trace.h"

/* ---- Messages ---- */

static void add_varint(GByteArray *out, guint64 value) {
  guint8 byte;
  for (; value >= 0x80; value >>= 7) {
    byte = (guint8)(value | 0x80);
    g_byte_array_append(out, &byte, 1);
  }
  byte = (guint8)value;
  g_byte_array_append(out, &byte, 1);
}

static void add_bytes(GByteArray *out, guint field, const void *data, gsize length) {
  add_varint(out, (guint64)field << 3 | 2);
  add_varint(out, length);
  g_byte_array_append(out, data, (guint)length);
}

static void add_number(GByteArray *out, guint field, guint64 value) {
  add_varint(out, (guint64)field << 3);
  add_varint(out, value);
}

/* "comm_size=64 is_cpu_op=true pg_name=:1": numbers as int64, true and false as flags, after a colon text. */
static void add_attributes(GByteArray *node, const char *attributes) {
  g_auto(GStrv) each = g_strsplit(attributes, " ", -1);
  for (char **at = each; *at != NULL && **at != '\0'; at++) {
    g_autoptr(GByteArray) attribute = g_byte_array_new();
    char *value = *at + strcspn(*at, "=");
    *value++ = '\0';
    add_bytes(attribute, 1, *at, strlen(*at));
    if (*value == ':')
      add_bytes(attribute, 29, value + 1, strlen(value + 1));
    else if (*value == 't' || *value == 'f')
      add_number(attribute, 27, *value == 't');
    else
      add_number(attribute, 9, (guint64)g_ascii_strtoll(value, NULL, 10));
    add_bytes(node, 10, attribute->data, attribute->len);
  }
}

typedef struct {
  guint64 id;
  const char *name;
  guint64 type, duration_us;
  const char *controls, *needs, *attributes;
} Written;

static void add_list(GByteArray *node, guint field, const char *ids) {
  g_auto(GStrv) each = g_strsplit(ids, " ", -1);
  g_autoptr(GByteArray) packed = g_byte_array_new();
  for (char **at = each; *at != NULL && **at != '\0'; at++)
    add_varint(packed, g_ascii_strtoull(*at, NULL, 10));
  if (packed->len > 0)
    add_bytes(node, field, packed->data, packed->len);
}

static GByteArray *bytes_of(const Written *nodes) {
  GByteArray *out = g_byte_array_new();
  g_byte_array_append(out,
                      (const guint8 *)"\x07\x0a\x05"
                                      "0.0.4",
                      8);
  for (; nodes->type != 0; nodes++) {
    g_autoptr(GByteArray) node = g_byte_array_new();
    add_number(node, 1, nodes->id);
    add_bytes(node, 2, nodes->name, strlen(nodes->name));
    add_number(node, 3, nodes->type);
    add_list(node, 4, nodes->controls != NULL ? nodes->controls : "");
    add_list(node, 5, nodes->needs != NULL ? nodes->needs : "");
    add_number(node, 7, nodes->duration_us);
    add_attributes(node, nodes->attributes != NULL ? nodes->attributes : "");
    add_varint(out, node->len);
    g_byte_array_append(out, node->data, node->len);
  }
  return out;
}

/* ---- Files ---- */

typedef struct {
  char *folder, *groups;
  GPtrArray *paths;
} Files;

static Files files_new(void) {
  Files files = {.folder = g_dir_make_tmp("chakra-XXXXXX", NULL), .paths = g_ptr_array_new_with_free_func(g_free)};
  return files;
}

static void add_file(Files *files, const char *name, const void *data, gsize length) {
  char *path = g_build_filename(files->folder, name, NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, data, (gssize)length, NULL));
  if (g_str_has_suffix(name, ".json"))
    files->groups = path;
  else
    g_ptr_array_add(files->paths, path);
}

/* Reads them and removes them. */
static Program *read_files(Files *files, ImportChakraOptions how, GError **error) {
  ProgramOrigin origin = {0};
  how.groups = files->groups;
  Program *program =
      import_chakra_program((const char *const *)files->paths->pdata, files->paths->len, &how, &origin, error);
  if (program != NULL)
    program_origin_clear(&origin);
  for (guint i = 0; i < files->paths->len; i++)
    g_unlink(g_ptr_array_index(files->paths, i));
  if (files->groups != NULL)
    g_unlink(files->groups);
  g_rmdir(files->folder);
  g_free(files->folder);
  g_free(files->groups);
  g_ptr_array_unref(files->paths);
  return program;
}

static Program *read_nodes(const Written *nodes, ImportChakraOptions how, GError **error) {
  Files files = files_new();
  g_autoptr(GByteArray) bytes = bytes_of(nodes);
  add_file(&files, "a.et", bytes->data, bytes->len);
  return read_files(&files, how, error);
}

/* ---- Cases ---- */

static const ProgramSection *steady_of(const Program *program, guint32 rank) {
  return &program->roles[program->ranks[rank].role].sections[PROGRAM_STEADY];
}

static void check_row(const Program *program, const ProgramSection *section, guint32 index, const char *name,
                      const char *stream, SimTime host, const char *needs) {
  CU_ASSERT_TRUE_FATAL(index < section->n_rows);
  const ProgramRow *row = &section->rows[index];
  g_autoptr(GString) found = g_string_new("");
  for (guint32 k = 0; k < row->n_needs; k++)
    g_string_append_printf(found, "%s%u", k > 0 ? " " : "", section->needs[row->needs + k]);
  CU_ASSERT_STRING_EQUAL(row->name, name);
  CU_ASSERT_STRING_EQUAL(program->streams[row->stream], stream);
  CU_ASSERT_EQUAL(row->host, host);
  CU_ASSERT_STRING_EQUAL(found->str, needs);
}

static Program *our_own(void) {
  GError *error = NULL;
  ProgramOrigin origin = {0};
  static const char text[] = "# foretrain_trace = 1\n# tokens = 1000\n# dtype = bf16\n"
                             "# streams = host compute comm\n# role.r = 0-3\n"
                             "# communicator.all = 0-3\n# communicator.pair = 0-1 | 2-3\n" COLUMNS
                             "r,first,load,host,host,load,,setup,,,0,,,,,,,,,,\n"
                             "r,steady,f,compute,compute,f,0,forward,0,3600001,100,,,,,,,,,,\n"
                             "r,steady,gather,comm,collective,gather,1,gather,0,,200,,,,8000,all-gather,all,,,,\n"
                             "r,steady,look,host,host,look,,forward,0,,2000000,,,,,,,gather,,,\n"
                             "r,steady,g,compute,compute,g,1,backward,0,5000000,300,,,,,,,gather,,,\n"
                             "r,steady,reduce,comm,collective,reduce,1,reduce,0,,0,,,,8000,reduce-scatter,pair,g,,,\n";
  Program *program = program_trace_read("a.trace.csv", text, strlen(text), &origin, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  program_origin_clear(&origin);
  return program;
}

/* All rows with their streams, costs, needs and layers, and a wait for all streams at the end. */
static void what_we_write_comes_back(void) {
  GError *error = NULL;
  g_autoptr(Program) program = our_own();
  Files files = files_new();
  for (guint32 rank = 4; rank-- > 0;) { /* of whatever order: the numbers in their names tell */
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree char *name = g_strdup_printf("step.%u.et", rank);
    CU_ASSERT_TRUE_FATAL(program_chakra_write(program, rank, program->durations, bytes, &error));
    add_file(&files, name, bytes->data, bytes->len);
  }
  g_autofree char *groups = program_chakra_groups(program);
  add_file(&files, "step.groups.json", groups, strlen(groups));
  g_autoptr(Program) back = read_files(&files, (ImportChakraOptions){0}, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(back);
  CU_ASSERT_EQUAL_FATAL(back->n_ranks, 4);
  for (guint32 rank = 0; rank < 4; rank++) {
    const ProgramSection *steady = steady_of(back, rank);
    CU_ASSERT_EQUAL_FATAL(steady->n_rows, 6);
    check_row(back, steady, 0, "f", "compute", 100, "");
    check_row(back, steady, 1, "gather", "comm", 200, "");
    check_row(back, steady, 2, "look", "host", 2000000, "1");
    check_row(back, steady, 3, "g", "compute", 300, "1");
    check_row(back, steady, 4, "reduce", "comm", 0, "3");
    check_row(back, steady, 5, "end of the step", "host", 0, "3 4");
    const ProgramRow *rows = steady->rows;
    CU_ASSERT_EQUAL(back->durations[rows[0].op], 3600001);
    CU_ASSERT_TRUE(rows[0].layer == 0 && rows[3].layer == 1 && rows[3].phase == PROGRAM_BACKWARD);
    CU_ASSERT_TRUE(rows[1].call.operation == COLL_ALL_GATHER && rows[1].call.bytes == 8000);
    CU_ASSERT_TRUE(rows[4].call.operation == COLL_REDUCE_SCATTER && rows[4].call.bytes == 8000);
    const ProgramCommunicator *two = &back->communicators[program_group(back, rank, rows[4].group)];
    CU_ASSERT_TRUE(two->n_ranks == 2 && two->ranks[0] == (rank & ~1u));
  }
}

/* A host that launches a (5 us of its time), then b, and reads b's result: it waits for it (row 3) before its own 7 us.
 * c has no duration: 2 n^3 = 2e9 operations are a matmul of 1000. The GPU's nodes that can go go before the host's. */
static void nodes_of_other_tools(void) {
  static const Written nodes[] = {{10, "launch", 4, 5, "99", NULL, "is_cpu_op=true"},
                                  {11, "a", 4, 20, "10", "10", "is_cpu_op=false stream=7"},
                                  {12, "b", 7, 0, NULL, "11", "is_cpu_op=false comm_type=0 comm_size=64"},
                                  {13, "read", 4, 7, NULL, "12", "is_cpu_op=true"},
                                  {14, "c", 4, 0, NULL, "11", "num_ops=2000000000 tensor_size=6000000"},
                                  {15, "d", 4, 0, NULL, NULL, "tensor_size=4096"},
                                  {16, "barrier", 7, 0, NULL, "13", "comm_type=9"},
                                  {17, "load", 2, 0, NULL, NULL, "tensor_size=512"},
                                  {0}};
  GError *error = NULL;
  g_autoptr(Program) program = read_nodes(nodes, (ImportChakraOptions){.ranks = 2}, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  const ProgramSection *steady = steady_of(program, 0);
  CU_ASSERT_EQUAL_FATAL(steady->n_rows, 10);
  check_row(program, steady, 0, "d", "compute", 0, "");
  check_row(program, steady, 1, "load", "copies", 0, "");
  check_row(program, steady, 2, "launch", "host", 5 * SIM_MICROSECOND, "");
  check_row(program, steady, 3, "a", "stream 7", 0, "");
  check_row(program, steady, 4, "b", "comm all", 0, "3");
  check_row(program, steady, 5, "c", "compute", 0, "3");
  check_row(program, steady, 6, "wait", "host", 0, "4");
  check_row(program, steady, 7, "read", "host", 7 * SIM_MICROSECOND, "");
  check_row(program, steady, 8, "barrier", "comm all", 0, "");
  const KernelOp *c = &program->ops[steady->rows[5].op];
  CU_ASSERT_TRUE(c->kind == KERNEL_MATMUL && c->m == 1000 && c->n == 1000 && c->k == 1000 && c->bytes == 6000000);
  CU_ASSERT_EQUAL(program->durations[steady->rows[5].op], -1);
  CU_ASSERT_EQUAL(program->ops[steady->rows[0].op].bytes, 4096);
  CU_ASSERT_TRUE(steady->rows[1].kind == PROGRAM_COPY && steady->rows[1].call.bytes == 512);
  CU_ASSERT_TRUE(steady->rows[8].call.operation == COLL_ALL_REDUCE && steady->rows[8].call.bytes == 4);
}

/* Rank 0 sends to rank 1: one communicator of both, and one call of each. */
static void sends_meet_receives(void) {
  static const Written sender[] = {{1, "s", 5, 0, NULL, NULL, "comm_dst=1 comm_tag=3 comm_size=64"}, {0}};
  static const Written receiver[] = {{1, "r", 6, 0, NULL, NULL, "comm_src=0 comm_tag=3 comm_size=64"}, {0}};
  static const Written other[] = {{1, "r", 6, 0, NULL, NULL, "comm_src=0 comm_tag=4 comm_size=64"}, {0}};
  for (int wrong = 0; wrong < 2; wrong++) {
    GError *error = NULL;
    Files files = files_new();
    g_autoptr(GByteArray) first = bytes_of(sender);
    g_autoptr(GByteArray) second = bytes_of(wrong ? other : receiver);
    add_file(&files, "a.0.et", first->data, first->len);
    add_file(&files, "a.1.et", second->data, second->len);
    g_autoptr(Program) program = read_files(&files, (ImportChakraOptions){0}, &error);
    if (wrong) {
      HARNESS_FAILS(program != NULL, error, "of rank 0's sends to rank 1 with tag 3, 1 more are sent than received");
      continue;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(program);
    const ProgramRow *send = &steady_of(program, 0)->rows[0], *receive = &steady_of(program, 1)->rows[0];
    CU_ASSERT_TRUE(send->call.operation == COLL_SEND_RECV && send->call.bytes == 64 && receive->call.bytes == 64);
    CU_ASSERT_EQUAL(program_group(program, 0, send->group), program_group(program, 1, receive->group));
  }
}

/* A gather has no operation of NCCL's: it is refused, or takes the time that it states. */
static void measured_communication_is_kept(void) {
  static const Written nodes[] = {{1, "g", 7, 9, NULL, NULL, "comm_type=3 comm_size=64"}, {0}};
  GError *error = NULL;
  HARNESS_FAILS(read_nodes(nodes, (ImportChakraOptions){.ranks = 2}, &error) != NULL, error, "is a gather");
  error = NULL;
  g_autoptr(Program) program = read_nodes(nodes, (ImportChakraOptions){.ranks = 2, .keep_communication = TRUE}, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  CU_ASSERT_EQUAL(program->durations[steady_of(program, 1)->rows[0].op], 9 * SIM_MICROSECOND);
}

/* Control dependencies order where the file has no others. */
static void controls_order_where_they_are_alone(void) {
  static const Written nodes[] = {{1, "b", 4, 1, "2", NULL, "stream=1"}, {2, "a", 4, 1, "7", NULL, "stream=2"}, {0}};
  GError *error = NULL;
  g_autoptr(Program) program = read_nodes(nodes, (ImportChakraOptions){0}, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  check_row(program, steady_of(program, 0), 0, "a", "stream 2", 0, "");
  check_row(program, steady_of(program, 0), 1, "b", "stream 1", 0, "0");
}

static void refuses(void) {
  static const struct {
    Written node;
    const char *what;
  } wrongs[] = {
      {{1, "a", 4, 1, NULL, "2", NULL}, "node 1 (a): waits for node 2, which the file does not have"},
      {{1, "a", 4, 1, NULL, "1", NULL}, "waits in a circle; 1 nodes never run"},
      {{1, "a", 9, 1, NULL, NULL, NULL}, "is of no type that the format has"},
      {{1, "a", 7, 1, NULL, NULL, "comm_size=5"}, "has no comm_type of 0 to 9"},
      {{1, "a", 7, 1, NULL, NULL, "comm_type=0 comm_size=-5"}, "comm_size is negative or more than a PiB"},
      {{1, "a", 7, 1, NULL, NULL, "comm_type=0 comm_size=5 pg_name=:17"}, "whom its group has is not known"},
      {{1, "a", 5, 1, NULL, NULL, "comm_dst=1 comm_size=5"}, "one file does not say what its peer does"},
      {{1, "a", 5, 1, NULL, NULL, "comm_size=5"}, "has no comm_dst"},
      {{1, "a", 4, G_MAXINT64, NULL, NULL, NULL}, "longer than any trace does"},
      {{1, "a", 4, 1, NULL, NULL, "issue_ps=-7"}, "is negative or longer than 26 days"},
      {{1, "a", 4, 1, NULL, NULL, "num_ops=-1"}, "num_ops is negative"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(wrongs); i++) {
    GError *error = NULL;
    const Written nodes[] = {wrongs[i].node, {0}};
    HARNESS_FAILS(read_nodes(nodes, (ImportChakraOptions){.ranks = 2}, &error) != NULL, error, wrongs[i].what);
  }
  static const Written twice[] = {{1, "a", 4, 1, NULL, NULL, NULL}, {1, "b", 4, 1, NULL, NULL, NULL}, {0}};
  GError *error = NULL;
  HARNESS_FAILS(read_nodes(twice, (ImportChakraOptions){0}, &error) != NULL, error, "another node of the id 1");
}

/* Files that are none, or cut off; ranks that are missing. */
static void broken_files(void) {
  static const Written one[] = {{1, "a", 4, 1, NULL, NULL, NULL}, {0}};
  static const struct {
    const char *name, *what;
    gsize cut; /* bytes that are left; 0: all */
  } wrongs[] = {{"a.et", "byte 8: no message of a Chakra trace begins here", 12},
                {"a.et", "holds no nodes", 8},
                {"a.0.et", "rank 0's file was to come here", 0}};
  for (gsize i = 0; i < G_N_ELEMENTS(wrongs); i++) {
    GError *error = NULL;
    Files files = files_new();
    g_autoptr(GByteArray) bytes = bytes_of(one);
    add_file(&files, i == 2 ? "a.1.et" : wrongs[i].name, bytes->data, wrongs[i].cut > 0 ? wrongs[i].cut : bytes->len);
    if (i == 2)
      add_file(&files, "a.2.et", bytes->data, bytes->len);
    HARNESS_FAILS(read_files(&files, (ImportChakraOptions){0}, &error) != NULL, error, wrongs[i].what);
  }
  static const char own[] = "{\n  \"schema\": \"1.0.1\", \"nodes\": []}";
  Files foreign = files_new();
  GError *why = NULL;
  add_file(&foreign, "a.et", own, strlen(own));
  HARNESS_FAILS(read_files(&foreign, (ImportChakraOptions){0}, &why) != NULL, why, "import kineto TRACE --execution");
  static const char *const groups[][2] = {{"{\"1\": [0, 0]}", "names rank 0 twice"},
                                          {"{\"1\": [0, 9]}", "rank 9 of 2 ranks"},
                                          {"{\"1\": 4}", "is no list of ranks"}};
  for (gsize i = 0; i < G_N_ELEMENTS(groups); i++) {
    GError *error = NULL;
    Files files = files_new();
    g_autoptr(GByteArray) bytes = bytes_of(one);
    add_file(&files, "a.et", bytes->data, bytes->len);
    add_file(&files, "g.json", groups[i][0], strlen(groups[i][0]));
    HARNESS_FAILS(read_files(&files, (ImportChakraOptions){.ranks = 2}, &error) != NULL, error, groups[i][1]);
  }
}

int main(void) {
  return harness_run("import-chakra",
                     (HarnessCase[]){{"what we write comes back", what_we_write_comes_back},
                                     {"nodes of other tools", nodes_of_other_tools},
                                     {"sends meet receives", sends_meet_receives},
                                     {"measured communication is kept", measured_communication_is_kept},
                                     {"controls order where they are alone", controls_order_where_they_are_alone},
                                     {"refuses", refuses},
                                     {"broken files", broken_files},
                                     {NULL, NULL}});
}
