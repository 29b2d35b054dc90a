/* SPDX-License-Identifier: MIT */
/* Random workloads over all settings: each is refused in words, or plays the same by every short way and by its plain
 * twin. Core settings are drawn from values that go together; up to four more are drawn from the whole reference, so
 * that a setting that is added is tried without being named here.
 *
 *   test-study-random [SECONDS]       another seed each time, until so many seconds are over (./dev fuzz twins) */
#include "base-error.h"
#include "random-point.h"
#include "twins.h"

static const RandomAxis core[] = {
    {"parallel.framework", {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "fsdp2", "megatron", "nanotron"}},
    {"parallel.zero_stage", {"0", "1", "2", "3"}},
    {"model.family", {"llama", "gpt", "qwen2", "gemma2", "mixtral", "qwen3_moe", "olmo2", "bert"}},
    {"model.layers", {"1", "2", "4", "4", "5", "8"}},
    {"model.hidden_size", {"256", "512"}},
    {"model.heads", {"4", "8"}},
    {"model.kv_heads", {"", "", "2", "4"}},
    {"model.intermediate_size", {"512", "768"}},
    {"model.vocab_size", {"1000", "8192"}},
    {"training.precision", {"bf16", "bf16", "bf16", "fp16", "fp32"}},
    {"training.sequence_length", {"64", "128", "512"}},
    {"training.micro_batch", {"1", "2", "3", "1", "4000"}},
    {"training.gradient_accumulation", {"1", "2", "4", "8", "9", "40"}},
    {"training.activation_checkpointing", {"none", "full", "none", "full", "layers:2", "selective"}},
    {"training.trainable", {"all", "all", "all", "all", "lora:8", "head"}},
    {"cluster.topology", {"dgx-h100", "dgx-a100", "h100-eth100", "dgx1-v100", "gcp-a3-mega"}},
    {"cluster.nodes", {"1", "2", "3"}},
    {"cluster.slow_gpus", {"", "", "", "3: 0.8"}},
};

/* Of half of the frameworks, and of half of these points. */
static const RandomAxis over_ranks[] = {
    {"parallel.framework", {"deepspeed", "fsdp2", "fsdp2", "megatron", "megatron", "megatron", "nanotron"}},
    {"parallel.tensor", {"1", "2", "4"}},
    {"parallel.pipeline", {"1", "1", "2", "4"}},
    {"parallel.context", {"1", "1", "1", "2"}},
    {"parallel.sequence_parallel", {"no", "no", "yes"}},
    {"parallel.zero_stage", {"0", "1", "1", "3"}},
};

/* Given only where they mean something; else they are refused, which is no news. */
static const RandomAxis of_experts[] = {
    {"parallel.expert", {"1", "2", "8"}},
    {"model.experts", {"8", "4"}},
    {"model.experts_per_token", {"2", "1"}},
    {"model.expert_intermediate_size", {"128", "256"}},
};

typedef struct {
  char *name;
  GPtrArray *values;
} Setting;

static void add_values(Setting *setting, const char *takes) {
  if (g_str_has_prefix(takes, "yes or no")) {
    g_ptr_array_add(setting->values, g_strdup("yes"));
    g_ptr_array_add(setting->values, g_strdup("no"));
  } else if (g_str_has_prefix(takes, "one of ")) {
    g_auto(GStrv) names = g_strsplit_set(takes + strlen("one of "), ",;", -1);
    for (char **name = names; *name != NULL; name++)
      g_ptr_array_add(setting->values, g_strdup(g_strstrip(*name)));
  } else if (g_str_has_prefix(takes, "a whole number")) {
    for (guint value = 1; value <= 4096; value *= value < 4 ? 2 : 32)
      g_ptr_array_add(setting->values, g_strdup_printf("%u", value));
  }
}

static void setting_clear(gpointer data) {
  Setting *setting = data;
  g_free(setting->name);
  g_ptr_array_unref(setting->values);
}

