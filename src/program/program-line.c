/* Columns: what each holds, on which kinds of rows, and which of them make an operation. */
#include "program-line.h"

#include <math.h>
#include <string.h>

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

typedef enum {
  TEXT,   /* const char *, as it stands */
  NAME,   /* int, one of a table; -1: none */
  INDEX,  /* gint32; -1: none */
  TIME,   /* SimTime in picoseconds; -1: none */
  COUNT,  /* guint64 */
  NUMBER, /* double */
  SHAPE,  /* kind of operation and its extents */
} ColumnKind;

typedef struct {
  const char *name;
  ColumnKind kind;
  gsize offset; /* of the field */
  guint on, needed_on;
  gboolean of_op; /* part of what makes two operations one */
  const char *const *names;
  const char *help;
} Column;

#define FIELD(field) G_STRUCT_OFFSET(ProgramLine, field)

/* clang-format off */
static const Column columns[] = {
    {"role", TEXT, FIELD(role), ON_ALL, ON_ALL, FALSE, NULL, "whose row it is: one of the head's roles"},
    {"step", NAME, FIELD(step), ON_ALL, ON_ALL, FALSE, program_section_names, "the section: first is played once, then steady repeats"},
    {"task", TEXT, FIELD(task), ON_ALL, ON_ALL, FALSE, NULL, "what needs call the row: any word, once per role and step"},
    {"stream", TEXT, FIELD(stream), ON_ALL, ON_ALL, FALSE, NULL, "one of the head's streams, whose rows run in order; host: the host thread"},
    {"kind", NAME, FIELD(kind), ON_ALL, ON_ALL, FALSE, program_kind_names, "what runs; a host row only waits, takes and gives"},
    {"name", TEXT, FIELD(name), ON_ALL, ON_ALL, FALSE, NULL, "for people"},
    {"layer", INDEX, FIELD(layer), ON_ALL, 0, FALSE, NULL, "layer of the model; empty: of none"},
    {"phase", NAME, FIELD(phase), ON_ALL, ON_ALL, FALSE, program_phase_names, "part of the step"},
    {"micro", INDEX, FIELD(micro), ON_ALL, 0, FALSE, NULL, "micro-batch; empty: of none"},
    {"duration_ps", TIME, FIELD(duration), ON_COMPUTE, 0, TRUE, NULL, "picoseconds on the head's gpu when nothing else runs; empty: what the kernel model says of shape, flops and bytes"},
    {"host_ps", TIME, FIELD(host), ON_ALL, 0, FALSE, NULL, "picoseconds of the host thread that issuing the row takes"},
    {"shape", SHAPE, FIELD(op), ON_COMPUTE | ON_COPY, ON_COPY, TRUE, NULL, "of a copy the host memory, pinned or pageable; of compute matmul:BATCHxMxNxK, attention:BATCHxQUERIESxKEYSxDIMENSION, or what is timed by its bytes (memory, norm, ...); behind it :dgrad or :wgrad, :causal, :compiled, :launches=N; empty: not known, duration_ps is all there is"},
    {"dtype", NAME, FIELD(dtype), ON_COMPUTE, 0, TRUE, kernel_dtype_names, "of the arithmetic"},
    {"flops", NUMBER, FIELD(op.flops), ON_COMPUTE, 0, TRUE, NULL, "executed, a multiply-add is two"},
    {"bytes", COUNT, FIELD(bytes), ON_COMPUTE | ON_COLLECTIVE | ON_COPY | ON_CPU, ON_COLLECTIVE | ON_COPY | ON_CPU, TRUE, NULL, "copy: moved; cpu: read and written; compute: moved to and from device memory; collective: payload as nccl-tests counts it (all-gather, reduce-scatter: the whole buffer)"},
    {"collective", NAME, FIELD(operation), ON_COLLECTIVE, ON_COLLECTIVE, FALSE, coll_operation_names, "operation"},
    {"group", TEXT, FIELD(group), ON_COLLECTIVE, ON_COLLECTIVE, FALSE, NULL, "one of the head's communicators"},
    {"needs", TEXT, FIELD(needs), ON_ALL, 0, FALSE, NULL, "tasks of the same role and step, above, whose ends the row waits for"},
    {"takes", TEXT, FIELD(takes), ON_ALL, 0, FALSE, NULL, "memory that begins here: tensor:tenant:bytes, and :bytes that exist once over the cluster where not all do"},
    {"gives", TEXT, FIELD(gives), ON_ALL, 0, FALSE, NULL, "memory that ends here: tensor, and @stream that must first have passed"},
    {"hint", NAME, FIELD(hint), ON_COLLECTIVE, 0, FALSE, program_hint_names, "what causes of exposed time need to know; empty: nothing"},
};
/* clang-format on */

const guint program_line_n_columns = G_N_ELEMENTS(columns);

