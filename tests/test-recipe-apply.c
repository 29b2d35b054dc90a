/* SPDX-License-Identifier: MIT */
/* Layers: defaults, the recipe, the workload, --set; "auto" as the Trainer fills it; the workload file that import
 * writes. A schema of the few keys at hand stands for those of all floors. */
#include "recipe-harness.h"

typedef struct {
  guint64 micro, accumulation, global, stage, bucket, prefetch, persistence, group;
} Keys;

#define COUNT(group_, key_, field_)                                                                                    \
  { BASE_FIELD(group_, key_, BASE_COUNT, Keys, field_) }
static const char *const precisions[] = {"bf16", "fp16", "fp32", NULL};
static const BaseField keys[] = {
    COUNT("training", "micro_batch", micro),
    COUNT("training", "gradient_accumulation", accumulation),
    COUNT("training", "global_batch", global),
    {.group = "training", .key = "precision", .kind = BASE_TEXT, .names = precisions, .initial = "bf16"},
    {.group = "training", .key = "gradient_clipping", .kind = BASE_NUMBER, .initial = "0"},
    {.group = "training", .key = "optimizer_style", .kind = BASE_TEXT, .initial = "default"},
    BASE_ROW("parallel", "zero_stage", BASE_COUNT, Keys, stage, .max = 3),
    {.group = "model", .key = "config", .kind = BASE_TEXT},
    COUNT("model", "layers", group),
    {.group = "parallel", .key = "framework", .kind = BASE_TEXT, .initial = "paper"},
    {.group = "parallel", .key = "shard_group", .kind = BASE_TEXT, .initial = "all"},
    COUNT("deepspeed", "reduce_bucket_size", bucket),
    COUNT("deepspeed", "stage3_prefetch_bucket_size", prefetch),
    COUNT("deepspeed", "stage3_param_persistence_threshold", persistence),
    COUNT("deepspeed", "stage3_max_live_parameters", group),
    COUNT("deepspeed", "stage3_max_reuse_distance", group),
    {.group = "deepspeed", .key = "overlap_comm", .kind = BASE_LATER, .initial = "no", .help = "overlap"},
};
static const ConfSchema schema = {keys, G_N_ELEMENTS(keys)};

static ConfSettings *settings_of(const char *workload) {
  ConfSettings *settings = conf_settings_new(&schema, 1);
  g_autoptr(ConfText) text = conf_text_parse("w.ini", workload, strlen(workload), NULL);
  g_assert_true(conf_settings_load_text(settings, text, CONF_ORIGIN_FILE, NULL));
  return settings;
}

/* A model of hidden_size 4096 on 64 GPUs; counts how often it is asked. */
static gboolean find(const ConfSettings *settings, RecipeFacts *ret, gpointer user, GError **error) {
  (void)settings, (void)error;
  *ret = (RecipeFacts){.hidden_size = 4096, .ranks = 64};
  (*(guint *)user)++;
  return TRUE;
}

static gboolean apply(const char *recipe_text, const char *name, ConfSettings *settings, GError **error) {
  guint asked = 0;
  g_autoptr(Recipe) recipe = recipe_of_text(name, recipe_text, error);
  return recipe != NULL && recipe_apply(recipe, settings, find, &asked, error);
}

#define IS(settings, name, text) CU_ASSERT_STRING_EQUAL(conf_settings_get((settings), (name)), (text))

static ConfOrigin visited;
static void note_origin(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  (void)value;
  if (strcmp(name, user) == 0)
    visited = origin;
}

