/* SPDX-License-Identifier: MIT */
/* Columns: what each holds, on which kinds of rows, and which of them make an operation. */
#include "program-line.h"

#include <string.h>

#include "base-field.h"
#include "base-names.h"
#include "program-text.h"

/* Rows that a column is for. */
enum {
  ON_COMPUTE = 1 << PROGRAM_COMPUTE,
  ON_COLLECTIVE = 1 << PROGRAM_COLLECTIVE,
  ON_HOST = 1 << PROGRAM_HOST,
  ON_COPY = 1 << PROGRAM_COPY,
  ON_CPU = 1 << PROGRAM_CPU
};
#define ON_ALL (ON_COMPUTE | ON_COLLECTIVE | ON_HOST | ON_COPY | ON_CPU)

/* Marks: rows that may have a column, rows that need it, and whether it is part of what makes two operations one. */
#define NEEDED_ON(rows) ((guint)(rows) << 8)
#define OF_OP           (1u << 16)

#define COLUMN(key, kind, member, marks_, help_, ...)                                                                  \
  BASE_ROW(NULL, key, kind, ProgramLine, member, .marks = marks_, .help = help_, __VA_ARGS__)
#define TEXT(key, member, marks, help)         COLUMN(key, BASE_TEXT, member, marks, help)
#define NAME(key, member, marks, names_, help) COLUMN(key, BASE_NAME, member, marks, help, .names = names_)
#define COUNT(key, member, marks, help, ...)   COLUMN(key, BASE_COUNT, member, marks, help, __VA_ARGS__)
#define EVERY                                  (ON_ALL | NEEDED_ON(ON_ALL))

#define MOST_FLOPS 1e30
#define MOST_BYTES 1125899906842624 /* 1 PiB */

static const BaseField columns[] = {
    TEXT("role", role, EVERY, "whose row it is: one of the head's roles"),
    NAME("step", step, EVERY, program_section_names, "the section: first is played once, then steady repeats"),
    TEXT("task", task, EVERY, "what needs call the row: any word, once per role and step"),
    TEXT("stream", stream, EVERY, "one of the head's streams, whose rows run in order; host: the host thread"),
    NAME("kind", kind, EVERY, program_kind_names, "what runs; a host row only waits, takes and gives"),
    TEXT("name", name, EVERY, "for people"),
    COUNT("layer", layer, ON_ALL, "layer of the model; empty: of none"),
    NAME("phase", phase, EVERY, program_phase_names, "part of the step"),
    COUNT("micro", micro, ON_ALL, "micro-batch; empty: of none"),
    COUNT("duration_ps", duration, ON_COMPUTE | OF_OP,
          "picoseconds on the head's gpu when nothing else runs; empty: what the kernel model says of shape, flops and "
          "bytes"),
    COUNT("host_ps", host, ON_ALL, "picoseconds of the host thread that issuing the row takes"),
    BASE_ROW_UNKEPT(
        NULL, "shape", BASE_OWN, .marks = ON_COMPUTE | ON_COPY | NEEDED_ON(ON_COPY) | OF_OP,
        .help = "of a copy the host memory, pinned, pageable or managed; of compute matmul:BATCHxMxNxK, "
                "attention:BATCHxQUERIESxKEYSxDIMENSION, or what is timed by its bytes (memory, norm, ...); behind it "
                ":dgrad or :wgrad, :causal, :compiled, :launches=N; empty: not known, duration_ps is all there is"),
    NAME("dtype", dtype, ON_COMPUTE | OF_OP, kernel_dtype_names, "of the arithmetic"),
    COLUMN("flops", BASE_NUMBER, op.flops, ON_COMPUTE | OF_OP, "executed, a multiply-add is two", .max = MOST_FLOPS),
    COUNT("bytes", bytes,
          ON_COMPUTE | ON_COLLECTIVE | ON_COPY | ON_CPU | NEEDED_ON(ON_COLLECTIVE | ON_COPY | ON_CPU) | OF_OP,
          "copy: moved; cpu: read and written; compute: moved to and from device memory; collective: payload as "
          "nccl-tests counts it (all-gather, reduce-scatter: the whole buffer)",
          .max = MOST_BYTES),
    NAME("collective", operation, ON_COLLECTIVE | NEEDED_ON(ON_COLLECTIVE), coll_operation_names, "operation"),
    TEXT("group", group, ON_COLLECTIVE | NEEDED_ON(ON_COLLECTIVE), "one of the head's communicators"),
    TEXT("needs", needs, ON_ALL, "tasks of the same role and step, above, whose ends the row waits for"),
    TEXT("takes", takes, ON_ALL,
         "memory that begins here: tensor:tenant:bytes, and :bytes that exist once over the cluster where not all do, "
         "and :managed behind those where it is beside the allocator"),
    TEXT("gives", gives, ON_ALL, "memory that ends here: tensor, and @stream that must first have passed"),
    NAME("hint", hint, ON_COLLECTIVE, program_hint_names, "what causes of exposed time need to know; empty: nothing"),
};

