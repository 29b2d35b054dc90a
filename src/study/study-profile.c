/* SPDX-License-Identifier: MIT */
/* Reading the profile against the model, and spreading its times over a Program's rows. */
#include "study-profile.h"

#include <math.h>
#include <string.h>

#include "base-error.h"
#include "base-wide.h"
#include "conf-data.h"
#include "kernel-time.h"
#include "model-unit.h"

#define COLUMNS    7
#define HEADER     "layer,phase,time_us,flops,bytes,activation_bytes,parameters"
#define FLOPS_SLIP 0.01 /* flops of a profile are rounded, and norms may count */

typedef enum { FORWARD, BACKWARD, DIRECTIONS } Direction;
static const char *const phases[] = {"forward", "backward"};

struct StudyProfile {
  ModelUnit *kinds[MODEL_UNIT_VARIANTS]; /* those in use */
  ModelUnitKind *unit_kinds;             /* of each unit */
  guint32 n_units;                       /* embedding, layers (of two stacks, with what is between), head */
  guint32 n_layers;
  guint32 *of_layer;            /* the unit that each layer is */
  guint32 between;              /* unit between two stacks; 0: none */
  gboolean split;               /* of one rank's part of them */
  SimTime (*times)[DIRECTIONS]; /* -1: not read yet */
};

static ModelUnitKind kind_of(const StudyProfile *profile, guint32 unit) {
  return profile->unit_kinds[unit];
}

static char *name_of(const StudyProfile *profile, guint32 unit) {
  ModelUnitKind kind = kind_of(profile, unit);
  if (!model_unit_is_layer(kind))
    return g_strdup_printf("the %s", model_unit_names[kind]);
  guint32 layer = 0;
  while (layer + 1 < profile->n_layers && profile->of_layer[layer] != unit)
    layer++;
  return g_strdup_printf("layer %u", layer);
}

static gboolean find_unit(const StudyProfile *profile, const char *name, guint32 *ret, const BasePlace *place,
                          GError **error) {
  guint64 number;
  if (strcmp(name, model_unit_names[MODEL_UNIT_EMBEDDING]) == 0)
    *ret = 0;
  else if (strcmp(name, model_unit_names[MODEL_UNIT_HEAD]) == 0)
    *ret = profile->n_units - 1;
  else if (profile->between > 0 && strcmp(name, model_unit_names[MODEL_UNIT_BETWEEN]) == 0)
    *ret = profile->between;
  else if (g_ascii_string_to_unsigned(name, 10, 0, profile->n_layers - 1, &number, NULL))
    *ret = profile->of_layer[number];
  else {
    base_error_set_at(error, place, "layer \"%s\": the model has embedding, 0 to %u%s and head", name,
                      profile->n_layers - 1, profile->between > 0 ? ", between" : "");
    return FALSE;
  }
  return TRUE;
}

static gboolean find_phase(const char *name, Direction *ret, const BasePlace *place, GError **error) {
  for (Direction d = FORWARD; d < DIRECTIONS; d++)
    if (strcmp(name, phases[d]) == 0) {
      *ret = d;
      return TRUE;
    }
  base_error_set_at(error, place, "phase \"%s\": expected forward or backward", name);
  return FALSE;
}

static gboolean read_number(const char *text, const char *column, double *ret, const BasePlace *place, GError **error) {
  char *end;
  double value = g_ascii_strtod(text, &end);
  if (end != text && *end == '\0' && isfinite(value) && value >= 0) {
    *ret = value;
    return TRUE;
  }
  base_error_set_at(error, place, "%s \"%s\": expected a number that is not negative", column, text);
  return FALSE;
}

/* A cell that is given must be what the model says. */
static gboolean check_total(const char *cell, const char *column, double expected, double slip, const char *why,
                            const BasePlace *place, GError **error) {
  double found;
  if (*cell == '\0')
    return TRUE;
  if (!read_number(cell, column, &found, place, error))
    return FALSE;
  if (fabs(found - expected) <= slip * expected)
    return TRUE;
  base_error_set_at(error, place, "%s %s, and the model has %.0f there: %s", column, cell, expected, why);
  return FALSE;
}

