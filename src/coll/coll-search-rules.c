/* Reads nccl-search.ini: of each table the value in the latest section that is not after the version. */
#include "coll-search-rules.h"

#include <math.h>
#include <string.h>

#include "base-error.h"
#include "base-quantity.h"
#include "conf-path.h"
#include "conf-text.h"

typedef enum { RATE, COUNT, STEPS, SHARE, LADDER, NOTE } Kind;

typedef struct {
  const char *table, *key;
  Kind kind;
  gsize offset;
} Field;

#define FIELD(table_, key_, kind_, field_)                                                                             \
  { table_, key_, kind_, G_STRUCT_OFFSET(CollSearchRules, field_) }
#define ABOUT(table_)                                                                                                  \
  {table_, "source", NOTE, 0}, {table_, "trust", NOTE, 0}, {                                                           \
    table_, "note", NOTE, 0                                                                                            \
  }

static const Field fields[] = {
    FIELD("links", "nvlink_volta", RATE, nvlink[COLL_NVLINK_VOLTA]),
    FIELD("links", "nvlink_ampere", RATE, nvlink[COLL_NVLINK_AMPERE]),
    FIELD("links", "nvlink_ampere_86", RATE, nvlink[COLL_NVLINK_AMPERE_86]),
    FIELD("links", "nvlink_hopper", RATE, nvlink[COLL_NVLINK_HOPPER]),
    FIELD("links", "nvlink_blackwell", RATE, nvlink[COLL_NVLINK_BLACKWELL]),
    FIELD("links", "pcie_gen1", RATE, pcie[0]),
    FIELD("links", "pcie_gen2", RATE, pcie[1]),
    FIELD("links", "pcie_gen3", RATE, pcie[2]),
    FIELD("links", "pcie_gen4", RATE, pcie[3]),
    FIELD("links", "pcie_gen5", RATE, pcie[4]),
    FIELD("links", "pcie_gen6", RATE, pcie[5]),
    FIELD("links", "pcie_gen7", RATE, pcie[6]),
    FIELD("links", "local", RATE, local),
    FIELD("links", "intel_broadwell", RATE, sockets[COLL_SOCKETS_BROADWELL]),
    FIELD("links", "intel_skylake", RATE, sockets[COLL_SOCKETS_SKYLAKE]),
    FIELD("links", "intel_spr", RATE, sockets[COLL_SOCKETS_SPR]),
    FIELD("links", "intel_emr", RATE, sockets[COLL_SOCKETS_EMR]),
    FIELD("links", "amd", RATE, sockets[COLL_SOCKETS_AMD]),
    FIELD("links", "arm", RATE, sockets[COLL_SOCKETS_ARM]),
    FIELD("links", "power", RATE, sockets[COLL_SOCKETS_POWER]),
    FIELD("links", "intel_peer_cost", SHARE, intel_peer_cost),
    FIELD("links", "volta_reverse_share", SHARE, volta_reverse_share),
    ABOUT("links"),
    FIELD("ladders", "early_one_node", LADDER, ladders[COLL_LADDER_EARLY][0]),
    FIELD("ladders", "early_nodes", LADDER, ladders[COLL_LADDER_EARLY][1]),
    FIELD("ladders", "hopper_one_node", LADDER, ladders[COLL_LADDER_HOPPER][0]),
    FIELD("ladders", "hopper_nodes", LADDER, ladders[COLL_LADDER_HOPPER][1]),
    FIELD("ladders", "blackwell_one_node", LADDER, ladders[COLL_LADDER_BLACKWELL][0]),
    FIELD("ladders", "blackwell_nodes", LADDER, ladders[COLL_LADDER_BLACKWELL][1]),
    ABOUT("ladders"),
    FIELD("search", "steps", STEPS, steps),
    FIELD("search", "steps_alike", STEPS, steps_alike),
    FIELD("search", "steps_pci_order", STEPS, steps_pci_order),
    FIELD("search", "steps_all", STEPS, steps_all),
    FIELD("search", "nic_unit", RATE, nic_unit),
    FIELD("search", "lower_share", SHARE, lower_share),
    FIELD("search", "raise_share", SHARE, raise_share),
    FIELD("search", "halve_speed", RATE, halve_speed),
    FIELD("search", "halve_speed_late", RATE, halve_speed_late),
    FIELD("search", "halve_channels_late", COUNT, halve_channels_late),
    FIELD("search", "most_channels", COUNT, most_channels),
    FIELD("search", "most_heads", COUNT, most_heads),
    FIELD("search", "fallback", RATE, fallback),
    ABOUT("search"),
    FIELD("channels", "doubled", COUNT, doubled),
    FIELD("channels", "more_speed", RATE, more_speed),
    FIELD("channels", "more_below", COUNT, more_below),
    FIELD("channels", "nvls_hopper", COUNT, nvls_hopper),
    FIELD("channels", "nvls_blackwell_one_node", COUNT, nvls_blackwell_one_node),
    FIELD("channels", "nvls_blackwell_nodes", COUNT, nvls_blackwell_nodes),
    FIELD("channels", "nvls_blackwell_fast", COUNT, nvls_blackwell_fast),
    FIELD("channels", "nvls_gpus", COUNT, nvls_gpus),
    FIELD("channels", "nvls_blackwell_few_gpus", COUNT, nvls_blackwell_few_gpus),
    FIELD("channels", "nvls_blackwell_nic", RATE, nvls_blackwell_nic),
    FIELD("channels", "nvls_blackwell_nic_fast", RATE, nvls_blackwell_nic_fast),
    FIELD("channels", "p2p_per_nvlink", COUNT, p2p_per_nvlink),
    FIELD("channels", "p2p_node", COUNT, p2p_node),
    FIELD("channels", "p2p_net", COUNT, p2p_net),
    FIELD("channels", "p2p_net_rate", RATE, p2p_net_rate),
    FIELD("channels", "p2p_operations", COUNT, p2p_operations),
    ABOUT("channels"),
};

