/* SPDX-License-Identifier: MIT */
/* Settings: layers and origins, canonical values, typed fields, the reference, the message of each mistake. */
#include <glib/gstdio.h>
#include <string.h>

#include "conf-settings.h"
#include "harness.h"

typedef struct {
  guint64 layers, sequence_length, micro_batch;
  double dropout, nic_bandwidth, memory, latency, peak, price;
  int precision;
  gboolean compile;
  char *config, *name;
} Example;

static const char *const precisions[] = {"bf16", "fp16", "fp32", NULL};
static const char *const precisions_later[] = {"fp8", "mixed:", NULL};

#define KEY(group, key, kind, member, ...) BASE_ROW(group, key, kind, Example, member, __VA_ARGS__)
#define LATER(group_, key_, ...)                                                                                       \
  { .group = group_, .key = key_, .kind = BASE_LATER, __VA_ARGS__ }

static const BaseField model_keys[] = {
    KEY("model", "config", BASE_PATH, config, .help = "a config.json"),
    KEY("model", "layers", BASE_COUNT, layers, .min = 1, .max = 10000, .help = "transformer layers"),
    KEY("model", "name", BASE_TEXT, name, .help = "for people"),
};
static const BaseField training_keys[] = {
    KEY("training", "sequence_length", BASE_COUNT, sequence_length, .min = 1, .max = 1e7, .required = TRUE,
        .help = "tokens in a sequence"),
    KEY("training", "micro_batch", BASE_COUNT, micro_batch, .min = 1, .initial = "1", .help = "sequences at a time"),
    KEY("training", "precision", BASE_NAME, precision, .names = precisions, .later = precisions_later,
        .initial = "bf16", .help = "of matmuls"),
    KEY("training", "dropout", BASE_NUMBER, dropout, .max = 1, .initial = "0", .help = "probability"),
    KEY("training", "compile", BASE_FLAG, compile, .initial = "no", .help = "torch.compile"),
    LATER("parallel", "tensor", .initial = "1", .help = "tensor parallelism"),
    LATER("parallel", "schedule", .help = "a pipeline schedule"),
    LATER("deepspeed", "*", .help = "the DeepSpeed policy"),
    KEY("cluster", "nic_bandwidth", BASE_BYTE_RATE, nic_bandwidth, .min = 1e9, .max = 9e11, .help = "per NIC"),
    KEY("cluster", "memory", BASE_BYTES, memory, .help = "per GPU"),
    KEY("cluster", "latency", BASE_TIME, latency, .max = 1, .help = "per hop"),
    KEY("cluster", "peak", BASE_FLOP_RATE, peak, .help = "per GPU"),
    KEY("cluster", "price", BASE_MONEY, price, .help = "per hour"),
};
static const ConfSchema schemas[] = {{model_keys, G_N_ELEMENTS(model_keys)},
                                     {training_keys, G_N_ELEMENTS(training_keys)}};

static ConfSettings *defaults(void) {
  return conf_settings_new(schemas, G_N_ELEMENTS(schemas));
}

static gboolean load(ConfSettings *settings, const char *data, ConfOrigin origin, GError **error) {
  g_autoptr(ConfText) text = conf_text_parse("w.ini", data, strlen(data), error);
  return text != NULL && conf_settings_load_text(settings, text, origin, error);
}

static void canonical_is(const char *name, const char *value, const char *expected) {
  g_autoptr(ConfSettings) settings = defaults();
  g_autoptr(GError) error = NULL;
  gboolean put = conf_settings_put(settings, name, value, CONF_ORIGIN_FILE, NULL, &error);
  const char *got = put ? conf_settings_get(settings, name) : error->message;
  if (g_strcmp0(got, expected) != 0)
    printf("\n    %s = %s: expected %s, found %s\n", name, value, expected, got);
  CU_ASSERT_TRUE(put && g_strcmp0(got, expected) == 0);
}

