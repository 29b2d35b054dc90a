/* SPDX-License-Identifier: MIT */
/* Files that people take for a profiler's trace, known by how they begin: what they are, and where to go with them. */
#include <string.h>

#include "base-error.h"
#include "import-kineto-read.h"

#define LOOK ((gsize)4096) /* so much of a file is looked at */

/* First words of ASTRA-sim's and SimAI's workload texts (astra-sim Workload.cc, ParallelismPolicy). */
static gboolean is_workload(const char *head) {
  static const char *const policies[] = {"MICRO",
                                         "DATA",
                                         "MODEL",
                                         "HYBRID_DATA_MODEL",
                                         "HYBRID_MODEL_DATA",
                                         "HYBRID_DLRM",
                                         "HYBRID_TRANSFORMER",
                                         "HYBRID_CUSTOMIZED",
                                         "DISTRIBUTED_INFERENCE"};
  for (gsize i = 0; i < G_N_ELEMENTS(policies); i++)
    if (g_str_has_prefix(head, policies[i]))
      return TRUE;
  return FALSE;
}

static gboolean is_simai_topology(const char *head) {
  return g_ascii_isdigit(*head) && strstr(head, "Gbps") != NULL && strstr(head, "ms ") != NULL;
}

static gboolean is_htsim(const char *head) {
  return g_str_has_prefix(head, "Nodes ") && strstr(head, "Tiers ") != NULL;
}

static gboolean is_astra_network(const char *head) {
  return strstr(head, "topology:") != NULL && strstr(head, "npus_count") != NULL;
}

static gboolean is_logical(const char *head) {
  return *head == '{' && strstr(head, "\"logical-dims\"") != NULL;
}

static gboolean is_astra_system(const char *head) {
  return *head == '{' && strstr(head, "\"scheduling-policy\"") != NULL;
}

/* A length, then GlobalMetadata, whose attributes or version are texts: no text file begins so. */
static gboolean is_chakra(const char *head) {
  return head[0] != '\0' && head[0] != '{' && head[0] != '[' && (head[1] == 0x12 || head[1] == 0x0a) &&
         !g_ascii_isspace(head[0]) && g_utf8_validate(head, 1, NULL) && (head[2] < ' ' || head[3] < ' ');
}

#define NETWORK "; say the network under [cluster] and [node] (foretrain list settings)"

static const struct {
  gboolean (*is)(const char *head);
  const char *what;
} others[] = {
    {is_workload,
     "is a workload of ASTRA-sim or SimAI, whose layers have times and messages but no kernels; import the "
     "model's own recipe (foretrain import recipe) or profile a step of it"},
    {is_simai_topology, "is a topology of SimAI" NETWORK},
    {is_htsim, "is a topology of htsim" NETWORK},
    {is_astra_network, "is a network of ASTRA-sim" NETWORK},
    {is_logical, "is a logical topology of ASTRA-sim" NETWORK},
    {is_astra_system,
     "is a system of ASTRA-sim: which algorithm each dimension uses; NCCL's choice is set under [nccl] "
     "(foretrain list settings)"},
    {is_chakra, "is a Chakra trace; read it with foretrain import chakra"},
};

gboolean import_kineto_check(const char *path, const char *data, gsize length, GError **error) {
  g_autofree char *head = g_strndup(data != NULL ? data : "", MIN(length, LOOK));
  if (length < 4)
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
    if (others[i].is(head)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: %s", path, others[i].what);
      return FALSE;
    }
  return TRUE;
}
