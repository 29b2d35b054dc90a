/* SPDX-License-Identifier: MIT */
/* A Program as a trace file. */
#include <string.h>

#include "mem-tenant.h"
#include "program-head.h"
#include "program-line.h"
#include "program-ranks.h"
#include "program-text.h"

typedef struct {
  const Program *program;
  const SimTime *durations;
  char **tensors, **slots; /* words by which lists call them */
  GString *text, *needs, *takes, *gives;
} Writer;

/* The word for a name: escaped, and numbered from the second of a name on. */
static char *unique_word(GHashTable *used, const char *name) {
  guint times = GPOINTER_TO_UINT(g_hash_table_lookup(used, name)) + 1;
  g_hash_table_insert(used, (gpointer)name, GUINT_TO_POINTER(times));
  GString *word = g_string_new(NULL);
  program_text_word(name, word);
  if (times > 1)
    g_string_append_printf(word, "#%u", times);
  return g_string_free(word, FALSE);
}

/* Of `n` things, `size` bytes apart, each of which begins with its name. */
static char **unique_words(gconstpointer things, guint32 n, gsize size) {
  g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);
  char **words = g_new0(char *, n + 1);
  for (guint32 i = 0; i < n; i++)
    words[i] = unique_word(used, *(const char *const *)(gconstpointer)((const char *)things + i * size));
  return words;
}

static void print_streams(const Writer *writer) {
  g_string_append(writer->text, "# streams =");
  for (guint32 s = 0; s < writer->program->n_streams; s++) {
    g_string_append_c(writer->text, ' ');
    program_text_word(writer->program->streams[s], writer->text);
  }
  g_string_append_c(writer->text, '\n');
  for (guint32 s = 1; s < writer->program->n_streams; s++)
    if (writer->program->pools[s] != s) {
      g_string_append(writer->text, "# pool.");
      program_text_word(writer->program->streams[s], writer->text);
      g_string_append(writer->text, " = ");
      program_text_word(writer->program->streams[writer->program->pools[s]], writer->text);
      g_string_append_c(writer->text, '\n');
    }
}

static void print_role(const Writer *writer, guint32 role, const char *word) {
  const Program *program = writer->program;
  g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint32 i = 0; i < program->n_ranks; i++)
    if (program->ranks[i].role == role)
      g_array_append_val(ranks, i);
  g_autofree char *list = program_ranks_format((const guint32 *)(gpointer)ranks->data, ranks->len);
  g_string_append_printf(writer->text, "# role.%s = %s\n", word, list);
}

/* A slot: the communicators that ranks mean by it, side by side. */
static void print_slot(const Writer *writer, guint32 slot) {
  const Program *program = writer->program;
  guint32 first = PROGRAM_NONE, last = 0;
  for (guint32 rank = 0; rank < program->n_ranks; rank++) {
    guint32 group = program_group(program, rank, slot);
    first = MIN(first, group);
    last = group != PROGRAM_NONE ? MAX(last, group) : last;
  }
  g_string_append_printf(writer->text, "# communicator.%s =", writer->slots[slot]);
  for (guint32 c = first; c <= last; c++) {
    const ProgramCommunicator *communicator = &program->communicators[c];
    g_autofree char *list = program_ranks_format(communicator->ranks, communicator->n_ranks);
    g_string_append_printf(writer->text, "%s %s", c > first ? " |" : "", list);
  }
  g_string_append_c(writer->text, '\n');
}

static void list_word(GString *list, const char *word) {
  if (list->len > 0)
    g_string_append_c(list, ' ');
  g_string_append(list, word);
}

static void list_take(const Writer *writer, guint32 tensor) {
  const ProgramTensor *taken = &writer->program->tensors[tensor];
  list_word(writer->takes, writer->tensors[tensor]);
  g_string_append_printf(writer->takes, ":%s:%" G_GUINT64_FORMAT, mem_tenant_names[taken->tenant], taken->bytes);
  if (taken->unique_bytes != taken->bytes || taken->managed)
    g_string_append_printf(writer->takes, ":%" G_GUINT64_FORMAT, taken->unique_bytes);
  if (taken->managed)
    g_string_append(writer->takes, ":" PROGRAM_MANAGED_WORD);
}

static void list_all(const Writer *writer, const ProgramSection *section, const ProgramRow *row) {
  g_string_truncate(writer->needs, 0);
  g_string_truncate(writer->takes, 0);
  g_string_truncate(writer->gives, 0);
  for (guint32 i = 0; i < row->n_needs; i++)
    g_string_append_printf(writer->needs, "%s%u", i > 0 ? " " : "", section->needs[row->needs + i]);
  for (guint32 i = 0; i < row->n_takes; i++)
    list_take(writer, section->takes[row->takes + i]);
  for (guint32 i = 0; i < row->n_gives; i++) {
    const ProgramGive *give = &section->gives[row->gives + i];
    list_word(writer->gives, writer->tensors[give->tensor]);
    if (give->stream != PROGRAM_NONE) {
      g_string_append_c(writer->gives, '@');
      program_text_word(writer->program->streams[give->stream], writer->gives);
    }
  }
}

