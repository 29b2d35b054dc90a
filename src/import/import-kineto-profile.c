/* SPDX-License-Identifier: MIT */
/* Kernels of a step to layers. */
#include "import-kineto-profile.h"

#include "base-error.h"
#include "import-kineto-issue.h"
#include "import-kineto-layers.h"
#include "import-kineto-set.h"

#define LAYERS_MOST 4096 /* beyond, a number in a module's name is no layer's */

typedef struct {
  ImportKinetoLayers *layers;
  gint32 last; /* the layer of the kernel before; -1: none yet */
  ImportKinetoDirection direction;
} Walk;

static ImportKinetoLayer *layer_at(ImportKinetoLayers *layers, gint32 layer) {
  for (; layers->n <= (guint)layer; layers->n++) {
    layers->of = g_renew(ImportKinetoLayer, layers->of, layers->n + 1);
    layers->of[layers->n] = (ImportKinetoLayer){0};
  }
  return &layers->of[layer];
}

/* What no layer's module launched: before the first forward the embedding, behind the last layer the head, whose
 * backward comes before any layer's; what follows the backward of layer 0 is the embedding's again. */
static ImportKinetoLayer *place(const Walk *walk, ImportKinetoDirection direction, guint n_layers) {
  gboolean forward_before = walk->last >= 0 && walk->direction == IMPORT_KINETO_FORWARD;
  if (direction != IMPORT_KINETO_FORWARD)
    return forward_before || walk->last < 0 ? &walk->layers->head
           : walk->last == 0                ? &walk->layers->embedding
                                            : &walk->layers->of[walk->last];
  if (!forward_before)
    return &walk->layers->embedding;
  return (guint)walk->last + 1 == n_layers ? &walk->layers->head : &walk->layers->of[walk->last];
}

static void add_kernel(Walk *walk, const ImportKinetoTrace *trace, const ImportKinetoIssue *issue, guint n_layers) {
  static const ImportKinetoDirection directions[PROGRAM_PHASES] = {
      [PROGRAM_RECOMPUTE] = IMPORT_KINETO_RECOMPUTE, [PROGRAM_BACKWARD] = IMPORT_KINETO_BACKWARD};
  const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, issue->kernel);
  if (kernel->copies || kernel->what != IMPORT_COLLECTIVES)
    return;
  gint32 layer;
  SimTime time = base_span_length(kernel->at);
  ProgramPhase phase = import_kineto_phase(trace, issue, &layer);
  if (phase == PROGRAM_OPTIMIZER) {
    walk->layers->optimizer += time;
    return;
  }
  ImportKinetoDirection direction = directions[phase];
  if (layer < 0 || layer >= LAYERS_MOST) {
    place(walk, direction, n_layers)->time[direction] += time;
    return;
  }
  layer_at(walk->layers, layer)->time[direction] += time;
  walk->layers->passes +=
      layer == 0 && direction == IMPORT_KINETO_FORWARD && (walk->last != 0 || walk->direction != IMPORT_KINETO_FORWARD);
  walk->last = layer;
  walk->direction = direction;
}

static guint count_layers(const ImportKinetoTrace *trace, const GArray *issues) {
  gint32 most = -1, layer;
  for (guint i = 0; i < issues->len; i++) {
    import_kineto_phase(trace, &g_array_index(issues, ImportKinetoIssue, i), &layer);
    most = layer < LAYERS_MOST ? MAX(most, layer) : most;
  }
  return (guint)(most + 1);
}

void import_kineto_layers(const ImportKinetoSet *set, guint file, ImportKinetoLayers *ret) {
  const ImportKinetoTrace *trace = g_ptr_array_index(set->traces, file);
  const GArray *issues = g_array_index(set->steps, ImportKinetoStep, file).issues;
  guint n = count_layers(trace, issues);
  *ret = (ImportKinetoLayers){0};
  if (n > 0)
    layer_at(ret, (gint32)n - 1);
  Walk walk = {.layers = ret, .last = -1};
  for (guint i = 0; i < issues->len; i++) {
    const ImportKinetoIssue *issue = &g_array_index(issues, ImportKinetoIssue, i);
    if (issue->kernel != IMPORT_KINETO_NONE)
      add_kernel(&walk, trace, issue, n);
  }
}