/* "2.30.7" as 2030; 0: none. */
static guint read_version(const char *text) {
  g_auto(GStrv) parts = g_strsplit(text, ".", -1);
  guint64 major, minor;
  if (g_strv_length(parts) < 2 || !g_ascii_string_to_unsigned(parts[0], 10, 1, 99, &major, NULL) ||
      !g_ascii_string_to_unsigned(parts[1], 10, 0, 999, &minor, NULL))
    return 0;
  return (guint)(major * 1000 + minor);
}

/* "links 2.18" in its halves; 0: another table. */
static guint section_version(const char *section, const char *table) {
  gsize length = strlen(table);
  return strncmp(section, table, length) == 0 && section[length] == ' ' ? read_version(section + length + 1) : 0;
}

static const char *section_of(const ConfText *text, const Field *field, guint version) {
  const char *found = NULL;
  guint latest = 0;
  for (const char *const *section = conf_text_groups(text); *section != NULL; section++) {
    guint since = section_version(*section, field->table);
    if (since == 0 || since > version || since < latest || conf_text_get(text, *section, field->key) == NULL)
      continue;
    found = *section;
    latest = since;
  }
  return found;
}

static gboolean read_ladder(const char *text, CollLadder *ret, GError **error) {
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  for (char **word = words; *word != NULL; word++) {
    if (**word == '\0')
      continue;
    g_autofree char *rate = g_strconcat(*word, " GB/s", NULL);
    double speed;
    if (!base_quantity_parse(rate, BASE_UNIT_BYTE_RATE, &speed, error))
      return FALSE;
    if (ret->n == COLL_LADDER_STEPS || speed <= 0 || (ret->n > 0 && speed >= (double)ret->speeds[ret->n - 1])) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected at most %u falling speeds, found \"%s\"",
                  COLL_LADDER_STEPS, text);
      return FALSE;
    }
    ret->speeds[ret->n++] = (gint64)llround(speed);
  }
  return TRUE;
}

static gboolean read_value(const Field *field, const char *text, CollSearchRules *rules, GError **error) {
  gpointer target = G_STRUCT_MEMBER_P(rules, field->offset);
  if (field->kind == NOTE)
    return TRUE;
  if (field->kind == LADDER)
    return read_ladder(text, target, error);
  double value;
  if (!base_quantity_parse(text, field->kind == RATE ? BASE_UNIT_BYTE_RATE : BASE_UNIT_NONE, &value, error))
    return FALSE;
  if (value < 0 || (field->kind != SHARE && value != floor(value))) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" is not a whole number", text);
    return FALSE;
  }
  if (field->kind == SHARE)
    *(double *)target = value;
  else if (field->kind == COUNT)
    *(guint32 *)target = (guint32)value;
  else
    *(gint64 *)target = (gint64)llround(value);
  return TRUE;
}

static gboolean read_field(const ConfText *text, const Field *field, guint version, CollSearchRules *rules,
                           GError **error) {
  const char *section = section_of(text, field, version);
  BasePlace place = {.file = conf_text_file(text), .key = field->key};
  if (section == NULL && field->kind == NOTE)
    return TRUE;
  if (section == NULL) {
    base_error_set_at(error, &place, "[%s] has no such figure for NCCL %u.%u", field->table, version / 1000,
                      version % 1000);
    return FALSE;
  }
  if (read_value(field, conf_text_get(text, section, field->key), rules, error))
    return TRUE;
  conf_text_place(text, section, field->key, &place);
  place.key = field->key;
  base_error_prefix_at(error, &place);
  return FALSE;
}

static gboolean check_key(const ConfText *text, const char *section, const char *key, GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
    if (section_version(section, fields[i].table) > 0 && strcmp(fields[i].key, key) == 0)
      return TRUE;
  BasePlace place;
  conf_text_place(text, section, key, &place);
  place.key = key;
  base_error_set_at(error, &place, "no such figure in [%s]", section);
  return FALSE;
}

/* Every key is known, every section says where it is from. */
static gboolean check_sections(const ConfText *text, GError **error) {
  for (const char *const *section = conf_text_groups(text); *section != NULL; section++) {
    for (const char *const *key = conf_text_keys(text, *section); *key != NULL; key++)
      if (!check_key(text, *section, *key, error))
        return FALSE;
    if (conf_text_get(text, *section, "source") == NULL || conf_text_get(text, *section, "trust") == NULL) {
      BasePlace place;
      conf_text_place(text, *section, NULL, &place);
      place.key = *section;
      base_error_set_at(error, &place, "lacks \"source\" or \"trust\"");
      return FALSE;
    }
  }
  return TRUE;
}

gboolean coll_search_rules_load(const char *version, CollSearchRules *ret, GError **error) {
  guint number = read_version(version);
  if (number == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected a version of NCCL such as 2.30, found \"%s\"", version);
    return FALSE;
  }
  g_autofree char *path = conf_path_find("nccl-search.ini", NULL, "topologies/catalog", NULL, NULL, error);
  g_autoptr(ConfText) text = path != NULL ? conf_text_load(path, error) : NULL;
  if (text == NULL || !check_sections(text, error))
    return FALSE;
  CollSearchRules rules = {0};
  for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
    if (!read_field(text, &fields[i], number, &rules, error))
      return FALSE;
  *ret = rules;
  return TRUE;
}