const guint program_line_n_columns = G_N_ELEMENTS(columns);

char *program_line_heads(void) {
  GString *heads = g_string_new(columns[0].key);
  for (gsize i = 1; i < G_N_ELEMENTS(columns); i++)
    g_string_append_printf(heads, ",%s", columns[i].key);
  return g_string_free(heads, FALSE);
}

void program_line_init(ProgramLine *line) {
  *line = (ProgramLine){.role = "",
                        .task = "",
                        .stream = "",
                        .name = "",
                        .layer = -1,
                        .micro = -1,
                        .duration = -1,
                        .path = -1,
                        .dtype = -1,
                        .operation = -1,
                        .group = "",
                        .needs = "",
                        .takes = "",
                        .gives = ""};
}

/* Matmuls and attention are timed by their extents, all else by bytes. */
static gboolean needs_extents(int kind) {
  return kind == KERNEL_MATMUL || kind == KERNEL_ATTENTION;
}

static const char *const pass_names[] = {"forward", "dgrad", "wgrad", NULL};

static gboolean has_extents(const KernelOp *op) {
  return needs_extents((int)op->kind) || op->batch != 1 || op->m > 0 || op->n > 0 || op->k > 0;
}

/* "matmul:1x4096x4096x11008:wgrad": kind, extents, then what else tells operations apart. */
static void print_shape(const ProgramLine *line, GString *text) {
  const KernelOp *op = &line->op;
  if (line->kind == PROGRAM_COPY)
    g_string_append(text, program_path_names[line->path]);
  if (!line->shaped)
    return;
  g_string_append(text, kernel_kind_names[op->kind]);
  if (has_extents(op))
    g_string_append_printf(text,
                           ":%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT,
                           op->batch, op->m, op->n, op->k);
  if (op->pass != KERNEL_FORWARD)
    g_string_append_printf(text, ":%s", pass_names[op->pass]);
  if (op->causal)
    g_string_append(text, ":causal");
  if (op->compiled)
    g_string_append(text, ":compiled");
  if (op->launches > 0)
    g_string_append_printf(text, ":launches=%u", op->launches);
}

static gboolean is_on(const BaseField *column, const ProgramLine *line) {
  return (column->marks & (1u << line->kind)) != 0;
}

static void print_field(const BaseField *column, const ProgramLine *line, GString *text) {
  if (column->kind == BASE_OWN) {
    print_shape(line, text);
    return;
  }
  g_autofree char *value = base_field_print(column, line);
  if (value != NULL && column->kind == BASE_TEXT)
    program_text_field(value, text);
  else if (value != NULL)
    g_string_append(text, value);
}

void program_line_print(const ProgramLine *line, GString *text) {
  for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
    if (i > 0)
      g_string_append_c(text, ',');
    if (is_on(&columns[i], line))
      print_field(&columns[i], line, text);
  }
  g_string_append_c(text, '\n');
}

static gboolean read_count(const char *text, guint64 most, guint64 *ret) {
  return g_ascii_isdigit(*text) && g_ascii_string_to_unsigned(text, 10, 0, most, ret, NULL);
}

static gboolean read_extents(KernelOp *op, const char *text) {
  guint64 *const extents[] = {&op->batch, &op->m, &op->n, &op->k};
  g_auto(GStrv) parts = g_strsplit(text, "x", -1);
  if (g_strv_length(parts) != G_N_ELEMENTS(extents))
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(extents); i++)
    if (!read_count(parts[i], G_GUINT64_CONSTANT(1) << 48, extents[i]))
      return FALSE;
  return op->batch > 0;
}

/* One word of a shape behind its kind. */
static gboolean read_part(KernelOp *op, const char *part, gboolean *extents) {
  int pass = base_names_find(pass_names, part);
  guint64 launches;
  if (g_ascii_isdigit(*part) && !*extents) {
    *extents = TRUE;
    return read_extents(op, part);
  }
  if (pass >= 0)
    op->pass = (KernelPass)pass;
  else if (strcmp(part, "causal") == 0)
    op->causal = TRUE;
  else if (strcmp(part, "compiled") == 0)
    op->compiled = TRUE;
  else if (g_str_has_prefix(part, "launches=") && read_count(part + strlen("launches="), G_MAXINT32, &launches))
    op->launches = (guint32)launches;
  else
    return FALSE;
  return TRUE;
}

