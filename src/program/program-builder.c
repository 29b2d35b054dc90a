/* SPDX-License-Identifier: MIT */
/* Building a Program row by row, in the order of the host. */
#include <string.h>

#include "base-error.h"
#include "base-vector.h"
#include "kernel-op.h"
#include "mem-tenant.h"
#include "program.h"

typedef struct {
  BaseVector rows, needs, gives, takes;
} Section;

typedef struct {
  const char *name;
  Section sections[PROGRAM_SECTIONS];
  guint32 ahead;   /* ProgramRole.ahead */
  BaseVector once; /* guint32: in the first section's takes, those that a repetition leaves out */
} Role;

/* Rows' name for a communicator, or for one of several side by side. */
typedef struct {
  const char *name;
  guint32 first;    /* communicator */
  guint32 *of_rank; /* which from `first` on; NULL: that one for all */
  guint32 n_ranks;
} Slot;

/* Names are mostly literals, met again and again: found by their address, if they still read the same. */
#define RECENT_NAMES 512u
typedef struct {
  const char *given, *kept;
} Name;

struct ProgramBuilder {
  GStringChunk *names;
  Name recent[RECENT_NAMES];
  GArray *roles;         /* Role */
  GArray *ranks;         /* ProgramRank */
  GArray *communicators; /* ProgramCommunicator */
  GArray *slots;         /* Slot */
  BaseVector tensors;    /* ProgramTensor */
  BaseVector ops;        /* KernelOp */
  BaseVector durations;  /* SimTime, by op */
  GPtrArray *streams;    /* const char * */
  GArray *pools;         /* guint32, by stream */
  ProgramSectionKind section;
  Section *current;   /* of the last role; NULL: no role yet */
  ProgramPhase phase; /* of the rows that follow, as are layer and micro */
  gint32 layer, micro;
  guint64 tokens;
  double model_flops, hardware_flops;
  int dtype;
};

ProgramBuilder *program_builder_new(void) {
  ProgramBuilder *builder = g_new0(ProgramBuilder, 1);
  builder->names = g_string_chunk_new(4096);
  builder->roles = g_array_new(FALSE, FALSE, sizeof(Role));
  builder->ranks = g_array_new(FALSE, FALSE, sizeof(ProgramRank));
  builder->communicators = g_array_new(FALSE, FALSE, sizeof(ProgramCommunicator));
  builder->slots = g_array_new(FALSE, FALSE, sizeof(Slot));
  builder->streams = g_ptr_array_new();
  builder->pools = g_array_new(FALSE, FALSE, sizeof(guint32));
  program_builder_context(builder, PROGRAM_SETUP, -1, -1);
  program_builder_stream(builder, "host");
  return builder;
}

static void slots_free(GArray *slots) {
  for (guint i = 0; i < slots->len; i++)
    g_free(g_array_index(slots, Slot, i).of_rank);
  g_array_unref(slots);
}

void program_builder_free(ProgramBuilder *builder) {
  if (builder == NULL)
    return;
  for (guint i = 0; i < builder->roles->len; i++) {
    Role *role = &g_array_index(builder->roles, Role, i);
    for (int s = 0; s < PROGRAM_SECTIONS; s++) {
      g_free(role->sections[s].rows.data);
      g_free(role->sections[s].needs.data);
      g_free(role->sections[s].gives.data);
      g_free(role->sections[s].takes.data);
    }
    g_free(role->once.data);
  }
  for (guint i = 0; i < builder->communicators->len; i++)
    g_free(g_array_index(builder->communicators, ProgramCommunicator, i).ranks);
  g_array_unref(builder->roles);
  g_array_unref(builder->ranks);
  g_array_unref(builder->communicators);
  slots_free(builder->slots);
  g_free(builder->tensors.data);
  g_free(builder->ops.data);
  g_free(builder->durations.data);
  g_ptr_array_unref(builder->streams);
  g_array_unref(builder->pools);
  if (builder->names != NULL)
    g_string_chunk_free(builder->names);
  g_free(builder);
}

static const char *keep_name(ProgramBuilder *builder, const char *name) {
  guint64 scattered = (guint64)(gsize)name * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15); /* literals stand close together */
  Name *recent = &builder->recent[(scattered >> 32) % RECENT_NAMES];
  if (recent->given != name || strcmp(recent->kept, name) != 0)
    *recent = (Name){name, g_string_chunk_insert_const(builder->names, name)};
  return recent->kept;
}