static gboolean read_row(StudyProfile *profile, char **cells, const BasePlace *place, GError **error) {
  guint32 unit;
  Direction direction;
  double microseconds;
  if (g_strv_length(cells) != COLUMNS) {
    base_error_set_at(error, place, "%u columns; expected %s", g_strv_length(cells), HEADER);
    return FALSE;
  }
  if (!find_unit(profile, cells[0], &unit, place, error) || !find_phase(cells[1], &direction, place, error) ||
      !read_number(cells[2], "time_us", &microseconds, place, error))
    return FALSE;
  const ModelUnit *model = profile->kinds[kind_of(profile, unit)];
  ModelCost cost = direction == FORWARD ? model_unit_forward_cost(model) : model_unit_backward_cost(model);
  static const char split[] = "beside parallel.tensor and context a profile is of one rank's part of each layer; "
                              "foretrain layers -o writes one";
  if (!check_total(cells[3], "flops", cost.flops, FLOPS_SLIP,
                   profile->split ? split
                                  : "is it a profile of another sequence length, micro-batch or kind of attention?",
                   place, error) ||
      !check_total(cells[6], "parameters", (double)model_unit_elements(model), 0,
                   profile->split ? split : "is it a profile of another model?", place, error))
    return FALSE;
  if (profile->times[unit][direction] >= 0) {
    g_autofree char *name = name_of(profile, unit);
    base_error_set_at(error, place, "%s %s stands twice", name, phases[direction]);
    return FALSE;
  }
  profile->times[unit][direction] = sim_time_from_seconds(microseconds * 1e-6);
  return TRUE;
}

static gboolean read_rows(StudyProfile *profile, const char *path, GError **error) {
  gsize length;
  g_autofree char *text = conf_data_small_text(path, &length, error);
  if (text == NULL)
    return FALSE;
  BasePlace place = {.file = path};
  g_auto(GStrv) lines = g_strsplit(g_str_has_prefix(text, "\xEF\xBB\xBF") ? text + 3 : text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++) {
    char *line = g_strchomp(lines[i]);
    place.line = i + 1;
    if (i == 0 && strcmp(line, HEADER) != 0) {
      base_error_set_at(error, &place, "expected the columns %s", HEADER);
      return FALSE;
    }
    if (i == 0 || *line == '\0')
      continue;
    g_auto(GStrv) cells = g_strsplit(line, ",", -1);
    if (!read_row(profile, cells, &place, error))
      return FALSE;
  }
  place.line = 0;
  for (guint32 unit = 0; unit < profile->n_units; unit++)
    for (Direction d = FORWARD; d < DIRECTIONS; d++)
      if (profile->times[unit][d] < 0) {
        g_autofree char *name = name_of(profile, unit);
        base_error_set_at(error, &place, "%s %s is missing", name, phases[d]);
        return FALSE;
      }
  return TRUE;
}

StudyProfile *study_profile_load(const char *path, const ModelShape *shape, const ModelRecipe *recipe,
                                 guint64 micro_batch, GError **error) {
  g_autoptr(StudyProfile) profile = g_new0(StudyProfile, 1);
  profile->n_units = (guint32)model_units_of(shape, FALSE);
  profile->of_layer = g_new0(guint32, profile->n_units);
  profile->split = model_share_tensor(&recipe->share) * model_share_context(&recipe->share) > 1;
  profile->unit_kinds = g_new(ModelUnitKind, profile->n_units);
  for (guint32 unit = 0; unit < profile->n_units; unit++) {
    ModelUnitKind kind = profile->unit_kinds[unit] = model_unit_kind_of(shape, unit);
    if (model_unit_is_layer(kind))
      profile->of_layer[profile->n_layers++] = unit;
    else if (kind == MODEL_UNIT_BETWEEN)
      profile->between = unit;
    if (profile->kinds[kind] == NULL)
      profile->kinds[kind] = model_unit_new(shape, recipe, micro_batch, kind);
  }
  profile->times = g_malloc_n(profile->n_units, sizeof *profile->times);
  for (guint32 unit = 0; unit < profile->n_units; unit++)
    for (Direction d = FORWARD; d < DIRECTIONS; d++)
      profile->times[unit][d] = -1;
  return read_rows(profile, path, error) ? g_steal_pointer(&profile) : NULL;
}

void study_profile_free(StudyProfile *profile) {
  if (profile == NULL)
    return;
  for (ModelUnitKind kind = 0; kind < MODEL_UNIT_VARIANTS; kind++)
    model_unit_free(profile->kinds[kind]);
  g_free(profile->unit_kinds);
  g_free(profile->of_layer);
  g_free(profile->times);
  g_free(profile);
}

/* Of a total, what falls to the first `part` of `whole`. */
static SimTime share_of(SimTime total, SimTime part, SimTime whole) {
  BaseWide squared = base_wide_product((guint64)total, (guint64)part); /* picoseconds */
  return whole > 0 ? (SimTime)base_wide_divide(squared + (guint64)whole / 2, (guint64)whole, NULL) : 0;
}