/* Of the reference, "[group]" and lines "  key  takes  …" below it: what has few values, or is a number. */
static GArray *read_reference(void) {
  g_autoptr(GString) text = g_string_new(NULL);
  GArray *settings = g_array_new(FALSE, FALSE, sizeof(Setting));
  g_array_set_clear_func(settings, setting_clear);
  study_print_reference(text);
  g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);
  g_autofree char *group = NULL;
  for (char **line = lines; *line != NULL; line++) {
    g_auto(GStrv) cells = g_regex_split_simple("  +", *line, 0, 0);
    if (**line == '[') {
      g_free(group);
      group = g_strndup(*line + 1, strcspn(*line + 1, "]"));
    } else if (group != NULL && g_strv_length(cells) > 2 && *cells[0] == '\0') {
      Setting setting = {g_strdup_printf("%s.%s", group, cells[1]), g_ptr_array_new_with_free_func(g_free)};
      add_values(&setting, cells[2]);
      if (setting.values->len > 0)
        g_array_append_val(settings, setting);
      else
        setting_clear(&setting);
    }
  }
  return settings;
}

/* GROUP.KEY=VALUE, each key once: the newest. */
static void give(GPtrArray *sets, const char *name, const char *value) {
  g_autofree char *begins = g_strconcat(name, "=", NULL);
  for (guint i = sets->len; i-- > 0;)
    if (g_str_has_prefix(g_ptr_array_index(sets, i), begins))
      g_ptr_array_remove_index(sets, i);
  if (*value != '\0')
    g_ptr_array_add(sets, g_strconcat(begins, value, NULL));
}

static void give_axes(GPtrArray *sets, const RandomAxis *axes, gsize n, GRand *random) {
  g_autoptr(StudyPoint) point = random_point(axes, n, random);
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    give(sets, setting->name, setting->value);
  }
}

#define MORE_MOST 4

static GPtrArray *draw(const GArray *settings, GRand *random) {
  GPtrArray *sets = g_ptr_array_new_with_free_func(g_free);
  give_axes(sets, core, G_N_ELEMENTS(core), random);
  if (g_rand_boolean(random))
    give_axes(sets, over_ranks, G_N_ELEMENTS(over_ranks), random);
  if (g_rand_int_range(random, 0, 4) == 0)
    give_axes(sets, of_experts, G_N_ELEMENTS(of_experts), random);
  for (gint32 more = g_rand_int_range(random, 0, MORE_MOST + 1); more > 0; more--) {
    const Setting *setting = &g_array_index(settings, Setting, g_rand_int_range(random, 0, (gint32)settings->len));
    const char *value = g_ptr_array_index(setting->values, g_rand_int_range(random, 0, (gint32)setting->values->len));
    gboolean large = strlen(value) > 1 &&
                     (g_str_has_suffix(setting->name, "nodes") || g_str_has_suffix(setting->name, "gpus_per_node") ||
                      g_str_has_suffix(setting->name, "gpus"));
    if (!large)
      give(sets, setting->name, value);
  }
  return sets;
}

static Study *lay(const GPtrArray *sets, GError **error) {
  g_autoptr(Study) study = study_new("random");
  for (guint i = 0; i < sets->len; i++)
    if (!study_set(study, g_ptr_array_index(sets, i), error))
      return NULL;
  return g_steal_pointer(&study);
}

/* Takes out the setting that a refusal names; FALSE: none. */
static gboolean take_out_refused(GPtrArray *sets, const char *message) {
  for (guint i = 0; i < sets->len; i++) {
    g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(sets, i), "=", 2);
    if (strstr(message, parts[0]) != NULL) {
      g_ptr_array_remove_index(sets, i);
      return TRUE;
    }
  }
  return FALSE;
}

static gboolean same(const RunReport *a, const RunReport *b) {
  g_autofree guint32 *classes = twins_classes(a, a->identity.gpus);
  return a->n_classes == b->n_classes && twins_equal(a, classes, b, TRUE);
}

/* Counted micro-batches keep the step to the picosecond, and of a settled step all shares (test-study-repeat.c says
 * what may differ). */
static gboolean same_step(const RunReport *counted, const RunReport *plain) {
  gboolean equal = counted->n_classes == plain->n_classes;
  for (guint32 i = 0; equal && i < plain->n_classes; i++)
    equal = counted->classes[i].step == plain->classes[i].step &&
            counted->classes[i].verdict == plain->classes[i].verdict &&
            (counted->settled == RUN_SETTLING || counted->classes[i].exposed == plain->classes[i].exposed);
  return equal;
}

static gboolean same_unfolded(const RunReport *folded, const RunReport *plain) {
  g_autofree guint32 *classes = twins_classes(folded, folded->identity.gpus);
  return plain->n_classes == folded->identity.gpus && twins_equal(folded, classes, plain, TRUE);
}