guint32 program_builder_stream(ProgramBuilder *builder, const char *name) {
  for (guint32 known = 0; known < builder->streams->len; known++)
    if (strcmp(g_ptr_array_index(builder->streams, known), name) == 0)
      return known;
  guint32 stream = builder->streams->len;
  g_ptr_array_add(builder->streams, (gpointer)keep_name(builder, name));
  g_array_append_val(builder->pools, stream);
  return stream;
}

void program_builder_pool(ProgramBuilder *builder, guint32 stream, guint32 of) {
  g_array_index(builder->pools, guint32, stream) = of;
}

static void add_communicator(ProgramBuilder *builder, const char *name, guint32 *ranks, guint32 n) {
  ProgramCommunicator communicator = {keep_name(builder, name), ranks, n};
  g_array_append_val(builder->communicators, communicator);
}

guint32 program_builder_slot(const ProgramBuilder *builder, const char *name) {
  for (guint32 s = 0; s < builder->slots->len; s++)
    if (strcmp(g_array_index(builder->slots, Slot, s).name, name) == 0)
      return s;
  return PROGRAM_NONE;
}

guint32 program_builder_communicator(ProgramBuilder *builder, const char *name, const guint32 *ranks, guint32 n) {
  Slot slot = {.name = keep_name(builder, name), .first = builder->communicators->len};
  add_communicator(builder, name, g_memdup2(ranks, n * sizeof *ranks), n);
  g_array_append_val(builder->slots, slot);
  return builder->slots->len - 1;
}

guint32 program_builder_communicators(ProgramBuilder *builder, const char *name, const guint32 *of_rank,
                                      guint32 n_ranks) {
  guint32 n = 0;
  for (guint32 rank = 0; rank < n_ranks; rank++)
    if (of_rank[rank] != PROGRAM_NONE)
      n = MAX(n, of_rank[rank] + 1);
  g_autofree guint32 *sizes = g_new0(guint32, n);
  for (guint32 rank = 0; rank < n_ranks; rank++)
    if (of_rank[rank] != PROGRAM_NONE)
      sizes[of_rank[rank]]++;
  Slot slot = {keep_name(builder, name), builder->communicators->len, g_memdup2(of_rank, n_ranks * sizeof *of_rank),
               n_ranks};
  for (guint32 c = 0; c < n; c++) {
    g_autofree char *numbered = g_strdup_printf("%s.%u", name, c);
    add_communicator(builder, numbered, g_new(guint32, sizes[c]), 0);
  }
  for (guint32 rank = 0; rank < n_ranks; rank++) {
    if (of_rank[rank] == PROGRAM_NONE)
      continue;
    ProgramCommunicator *communicator =
        &g_array_index(builder->communicators, ProgramCommunicator, slot.first + of_rank[rank]);
    communicator->ranks[communicator->n_ranks++] = rank;
  }
  g_array_append_val(builder->slots, slot);
  return builder->slots->len - 1;
}

guint32 program_builder_group(const ProgramBuilder *builder, guint32 slot, guint32 per_node, gboolean *ret_far) {
  guint32 first = g_array_index(builder->slots, Slot, slot).first;
  const ProgramCommunicator *group = &g_array_index(builder->communicators, ProgramCommunicator, first);
  *ret_far = group->ranks[0] / per_node != group->ranks[group->n_ranks - 1] / per_node;
  return group->n_ranks;
}

guint32 program_builder_tensor(ProgramBuilder *builder, const char *name, guint8 tenant, guint64 bytes,
                               guint64 unique_bytes) {
  ProgramTensor *tensor = base_vector_next(&builder->tensors, sizeof *tensor);
  *tensor = (ProgramTensor){g_string_chunk_insert(builder->names, name), tenant, bytes, unique_bytes, FALSE};
  return builder->tensors.n - 1;
}

void program_builder_manage(ProgramBuilder *builder, guint32 tensor) {
  ((ProgramTensor *)builder->tensors.data)[tensor].managed = TRUE;
}

guint32 program_builder_timed_op(ProgramBuilder *builder, const struct KernelOp *op, SimTime duration) {
  *(KernelOp *)base_vector_next(&builder->ops, sizeof *op) = *op;
  *(SimTime *)base_vector_next(&builder->durations, sizeof duration) = duration;
  return builder->ops.n - 1;
}