static void canonical_forms(void) {
  canonical_is("training.sequence_length", "4096", "4096");
  canonical_is("training.sequence_length", "4k", "4000");
  canonical_is("training.sequence_length", "1.5e6", "1500000");
  canonical_is("training.sequence_length", "+8", "8");
  canonical_is("training.micro_batch", "2T", "2000000000000");
  canonical_is("training.micro_batch", "9007199254740993", "9007199254740993"); /* 2^53 + 1 */
  canonical_is("training.micro_batch", "0.00000000000000000001e24", "10000");
  canonical_is("training.micro_batch", "7.00000000000000000000000000000", "7");
  canonical_is("training.precision", "FP16", "fp16");
  canonical_is("training.compile", "On", "yes");
  canonical_is("training.compile", "0", "no");
  canonical_is("training.dropout", "10 %", "0.1");
  canonical_is("cluster.nic_bandwidth", "400 Gb/s", "50000000000 B/s"); /* 400e9 / 8 */
  canonical_is("cluster.memory", "79.65 GiB", "85523536282 B");         /* 79.65 × 1024³ = 85 523 536 281.6 */
  canonical_is("cluster.latency", "2.5 us", "2.5e-06 s");
  canonical_is("cluster.peak", "989.4 TFLOPS", "989400000000000 FLOP/s");
  canonical_is("cluster.price", "2.95 USD", "2.95 USD");
  canonical_is("parallel.tensor", "None", "1");
  canonical_is("parallel.tensor", "1", "1");
  canonical_is("model.name", "  a b ", "a b");
}