void import_kineto_layers_clear(ImportKinetoLayers *layers) {
  g_clear_pointer(&layers->of, g_free);
  layers->n = 0;
}

/* ---- Collectives ---- */

typedef struct {
  BaseSpan at; /* first, to sort by */
  ImportKinetoSent sent;
} Placed;

static GArray *sent_of(const ImportKinetoSet *set, guint file) {
  const ImportKinetoTrace *trace = g_ptr_array_index(set->traces, file);
  const GArray *issues = g_array_index(set->steps, ImportKinetoStep, file).issues;
  g_autoptr(GArray) placed = g_array_new(FALSE, FALSE, sizeof(Placed));
  GArray *sent = g_array_new(FALSE, FALSE, sizeof(ImportKinetoSent));
  for (guint i = 0; i < issues->len; i++) {
    gint index = g_array_index(issues, ImportKinetoIssue, i).kernel;
    const ImportKinetoKernel *kernel =
        index != IMPORT_KINETO_NONE ? &g_array_index(trace->kernels, ImportKinetoKernel, index) : NULL;
    if (kernel == NULL || kernel->what == IMPORT_COLLECTIVES)
      continue;
    Placed one = {kernel->at, {kernel->what, kernel->bytes, base_span_length(kernel->at)}};
    g_array_append_val(placed, one);
  }
  g_array_sort(placed, base_span_compare);
  for (guint i = 0; i < placed->len; i++)
    g_array_append_val(sent, g_array_index(placed, Placed, i).sent);
  return sent;
}

GArray *import_kineto_sent(const ImportKinetoSet *set, guint file) {
  GArray *sent = sent_of(set, file);
  for (guint other = 0; other < set->traces->len; other++) {
    g_autoptr(GArray) peer = sent_of(set, other);
    for (guint i = 0; peer->len == sent->len && i < sent->len; i++) {
      ImportKinetoSent *one = &g_array_index(sent, ImportKinetoSent, i);
      one->time = MIN(one->time, g_array_index(peer, ImportKinetoSent, i).time);
    }
  }
  return sent;
}

/* ---- As a file ---- */

static void add_rows(GString *text, const char *layer, const ImportKinetoLayer *of, guint passes) {
  static const struct {
    const char *name;
    ImportKinetoDirection direction;
  } rows[] = {{"forward", IMPORT_KINETO_FORWARD}, {"backward", IMPORT_KINETO_BACKWARD}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    SimTime time = of->time[rows[i].direction] / MAX(passes, 1);
    g_string_append_printf(text, "%s,%s,%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT ",,,,\n", layer, rows[i].name,
                           time / SIM_MICROSECOND, time % SIM_MICROSECOND);
  }
}

static gboolean check(const ImportKinetoSet *set, const ImportKinetoLayers *layers, GError **error) {
  static const char *const names[] = {"forward", "recompute", "backward"};
  if (layers->n == 0 || layers->passes == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: no module called …Layer_N or …Block_N is in it; profile with with_modules=True or with_stack=True",
                set->name);
    return FALSE;
  }
  for (guint i = 0; i < layers->n; i++)
    for (int d = 0; d < IMPORT_KINETO_DIRECTIONS; d++)
      if (d != IMPORT_KINETO_RECOMPUTE && layers->of[i].time[d] == 0) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: layer %u has no %s in the step that was taken", set->name,
                    i, names[d]);
        return FALSE;
      }
  return TRUE;
}

GString *import_kineto_profile(const ImportKinetoSet *set, GError **error) {
  ImportKinetoLayers layers;
  import_kineto_layers(set, 0, &layers);
  GString *text = NULL;
  if (check(set, &layers, error)) {
    text = g_string_new("layer,phase,time_us,flops,bytes,activation_bytes,parameters\n");
    add_rows(text, "embedding", &layers.embedding, layers.passes);
    for (guint i = 0; i < layers.n; i++) {
      g_autofree char *number = g_strdup_printf("%u", i);
      add_rows(text, number, &layers.of[i], layers.passes);
    }
    add_rows(text, "head", &layers.head, layers.passes);
  }
  import_kineto_layers_clear(&layers);
  return text;
}
