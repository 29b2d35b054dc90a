/* SPDX-License-Identifier: MIT */
/* Members of an event, and PyTorch's words for collectives and types (torch/csrc/distributed/c10d/ParamCommsUtils.hpp,
 * ProcessGroupNCCL.cpp). */
#include "import-kineto-args.h"

#include <string.h>

#include "coll-call.h"

typedef struct {
  const char *name;
  gsize at; /* of the GString * in ImportKinetoEvent */
  gboolean raw;
} Member;
#define MEMBER(name, member)                                                                                           \
  { name, offsetof(ImportKinetoEvent, member), FALSE }
#define RAW(name, member)                                                                                              \
  { name, offsetof(ImportKinetoEvent, member), TRUE }

static const Member members[] = {MEMBER("ph", ph), MEMBER("cat", cat), MEMBER("name", name),
                                 MEMBER("ts", ts), MEMBER("dur", dur), MEMBER("tid", tid)};
static const Member arguments[] = {MEMBER("device", device),
                                   MEMBER("stream", stream),
                                   MEMBER("correlation", correlation),
                                   MEMBER("bytes", bytes),
                                   MEMBER("Sequence number", sequence),
                                   MEMBER("Fwd thread id", forward),
                                   MEMBER("Record function id", function),
                                   RAW("Input Dims", dims),
                                   RAW("Input Strides", strides),
                                   RAW("Input type", types),
                                   MEMBER("Collective name", collective),
                                   MEMBER("In msg nelems", in),
                                   MEMBER("Out msg nelems", out),
                                   MEMBER("dtype", dtype),
                                   MEMBER("Process Group Name", group),
                                   MEMBER("Group size", group_size),
                                   MEMBER("Process Group Ranks", group_ranks)};

static GString **text_of(ImportKinetoEvent *event, const Member *member) {
  return (GString **)(gpointer)((char *)event + member->at);
}

void import_kineto_event_init(ImportKinetoEvent *event) {
  for (gsize i = 0; i < G_N_ELEMENTS(members); i++)
    *text_of(event, &members[i]) = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(arguments); i++)
    *text_of(event, &arguments[i]) = g_string_new(NULL);
  event->key = g_string_new(NULL);
}

void import_kineto_event_clear(ImportKinetoEvent *event) {
  for (gsize i = 0; i < G_N_ELEMENTS(members); i++)
    g_string_free(*text_of(event, &members[i]), TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS(arguments); i++)
    g_string_free(*text_of(event, &arguments[i]), TRUE);
  g_string_free(event->key, TRUE);
}

static gboolean read_map(ConfPull *pull, ImportKinetoEvent *event, const Member *table, gsize n, GError **error);

gboolean import_kineto_read_raw(ConfPull *pull, GString *text, GError **error) {
  conf_pull_peek(pull);
  const char *from = pull->at;
  if (!conf_pull_value(pull, NULL, error))
    return FALSE;
  g_string_truncate(text, 0);
  g_string_append_len(text, from, pull->at - from);
  return TRUE;
}

typedef struct {
  const char *const *names;
  GString *const *into;
} Named;

static gboolean read_one_of(ConfPull *pull, const char *key, gpointer data, GError **error) {
  const Named *named = data;
  GString *to = NULL;
  for (gsize i = 0; named->names[i] != NULL; i++)
    to = strcmp(key, named->names[i]) == 0 ? named->into[i] : to;
  return conf_pull_value(pull, to, error);
}

gboolean import_kineto_read_members(ConfPull *pull, const char *const *names, GString *const *into, GError **error) {
  g_autoptr(GString) key = g_string_new(NULL);
  Named named = {names, into};
  return conf_pull_map(pull, key, read_one_of, &named, error);
}

/* What is read of a map. */
typedef struct {
  ImportKinetoEvent *event;
  const Member *table;
  gsize n;
} Map;