static const struct {
  const char *data, *message;
} mistakes[] = {
    {"[trainig]\n", "w.ini:1:1: no such group [trainig]; did you mean \"training\"?"},
    {"[foo]\n", "w.ini:1:1: no such group [foo]; expected one of model, training, parallel, deepspeed, cluster"},
    {"[training]\n\n  micro_bach = 4\n",
     "w.ini:3:3: training.micro_bach: no such key in [training]; did you mean \"micro_batch\"?"},
    {"[training]\nMicro-Batch = 4\n",
     "w.ini:2:1: training.Micro-Batch: no such key in [training]; did you mean \"micro_batch\"?"},
    {"[parallel]\nmicro_batch = 4\n",
     "w.ini:2:1: parallel.micro_batch: no such key in [parallel]; micro_batch belongs to [training]"},
    {"[parallel]\nmicro_batc = 4\n",
     "w.ini:2:1: parallel.micro_batc: no such key in [parallel]; did you mean \"micro_batch\" of [training]?"},
    {"[parallel]\nqqq = 4\n", "w.ini:2:1: parallel.qqq: no such key in [parallel]; it takes tensor, schedule"},
    {"[training]\nmicro_batch = 1\nmicro_batch = 2\n",
     "w.ini:3:1: training.micro_batch: given twice, first at line 2 (1)"},
    {"[training]\nsequence_length = 4096 tokens\n", "w.ini:2:1: training.sequence_length: expected a whole number from "
                                                    "1 to 10000000, found \"4096 tokens\": leave out "
                                                    "\"tokens\""},
    {"[training]\nsequence_length = 4_096\n",
     "w.ini:2:1: training.sequence_length: expected a whole number from 1 to 10000000, found \"4_096\": write 4096"},
    {"[training]\nmicro_batch = 1,000,000\n",
     "w.ini:2:1: training.micro_batch: expected a whole number of at least 1, found \"1,000,000\": write 1000000"},
    {"[training]\nmicro_batch = 64K\n", "w.ini:2:1: training.micro_batch: expected a whole number of at least 1, found "
                                        "\"64K\": write \"k\" for thousands"},
    {"[training]\nmicro_batch = 1.5\n",
     "w.ini:2:1: training.micro_batch: expected a whole number of at least 1, found \"1.5\""},
    {"[training]\nmicro_batch = -1\n",
     "w.ini:2:1: training.micro_batch: expected a whole number of at least 1, found \"-1\""},
    {"[training]\nmicro_batch = auto\n",
     "w.ini:2:1: training.micro_batch: expected a whole number of at least 1, found \"auto\""},
    {"[training]\nmicro_batch = 1e30\n",
     "w.ini:2:1: training.micro_batch: expected a whole number of at least 1, found "
     "\"1e30\": more than 9223372036854775807"},
    {"[training]\nmicro_batch = 0\n", "w.ini:2:1: training.micro_batch: 0 is out of range: expected at least 1"},
    {"[training]\nmicro_batch = # none\n",
     "w.ini:2:1: training.micro_batch: has no value: expected a whole number of at least 1"},
    {"[model]\nlayers = 1e6\n", "w.ini:2:1: model.layers: 1e6 is out of range: expected from 1 to 10000"},
    {"[training]\nprecision = fp8\n",
     "w.ini:2:1: training.precision: precision \"fp8\" is not modelled yet; expected one of bf16, fp16, fp32"},
    {"[training]\nprecision = Mixed:bf16\n", /* "mixed:" stands for all that begin so */
     "w.ini:2:1: training.precision: precision \"Mixed:bf16\" is not modelled yet; expected one of bf16, fp16, fp32"},
    {"[training]\nprecision = fpp8\n", /* one letter from fp8, two from fp16 */
     "w.ini:2:1: training.precision: expected one of bf16, fp16, fp32, found \"fpp8\"; did you mean \"fp8\" (not "
     "modelled yet)?"},
    {"[training]\nmicro_batch = 0x1000\n",
     "w.ini:2:1: training.micro_batch: expected a whole number of at least 1, found \"0x1000\": write it in decimal, "
     "4096"},
    {"[training]\nprecision = fp322\n",
     "w.ini:2:1: training.precision: expected one of bf16, fp16, fp32, found \"fp322\"; did you mean \"fp32\"?"},
    {"[training]\ncompile = maybe\n", "w.ini:2:1: training.compile: expected yes or no, found \"maybe\""},
    {"[training]\ndropout = 1.5\n", "w.ini:2:1: training.dropout: 1.5 is out of range: expected from 0 to 1"},
    {"[training]\ndropout = lots\n",
     "w.ini:2:1: training.dropout: expected a number such as 0.8 or 12 %, found \"lots\""},
    {"[cluster]\nnic_bandwidth = 400\n",
     "w.ini:2:1: cluster.nic_bandwidth: \"400\" lacks a unit: write for example 450 GB/s or 400 Gb/s"},
    {"[cluster]\nnic_bandwidth = 400 Gbps\n",
     "w.ini:2:1: cluster.nic_bandwidth: \"Gbps\" is no unit here (in \"400 Gbps\"): did you mean \"Gb/s\"?"},
    {"[cluster]\nnic_bandwidth = 4 TB/s\n",
     "w.ini:2:1: cluster.nic_bandwidth: 4 TB/s is out of range: expected from 1 GB/s to 900 GB/s"},
    {"[cluster]\nmemory = -80 GiB\n", "w.ini:2:1: cluster.memory: -80 GiB is out of range: expected at least 0 B"},
    {"[cluster]\nlatency = 2 s\n", "w.ini:2:1: cluster.latency: 2 s is out of range: expected from 0 s to 1 s"},
    {"[parallel]\ntensor = 2\n",
     "w.ini:2:1: parallel.tensor: tensor parallelism is not modelled yet (only 1 is taken), found \"2\""},
    {"[deepspeed]\nreduce_bucket_size = 5e8\n",
     "w.ini:2:1: deepspeed.reduce_bucket_size: the DeepSpeed policy is not modelled yet; leave the key out"},
    {"[deepspeed]\n* = no\n", "w.ini:2:1: deepspeed.*: the DeepSpeed policy is not modelled yet; leave the key out"},
    {"[parallel]\nschedule = 1f1b\n",
     "w.ini:2:1: parallel.schedule: a pipeline schedule is not modelled yet (only \"no\" is taken), found \"1f1b\""},
    {"[model]\nconfig = nowhere/x.json\n", "w.ini:2:1: model.config: no file \"nowhere/x.json\"; there is no folder"},
    {"[model]\nconfig = nowhere-at-all.json\n",
     "w.ini:2:1: model.config: no file \"nowhere-at-all.json\" (looked in the current folder, "},
};

static void words_mistakes(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++) {
    g_autoptr(ConfSettings) settings = defaults();
    GError *error = NULL;
    HARNESS_FAILS(load(settings, mistakes[i].data, CONF_ORIGIN_FILE, &error), error, mistakes[i].message);
  }
}

