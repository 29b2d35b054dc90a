/* SPDX-License-Identifier: MIT */
/* Rows and classes of residuals: private to this floor. */
#pragma once

#include "conf-csv.h"
#include "trust-span.h"
#include "trust.h"

/* Classes, each within the one before it: all rows; those bound by the same, with c10d's checks or without; of them,
 * those of the same kind (trust_margin_kind); of the same framework; of the same architecture. */
typedef enum { TRUST_ALL, TRUST_ON_BOUND, TRUST_ON_KIND, TRUST_ON_FRAMEWORK, TRUST_EXACT, TRUST_LEVELS } TrustLevel;

/* Its texts are cells of the table, but for the options. */
typedef struct {
  const char *id, *source;
  double ratio; /* measured / predicted */
  TrustCase one;
} TrustRow;

typedef struct {
  TrustLevel level;
  const TrustCase *like; /* a row of it */
  TrustSpan span;        /* leaning on the classes around it */
} TrustClass;

/* Those that were asked for. */
typedef struct TrustClasses TrustClasses;
TrustClasses *trust_classes_new(void);
void trust_classes_free(TrustClasses *classes);

/* The narrowest class of the case up to a level, made when it is first asked for; threads may ask at once. NULL: there
 * are too few rows in all. Cost: a look-up; for a new class, a pass over the rows for each level. */
const TrustClass *trust_class_find(const Trust *trust, TrustLevel narrowest, const TrustCase *one);

struct Trust {
  TrustRule rule;
  double bound_from;
  double near[TRUST_NUMBERS];
  char *date, *model_version, *source;
  guint64 n_rows;    /* as residuals.ini says */
  ConfCsv *table;    /* NULL: another's rows */
  GPtrArray *rows;   /* TrustRow, in order of the file */
  GHashTable *words; /* of all rows, which have each once: equal words of theirs are one pointer */
  GArray *margins;   /* TrustMargin */
  TrustClasses *classes;
  char *sum;
};

/* Whether both are of one class of the level. */
gboolean trust_same_class(TrustLevel level, const TrustCase *one, const TrustCase *other);

/* A case with the rows' pointers for words, where a row has them: borrowed from the case and the rows, not cleared. */
TrustCase trust_among(const Trust *trust, const TrustCase *one);

/* Whether each feature is alike; a word by number, then numbers, then the options as a whole. Of a case from
 * trust_among: it is asked of every row for every run. */
static inline gboolean trust_alike_word(const TrustRow *row, const TrustCase *among, TrustWord word) {
  return row->one.words[word] == among->words[word];
}
static inline gboolean trust_alike_number(const Trust *trust, const TrustRow *row, const TrustCase *one,
                                          TrustNumber number) {
  double a = row->one.numbers[number], b = one->numbers[number], factor = trust->near[number];
  return a <= factor * b && b <= factor * a;
}
gboolean trust_alike_options(const TrustRow *row, const TrustCase *one);
/* "group.key=value". */
gboolean trust_has_option(const TrustCase *one, const char *option);

/* Rows that a case is held against: of its architecture and framework, else of its framework, else of its architecture,
 * else all. */
typedef struct {
  GPtrArray *rows; /* TrustRow */
  guint alike;     /* of them */
  GPtrArray *sources;
  const TrustRow *nearest; /* with the fewest differences; NULL: there is no row */
} TrustPeers;
void trust_peers(const Trust *trust, const TrustCase *one, TrustPeers *ret);
void trust_peers_clear(TrustPeers *peers);

/* The verdict's words. `found`: the class whose interval it is, `around`: the one that it is widened to; NULL: there is
 * none. Caller frees. */
char *trust_words(const Trust *trust, const TrustCase *one, const TrustPeers *peers, const TrustClass *found,
                  const TrustClass *around, const char *unlike);