typedef struct {
  guint drawn, played, oom, counted, classes;
} Tally;

static void judge(gboolean good, const char *way, const GPtrArray *sets) {
  CU_ASSERT_TRUE(good);
  if (good)
    return;
  printf("\n    %s differs: foretrain run a.ini", way);
  for (guint i = 0; i < sets->len; i++)
    printf(" -s '%s'", (char *)g_ptr_array_index(sets, i));
}

static void hold(Study *study, const RunReport *fast, const GPtrArray *sets) {
  static const struct {
    const char *name;
    StudyOptions options;
    gboolean (*same)(const RunReport *fast, const RunReport *plain);
  } ways[] = {
      {"--net=full --share=off --tie=shuffle:7",
       {.fold = TRUE, .net_full = TRUE, .apart = TRUE, .tie = STUDY_TIE_SHUFFLE, .tie_seed = 7},
       same},
      {"--tie=reverse", {.fold = TRUE, .tie = STUDY_TIE_REVERSE}, same},
      {"--repeat=off", {.fold = TRUE, .every_step = TRUE}, same_step},
      {"--fold=off", {0}, same_unfolded},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
    g_autoptr(RunReport) plain = study_run(study, &ways[i].options, NULL);
    judge(plain != NULL && ways[i].same(fast, plain), ways[i].name, sets);
  }
}

#define POINTS        50
#define REFUSALS_MOST 12

static guint seconds; /* 0: POINTS points */

/* A point, less what it is refused for: each refusal is in words, and of the input. */
static void try(const GArray *settings, GRand *random, Tally *tally) {
  g_autoptr(GPtrArray) sets = draw(settings, random);
  tally->drawn++;
  for (guint refused = 0; refused < REFUSALS_MOST; refused++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Study) study = lay(sets, &error);
    g_autoptr(RunReport) fast = study != NULL ? study_run(study, &(StudyOptions){.fold = TRUE}, &error) : NULL;
    judge((fast != NULL) == (error == NULL), "a report or an error", sets);
    if (fast != NULL) {
      tally->played++;
      tally->oom += fast->classes[fast->tightest].has_oom;
      tally->counted += fast->settled != RUN_UNSETTLED;
      tally->classes += fast->n_classes > 1;
      hold(study, fast, sets);
      return;
    }
    judge(g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT), "an error of the input", sets);
    const char *why = error != NULL ? error->message : "";
    if (!take_out_refused(sets, why)) {
      if (seconds > 0)
        printf("\n    refused: %s", why);
      return;
    }
  }
}

/* What proves that the comparisons can fail. */
static void a_picosecond_is_seen(void) {
  g_autoptr(Study) study = study_open("gpt2-xl", NULL);
  g_autoptr(RunReport) one = study_run(study, &(StudyOptions){.fold = TRUE}, NULL);
  g_autoptr(RunReport) other = study_run(study, &(StudyOptions){.fold = TRUE}, NULL);
  CU_ASSERT_TRUE(same(one, other) && same_step(one, other));
  other->classes[0].step++;
  CU_ASSERT_FALSE(same(one, other) || same_step(one, other));
  other->classes[0].step--;
  other->classes[0].peak_reserved++;
  CU_ASSERT_FALSE(same(one, other));
}

static void short_ways_are_their_plain_twins(void) {
  g_autoptr(GArray) settings = read_reference();
  Tally tally = {0};
  gint64 end = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
  CU_ASSERT_TRUE(settings->len > 90);
  for (guint32 seed = harness_seed(); seconds > 0 ? g_get_monotonic_time() < end : tally.drawn < POINTS; seed++) {
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    try(settings, random, &tally);
  }
  printf(" (%u drawn, %u played: %u out of memory, %u counted, %u of several classes) ", tally.drawn, tally.played,
         tally.oom, tally.counted, tally.classes);
  CU_ASSERT_TRUE(tally.played > tally.drawn / 3);
}

int main(int argc, char **argv) {
  seconds = argc > 1 ? (guint)atoi(argv[1]) : 0;
  return harness_run("study random", (HarnessCase[]){{"a picosecond", a_picosecond_is_seen},
                                                     {"twins", short_ways_are_their_plain_twins},
                                                     {NULL, NULL}});
}