static const struct {
  const char *assignment, *message;
} wrong_sets[] = {
    {"micro_batc=2", "--set micro_batc=2: expected \"group.key=value\", found the key \"micro_batc\" without a group; "
                     "did you mean \"training.micro_batch\"?"},
    {"training.micro_batch", "--set training.micro_batch: expected \"group.key=value\", found no \"=\""},
    {"training.micro_bach=2",
     "--set training.micro_bach=2: training.micro_bach: no such key in [training]; did you mean "
     "\"micro_batch\"?"},
    {"train.micro_batch=2", "--set train.micro_batch=2: train.micro_batch: no such group [train]; did you mean "
                            "\"training\"?"},
    {"training.micro_batch=0",
     "--set training.micro_batch=0: training.micro_batch: 0 is out of range: expected at least 1"},
    {"model.name=\xff", "--set model.name=\xef\xbf\xbd: is not UTF-8 text"},
    {"=2", "--set =2: expected \"group.key=value\", found the key \"\" without a group"},
};

static void words_wrong_sets(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(wrong_sets); i++) {
    g_autoptr(ConfSettings) settings = defaults();
    GError *error = NULL;
    HARNESS_FAILS(conf_settings_set(settings, wrong_sets[i].assignment, &error), error, wrong_sets[i].message);
  }
}

/* The group may be left out where no other has such a key. */
static void a_key_alone_is_enough(void) {
  g_autoptr(ConfSettings) settings = defaults();
  GError *error = NULL;
  CU_ASSERT_TRUE_FATAL(conf_settings_set(settings, "micro_batch = 2", &error));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.micro_batch"), "2");
}

static void higher_layers_win(void) {
  g_autoptr(ConfSettings) settings = defaults();
  CU_ASSERT_FALSE(conf_settings_given(settings, "training.micro_batch"));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.micro_batch"), "1");
  CU_ASSERT_PTR_NULL(conf_settings_get(settings, "model.layers"));
  CU_ASSERT_TRUE(conf_settings_put(settings, "training.micro_batch", "2", CONF_ORIGIN_DEFAULT, NULL, NULL));
  CU_ASSERT_FALSE(conf_settings_given(settings, "training.micro_batch"));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.micro_batch"), "2");
  CU_ASSERT_TRUE(load(settings, "[training]\nmicro_batch = 3\n", CONF_ORIGIN_FILE, NULL));
  CU_ASSERT_TRUE(load(settings, "[training]\nmicro_batch = 4\n", CONF_ORIGIN_FILE, NULL));
  CU_ASSERT_TRUE(conf_settings_given(settings, "training.micro_batch"));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.micro_batch"), "4");
  CU_ASSERT_TRUE(conf_settings_put(settings, "training.micro_batch", "5", CONF_ORIGIN_RECIPE, NULL, NULL));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.micro_batch"), "4");
  CU_ASSERT_TRUE(conf_settings_set(settings, " training.micro_batch = 6 ", NULL));
  CU_ASSERT_TRUE(load(settings, "[training]\nmicro_batch = 7\n", CONF_ORIGIN_FILE, NULL));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.micro_batch"), "6");
  CU_ASSERT_TRUE(conf_settings_set(settings, "training.micro_batch=8", NULL));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.micro_batch"), "8");
}

static void errors_change_nothing(void) {
  g_autoptr(ConfSettings) settings = defaults();
  GError *error = NULL;
  HARNESS_FAILS(load(settings, "[training]\nmicro_batch = 3\n[model]\nlayer = 1\n", CONF_ORIGIN_FILE, &error), error,
                "w.ini:4:1: model.layer: no such key in [model]; did you mean \"layers\"?");
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.micro_batch"), "1");
  Example example = {.micro_batch = 99};
  HARNESS_FAILS(conf_settings_fill(settings, &schemas[1], &example, &error), error,
                "training.sequence_length: is missing: write \"sequence_length = ...\" under [training] (tokens in a "
                "sequence; expected a whole number from 1 to 10000000)");
  CU_ASSERT_EQUAL(example.micro_batch, 99);
}

