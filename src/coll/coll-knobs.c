/* SPDX-License-Identifier: MIT */
/* Reads [nccl] and its lists of algorithms and protocols. */
#include "coll-knobs.h"

#include <string.h>

#include "base-names.h"
#include "conf-settings.h"

#define MOST_CHANNELS 64

#define KEY(key_, kind_, member_, ...) BASE_ROW("nccl", key_, kind_, CollKnobs, member_, __VA_ARGS__)

static const BaseField keys[] = {
    KEY("version", BASE_TEXT, version,
        .help =
            "whose tuning table chooses, 2.21.5 for one; the nearest older where it is not shipped; else the newest"),
    KEY("algo", BASE_TEXT, algo,
        .help = "NCCL_ALGO: ring, tree, nvls, nvlstree, collnetdirect, collnetchain, pat; a list, ^ for all but these, "
                "by call as allreduce:tree;allgather:ring"),
    KEY("proto", BASE_TEXT, proto, .help = "NCCL_PROTO: ll, ll128, simple; a list as algo"),
    KEY("min_nchannels", BASE_COUNT, min_channels, .min = 1, .max = MOST_CHANNELS, .initial = "1",
        .help = "NCCL_MIN_NCHANNELS (also MIN_CTAS): the least channels"),
    KEY("max_nchannels", BASE_COUNT, max_channels, .min = 1, .max = MOST_CHANNELS, .initial = "64",
        .help = "NCCL_MAX_NCHANNELS (also MAX_CTAS): the most channels"),
    KEY("nvls_enable", BASE_FLAG, nvls_enable, .initial = "yes",
        .help = "NCCL_NVLS_ENABLE: reduction in NVSwitch, where it can"),
    KEY("p2p_disable", BASE_FLAG, p2p_disable, .initial = "no",
        .help = "NCCL_P2P_DISABLE: GPUs of a node speak through host memory"),
    KEY("collnet_enable", BASE_FLAG, collnet_enable, .initial = "no",
        .help = "NCCL_COLLNET_ENABLE: reduction in the network's switches (SHARP)"),
    KEY("cross_nic", BASE_COUNT, cross_nic, .min = 0, .max = 2, .initial = "2",
        .help = "NCCL_CROSS_NIC: 0 rings stay on a rail, 1 they may cross, 2 where it helps"),
    KEY("buffsize", BASE_BYTES, buffer_bytes, .min = 65536, .max = 1073741824,
        .help = "NCCL_BUFFSIZE: buffer of a connection in Simple"),
    KEY("nvls_chunksize", BASE_BYTES, nvls_chunk, .min = 1024, .max = 16777216,
        .help =
            "NCCL_NVLS_CHUNKSIZE: chunk of a head in NVSwitch; else what the platform's plugin sets, or NCCL's own"),
    KEY("nvlstree_max_chunksize", BASE_BYTES, nvls_tree_chunk, .min = 1024, .max = 16777216,
        .help = "NCCL_NVLSTREE_MAX_CHUNKSIZE: the same in trees over four nodes and more, since NCCL 2.20"),
    KEY("tuner_plugin", BASE_FLAG, tuner_plugin, .initial = "yes",
        .help =
            "the tuner in the network's plugin chooses, where the platform's has one (NCCL_TUNER_PLUGIN; AWS's p5)"),
    KEY("registration", BASE_FLAG, registration, .initial = "no",
        .help = "buffers are registered as symmetric windows: kernels that read and write them directly"),
    KEY("gpus_per_process", BASE_COUNT, gpus_per_process, .min = 1, .max = MOST_CHANNELS, .initial = "1",
        .help = "GPUs that one thread launches collectives on in turn: nccl-tests' -g"),
    KEY("cuda_graph", BASE_FLAG, cuda_graph, .initial = "no",
        .help = "collectives are launched by CUDA graphs: a lower floor"),
};
const ConfSchema coll_knobs_schema = {keys, G_N_ELEMENTS(keys)};

/* NCCL's own spellings, in the order of our enums; dashes are no part of them. */
static const char *const call_names[] = {"allreduce", "allgather", "reducescatter", "broadcast",
                                         "reduce",    "sendrecv",  "alltoall",      NULL};
static const char *const algorithm_names[] = {"ring",          "tree",         "nvls", "nvlstree",
                                              "collnetdirect", "collnetchain", "pat",  NULL};