guint32 program_builder_op(ProgramBuilder *builder, const struct KernelOp *op) {
  return program_builder_timed_op(builder, op, -1);
}

/* Roles move when one is added. */
static Role *last_role(ProgramBuilder *builder) {
  return &g_array_index(builder->roles, Role, builder->roles->len - 1);
}

static void find_current(ProgramBuilder *builder) {
  builder->current = &last_role(builder)->sections[builder->section];
}

static void add_role(ProgramBuilder *builder, const char *name) {
  g_array_append_val(builder->roles, ((Role){.name = keep_name(builder, name)}));
  find_current(builder);
}

static void add_rank(ProgramBuilder *builder, guint32 device) {
  ProgramRank rank = {.role = builder->roles->len - 1, .count = 1, .device = device};
  g_array_append_val(builder->ranks, rank);
}

void program_builder_role(ProgramBuilder *builder, const char *name, guint32 n_ranks) {
  add_role(builder, name);
  for (guint32 i = 0; i < n_ranks; i++)
    add_rank(builder, builder->ranks->len);
}

void program_builder_role_of(ProgramBuilder *builder, const char *name, const guint32 *ranks, guint32 n_ranks) {
  add_role(builder, name);
  for (guint32 i = 0; i < n_ranks; i++)
    add_rank(builder, ranks[i]);
}

/* The steps of a role are about as long as each other. */
static void reserve(Section *section, const Section *like) {
  base_vector_reserve(&section->rows, like->rows.n, sizeof(ProgramRow));
  base_vector_reserve(&section->needs, like->needs.n, sizeof(guint32));
  base_vector_reserve(&section->gives, like->gives.n, sizeof(ProgramGive));
  base_vector_reserve(&section->takes, like->takes.n, sizeof(guint32));
}

void program_builder_section(ProgramBuilder *builder, ProgramSectionKind section) {
  builder->section = section;
  if (builder->roles->len == 0)
    return;
  Role *role = last_role(builder);
  for (int other = 0; other < PROGRAM_SECTIONS; other++)
    reserve(&role->sections[section], &role->sections[other]);
  find_current(builder);
}

void program_builder_context(ProgramBuilder *builder, ProgramPhase phase, gint32 layer, gint32 micro) {
  builder->phase = phase;
  builder->layer = layer;
  builder->micro = micro;
}

static inline Section *current_section(ProgramBuilder *builder) {
  sim_require(builder->current != NULL, 0, NULL, "a row before any role");
  return builder->current;
}

static ProgramRow *last_row(const Section *section) {
  return (ProgramRow *)section->rows.data + section->rows.n - 1;
}

/* A row that calls, needs, takes and gives nothing yet. */
static ProgramRow *add_row(ProgramBuilder *builder, ProgramKind kind, guint32 stream, const char *name, guint32 op) {
  Section *section = current_section(builder);
  ProgramRow *row = base_vector_next(&section->rows, sizeof *row);
  *row = (ProgramRow){.name = keep_name(builder, name),
                      .kind = kind,
                      .phase = builder->phase,
                      .layer = builder->layer,
                      .micro = builder->micro,
                      .stream = stream,
                      .op = op,
                      .group = PROGRAM_NONE,
                      .needs = section->needs.n,
                      .gives = section->gives.n,
                      .takes = section->takes.n};
  return row;
}

static guint32 last_index(ProgramBuilder *builder) {
  return current_section(builder)->rows.n - 1;
}

guint32 program_builder_compute(ProgramBuilder *builder, guint32 stream, const char *name, guint32 op) {
  add_row(builder, PROGRAM_COMPUTE, stream, name, op);
  return last_index(builder);
}

guint32 program_builder_collective(ProgramBuilder *builder, guint32 stream, const char *name, guint32 group,
                                   CollCall call, ProgramHint hint) {
  ProgramRow *row = add_row(builder, PROGRAM_COLLECTIVE, stream, name, PROGRAM_NONE);
  row->group = group;
  row->call = call;
  row->hint = hint;
  return last_index(builder);
}

guint32 program_builder_host(ProgramBuilder *builder, const char *name) {
  add_row(builder, PROGRAM_HOST, 0, name, PROGRAM_NONE);
  return last_index(builder);
}