static void fills_fields(void) {
  g_autoptr(ConfSettings) settings = defaults();
  CU_ASSERT_TRUE(load(settings,
                      "[training]\nsequence_length = 4096\nprecision = fp32\ncompile = yes\ndropout = 0.1\n[model]\n"
                      "name = \"one ; two\"\n[cluster]\nnic_bandwidth = 400 Gb/s\nlatency = 2.5 us\n[parallel]\n"
                      "schedule = no\n",
                      CONF_ORIGIN_FILE, NULL));
  Example example = {.layers = 77, .name = g_strdup("before")};
  CU_ASSERT_TRUE(conf_settings_fill(settings, &schemas[0], &example, NULL));
  CU_ASSERT_TRUE(conf_settings_fill(settings, &schemas[1], &example, NULL));
  CU_ASSERT_EQUAL(example.layers, 77);
  CU_ASSERT_EQUAL(example.sequence_length, 4096);
  CU_ASSERT_EQUAL(example.micro_batch, 1);
  CU_ASSERT_EQUAL(example.precision, 2);
  CU_ASSERT_TRUE(example.compile);
  CU_ASSERT_EQUAL(example.dropout, 0.1);
  CU_ASSERT_EQUAL(example.nic_bandwidth, 50e9);
  CU_ASSERT_EQUAL(example.latency, 2.5e-6);
  CU_ASSERT_STRING_EQUAL(example.name, "one ; two");
  CU_ASSERT_PTR_NULL(example.config);
  CU_ASSERT_TRUE(conf_settings_given(settings, "parallel.schedule"));
  CU_ASSERT_PTR_NULL(conf_settings_get(settings, "parallel.schedule"));
  conf_struct_clear(&schemas[0], &example);
  CU_ASSERT_PTR_NULL(example.name);
}

/* A path keeps its text, so that the canonical form is the same on every machine; the field gets the file that was
 * found. */
static void paths_lie_beside_their_file(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *json = g_build_filename(folder, "llama.json", NULL);
  g_autofree char *good = g_build_filename(folder, "good.ini", NULL);
  g_autofree char *bad = g_build_filename(folder, "bad.ini", NULL);
  CU_ASSERT_TRUE(g_file_set_contents(json, "{}", -1, NULL));
  CU_ASSERT_TRUE(g_file_set_contents(good, "[model]\nconfig = llama.json\n", -1, NULL));
  CU_ASSERT_TRUE(g_file_set_contents(bad, "[model]\nconfig = lama.json\n", -1, NULL));
  g_autoptr(ConfSettings) settings = defaults();
  GError *error = NULL;
  g_autofree char *advice = g_strdup_printf(
      "%s:2:1: model.config: no file \"lama.json\"; did you mean \"llama.json\"? (looked in %s", bad, folder);
  HARNESS_FAILS(conf_settings_load(settings, bad, CONF_ORIGIN_FILE, &error), error, advice);
  CU_ASSERT_TRUE(conf_settings_load(settings, good, CONF_ORIGIN_FILE, &error));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "model.config"), "llama.json");
  Example example = {0};
  CU_ASSERT_TRUE(conf_settings_fill(settings, &schemas[0], &example, &error));
  CU_ASSERT_STRING_EQUAL(example.config, json);
  conf_struct_clear(&schemas[0], &example);
  HARNESS_FAILS(conf_settings_set(settings, "model.config=llama.json", &error), error,
                "--set model.config=llama.json: model.config: no file \"llama.json\"");
  g_remove(json);
  g_remove(good);
  g_remove(bad);
  g_rmdir(folder);
}

static void failures_name_their_place(void) {
  g_autoptr(ConfSettings) settings = defaults();
  GError *error = NULL;
  CU_ASSERT_TRUE(load(settings, "[model]\n[training]\n  sequence_length = 4096\n", CONF_ORIGIN_FILE, NULL));
  HARNESS_FAILS(conf_settings_fail(settings, "training.sequence_length", &error, "is no multiple of %d", 5), error,
                "w.ini:3:3: training.sequence_length: is no multiple of 5");
  HARNESS_FAILS(conf_settings_fail(settings, "training.micro_batch", &error, "is too small"), error,
                "w.ini:2:1: training.micro_batch: is too small (1 is the default)");
  HARNESS_FAILS(conf_settings_fail(settings, "model.layers", &error, "is missing"), error,
                "w.ini:1:1: model.layers: is missing");
  HARNESS_FAILS(conf_settings_fail(settings, "cluster.memory", &error, "is missing"), error,
                "w.ini: cluster.memory: is missing");
  CU_ASSERT_TRUE(conf_settings_set(settings, "training.micro_batch=2", NULL));
  HARNESS_FAILS(conf_settings_fail(settings, "training.micro_batch", &error, "is too small"), error,
                "--set training.micro_batch=2: training.micro_batch: is too small");
}