static const char *const protocol_names[] = {"ll", "ll128", "simple", NULL};

/* Lower case, without blanks, dashes and underscores: "NVLS-Tree" is "nvlstree". Caller frees. */
static char *plain(const char *text) {
  GString *plain = g_string_new(NULL);
  for (; *text != '\0'; text++)
    if (!g_ascii_isspace(*text) && *text != '-' && *text != '_')
      g_string_append_c(plain, g_ascii_tolower(*text));
  return g_string_free(plain, FALSE);
}

/* "ring,tree" or "^nvls" into a mask of `names`. */
static gboolean read_list(const ConfSettings *settings, const char *key, const char *list, const char *const *names,
                          guint32 *ret_mask, GError **error) {
  gboolean inverted = list[0] == '^';
  g_auto(GStrv) words = g_strsplit(list + inverted, ",", -1);
  guint32 mask = 0;
  for (char **word = words; *word != NULL; word++) {
    g_autofree char *name = plain(*word);
    int index = base_names_find(names, name);
    if (index < 0) {
      g_autofree char *advice = base_names_advice(names, name);
      return conf_settings_fail(settings, key, error, "\"%s\" is not one of NCCL's%s", *word, advice);
    }
    mask |= 1u << index;
  }
  *ret_mask = inverted ? ~mask : mask;
  return TRUE;
}

/* Parts between semicolons, each for all calls or for the one it names. */
static gboolean read_lists(const ConfSettings *settings, const char *key, const char *text, const char *const *names,
                           guint32 masks[COLL_OPERATIONS], gboolean given[COLL_OPERATIONS], GError **error) {
  g_auto(GStrv) parts = g_strsplit(text, ";", -1);
  for (char **part = parts; *part != NULL; part++) {
    g_strstrip(*part);
    char *colon = strchr(*part, ':');
    int call = -1;
    guint32 mask = 0;
    if (colon != NULL) {
      *colon = '\0';
      g_autofree char *name = plain(*part);
      call = base_names_find(call_names, name);
      if (call < 0)
        return conf_settings_fail(settings, key, error, "\"%s\" is not a call of NCCL", *part);
    }
    if (!read_list(settings, key, colon != NULL ? colon + 1 : *part, names, &mask, error))
      return FALSE;
    for (int o = 0; o < COLL_OPERATIONS; o++)
      if (call < 0 || call == o) {
        masks[o] = mask;
        given[o] = TRUE;
      }
  }
  return TRUE;
}

void coll_knobs_init(CollKnobs *ret) {
  *ret = (CollKnobs){.min_channels = 1,
                     .max_channels = MOST_CHANNELS,
                     .nvls_enable = TRUE,
                     .tuner_plugin = TRUE,
                     .cross_nic = 2,
                     .gpus_per_process = 1};
  for (int o = 0; o < COLL_OPERATIONS; o++)
    ret->algorithms[o] = ret->protocols[o] = G_MAXUINT32;
}

/* A table of the version, or of an older one. */
static gboolean check_version(const ConfSettings *settings, const char *version, GError **error) {
  g_autoptr(GError) inner = NULL;
  gboolean exact;
  if (version == NULL)
    return TRUE;
  g_autofree char *table = coll_tuning_find(version, &exact, &inner);
  return table != NULL || conf_settings_fail(settings, "nccl.version", error, "%s", inner->message);
}

gboolean coll_knobs_load(const ConfSettings *settings, CollKnobs *ret, GError **error) {
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  gboolean good = conf_settings_fill(settings, &coll_knobs_schema, &knobs, error) &&
                  check_version(settings, knobs.version, error) &&
                  (knobs.min_channels <= knobs.max_channels ||
                   conf_settings_fail(settings, "nccl.min_nchannels", error, "is more than max_nchannels")) &&
                  (knobs.algo == NULL || read_lists(settings, "nccl.algo", knobs.algo, algorithm_names,
                                                    knobs.algorithms, knobs.algorithms_given, error)) &&
                  (knobs.proto == NULL || read_lists(settings, "nccl.proto", knobs.proto, protocol_names,
                                                     knobs.protocols, knobs.protocols_given, error));
  if (good)
    *ret = knobs;
  else
    coll_knobs_clear(&knobs);
  return good;
}

void coll_knobs_clear(CollKnobs *knobs) {
  conf_struct_clear(&coll_knobs_schema, knobs);
}