static gboolean read_one(ConfPull *pull, const char *key, gpointer data, GError **error) {
  const Map *map = data;
  ImportKinetoEvent *event = map->event;
  const Member *table = map->table;
  if (table == members && strcmp(key, "args") == 0)
    return conf_pull_peek(pull) == '{' ? read_map(pull, event, arguments, G_N_ELEMENTS(arguments), error)
                                       : conf_pull_value(pull, NULL, error);
  for (gsize i = 0; i < map->n; i++)
    if (strcmp(key, table[i].name) == 0)
      return table[i].raw ? import_kineto_read_raw(pull, *text_of(event, &table[i]), error)
                          : conf_pull_value(pull, *text_of(event, &table[i]), error);
  return conf_pull_value(pull, NULL, error);
}

static gboolean read_map(ConfPull *pull, ImportKinetoEvent *event, const Member *table, gsize n, GError **error) {
  Map map = {event, table, n};
  return conf_pull_map(pull, event->key, read_one, &map, error);
}

gboolean import_kineto_event_read(ConfPull *pull, ImportKinetoEvent *event, GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(members); i++)
    g_string_truncate(*text_of(event, &members[i]), 0);
  for (gsize i = 0; i < G_N_ELEMENTS(arguments); i++)
    g_string_truncate(*text_of(event, &arguments[i]), 0);
  return read_map(pull, event, members, G_N_ELEMENTS(members), error);
}

gint64 import_kineto_number(const GString *text) {
  gint64 value;
  return g_ascii_string_to_signed(text->str, 10, 0, G_MAXINT64, &value, NULL) ? value : -1;
}

guint64 import_kineto_count(const GString *text) {
  return (guint64)MAX(import_kineto_number(text), 0);
}

GArray *import_kineto_rank_list(const char *text) {
  GArray *ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_auto(GStrv) words = g_strsplit_set(text, "[], ", -1);
  for (char **word = words; *word != NULL; word++) {
    guint64 rank;
    if (**word == '\0')
      continue;
    if (!g_ascii_string_to_unsigned(*word, 10, 0, G_MAXUINT32 - 1, &rank, NULL)) {
      g_array_set_size(ranks, 0);
      return ranks;
    }
    guint32 one = (guint32)rank;
    g_array_append_val(ranks, one);
  }
  return ranks;
}

/* ---- Communication ---- */

/* Whatever the case of letters. */
static gboolean has(const char *text, const char *part) {
  return strcasestr(text, part) != NULL;
}

gboolean import_kineto_communicates(const char *kernel, gboolean *ret_foreign) {
  static const char *const parts[] = {
      "deep_ep", "deepep", "symm_mem", "multimem_", "one_shot_all_reduce", "two_shot_all_reduce"};
  *ret_foreign = FALSE;
  if (has(kernel, "nccl"))
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS(parts) && !*ret_foreign; i++)
    *ret_foreign = has(kernel, parts[i]);
  return *ret_foreign;
}

/* PyTorch's names ("_allgather_base") and NCCL's kernels' ("ncclDevKernel_AllGather_RING_LL"). */
static const struct {
  const char *part;
  CollOperation operation;
  gboolean out; /* the payload is what comes out */
} operations[] = {{"reduce_scatter", COLL_REDUCE_SCATTER, FALSE},
                  {"reducescatter", COLL_REDUCE_SCATTER, FALSE},
                  {"allreduce", COLL_ALL_REDUCE, FALSE},
                  {"all_reduce", COLL_ALL_REDUCE, FALSE},
                  {"allgather", COLL_ALL_GATHER, TRUE},
                  {"all_gather", COLL_ALL_GATHER, TRUE},
                  {"all_to_all", COLL_ALL_TO_ALL, FALSE},
                  {"alltoall", COLL_ALL_TO_ALL, FALSE},
                  {"broadcast", COLL_BROADCAST, FALSE},
                  {"reduce", COLL_REDUCE, FALSE},
                  {"send", COLL_SEND_RECV, FALSE},
                  {"recv", COLL_SEND_RECV, TRUE}};