typedef struct {
  const StudyProfile *profile;
  const HwGpu *gpu;
  Program *program;
  GArray *ops;       /* KernelOp: the Program's, then those with measured times */
  guint32 **indices; /* per unit and direction: the first of its operations in `ops`; NULL: not made yet */
} Spread;

static const ModelOp *ops_of(const StudyProfile *profile, guint32 unit, Direction direction, guint *ret_n) {
  const ModelUnit *model = profile->kinds[kind_of(profile, unit)];
  *ret_n = direction == FORWARD ? model->n_forward : model->n_backward;
  return direction == FORWARD ? model->forward : model->backward;
}

/* Alone; an exchange is no kernel's. */
static SimTime alone(const Spread *spread, const ModelOp *op) {
  gboolean exchange = op->exchange.kind != MODEL_EXCHANGE_NONE;
  return exchange ? 0 : (SimTime)MAX(op->pieces, 1) * kernel_time(spread->gpu, op->kernel);
}

static guint32 *spread_unit(Spread *spread, guint32 unit, Direction direction) {
  guint n;
  const ModelOp *ops = ops_of(spread->profile, unit, direction, &n);
  SimTime whole = 0, part = 0, given = 0;
  for (guint i = 0; i < n; i++)
    whole += alone(spread, &ops[i]);
  guint32 *indices = g_new0(guint32, n);
  for (guint i = 0; i < n; i++) {
    KernelOp op = *ops[i].kernel;
    part += alone(spread, &ops[i]);
    SimTime so_far = share_of(spread->profile->times[unit][direction], part, whole);
    op.is_measured = TRUE;
    op.measured_ps = (so_far - given) / MAX(ops[i].pieces, 1);
    given = so_far;
    indices[i] = spread->ops->len;
    g_array_append_val(spread->ops, op);
  }
  return indices;
}

/* The unit and operation of a row; FALSE where it is a policy's own. */
static gboolean find_op(const StudyProfile *profile, const ProgramRow *row, guint32 *ret_unit, Direction *ret_direction,
                        guint *ret_op) {
  gboolean forward = row->phase == PROGRAM_FORWARD || row->phase == PROGRAM_RECOMPUTE;
  if (row->kind != PROGRAM_COMPUTE || (!forward && row->phase != PROGRAM_BACKWARD))
    return FALSE;
  Direction direction = forward ? FORWARD : BACKWARD;
  const guint32 ends[] = {0, profile->n_units - 1, profile->between};
  const guint32 *units = row->layer < 0 ? ends : &profile->of_layer[row->layer];
  for (guint u = 0; u < (row->layer < 0 ? 2 + (profile->between > 0) : 1); u++) {
    guint n;
    const ModelOp *ops = ops_of(profile, units[u], direction, &n);
    for (guint i = 0; i < n; i++)
      if (strcmp(ops[i].name, row->name) == 0) {
        *ret_unit = units[u];
        *ret_direction = direction;
        *ret_op = i;
        return TRUE;
      }
  }
  return FALSE;
}

static void spread_section(Spread *spread, ProgramSection *section) {
  for (guint32 r = 0; r < section->n_rows; r++) {
    guint32 unit;
    Direction direction;
    guint op;
    if (!find_op(spread->profile, &section->rows[r], &unit, &direction, &op))
      continue;
    guint32 **indices = &spread->indices[unit * DIRECTIONS + direction];
    if (*indices == NULL)
      *indices = spread_unit(spread, unit, direction);
    section->rows[r].op = (*indices)[op];
  }
}

void study_profile_apply(const StudyProfile *profile, const HwGpu *gpu, Program *program) {
  Spread spread = {profile, gpu, program, g_array_new(FALSE, FALSE, sizeof(KernelOp)), NULL};
  spread.indices = g_new0(guint32 *, profile->n_units * DIRECTIONS);
  g_array_append_vals(spread.ops, program->ops, program->n_ops);
  for (guint32 role = 0; role < program->n_roles; role++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      spread_section(&spread, &program->roles[role].sections[s]);
  for (guint32 i = 0; i < profile->n_units * DIRECTIONS; i++)
    g_free(spread.indices[i]);
  g_free(spread.indices);
  program->durations = g_renew(SimTime, program->durations, spread.ops->len);
  for (guint32 i = program->n_ops; i < spread.ops->len; i++)
    program->durations[i] = -1; /* kernel_time knows what was measured */
  g_free(program->ops);
  program->n_ops = spread.ops->len;
  program->ops = (KernelOp *)(gpointer)g_array_free(spread.ops, FALSE);
}