static void gather(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  g_string_append_printf(user, "%s=%s (%s)\n", name, value, conf_origin_names[origin]);
}

/* A group of free keys is one value: its lines in order, each by any name; a later file's stand instead. */
static void groups_of_lines(void) {
  typedef struct {
    char *lines;
  } Wiring;
  static const BaseField keys[] = {BASE_ROW("wiring", "lines", BASE_LINES, Wiring, lines, .help = "who to whom")};
  static const ConfSchema schema = {keys, 1};
  g_autoptr(ConfSettings) settings = conf_settings_new(&schema, 1);
  GError *error = NULL;
  CU_ASSERT_TRUE(load(settings, "[wiring]\nb.1 = x: y  ; why\na = z\n", CONF_ORIGIN_RECIPE, &error));
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "wiring.lines"), "b.1 = x: y, a = z");
  CU_ASSERT_TRUE(load(settings, "[wiring]\nlines = c = d, e = f\n", CONF_ORIGIN_FILE, &error));
  Wiring wiring = {0};
  CU_ASSERT_TRUE(conf_settings_fill(settings, &schema, &wiring, &error));
  CU_ASSERT_STRING_EQUAL(wiring.lines, "c = d, e = f");
  conf_struct_clear(&schema, &wiring);
  CU_ASSERT_PTR_NULL(wiring.lines);
  BasePlace place;
  conf_settings_place(settings, "wiring.lines", &place);
  CU_ASSERT_EQUAL(place.line, 1);
  HARNESS_FAILS(load(settings, "[wiring]\n", CONF_ORIGIN_FILE, &error), error, "w.ini:1:1: wiring.lines: has no value");
}

static void copies_and_visits(void) {
  g_autoptr(ConfSettings) settings = defaults();
  CU_ASSERT_TRUE(
      load(settings, "[training]\nsequence_length = 4k\n[cluster]\nmemory = 80 GiB\n", CONF_ORIGIN_FILE, NULL));
  g_autoptr(ConfSettings) copy = conf_settings_copy(settings);
  CU_ASSERT_TRUE(conf_settings_set(settings, "training.compile=yes", NULL));
  g_autoptr(GString) text = g_string_new(NULL);
  conf_settings_visit(copy, gather, text);
  CU_ASSERT_STRING_EQUAL(text->str, "training.sequence_length=4000 (file)\ntraining.micro_batch=1 (default)\n"
                                    "training.precision=bf16 (default)\ntraining.dropout=0 (default)\n"
                                    "training.compile=no (default)\nparallel.tensor=1 (default)\n"
                                    "cluster.memory=85899345920 B (file)\n");
  CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.compile"), "yes");
}

/* Rows of a table that say the same share what is kept under their key; errors name the line of each one's own. */
static void equal_values_keep_their_places(void) {
  const BasePlace third = {.file = "rows.csv", .line = 3, .column = 1},
                  ninth = {.file = "rows.csv", .line = 9, .column = 1};
  g_autoptr(ConfSettings) before = defaults();
  g_autoptr(ConfSettings) after = defaults();
  CU_ASSERT_TRUE(conf_settings_put(before, "training.micro_batch", "4", CONF_ORIGIN_COMMAND_LINE, &third, NULL));
  CU_ASSERT_TRUE(conf_settings_put(after, "training.micro_batch", "4", CONF_ORIGIN_COMMAND_LINE, &ninth, NULL));
  g_autoptr(GString) key = g_string_new(NULL);
  g_autoptr(GString) same = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(schemas); i++) {
    conf_settings_append_given(before, &schemas[i], NULL, key);
    conf_settings_append_given(after, &schemas[i], NULL, same);
    conf_settings_take(after, before, &schemas[i]);
  }
  CU_ASSERT_STRING_EQUAL(key->str, same->str);
  GError *error = NULL;
  HARNESS_FAILS(conf_settings_fail(after, "training.micro_batch", &error, "too many"), error, "rows.csv:9:1");
  CU_ASSERT_TRUE(conf_settings_put(after, "training.micro_batch", "8", CONF_ORIGIN_COMMAND_LINE, &ninth, NULL));
  for (gsize i = 0; i < G_N_ELEMENTS(schemas); i++)
    conf_settings_take(after, before, &schemas[i]);
  HARNESS_FAILS(conf_settings_fail(after, "training.micro_batch", &error, "too many"), error, "rows.csv:3:1");
}