guint32 program_builder_copy(ProgramBuilder *builder, guint32 stream, const char *name, guint64 bytes,
                             ProgramPath path) {
  add_row(builder, PROGRAM_COPY, stream, name, path)->call.bytes = bytes;
  return last_index(builder);
}

guint32 program_builder_cpu(ProgramBuilder *builder, guint32 stream, const char *name, guint64 bytes) {
  add_row(builder, PROGRAM_CPU, stream, name, PROGRAM_NONE)->call.bytes = bytes;
  return last_index(builder);
}

void program_builder_cost(ProgramBuilder *builder, SimTime host) {
  ProgramRow *row = last_row(current_section(builder));
  row->host = sim_time_add(row->host, host);
}

void program_builder_need(ProgramBuilder *builder, guint32 row) {
  if (row == PROGRAM_NONE)
    return;
  Section *section = current_section(builder);
  sim_require(row + 1 < section->rows.n, 0, NULL, "row \"%s\" needs itself or a later row", last_row(section)->name);
  *(guint32 *)base_vector_next(&section->needs, sizeof row) = row;
  last_row(section)->n_needs++;
}

void program_builder_take(ProgramBuilder *builder, guint32 tensor) {
  Section *section = current_section(builder);
  *(guint32 *)base_vector_next(&section->takes, sizeof tensor) = tensor;
  last_row(section)->n_takes++;
}

void program_builder_take_once(ProgramBuilder *builder, guint32 tensor) {
  if (builder->section != PROGRAM_FIRST)
    return;
  *(guint32 *)base_vector_next(&last_role(builder)->once, sizeof(guint32)) = current_section(builder)->takes.n;
  program_builder_take(builder, tensor);
}

void program_builder_give(ProgramBuilder *builder, guint32 tensor, guint32 stream) {
  Section *section = current_section(builder);
  *(ProgramGive *)base_vector_next(&section->gives, sizeof(ProgramGive)) = (ProgramGive){tensor, stream};
  last_row(section)->n_gives++;
}

void program_builder_expect(ProgramBuilder *builder, guint32 rows) {
  const Section like = {.rows = {.n = rows}, .needs = {.n = rows}, .gives = {.n = rows}, .takes = {.n = rows}};
  reserve(current_section(builder), &like);
}

guint32 program_builder_rows(const ProgramBuilder *builder) {
  return builder->current->rows.n;
}

static gpointer append(BaseVector *to, const BaseVector *from, guint32 first, gsize element) {
  base_vector_reserve(to, from->n - first, element);
  if (from->n > first)
    memcpy(to->data, (const char *)from->data + first * element, (from->n - first) * element);
  to->n = from->n - first;
  return to->data;
}

/* Takes of a row of the first section without those that are made once; *at: how many of these stand before it. */
static void copy_takes(const Role *role, ProgramRow *row, guint32 *at, BaseVector *takes) {
  const guint32 *once = role->once.data, *from = role->sections[PROGRAM_FIRST].takes.data;
  guint32 first = row->takes, n = row->n_takes;
  row->takes = takes->n;
  for (guint32 i = first; i < first + n; i++)
    if (*at < role->once.n && once[*at] == i)
      (*at)++;
    else
      *(guint32 *)base_vector_next(takes, sizeof *from) = from[i];
  row->n_takes = takes->n - row->takes;
}

void program_builder_repeat(ProgramBuilder *builder, guint32 ahead) {
  Role *role = last_role(builder);
  const Section *first = &role->sections[PROGRAM_FIRST];
  program_builder_section(builder, PROGRAM_STEADY);
  Section *steady = builder->current;
  sim_require(steady->rows.n == 0 && ahead < first->rows.n, 0, NULL, "a steady section is repeated where one stands");
  const ProgramRow base = ((const ProgramRow *)first->rows.data)[ahead];
  ProgramRow *rows = append(&steady->rows, &first->rows, ahead, sizeof *rows);
  guint32 *needs = append(&steady->needs, &first->needs, base.needs, sizeof *needs), once = 0;
  while (once < role->once.n && ((const guint32 *)role->once.data)[once] < base.takes)
    once++;
  append(&steady->gives, &first->gives, base.gives, sizeof(ProgramGive));
  for (guint32 i = 0; i < steady->needs.n; i++) {
    sim_require(needs[i] >= ahead, 0, NULL, "a row that is repeated needs row %u, which is not", needs[i]);
    needs[i] -= ahead;
  }
  for (guint32 i = 0; i < steady->rows.n; i++) {
    rows[i].needs -= base.needs;
    rows[i].gives -= base.gives;
    copy_takes(role, &rows[i], &once, &steady->takes);
  }
  role->ahead = ahead;
}