static gboolean read_shape(ProgramLine *line, const char *text) {
  if (line->kind == PROGRAM_COPY)
    return (line->path = base_names_find(program_path_names, text)) >= 0;
  g_auto(GStrv) parts = g_strsplit(text, ":", -1);
  int kind = base_names_find(kernel_kind_names, parts[0]);
  gboolean extents = FALSE;
  if (kind < 0)
    return FALSE;
  line->shaped = TRUE;
  line->op.kind = (KernelKind)kind;
  line->op.batch = 1;
  for (char **part = parts + 1; *part != NULL; part++)
    if (!read_part(&line->op, *part, &extents))
      return FALSE;
  return extents || !needs_extents(kind);
}

static gboolean fail_shape(const char *text, GError **error) {
  g_autofree char *kinds = base_names_join(kernel_kind_names);
  g_set_error(
      error, SIM_ERROR, SIM_ERROR_INPUT,
      "expected matmul:BATCHxMxNxK, or another of %s, and behind it dgrad, wgrad, causal, compiled, launches=N, "
      "found \"%s\"",
      kinds, text);
  return FALSE;
}

static gboolean read_field(const BaseField *column, ProgramLine *line, const char *text, const BasePlace *place,
                           GError **error) {
  if (column->kind == BASE_OWN ? read_shape(line, text) || fail_shape(text, error)
                               : base_field_read(column, text, line, error))
    return TRUE;
  base_error_prefix_at(error, place);
  return FALSE;
}

/* What of a row's fields its kind has no use for, or cannot do without. */
static gboolean check_fields(const ProgramLine *line, char *const *fields, BasePlace *place, GError **error) {
  const char *kind = program_kind_names[line->kind];
  for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
    place->key = columns[i].key;
    gboolean empty = *fields[i] == '\0';
    if (!empty && !is_on(&columns[i], line)) {
      base_error_set_at(error, place, "a %s row has none, found \"%s\": leave it empty", kind, fields[i]);
      return FALSE;
    }
    if (empty && (columns[i].marks & NEEDED_ON(1u << line->kind))) {
      base_error_set_at(error, place, "a %s row needs one, found nothing", kind);
      return FALSE;
    }
  }
  place->key = "duration_ps";
  if (line->kind == PROGRAM_COMPUTE && line->duration < 0 && !line->shaped) {
    base_error_set_at(error, place, "a compute row needs duration_ps or a shape, found neither");
    return FALSE;
  }
  place->key = "dtype";
  if (line->shaped && line->dtype < 0) {
    base_error_set_at(error, place, "a row with a shape needs one, found nothing");
    return FALSE;
  }
  place->key = NULL;
  return TRUE;
}

gboolean program_line_read(ProgramLine *line, char *const *fields, BasePlace *place, GStringChunk *keys,
                           GError **error) {
  g_autoptr(GString) key = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
    place->key = columns[i].key;
    if (*fields[i] != '\0' && !read_field(&columns[i], line, fields[i], place, error))
      return FALSE;
    if (columns[i].marks & OF_OP)
      g_string_append_printf(key, "%s,", fields[i]);
  }
  if (!check_fields(line, fields, place, error))
    return FALSE;
  line->op.dtype = (KernelDtype)MAX(line->dtype, 0);
  line->op.bytes = line->bytes;
  if (!line->shaped)
    line->op =
        (KernelOp){.kind = KERNEL_MEMORY, .dtype = line->op.dtype, .bytes = line->bytes, .flops = line->op.flops};
  line->op_key = g_string_chunk_insert_const(keys, key->str);
  return TRUE;
}

static const char *on_text(guint on) {
  return on == ON_ALL ? "" : on == ON_COMPUTE ? "compute: " : on == ON_COLLECTIVE ? "collective: " : "";
}

void program_line_reference(GString *text) {
  for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
    const BaseField *column = &columns[i];
    g_string_append_printf(text, "%-12s %s%s", column->key, on_text(column->marks & ON_ALL), column->help);
    g_autofree char *names = column->names != NULL ? base_names_join(column->names) : NULL;
    if (names != NULL)
      g_string_append_printf(text, " (%s)", names);
    g_string_append_c(text, '\n');
  }
}

void program_line_reference_json(BaseJson *json) {
  for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
    g_autofree char *meaning = g_strconcat(on_text(columns[i].marks & ON_ALL), columns[i].help, NULL);
    base_json_map(json, NULL);
    base_json_text(json, "column", columns[i].key);
    base_json_text(json, "meaning", meaning);
    base_json_list(json, "values");
    for (const char *const *name = columns[i].names; name != NULL && *name != NULL; name++)
      base_json_text(json, NULL, *name);
    base_json_end(json);
    base_json_end(json);
  }
}