char *program_line_heads(void) {
  GString *heads = g_string_new(columns[0].name);
  for (gsize i = 1; i < G_N_ELEMENTS(columns); i++)
    g_string_append_printf(heads, ",%s", columns[i].name);
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

static const char *const path_names[] = {"pinned", "pageable", NULL};
static const char *const pass_names[] = {"forward", "dgrad", "wgrad", NULL};

static gboolean has_extents(const KernelOp *op) {
  return needs_extents((int)op->kind) || op->batch != 1 || op->m > 0 || op->n > 0 || op->k > 0;
}

/* "matmul:1x4096x4096x11008:wgrad": kind, extents, then what else tells operations apart. */
static void print_shape(const ProgramLine *line, GString *text) {
  const KernelOp *op = &line->op;
  if (line->kind == PROGRAM_COPY)
    g_string_append(text, path_names[line->path]);
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

static void print_field(const Column *column, const ProgramLine *line, GString *text) {
  const void *field = (const char *)line + column->offset;
  switch (column->kind) {
  case TEXT:
    program_text_field(*(const char *const *)field, text);
    break;
  case NAME:
    if (*(const int *)field >= 0)
      g_string_append(text, column->names[*(const int *)field]);
    break;
  case INDEX:
    if (*(const gint32 *)field >= 0)
      g_string_append_printf(text, "%d", *(const gint32 *)field);
    break;
  case TIME:
    if (*(const SimTime *)field >= 0)
      g_string_append_printf(text, "%" G_GINT64_FORMAT, *(const SimTime *)field);
    break;
  case COUNT:
    g_string_append_printf(text, "%" G_GUINT64_FORMAT, *(const guint64 *)field);
    break;
  case NUMBER: {
    g_autofree char *number = base_quantity_canonical(*(const double *)field, BASE_UNIT_NONE);
    g_string_append(text, number);
    break;
  }
  case SHAPE:
    print_shape(line, text);
  }
}

void program_line_print(const ProgramLine *line, GString *text) {
  for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
    if (i > 0)
      g_string_append_c(text, ',');
    if (columns[i].on & (1u << line->kind))
      print_field(&columns[i], line, text);
  }
  g_string_append_c(text, '\n');
}

static gboolean expected(const BasePlace *place, GError **error, const char *what, const char *found) {
  base_error_set_at(error, place, "expected %s, found \"%s\"", what, found);
  return FALSE;
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
    return (line->path = base_names_find(path_names, text)) >= 0;
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

#define MOST_FLOPS 1e30
#define MOST_BYTES (G_GUINT64_CONSTANT(1) << 50)

static gboolean read_number(const char *text, double *ret) {
  char *end;
  *ret = g_ascii_strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*ret) && *ret >= 0 && *ret <= MOST_FLOPS;
}

static gboolean read_name(const Column *column, const char *text, int *ret, const BasePlace *place, GError **error) {
  int index = base_names_find(column->names, text);
  if (index < 0) {
    g_autofree char *advice = base_names_advice(column->names, text);
    base_error_set_at(error, place, "no such %s \"%s\"%s", column->name, text, advice);
    return FALSE;
  }
  *ret = index;
  return TRUE;
}

static gboolean read_field(const Column *column, ProgramLine *line, const char *text, const BasePlace *place,
                           GError **error) {
  void *field = (char *)line + column->offset;
  guint64 number;
  switch (column->kind) {
  case TEXT:
    *(const char **)field = text;
    return TRUE;
  case NAME:
    return read_name(column, text, field, place, error);
  case INDEX:
    if (!read_count(text, G_MAXINT32, &number))
      return expected(place, error, "a whole number from 0", text);
    *(gint32 *)field = (gint32)number;
    return TRUE;
  case TIME:
    if (!read_count(text, G_MAXINT64, &number))
      return expected(place, error, "whole picoseconds from 0 to 9223372036854775807", text);
    *(SimTime *)field = (SimTime)number;
    return TRUE;
  case COUNT:
    return read_count(text, MOST_BYTES, field) ||
           expected(place, error, "whole bytes from 0 to 1125899906842624 (1 PiB)", text);
  case NUMBER:
    return read_number(text, field) || expected(place, error, "a number from 0 to 1e30", text);
  default:
    if (read_shape(line, text))
      return TRUE;
    g_autofree char *kinds = base_names_join(kernel_kind_names);
    g_autofree char *what = g_strdup_printf(
        "matmul:BATCHxMxNxK, or another of %s, and behind it dgrad, wgrad, causal, compiled, launches=N", kinds);
    return expected(place, error, what, text);
  }
}

/* What of a row's fields its kind has no use for, or cannot do without. */
static gboolean check_fields(const ProgramLine *line, char *const *fields, BasePlace *place, GError **error) {
  const char *kind = program_kind_names[line->kind];
  for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
    place->key = columns[i].name;
    gboolean empty = *fields[i] == '\0';
    if (!empty && !(columns[i].on & (1u << line->kind))) {
      base_error_set_at(error, place, "a %s row has none, found \"%s\": leave it empty", kind, fields[i]);
      return FALSE;
    }
    if (empty && (columns[i].needed_on & (1u << line->kind))) {
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
    place->key = columns[i].name;
    if (*fields[i] != '\0' && !read_field(&columns[i], line, fields[i], place, error))
      return FALSE;
    if (columns[i].of_op)
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
    const Column *column = &columns[i];
    g_string_append_printf(text, "%-12s %s%s", column->name, on_text(column->on), column->help);
    g_autofree char *names = column->names != NULL ? base_names_join(column->names) : NULL;
    if (names != NULL)
      g_string_append_printf(text, " (%s)", g_str_has_prefix(names, ", ") ? names + 2 : names);
    g_string_append_c(text, '\n');
  }
}