void program_builder_facts(ProgramBuilder *builder, guint64 tokens, double model_flops, double hardware_flops,
                           int dtype) {
  builder->tokens = tokens;
  builder->model_flops = model_flops;
  builder->hardware_flops = hardware_flops;
  builder->dtype = dtype;
}

static gpointer steal(GArray *array, guint32 *ret_n) {
  if (ret_n != NULL)
    *ret_n = array->len;
  return g_array_free(array, FALSE);
}

static ProgramSection end_section(const Section *section) {
  return (ProgramSection){section->rows.data, section->rows.n, section->needs.data, section->gives.data,
                          section->takes.data};
}

static gint by_device(gconstpointer a, gconstpointer b) {
  const ProgramRank *left = a, *right = b;
  return (left->device > right->device) - (left->device < right->device);
}

static void sort_ranks(ProgramBuilder *builder) {
  g_array_sort(builder->ranks, by_device);
  for (guint i = 0; i < builder->ranks->len; i++)
    sim_require(g_array_index(builder->ranks, ProgramRank, i).device == i, 0, NULL, "rank %u is of no role, or of two",
                i);
}

static guint32 communicator_of(const Slot *slot, guint32 rank) {
  if (slot->of_rank == NULL)
    return slot->first;
  return slot->of_rank[rank] == PROGRAM_NONE ? PROGRAM_NONE : slot->first + slot->of_rank[rank];
}

static void end_slots(ProgramBuilder *builder, Program *program) {
  gboolean outright = TRUE;
  program->n_slots = builder->slots->len;
  const char **names = g_new(const char *, program->n_slots);
  for (guint32 s = 0; s < program->n_slots; s++) {
    const Slot *slot = &g_array_index(builder->slots, Slot, s);
    sim_require(slot->of_rank == NULL || slot->n_ranks == program->n_ranks, 0, NULL,
                "communicators \"%s\" are of %u ranks, the Program of %u", slot->name, slot->n_ranks, program->n_ranks);
    names[s] = slot->name;
    outright &= slot->of_rank == NULL;
  }
  program->slots = names;
  if (outright)
    return;
  program->memberships = g_new(guint32, (gsize)program->n_ranks * program->n_slots);
  for (guint32 rank = 0; rank < program->n_ranks; rank++)
    for (guint32 s = 0; s < program->n_slots; s++)
      program->memberships[rank * program->n_slots + s] =
          communicator_of(&g_array_index(builder->slots, Slot, s), rank);
}

Program *program_builder_end(ProgramBuilder *builder) {
  sim_require(builder->ranks->len > 0, 0, NULL, "a Program without ranks");
  sort_ranks(builder);
  Program *program = g_new0(Program, 1);
  program->n_roles = builder->roles->len;
  program->roles = g_new0(ProgramRole, program->n_roles);
  for (guint i = 0; i < program->n_roles; i++) {
    Role *role = &g_array_index(builder->roles, Role, i);
    program->roles[i].name = role->name;
    program->roles[i].ahead = role->ahead;
    g_free(role->once.data);
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      program->roles[i].sections[s] = end_section(&role->sections[s]);
  }
  g_array_free(builder->roles, TRUE);
  program->ranks = steal(builder->ranks, &program->n_ranks);
  program->communicators = steal(builder->communicators, &program->n_communicators);
  end_slots(builder, program);
  slots_free(builder->slots);
  program->tensors = builder->tensors.data;
  program->n_tensors = builder->tensors.n;
  program->ops = builder->ops.data;
  program->n_ops = builder->ops.n;
  program->durations = builder->durations.data;
  program->n_streams = builder->streams->len;
  if (builder->pools->len > 1)
    g_array_index(builder->pools, guint32, 0) = g_array_index(builder->pools, guint32, 1);
  program->pools = steal(builder->pools, NULL);
  program->streams = (const char *const *)g_ptr_array_free(builder->streams, FALSE);
  program->tokens = builder->tokens;
  program->model_flops = builder->model_flops;
  program->hardware_flops = builder->hardware_flops;
  program->dtype = builder->dtype;
  program->names = builder->names;
  g_free(builder);
  return program;
}