static void later_layers_win(void) {
  static const char text[] = "{\"train_micro_batch_size_per_gpu\": 4, \"fp16\": {\"enabled\": true}, "
                             "\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 5e7}}";
  g_autoptr(ConfSettings) settings = settings_of("[parallel]\nzero_stage = 3\n");
  CU_ASSERT_TRUE(conf_settings_set(settings, "deepspeed.reduce_bucket_size=7", NULL));
  CU_ASSERT_TRUE(apply(text, "ds.json", settings, NULL));
  IS(settings, "training.micro_batch", "4");
  IS(settings, "training.precision", "fp16");
  IS(settings, "parallel.framework", "deepspeed");
  IS(settings, "parallel.zero_stage", "3");          /* the workload's */
  IS(settings, "deepspeed.reduce_bucket_size", "7"); /* --set */
  conf_settings_visit(settings, note_origin, (gpointer) "training.precision");
  CU_ASSERT_EQUAL(visited, CONF_ORIGIN_RECIPE);
}

/* hidden_size 4096: 4096² = 16 777 216; 0.9 × 4096² = 15 099 494.4, cut; 10 × 4096 = 40 960. */
static void autos_of_the_model(void) {
  guint asked = 0;
  g_autoptr(ConfSettings) settings = settings_of("[training]\nmicro_batch = 2\n");
  g_autoptr(Recipe) recipe =
      recipe_of_text("ds.json",
                     "{\"train_micro_batch_size_per_gpu\": \"auto\", \"bf16\": {\"enabled\": \"auto\"}, "
                     "\"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": \"auto\", "
                     "\"stage3_prefetch_bucket_size\": \"auto\", \"stage3_param_persistence_threshold\": \"auto\"}}",
                     NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  CU_ASSERT_TRUE(recipe_apply(recipe, settings, find, &asked, NULL));
  IS(settings, "deepspeed.reduce_bucket_size", "16777216");
  IS(settings, "deepspeed.stage3_prefetch_bucket_size", "15099494");
  IS(settings, "deepspeed.stage3_param_persistence_threshold", "40960");
  IS(settings, "training.micro_batch", "2");
  IS(settings, "training.precision", "bf16");
  CU_ASSERT_EQUAL(asked, 1);
}

/* Below stage 3 the Trainer fills reduce_bucket_size alone. */
static void autos_of_stage_two(void) {
  g_autoptr(ConfSettings) settings = settings_of("[training]\nmicro_batch = 1\n");
  CU_ASSERT_TRUE(apply("{\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": \"auto\", "
                       "\"stage3_prefetch_bucket_size\": \"auto\"}}",
                       "ds.json", settings, NULL));
  IS(settings, "deepspeed.reduce_bucket_size", "16777216");
  CU_ASSERT_FALSE(conf_settings_given(settings, "deepspeed.stage3_prefetch_bucket_size"));
}

static void micro_batch_must_be_said(void) {
  static const char text[] = "{\"train_micro_batch_size_per_gpu\": \"auto\",\n \"train_batch_size\": \"auto\"}";
  GError *error = NULL;
  g_autoptr(ConfSettings) silent = settings_of("");
  HARNESS_FAILS(apply(text, "ds.json", silent, &error), error,
                "ds.json:1:2: train_micro_batch_size_per_gpu: is \"auto\", and nothing says it");
  g_autoptr(ConfSettings) follows = settings_of("[training]\nglobal_batch = 64\ngradient_accumulation = 1\n");
  CU_ASSERT_TRUE(apply(text, "ds.json", follows, NULL));
}

/* Of the three the workload says two: the recipe's own do not contradict them. */
static void batch_follows(void) {
  g_autoptr(ConfSettings) settings = settings_of("[training]\nmicro_batch = 1\nglobal_batch = 64\n");
  CU_ASSERT_TRUE(apply("{\"train_batch_size\": 32, \"gradient_accumulation_steps\": 8}", "ds.json", settings, NULL));
  CU_ASSERT_FALSE(conf_settings_given(settings, "training.gradient_accumulation"));
  IS(settings, "training.global_batch", "64");
  g_autoptr(ConfSettings) one = settings_of("[training]\nmicro_batch = 1\n");
  CU_ASSERT_TRUE(apply("{\"gradient_accumulation_steps\": 8}", "ds.json", one, NULL));
  IS(one, "training.gradient_accumulation", "8");
}

/* A config.json of the workload is the whole model; without one the recipe's shape holds. */
static void whose_model(void) {
  static const char *const workloads[] = {"[model]\nconfig = m.json\n", ""};
  for (int i = 0; i < 2; i++) {
    RecipeTaken taken = {.file = "f.yaml", .key = "model.n_layers", .setting = "model.layers", .value = "12"};
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_ptr_array_add(all, &taken);
    const Recipe recipe = {.taken = all};
    g_autoptr(ConfSettings) settings = settings_of(workloads[i]);
    CU_ASSERT_TRUE(recipe_apply(&recipe, settings, find, NULL, NULL));
    CU_ASSERT_EQUAL(conf_settings_given(settings, "model.layers"), i == 1);
  }
}

/* 64 GPUs in 4 copies: 16 share one. Without copies all 64 must share. */
static void shard_groups(void) {
  static const char base[] = "[parallelism]\ndata_parallel_shard_degree = %d\ndata_parallel_replicate_degree = %d\n";
  static const struct {
    int shard, replicate;
    const char *group; /* NULL: an error */
  } rows[] = {{-1, 4, "16"}, {64, 1, "64"}, {8, 8, "8"}, {32, 1, NULL}, {-1, 3, NULL}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    /* fsdp.wrap and the rest are not of this small schema, so the one taken value is looked at by itself. */
    g_autofree char *text = g_strdup_printf(base, rows[i].shard, rows[i].replicate);
    g_autoptr(Recipe) recipe = recipe_of_text("t.toml", text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
    for (guint t = recipe->taken->len; t > 0; t--)
      if (strcmp(((RecipeTaken *)g_ptr_array_index(recipe->taken, t - 1))->setting, "parallel.shard_group") != 0)
        g_ptr_array_remove_index(recipe->taken, t - 1);
    guint asked = 0;
    g_autoptr(ConfSettings) settings = settings_of("");
    g_autoptr(GError) error = NULL;
    gboolean applied = recipe_apply(recipe, settings, find, &asked, &error);
    CU_ASSERT_EQUAL(applied, rows[i].group != NULL);
    if (applied && rows[i].group != NULL)
      IS(settings, "parallel.shard_group", rows[i].group);
    if (!applied)
      CU_ASSERT_TRUE(error != NULL && strstr(error->message, "t.toml:") != NULL);
  }
}

/* Our settings have the last word, at the recipe's place and with its key. */
static void what_we_do_not_take(void) {
  static const char text[] = "{\"zero_optimization\": {\n  \"stage\": 4,\n  \"overlap_comm\": true}}";
  GError *error = NULL;
  g_autoptr(ConfSettings) settings = settings_of("");
  HARNESS_FAILS(apply(text, "ds.json", settings, &error), error, "(from the recipe's zero_optimization.overlap_comm)");
  HARNESS_FAILS(apply(text, "ds.json", settings, &error), error,
                "ds.json:2:3: parallel.zero_stage: 4 is out of range: expected from 0 to 3 (from the recipe's "
                "zero_optimization.stage)");
  /* What the workload overrules need not be anything that we take. */
  g_autoptr(ConfSettings) overruled = settings_of("[parallel]\nzero_stage = 3\n[deepspeed]\noverlap_comm = no\n");
  CU_ASSERT_TRUE(apply(text, "ds.json", overruled, NULL));
  g_autoptr(ConfSettings) again = settings_of("");
  g_autoptr(Recipe) recipe = recipe_of_text("ds.json", text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  HARNESS_FAILS(recipe_check(recipe, again, &error), error,
                "(from the recipe's zero_optimization.overlap_comm)"); /* both lines come at once */
}

/* What import writes reads back as the same settings. */
static void writes_a_workload(void) {
  static const char text[] = "{\"train_micro_batch_size_per_gpu\": 4, \"bf16\": {\"enabled\": true}, \"dump_state\": "
                             "true, \"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": \"auto\"}}";
  g_autoptr(Recipe) recipe = recipe_of_text("ds.json", text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  g_autoptr(GString) written = g_string_new(NULL);
  GError *error = NULL;
  HARNESS_FAILS(recipe_write(recipe, NULL, NULL, written, &error), error,
                "zero_optimization.reduce_bucket_size: is \"auto\", which depends on the model: add --model FILE");
  CU_ASSERT_EQUAL(written->len, 0);
  const RecipeFacts facts = {.hidden_size = 64};
  CU_ASSERT_TRUE(recipe_write(recipe, &facts, "m.json", written, NULL));
  g_autoptr(ConfText) back = conf_text_parse("w.ini", written->str, written->len, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(back);
  CU_ASSERT_STRING_EQUAL(conf_text_get(back, "model", "config"), "m.json");
  CU_ASSERT_STRING_EQUAL(conf_text_get(back, "training", "micro_batch"), "4");
  CU_ASSERT_STRING_EQUAL(conf_text_get(back, "parallel", "zero_stage"), "3");
  CU_ASSERT_STRING_EQUAL(conf_text_get(back, "parallel", "framework"), "deepspeed");
  CU_ASSERT_STRING_EQUAL(conf_text_get(back, "deepspeed", "reduce_bucket_size"), "4096"); /* 64² */
  CU_ASSERT_PTR_NOT_NULL(strstr(written->str, "line 1: dump_state: logging"));
}

static void prints_both_tables(void) {
  g_autoptr(Recipe) recipe = recipe_of_data("ds-auto.json");
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(ConfSettings) settings = settings_of("[parallel]\nzero_stage = 1\n");
  recipe_print(recipe, settings, text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "parallel.zero_stage = 3"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "the workload says 1"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "zero_optimization.reduce_bucket_size"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "auto: hidden_size², elements"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "Left out, as it changes no step"));
}

/* Two of the three batch sizes are the workload's: the recipe's third is not in force, and the table says so. */
static void names_what_is_overruled(void) {
  static const char text[] = "{\"train_batch_size\": 16, \"zero_optimization\": {\"stage\": 3, "
                             "\"reduce_bucket_size\": \"auto\"}}";
  guint asked = 0;
  g_autoptr(Recipe) recipe = recipe_of_text("ds.json", text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  g_autoptr(ConfSettings) settings = settings_of("[training]\nmicro_batch = 1\ngradient_accumulation = 1\n");
  CU_ASSERT_TRUE(recipe_apply(recipe, settings, find, &asked, NULL));
  g_autoptr(GString) shown = g_string_new(NULL);
  recipe_print(recipe, settings, shown);
  CU_ASSERT_PTR_NOT_NULL(strstr(shown->str, "training.global_batch = 16"));
  CU_ASSERT_PTR_NOT_NULL(strstr(shown->str, "not in force: it follows from the two batch sizes"));
  CU_ASSERT_PTR_NOT_NULL(strstr(shown->str, "deepspeed.reduce_bucket_size = 16777216")); /* 4096² */
  /* What it follows to is put by who knows the GPUs: 8, where the recipe says 16. */
  CU_ASSERT_TRUE(conf_settings_put(settings, "training.global_batch", "8", CONF_ORIGIN_FILE, NULL, NULL));
  g_autofree char *overruled = recipe_overruled(recipe, settings);
  CU_ASSERT_STRING_EQUAL(overruled, "training.global_batch (8, not 16)");
}

int main(void) {
  return harness_run("recipe-apply", (HarnessCase[]){{"later layers win", later_layers_win},
                                                     {"autos of the model", autos_of_the_model},
                                                     {"autos of stage two", autos_of_stage_two},
                                                     {"micro_batch must be said", micro_batch_must_be_said},
                                                     {"batch follows", batch_follows},
                                                     {"shard groups", shard_groups},
                                                     {"whose model", whose_model},
                                                     {"what we do not take", what_we_do_not_take},
                                                     {"writes a workload", writes_a_workload},
                                                     {"prints both tables", prints_both_tables},
                                                     {"names what is overruled", names_what_is_overruled},
                                                     {NULL, NULL}});
}
