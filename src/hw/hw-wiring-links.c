/* SPDX-License-Identifier: MIT */
/* [nvlink] and [nics] lines.
 *
 *   gpu.0 = gpu.1*4 gpu.2 switch*6 c2c@360GB/s
 *   nic.0 = rate:200Gb/s latency:5us card:0 port:1 gdr:no
 */
#include <string.h>

#include "base-names.h"
#include "hw-wiring.h"

#define MOST_LINKS 64

static gboolean set_pair(HwMachine *machine, const HwLine *line, guint32 a, guint32 b, guint32 count, GError **error) {
  guint32 *there = &machine->nvlinks[a * machine->gpus + b];
  if (a == b || (*there != 0 && *there != count)) {
    if (a == b)
      base_error_set_at(error, &line->place, "gpu.%u has no NVLink to itself", a);
    else
      base_error_set_at(error, &line->place, "%s: %u links to gpu.%u, but %u were stated before", line->key, count, b,
                        *there);
    return FALSE;
  }
  *there = machine->nvlinks[b * machine->gpus + a] = count;
  return TRUE;
}

static gboolean read_c2c(HwMachine *machine, const HwLine *line, guint32 gpu, const char *word, GError **error) {
  g_autoptr(GError) wrong = NULL;
  if (base_quantity_parse(word, BASE_UNIT_BYTE_RATE, &machine->c2c[gpu], &wrong) && machine->c2c[gpu] > 0)
    return TRUE;
  base_error_set_at(error, &line->place, "%s: expected a rate such as c2c@360GB/s, found \"%s\"", line->key, word);
  return FALSE;
}

static gboolean read_word(HwMachine *machine, const HwLine *line, guint32 gpu, char *word, GError **error) {
  if (g_str_has_prefix(word, "c2c@"))
    return read_c2c(machine, line, gpu, word + strlen("c2c@"), error);
  guint64 count = 1;
  char *star = strchr(word, '*');
  if (star != NULL) {
    *star++ = '\0';
    if (!g_ascii_string_to_unsigned(star, 10, 1, MOST_LINKS, &count, NULL)) {
      base_error_set_at(error, &line->place, "%s: expected 1 to %u links after \"%s*\", found \"%s\"", line->key,
                        MOST_LINKS, word, star);
      return FALSE;
    }
  }
  if (strcmp(word, "switch") == 0) {
    machine->switch_nvlinks[gpu] = (guint32)count;
    return TRUE;
  }
  const guint32 counts[4] = {0, 0, machine->gpus, 0};
  HwPartKind kind;
  guint32 peer;
  return hw_line_part(line, word, counts, &kind, &peer, error) &&
         set_pair(machine, line, gpu, peer, (guint32)count, error);
}

gboolean hw_wiring_nvlinks(HwMachine *machine, const HwLines *lines, GError **error) {
  const guint32 counts[4] = {0, 0, machine->gpus, 0};
  for (guint i = 0; i < lines->n; i++) {
    const HwLine *line = &lines->lines[i];
    HwPartKind kind;
    guint32 gpu;
    if (!hw_line_part(line, line->key, counts, &kind, &gpu, error))
      return FALSE;
    g_auto(GStrv) words = g_strsplit_set(line->value, " \t", -1);
    for (char **word = words; *word != NULL; word++)
      if (**word != '\0' && !read_word(machine, line, gpu, *word, error))
        return FALSE;
  }
  return TRUE;
}

static const char *const facts[] = {"rate", "latency", "card", "port", "gdr", NULL};
enum { RATE, LATENCY, CARD, PORT, GDR };
static const char *const no_yes[] = {"no", "yes", NULL};

static gboolean read_fact(const HwLine *line, const char *word, HwMachineNic *nic, GError **error) {
  const char *colon = strchr(word, ':');
  g_autofree char *name = colon != NULL ? g_strndup(word, (gsize)(colon - word)) : g_strdup(word);
  int fact = base_names_find(facts, name);
  if (colon == NULL || fact < 0) {
    g_autofree char *all = base_names_join(facts);
    base_error_set_at(error, &line->place, "%s: expected words such as rate:200Gb/s, one of %s, found \"%s\"",
                      line->key, all, word);
    return FALSE;
  }
  double number = 0;
  guint64 count = 0;
  int flag = base_names_find(no_yes, colon + 1);
  gboolean good = fact == RATE      ? base_quantity_parse(colon + 1, BASE_UNIT_BYTE_RATE, &number, NULL) && number > 0
                  : fact == LATENCY ? base_quantity_parse(colon + 1, BASE_UNIT_TIME, &number, NULL) && number >= 0
                  : fact == GDR     ? flag >= 0
                                    : g_ascii_string_to_unsigned(colon + 1, 10, 0, G_MAXUINT32, &count, NULL);
  if (!good) {
    base_error_set_at(error, &line->place,
                      "%s: \"%s\" is no %s of a NIC (rate:200Gb/s latency:5us card:0 port:1 gdr:no)", line->key,
                      colon + 1, name);
    return FALSE;
  }
  if (fact == RATE)
    nic->rate = number;
  else if (fact == LATENCY)
    nic->latency = sim_time_from_seconds(number);
  else if (fact == GDR)
    nic->gdr = flag;
  else
    *(fact == CARD ? &nic->card : &nic->port) = (guint32)count;
  return TRUE;
}

gboolean hw_wiring_nics(HwMachine *machine, const HwLines *lines, GError **error) {
  const guint32 counts[4] = {0, 0, 0, machine->nics};
  for (guint i = 0; i < lines->n; i++) {
    const HwLine *line = &lines->lines[i];
    HwPartKind kind;
    guint32 nic;
    if (!hw_line_part(line, line->key, counts, &kind, &nic, error))
      return FALSE;
    g_auto(GStrv) words = g_strsplit_set(line->value, " \t", -1);
    for (char **word = words; *word != NULL; word++)
      if (**word != '\0' && !read_fact(line, *word, &machine->nic[nic], error))
        return FALSE;
  }
  return TRUE;
}
