/* SPDX-License-Identifier: MIT */
/* "validated: like 12 rows of llm-foundry; interval of 48 rows (ampere, fsdp1, bound by compute)": what is alike, else
 * what is not and what there was. */
#include <string.h>

#include "trust-state.h"

static const char *const word_forms[TRUST_WORDS] = {
    [TRUST_ARCHITECTURE] = "GPUs of ",  [TRUST_FRAMEWORK] = "framework ",
    [TRUST_BOUND] = "bound by ",        [TRUST_GPU] = "",
    [TRUST_FAMILY] = "model family ",   [TRUST_PRECISION] = "",
    [TRUST_ATTENTION] = "attention ",   [TRUST_COMPILE] = "compile ",
    [TRUST_OPTIMIZER] = "optimizer ",   [TRUST_CHECKPOINTING] = "activation checkpointing ",
    [TRUST_TRAINABLE] = "trainable ",   [TRUST_STAGE] = "ZeRO-",
    [TRUST_SHARDING] = "sharded over ", [TRUST_OFFLOAD] = "offload ",
    [TRUST_NETWORK] = "network ",
};

static void separate(GString *words) {
  g_string_append(words, words->str[words->len - 1] == ' ' ? "" : ", ");
}

/* Distinct values of a word, in order of the rows: "ampere, hopper". */
static void list_values(const GPtrArray *rows, TrustWord word, GString *words) {
  g_autoptr(GPtrArray) seen = g_ptr_array_new();
  for (guint i = 0; i < rows->len; i++) {
    char *value = ((const TrustRow *)g_ptr_array_index(rows, i))->one.words[word];
    if (g_ptr_array_find(seen, value, NULL))
      continue;
    g_string_append_printf(words, "%s%s", seen->len > 0 ? ", " : "", value);
    g_ptr_array_add(seen, value);
  }
}

/* A word that no peer has, and those that they have. */
static gboolean tell_word(const GPtrArray *peers, const TrustCase *one, TrustWord word, GString *words) {
  for (guint i = 0; i < peers->len; i++)
    if (trust_alike_word(g_ptr_array_index(peers, i), one, word))
      return FALSE;
  separate(words);
  g_string_append_printf(words, "%s%s (", word_forms[word], one->words[word]);
  list_values(peers, word, words);
  g_string_append_c(words, ')');
  return TRUE;
}

/* A number outside the range of the peers, by more than makes it unlike the nearest of them. */
static gboolean tell_number(const Trust *trust, const GPtrArray *peers, const TrustCase *one, TrustNumber number,
                            GString *words) {
  double least = 0, most = 0, factor = trust->near[number], value = one->numbers[number];
  for (guint i = 0; i < peers->len; i++) {
    double peer = ((const TrustRow *)g_ptr_array_index(peers, i))->one.numbers[number];
    least = i == 0 ? peer : MIN(least, peer);
    most = i == 0 ? peer : MAX(most, peer);
  }
  if (peers->len == 0 || (value <= factor * most && factor * value >= least))
    return FALSE;
  g_autofree char *shown = trust_number_shown(number, value);
  g_autofree char *from = trust_number_short(number, least), *to = trust_number_short(number, most);
  separate(words);
  if (strcmp(from, to) == 0)
    g_string_append_printf(words, "%s (%s)", shown, to);
  else
    g_string_append_printf(words, "%s (%s to %s)", shown, from, to);
  return TRUE;
}

static gboolean any_has(const GPtrArray *peers, const char *option) {
  for (guint i = 0; i < peers->len; i++)
    if (trust_has_option(&((const TrustRow *)g_ptr_array_index(peers, i))->one, option))
      return TRUE;
  return FALSE;
}

/* Whether the case sets the option's key to something, too. */
static gboolean sets_key(const TrustCase *one, const char *option) {
  gsize length = strcspn(option, "=") + 1;
  for (char **each = one->options; each != NULL && *each != NULL; each++)
    if (strncmp(*each, option, length) == 0)
      return TRUE;
  return FALSE;
}

static gboolean all_set_key(const GPtrArray *peers, const char *option) {
  for (guint i = 0; i < peers->len; i++)
    if (!sets_key(&((const TrustRow *)g_ptr_array_index(peers, i))->one, option))
      return FALSE;
  return TRUE;
}

/* Options that no peer has, and keys that all of them set and the case leaves alone. */
static gboolean tell_options(const GPtrArray *peers, const TrustCase *one, GString *words) {
  gsize before = words->len;
  for (char **option = one->options; option != NULL && *option != NULL; option++)
    if (!any_has(peers, *option)) {
      separate(words);
      g_string_append(words, *option);
    }
  const TrustRow *first = peers->len > 0 ? g_ptr_array_index(peers, 0) : NULL;
  for (char **option = first != NULL ? first->one.options : NULL; option != NULL && *option != NULL; option++)
    if (!sets_key(one, *option) && all_set_key(peers, *option)) {
      const char *value = strchr(*option, '=') + 1;
      separate(words);
      g_string_append_printf(words, "%.*s by default (%s)", (int)(value - 1 - *option), *option, value);
    }
  return words->len > before;
}

