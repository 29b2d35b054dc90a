/* SPDX-License-Identifier: MIT */
/* What divides by which degree. */
#include "model-share.h"

#include "model-recipe.h"

typedef struct {
  guint64 tensor, context;
} Degrees;

/* What a degree of tensor parallelism does not divide, or NULL. */
static const char *undivided(const ModelShape *shape, const ModelShare *share, guint64 tensor, guint64 *ret_number) {
  gboolean few = share->keys != MODEL_KEYS_DIVIDED && shape->kv_heads > 0 && tensor > shape->kv_heads;
  const struct {
    const char *name;
    guint64 number;
    gboolean divides;
  } numbers[] = {
      {"heads", shape->heads, shape->heads % tensor == 0},
      {"kv_heads", shape->kv_heads, few ? tensor % shape->kv_heads == 0 : shape->kv_heads % tensor == 0},
      {"intermediate_size", shape->intermediate_size, shape->intermediate_size % tensor == 0},
      {"expert_intermediate_size", shape->expert_intermediate_size,
       share->expert_tensor <= 1 || shape->expert_intermediate_size % tensor == 0},
      {"shared_intermediate_size", shape->shared_intermediate_size, shape->shared_intermediate_size % tensor == 0},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
    if (!numbers[i].divides) {
      *ret_number = numbers[i].number;
      return numbers[i].name;
    }
  return NULL;
}

static guint64 pieces_of(const ModelShare *share, guint64 context) {
  return context * (share->zigzag && share->context_kind != MODEL_CONTEXT_ULYSSES && context > 1 ? 2 : 1);
}

static gboolean tokens_divide(const ModelRecipe *recipe, Degrees degrees) {
  guint64 pieces = pieces_of(&recipe->share, degrees.context), s = recipe->sequence_length;
  return s % pieces == 0 && (!recipe->share.sequence_parallel || s / degrees.context % degrees.tensor == 0);
}

static gboolean heads_divide(const ModelShape *shape, const ModelShare *share, Degrees degrees) {
  return share->context_kind != MODEL_CONTEXT_ULYSSES || shape->heads / degrees.tensor % degrees.context == 0;
}

static gboolean fits(const ModelShape *shape, const ModelRecipe *recipe, Degrees degrees) {
  guint64 number;
  return undivided(shape, &recipe->share, degrees.tensor, &number) == NULL && tokens_divide(recipe, degrees) &&
         heads_divide(shape, &recipe->share, degrees);
}

static Degrees with(Degrees degrees, gboolean tensor, guint64 degree) {
  if (tensor)
    degrees.tensor = degree;
  else
    degrees.context = degree;
  return degrees;
}

/* The nearest degree of one axis that fits, the smaller of two; 1 where none does. */
static guint64 nearest(const ModelShape *shape, const ModelRecipe *recipe, Degrees degrees, gboolean tensor) {
  guint64 from = tensor ? degrees.tensor : degrees.context;
  for (guint64 step = 1; step < from; step++) {
    if (fits(shape, recipe, with(degrees, tensor, from - step)))
      return from - step;
    if (fits(shape, recipe, with(degrees, tensor, from + step)))
      return from + step;
  }
  return 1;
}

static gboolean refuse_tensor(const ModelShape *shape, const ModelRecipe *recipe, Degrees degrees,
                              const ConfSettings *settings, GError **error) {
  guint64 number = 0, better = nearest(shape, recipe, degrees, TRUE);
  const char *name = undivided(shape, &recipe->share, degrees.tensor, &number);
  if (name == NULL)
    return conf_settings_fail(settings, "parallel.tensor", error,
                              "%" G_GUINT64_FORMAT " ranks do not divide the %" G_GUINT64_FORMAT
                              " tokens that sequence parallelism splits; the nearest that does is %" G_GUINT64_FORMAT,
                              degrees.tensor, recipe->sequence_length / degrees.context, better);
  return conf_settings_fail(settings, "parallel.tensor", error,
                            "%" G_GUINT64_FORMAT " does not divide %s %" G_GUINT64_FORMAT
                            " of %s; the nearest that does is %" G_GUINT64_FORMAT,
                            degrees.tensor, name, number, shape->name, better);
}

static gboolean refuse_context(const ModelShape *shape, const ModelRecipe *recipe, Degrees degrees,
                               const ConfSettings *settings, GError **error) {
  guint64 better = nearest(shape, recipe, degrees, FALSE), pieces = pieces_of(&recipe->share, degrees.context);
  if (recipe->sequence_length % pieces != 0)
    return conf_settings_fail(settings, "parallel.context", error,
                              "%" G_GUINT64_FORMAT " needs %" G_GUINT64_FORMAT
                              " equal pieces of a sequence of %" G_GUINT64_FORMAT
                              " tokens; the nearest that divides is %" G_GUINT64_FORMAT,
                              degrees.context, pieces, recipe->sequence_length, better);
  return conf_settings_fail(settings, "parallel.context", error,
                            "%" G_GUINT64_FORMAT " does not divide the %" G_GUINT64_FORMAT
                            " heads of a tensor rank of %s; the nearest that does is %" G_GUINT64_FORMAT,
                            degrees.context, shape->heads / degrees.tensor, shape->name, better);
}

/* Parts of a model whose split is not written down yet. */
static gboolean refuse_parts(const ModelShape *shape, const ModelRecipe *recipe, Degrees degrees,
                             const ConfSettings *settings, GError **error) {
  gboolean windowed = shape->sliding_window > 0 && recipe->sequence_length > shape->sliding_window;
  gboolean whole = recipe->share.context_kind == MODEL_CONTEXT_ULYSSES;
  if (degrees.tensor > 1 && shape->experts > 0 && !recipe->share.sequence_parallel)
    return conf_settings_fail(settings, "parallel.tensor", error,
                              "experts under tensor parallelism need sequence parallelism, as in Megatron-LM");
  if (degrees.tensor * degrees.context > 1 && model_has(model_shape_traits(shape), MODEL_PATCHES | MODEL_ONE_TOKEN))
    return conf_settings_fail(settings, degrees.tensor > 1 ? "parallel.tensor" : "parallel.context", error,
                              "a model whose head reads one token (of an image, of a text tower) is not modelled over "
                              "several ranks; set it to 1");
  if (recipe->share.expert_tensor > 1 && shape->experts > 0 && recipe->share.expert_tensor != degrees.tensor)
    return conf_settings_fail(settings, "parallel.expert_tensor", error,
                              "experts are split over all %" G_GUINT64_FORMAT " tensor ranks or none, not %u",
                              degrees.tensor, recipe->share.expert_tensor);
  if (degrees.context > 1 && shape->kv_rank > 0)
    return conf_settings_fail(settings, "parallel.context", error,
                              "latent attention of a split sequence is not modelled; set parallel.context=1");
  if (degrees.context > 1 && windowed && !whole)
    return conf_settings_fail(settings, "parallel.context", error,
                              "a sliding window over keys of other ranks is not modelled; set parallel.context=1");
  if (degrees.context > 1 && model_has(model_shape_traits(shape), MODEL_SINKS | MODEL_BIDIRECTIONAL) && !whole)
    return conf_settings_fail(settings, "parallel.context", error,
                              "attention that is not plainly causal is not modelled over keys of other ranks; set "
                              "parallel.context=1");
  return TRUE;
}

static gboolean refuse_unmodelled(const ModelShape *shape, const ModelRecipe *recipe, Degrees degrees,
                                  const ConfSettings *settings, GError **error) {
  if (degrees.tensor > 1 && recipe->lora.rank > 0)
    return conf_settings_fail(settings, "parallel.tensor", error,
                              "adapters under tensor parallelism are not modelled; set parallel.tensor=1");
  if (degrees.context > 1 && recipe->attention_waits)
    return conf_settings_fail(settings, "training.attention_waits", error,
                              "Transformers' own attention does not split a sequence; set parallel.context=1");
  gboolean eager = degrees.context > 1 && recipe->attention == MODEL_ATTENTION_EAGER;
  if (eager && recipe->precision == MODEL_FP8)
    return conf_settings_fail(
        settings, "parallel.context", error,
        "eager attention of a split sequence in fp8 is not modelled; set training.attention=flash");
  if (eager && recipe->share.context_kind != MODEL_CONTEXT_ULYSSES)
    return conf_settings_fail(settings, "parallel.context", error,
                              "eager attention over keys of other ranks is not modelled; set training.attention=flash");
  if (degrees.context > 1 && recipe->packing != MODEL_PACKING_FULL &&
      recipe->share.context_kind != MODEL_CONTEXT_ULYSSES)
    return conf_settings_fail(settings, "parallel.context", error,
                              "packed or padded samples over keys of other ranks are not modelled; set "
                              "parallel.context=1 or training.packing=full");
  if (degrees.tensor * degrees.context > 1 && shape->encoder_layers > 0)
    return conf_settings_fail(settings, degrees.tensor > 1 ? "parallel.tensor" : "parallel.context", error,
                              "a decoder beside an encoder is not modelled over several ranks; set it to 1");
  if (degrees.context > 1 && shape->mtp_layers > 0)
    return conf_settings_fail(settings, "parallel.context", error,
                              "a layer that foretells a further token is not modelled over several context ranks; set "
                              "it to 1, or model.mtp_layers=0");
  return refuse_parts(shape, recipe, degrees, settings, error);
}

gboolean model_share_check(const ModelShape *shape, const ModelRecipe *recipe, const ConfSettings *settings,
                           GError **error) {
  const ModelShare *share = &recipe->share;
  Degrees degrees = {model_share_tensor(share), model_share_context(share)};
  guint64 number;
  if (share->expert > 1 && shape->experts % share->expert != 0)
    return conf_settings_fail(settings, "parallel.expert", error,
                              "%u does not divide the %" G_GUINT64_FORMAT " experts of %s", share->expert,
                              shape->experts, shape->name);
  if (undivided(shape, share, degrees.tensor, &number) != NULL)
    return refuse_tensor(shape, recipe, degrees, settings, error);
  if (recipe->sequence_length % pieces_of(share, degrees.context) != 0 || !heads_divide(shape, share, degrees))
    return refuse_context(shape, recipe, degrees, settings, error);
  if (!tokens_divide(recipe, degrees))
    return refuse_tensor(shape, recipe, degrees, settings, error);
  return refuse_unmodelled(shape, recipe, degrees, settings, error);
}

guint64 model_share_vocabulary(const ModelShare *share, guint64 vocabulary) {
  guint64 tensor = model_share_tensor(share), ranks = share->whole_vocabulary ? 1 : tensor;
  guint64 multiple = share->vocabulary_multiple * tensor;
  guint64 padded = multiple > 0 ? (vocabulary + multiple - 1) / multiple * multiple : vocabulary;
  return (padded + ranks - 1) / ranks;
}
