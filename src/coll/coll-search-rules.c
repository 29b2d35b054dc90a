/* SPDX-License-Identifier: MIT */
/* Reads nccl-search.ini: of each table the value in the latest section that is not after the version. */
#include "coll-search-rules.h"

#include <math.h>
#include <string.h>

#include "base-error.h"
#include "base-field.h"
#include "base-version.h"
#include "conf-path.h"
#include "conf-text.h"
#include "hw-catalog.h"

#define FIELD(table, key, kind, member) BASE_ROW(table, key, kind, CollSearchRules, member, .max = INFINITY)
#define LADDER(key, member)             BASE_ROW_UNKEPT("ladders", key, BASE_OWN, AT(member))
#define AT(member)                      .offset = offsetof(CollSearchRules, member)
#define ABOUT(table)                                                                                                   \
  BASE_ROW_UNKEPT(table, "source", BASE_TEXT), BASE_ROW_UNKEPT(table, "trust", BASE_NAME, .names = hw_trust_names),    \
      BASE_ROW_UNKEPT(table, "note", BASE_TEXT)

static const BaseField fields[] = {
    FIELD("links", "nvlink_volta", BASE_BYTE_RATE, nvlink[COLL_NVLINK_VOLTA]),
    FIELD("links", "nvlink_ampere", BASE_BYTE_RATE, nvlink[COLL_NVLINK_AMPERE]),
    FIELD("links", "nvlink_ampere_86", BASE_BYTE_RATE, nvlink[COLL_NVLINK_AMPERE_86]),
    FIELD("links", "nvlink_hopper", BASE_BYTE_RATE, nvlink[COLL_NVLINK_HOPPER]),
    FIELD("links", "nvlink_blackwell", BASE_BYTE_RATE, nvlink[COLL_NVLINK_BLACKWELL]),
    FIELD("links", "pcie_gen1", BASE_BYTE_RATE, pcie[0]),
    FIELD("links", "pcie_gen2", BASE_BYTE_RATE, pcie[1]),
    FIELD("links", "pcie_gen3", BASE_BYTE_RATE, pcie[2]),
    FIELD("links", "pcie_gen4", BASE_BYTE_RATE, pcie[3]),
    FIELD("links", "pcie_gen5", BASE_BYTE_RATE, pcie[4]),
    FIELD("links", "pcie_gen6", BASE_BYTE_RATE, pcie[5]),
    FIELD("links", "pcie_gen7", BASE_BYTE_RATE, pcie[6]),
    FIELD("links", "local", BASE_BYTE_RATE, local),
    FIELD("links", "intel_broadwell", BASE_BYTE_RATE, sockets[COLL_SOCKETS_BROADWELL]),
    FIELD("links", "intel_skylake", BASE_BYTE_RATE, sockets[COLL_SOCKETS_SKYLAKE]),
    FIELD("links", "intel_spr", BASE_BYTE_RATE, sockets[COLL_SOCKETS_SPR]),
    FIELD("links", "intel_emr", BASE_BYTE_RATE, sockets[COLL_SOCKETS_EMR]),
    FIELD("links", "amd", BASE_BYTE_RATE, sockets[COLL_SOCKETS_AMD]),
    FIELD("links", "arm", BASE_BYTE_RATE, sockets[COLL_SOCKETS_ARM]),
    FIELD("links", "power", BASE_BYTE_RATE, sockets[COLL_SOCKETS_POWER]),
    FIELD("links", "intel_peer_cost", BASE_NUMBER, intel_peer_cost),
    FIELD("links", "volta_reverse_share", BASE_NUMBER, volta_reverse_share),
    ABOUT("links"),
    LADDER("early_one_node", ladders[COLL_LADDER_EARLY][0]),
    LADDER("early_nodes", ladders[COLL_LADDER_EARLY][1]),
    LADDER("hopper_one_node", ladders[COLL_LADDER_HOPPER][0]),
    LADDER("hopper_nodes", ladders[COLL_LADDER_HOPPER][1]),
    LADDER("blackwell_one_node", ladders[COLL_LADDER_BLACKWELL][0]),
    LADDER("blackwell_nodes", ladders[COLL_LADDER_BLACKWELL][1]),
    ABOUT("ladders"),
    FIELD("search", "steps", BASE_COUNT, steps),
    FIELD("search", "steps_alike", BASE_COUNT, steps_alike),
    FIELD("search", "steps_pci_order", BASE_COUNT, steps_pci_order),
    FIELD("search", "steps_all", BASE_COUNT, steps_all),
    FIELD("search", "nic_unit", BASE_BYTE_RATE, nic_unit),
    FIELD("search", "lower_share", BASE_NUMBER, lower_share),
    FIELD("search", "raise_share", BASE_NUMBER, raise_share),
    FIELD("search", "halve_speed", BASE_BYTE_RATE, halve_speed),
    FIELD("search", "halve_speed_late", BASE_BYTE_RATE, halve_speed_late),
    FIELD("search", "halve_channels_late", BASE_COUNT, halve_channels_late),
    FIELD("search", "most_channels", BASE_COUNT, most_channels),
    FIELD("search", "most_heads", BASE_COUNT, most_heads),
    FIELD("search", "fallback", BASE_BYTE_RATE, fallback),
    ABOUT("search"),
    FIELD("channels", "doubled", BASE_COUNT, doubled),
    FIELD("channels", "more_speed", BASE_BYTE_RATE, more_speed),
    FIELD("channels", "more_below", BASE_COUNT, more_below),
    FIELD("channels", "nvls_hopper", BASE_COUNT, nvls_hopper),
    FIELD("channels", "nvls_blackwell_one_node", BASE_COUNT, nvls_blackwell_one_node),
    FIELD("channels", "nvls_blackwell_nodes", BASE_COUNT, nvls_blackwell_nodes),
    FIELD("channels", "nvls_blackwell_fast", BASE_COUNT, nvls_blackwell_fast),
    FIELD("channels", "nvls_gpus", BASE_COUNT, nvls_gpus),
    FIELD("channels", "nvls_blackwell_few_gpus", BASE_COUNT, nvls_blackwell_few_gpus),
    FIELD("channels", "nvls_blackwell_nic", BASE_BYTE_RATE, nvls_blackwell_nic),
    FIELD("channels", "nvls_blackwell_nic_fast", BASE_BYTE_RATE, nvls_blackwell_nic_fast),
    FIELD("channels", "p2p_per_nvlink", BASE_COUNT, p2p_per_nvlink),
    FIELD("channels", "p2p_node", BASE_COUNT, p2p_node),
    FIELD("channels", "p2p_net", BASE_COUNT, p2p_net),
    FIELD("channels", "p2p_net_rate", BASE_BYTE_RATE, p2p_net_rate),
    FIELD("channels", "p2p_operations", BASE_COUNT, p2p_operations),
    ABOUT("channels"),
};