/* What no peer has at all. A GPU of another architecture is another GPU anyway. */
static gboolean tell_beyond(const Trust *trust, const TrustPeers *peers, const TrustCase *one, GString *words) {
  gboolean told = tell_word(trust->rows, one, TRUST_FRAMEWORK, words);
  gboolean other = tell_word(peers->rows, one, TRUST_ARCHITECTURE, words);
  told |= other;
  for (int w = TRUST_BOUND; w < TRUST_WORDS; w++)
    if (w != TRUST_GPU || !other)
      told |= tell_word(peers->rows, one, (TrustWord)w, words);
  for (int f = 0; f < TRUST_NUMBERS; f++)
    told |= tell_number(trust, peers->rows, one, (TrustNumber)f, words);
  return tell_options(peers->rows, one, words) || told;
}

/* Each feature was seen, but in no single row: what the nearest has instead. */
static void tell_nearest(const Trust *trust, const TrustRow *nearest, const TrustCase *one, GString *words) {
  g_string_append_printf(words, "nothing had all of this together; the nearest row, %s, has ", nearest->id);
  for (int w = 0; w < TRUST_WORDS; w++)
    if (!trust_alike_word(nearest, one, (TrustWord)w)) {
      separate(words);
      g_string_append_printf(words, "%s%s", word_forms[w], nearest->one.words[w]);
    }
  for (int f = 0; f < TRUST_NUMBERS; f++)
    if (!trust_alike_number(trust, nearest, one, (TrustNumber)f)) {
      g_autofree char *shown = trust_number_shown((TrustNumber)f, nearest->one.numbers[f]);
      separate(words);
      g_string_append(words, shown);
    }
  for (char **option = nearest->one.options; option != NULL && *option != NULL; option++)
    if (!trust_has_option(one, *option)) {
      separate(words);
      g_string_append(words, *option);
    }
  for (char **option = one->options; option != NULL && *option != NULL; option++)
    if (!sets_key(&nearest->one, *option)) {
      separate(words);
      g_string_append_printf(words, "%.*s by default", (int)strcspn(*option, "="), *option);
    }
}

static void tell_rows(GString *words, guint rows) {
  g_string_append_printf(words, "%u row%s", rows, rows == 1 ? "" : "s");
}

/* "(ampere, fsdp1, data-parallel, compute-bound)" of the narrowest, less of wider ones. */
static void tell_level(const TrustClass *class, GString *words) {
  const TrustCase *like = class->like;
  if (class->level == TRUST_ALL)
    return;
  g_string_append(words, " (");
  if (class->level >= TRUST_EXACT)
    g_string_append_printf(words, "%s, ", like->words[TRUST_ARCHITECTURE]);
  if (class->level >= TRUST_ON_FRAMEWORK)
    g_string_append_printf(words, "%s, ", like->words[TRUST_FRAMEWORK]);
  if (class->level >= TRUST_ON_KIND)
    g_string_append_printf(words, "%s, ", trust_margin_kind(like));
  g_string_append_printf(words, "%s-bound)", like->words[TRUST_BOUND]);
}

/* Whose residuals the interval is made of. */
static void tell_class(const Trust *trust, const TrustPeers *peers, const TrustClass *found, const TrustClass *around,
                       GString *words) {
  if (found == NULL) {
    g_string_append(words, "; no interval is known: ");
    tell_rows(words, trust->rows->len);
    g_string_append_printf(words, " in all, of %u that it takes", trust_span_least((guint)trust->rule.coverage));
    return;
  }
  g_string_append_printf(words, "; %u %% interval of ", (guint)trust->rule.coverage);
  if (found->level == TRUST_ALL)
    g_string_append(words, "all ");
  tell_rows(words, found->span.rows);
  tell_level(found, words);
  if (found->level > TRUST_ALL)
    g_string_append_printf(words, ", leaning on all %u", trust->rows->len);
  if (peers->alike > 0 || around == found)
    return;
  g_string_append_printf(words, ", widened to that of %u", around->span.rows);
  tell_level(around, words);
}

char *trust_words(const Trust *trust, const TrustCase *one, const TrustPeers *peers, const TrustClass *found,
                  const TrustClass *around, const char *unlike) {
  GString *words = g_string_new(NULL);
  if (peers->alike > 0) {
    g_string_append(words, "validated: like ");
    tell_rows(words, peers->alike);
    g_string_append(words, " of ");
    for (guint i = 0; i < peers->sources->len; i++)
      g_string_append_printf(words, "%s%s", i > 0 ? ", " : "", (const char *)g_ptr_array_index(peers->sources, i));
  } else {
    g_string_append(words, "beyond what was validated (in brackets what was): ");
    if (unlike != NULL)
      g_string_append(words, unlike);
    else if (!tell_beyond(trust, peers, one, words) && peers->nearest != NULL)
      tell_nearest(trust, peers->nearest, one, words);
  }
  tell_class(trust, peers, found, around, words);
  if (strcmp(trust->model_version, RUN_MODEL_VERSION) != 0)
    g_string_append_printf(words, "; its residuals are those of model version %s, this is %s", trust->model_version,
                           RUN_MODEL_VERSION);
  return g_string_free(words, FALSE);
}