/* Place in `operations`; -1: none. */
static gint operation_of(const char *text) {
  for (gsize i = 0; i < G_N_ELEMENTS(operations); i++)
    if (has(text, operations[i].part))
      return (gint)i;
  return -1;
}

/* By the name that PyTorch wrote with it, else by the kernel's. */
ImportCollective import_kineto_collective(const ImportKinetoEvent *event) {
  static const ImportCollective told[COLL_OPERATIONS] = {[COLL_ALL_REDUCE] = IMPORT_TRACED_ALL_REDUCE,
                                                         [COLL_ALL_GATHER] = IMPORT_TRACED_ALL_GATHER,
                                                         [COLL_REDUCE_SCATTER] = IMPORT_TRACED_REDUCE_SCATTER,
                                                         [COLL_BROADCAST] = IMPORT_TRACED_OTHER,
                                                         [COLL_REDUCE] = IMPORT_TRACED_OTHER,
                                                         [COLL_SEND_RECV] = IMPORT_TRACED_OTHER,
                                                         [COLL_ALL_TO_ALL] = IMPORT_TRACED_OTHER};
  gint known = operation_of(event->collective->str);
  if (known < 0)
    known = operation_of(event->name->str);
  return known < 0 ? IMPORT_TRACED_OTHER : told[operations[known].operation];
}

guint64 import_kineto_dtype_bytes(const char *dtype) {
  static const struct {
    const char *name;
    guint64 bytes;
  } known[] = {{"Double", 8},   {"Long", 8},     {"Float8", 1},  {"Float", 4},      {"Int", 4},  {"Half", 2},
               {"BFloat16", 2}, {"Short", 2},    {"Char", 1},    {"Byte", 1},       {"Bool", 1}, {"c10::Half", 2},
               {"signed", 1},   {"unsigned", 1}, {"c10::BF", 2}, {"c10::Float8", 1}};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (g_ascii_strncasecmp(dtype, known[i].name, strlen(known[i].name)) == 0)
      return known[i].bytes;
  return 0;
}

guint64 import_kineto_payload(const ImportKinetoEvent *event, int *ret_operation) {
  gint known = operation_of(event->collective->str);
  guint64 bytes;
  if (known < 0 ||
      !g_uint64_checked_mul(&bytes, import_kineto_count(operations[known].out ? event->out : event->in),
                            import_kineto_dtype_bytes(event->dtype->str)) ||
      bytes == 0)
    return 0;
  *ret_operation = operations[known].operation;
  return bytes;
}

/* Of "[[8, 1024], [], [[2], [3]]]" the elements of all tensors: what stands in the innermost lists, multiplied. */
static guint64 elements_of(const char *dims) {
  guint64 sum = 0, product = 1;
  gboolean any = FALSE;
  for (const char *at = dims; *at != '\0'; at++) {
    if (g_ascii_isdigit(*at)) {
      char *end;
      if (!g_uint64_checked_mul(&product, product, g_ascii_strtoull(at, &end, 10)))
        return 0;
      any = TRUE;
      at = end - 1;
    } else if (*at == ']') {
      if (any && !g_uint64_checked_add(&sum, sum, product))
        return 0;
      product = 1;
      any = FALSE;
    }
  }
  return sum;
}

guint64 import_kineto_noted(const ImportKinetoEvent *event, int *ret_operation, gboolean *ret_part) {
  gint known = operation_of(event->name->str);
  const char *type = event->types->str + strspn(event->types->str, "[ \"'");
  guint64 bytes;
  if (known < 0 || !g_uint64_checked_mul(&bytes, elements_of(event->dims->str), import_kineto_dtype_bytes(type)) ||
      bytes == 0)
    return 0;
  *ret_operation = operations[known].operation;
  *ret_part = operations[known].operation == COLL_ALL_GATHER;
  return bytes;
}