static void fill_op(const Writer *writer, guint32 op, ProgramLine *line) {
  line->op = writer->program->ops[op];
  line->duration = writer->durations != NULL ? writer->durations[op] : writer->program->durations[op];
  line->shaped = line->op.batch > 0;
  line->dtype = (int)line->op.dtype;
  line->bytes = line->op.bytes;
}

static void print_row(const Writer *writer, const char *role, int step, const ProgramSection *section, guint32 index) {
  const ProgramRow *row = &section->rows[index];
  g_autofree char *task = g_strdup_printf("%u", index);
  g_autoptr(GString) stream = g_string_new(NULL);
  ProgramLine line;
  program_line_init(&line);
  program_text_word(writer->program->streams[row->stream], stream);
  list_all(writer, section, row);
  line.role = role;
  line.step = step;
  line.task = task;
  line.stream = stream->str;
  line.kind = (int)row->kind;
  line.name = row->name;
  line.layer = row->layer;
  line.phase = (int)row->phase;
  line.micro = row->micro;
  line.host = row->host;
  line.needs = writer->needs->str;
  line.takes = writer->takes->str;
  line.gives = writer->gives->str;
  line.hint = (int)row->hint;
  if (row->kind == PROGRAM_COMPUTE)
    fill_op(writer, row->op, &line);
  if (row->kind == PROGRAM_COLLECTIVE) {
    line.bytes = row->call.bytes;
    line.operation = (int)row->call.operation;
    line.group = writer->slots[row->group];
  }
  if (row->kind == PROGRAM_COPY)
    line.path = (int)row->op;
  if (row->kind == PROGRAM_COPY || row->kind == PROGRAM_CPU)
    line.bytes = row->call.bytes;
  program_line_print(&line, writer->text);
}

void program_trace_write(const Program *program, const ProgramOrigin *origin, const SimTime *durations, GString *text) {
  g_auto(GStrv) roles = unique_words(program->roles, program->n_roles, sizeof *program->roles);
  Writer writer = {.program = program, .durations = durations, .text = text};
  writer.tensors = unique_words(program->tensors, program->n_tensors, sizeof *program->tensors);
  writer.slots = unique_words(program->slots, program->n_slots, sizeof *program->slots);
  writer.needs = g_string_new(NULL);
  writer.takes = g_string_new(NULL);
  writer.gives = g_string_new(NULL);
  ProgramHead head = {PROGRAM_TRACE_VERSION,   *origin,       program->tokens, program->model_flops,
                      program->hardware_flops, program->dtype};
  g_autofree char *heads = program_line_heads();
  program_head_print(&head, text);
  print_streams(&writer);
  for (guint32 r = 0; r < program->n_roles; r++)
    print_role(&writer, r, roles[r]);
  for (guint32 slot = 0; slot < program->n_slots; slot++)
    print_slot(&writer, slot);
  g_string_append_printf(text, "%s\n", heads);
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      for (guint32 i = 0; i < program->roles[r].sections[s].n_rows; i++)
        print_row(&writer, roles[r], s, &program->roles[r].sections[s], i);
  g_strfreev(writer.tensors);
  g_strfreev(writer.slots);
  g_string_free(writer.needs, TRUE);
  g_string_free(writer.takes, TRUE);
  g_string_free(writer.gives, TRUE);
}

/* Lists of the head, whose readers are their owners'. */
static const struct {
  const char *key, *help;
  gboolean required;
} lists[] = {
    {"streams", "host and the others, in order", TRUE},
    {"pool.STREAM", "the stream whose memory the rows of this one take; left out: its own", FALSE},
    {"role.NAME", "ranks that behave so, as in 0-7,16-56:8; every rank in one", TRUE},
    {"communicator.NAME", "ranks of a communicator; of several side by side, as in 0-7 | 8-15, each rank means its own",
     FALSE},
};

void program_trace_reference(GString *text) {
  g_string_append(text,
                  "A trace file: lines of the head, then the line of columns, then a row a line in the order in which "
                  "the host\nissues them. Other lines that begin with # are comments.\n\n# key = value\n");
  program_head_reference(text);
  for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
    g_string_append_printf(text, "%-26s %s%s\n", lists[i].key, lists[i].help, lists[i].required ? " (needed)" : "");
  g_string_append(text, "\nrole,step,task,…\n");
  program_line_reference(text);
}

void program_trace_reference_json(BaseJson *json) {
  base_json_list(json, "head");
  program_head_reference_json(json);
  for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
    program_head_key_json(lists[i].key, lists[i].help, lists[i].required, json);
  base_json_end(json);
  base_json_list(json, "columns");
  program_line_reference_json(json);
  base_json_end(json);
}