/* "links 2.18" in its halves; 0: another table. */
static guint32 section_version(const char *section, const char *table) {
  gsize length = strlen(table);
  guint32 version = 0;
  if (strncmp(section, table, length) == 0 && section[length] == ' ')
    base_version_parse(section + length + 1, &version);
  return version;
}

static const char *section_of(const ConfText *text, const BaseField *field, guint32 version) {
  const char *found = NULL;
  guint32 latest = 0;
  for (const char *const *section = conf_text_groups(text); *section != NULL; section++) {
    guint32 since = section_version(*section, field->group);
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

static gboolean read_value(const BaseField *field, const char *text, CollSearchRules *rules, GError **error) {
  return field->kind == BASE_OWN ? read_ladder(text, base_field_member(field, rules), error)
                                 : base_field_read(field, text, rules, error);
}

static gboolean read_field(const ConfText *text, const BaseField *field, guint32 version, CollSearchRules *rules,
                           GError **error) {
  const char *section = section_of(text, field, version);
  BasePlace place = {.file = conf_text_file(text), .key = field->key};
  if (section == NULL && field->type == BASE_NOWHERE && field->kind != BASE_OWN)
    return TRUE;
  if (section == NULL) {
    g_autofree char *number = base_version_minor_text(version);
    base_error_set_at(error, &place, "[%s] has no such figure for NCCL %s", field->group, number);
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
    if (section_version(section, fields[i].group) > 0 && strcmp(fields[i].key, key) == 0)
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
  guint32 number;
  if (!base_version_parse(version, &number)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected a version of NCCL such as 2.30, found \"%s\"", version);
    return FALSE;
  }
  g_autofree char *path = conf_path_find("nccl-search.ini", NULL, "topologies/catalog", NULL, NULL, error);
  g_autoptr(ConfText) text = path != NULL ? conf_text_load(path, error) : NULL;
  if (text == NULL || !check_sections(text, error))
    return FALSE;
  CollSearchRules rules = {.release = number};
  for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
    if (!read_field(text, &fields[i], number, &rules, error))
      return FALSE;
  *ret = rules;
  return TRUE;
}