static void prints_the_reference(void) {
  g_autoptr(GString) text = g_string_new(NULL);
  conf_schema_print(schemas, G_N_ELEMENTS(schemas), text);
  static const char *const lines[] = {
      "[model]\n  key     takes                           default  meaning\n"
      "  config  the name of a file                       a config.json\n"
      "  layers  a whole number from 1 to 10000           transformer layers\n",
      "  precision        one of bf16, fp16, fp32; not modelled yet: fp8, mixed:  bf16      of matmuls\n",
      "  sequence_length  a whole number from 1 to 10000000                       required  tokens in a sequence\n",
      "  tensor    not modelled yet: only 1 is taken  1        tensor parallelism\n",
      "a rate such as 450 GB/s or 400 Gb/s, from 1 GB/s to 900 GB/s",
  };
  for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
    CU_ASSERT_PTR_NOT_NULL(strstr(text->str, lines[i]));
    if (strstr(text->str, lines[i]) == NULL)
      printf("\n    lacks: %s\n%s", lines[i], text->str);
  }
}

/* Any text for any key: taken with a canonical form that is taken again as itself, or one error. */
static void survives_mutations(void) {
  static const struct {
    const char *name, *unit;
  } keys[] = {{"model.layers", "k"},
              {"training.precision", ""},
              {"training.dropout", "e-9"},
              {"training.compile", ""},
              {"parallel.tensor", ""},
              {"cluster.memory", " GiB"},
              {"cluster.nic_bandwidth", " GB/s"},
              {"training.micro_batch", ""},
              {"cluster.latency", "us"}};
  static const char *const parts[] = {"1",  "0",  "9",  "25", ".", "e", "-",   "+",    "k", "GB",  "B/s",          "/s",
                                      "Gb", "us", "s",  " ",  "_", "%", "yes", "bf16", "T", "GiB", "999999999999", "x",
                                      "",   "e9", "e-3"};
  g_autoptr(GRand) random = harness_random();
  guint taken = 0, refused = 0;
  for (int i = 0; i < 8000; i++) {
    g_autoptr(GString) value = g_string_new(NULL);
    gsize k = (gsize)g_rand_int_range(random, 0, G_N_ELEMENTS(keys));
    const char *name = keys[k].name;
    if (g_rand_boolean(random))
      g_string_printf(value, "%d%s", g_rand_int_range(random, 0, 2000), keys[k].unit);
    for (int n = g_rand_int_range(random, 0, 3); n > 0; n--)
      g_string_append(value, parts[g_rand_int_range(random, 0, G_N_ELEMENTS(parts))]);
    g_autoptr(ConfSettings) settings = defaults();
    g_autoptr(GError) error = NULL;
    gboolean put = conf_settings_put(settings, name, value->str, CONF_ORIGIN_FILE, NULL, &error);
    CU_ASSERT_TRUE(put == (error == NULL));
    taken += put;
    refused += !put;
    if (!put)
      continue;
    g_autofree char *first = g_strdup(conf_settings_get(settings, name));
    CU_ASSERT_TRUE(conf_settings_put(settings, name, first, CONF_ORIGIN_FILE, NULL, NULL));
    CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, name), first);
  }
  CU_ASSERT_TRUE(taken > 500 && refused > 500);
}

int main(void) {
  return harness_run("conf-settings",
                     (HarnessCase[]){{"canonical forms", canonical_forms},
                                     {"words mistakes", words_mistakes},
                                     {"words wrong sets", words_wrong_sets},
                                     {"a key alone is enough", a_key_alone_is_enough},
                                     {"higher layers win", higher_layers_win},
                                     {"errors change nothing", errors_change_nothing},
                                     {"fills fields", fills_fields},
                                     {"paths lie beside their file", paths_lie_beside_their_file},
                                     {"failures name their place", failures_name_their_place},
                                     {"groups of lines", groups_of_lines},
                                     {"copies and visits", copies_and_visits},
                                     {"equal values keep their places", equal_values_keep_their_places},
                                     {"prints the reference", prints_the_reference},
                                     {"survives mutations", survives_mutations},
                                     {NULL, NULL}});
}
