/* SPDX-License-Identifier: MIT */
/* What a cluster is offered for, and which of several offers is the better one.
 *
 *   StudyOffer offers[] = {{.report = a, .days = 31}, {.report = b, .days = 40}};
 *   for (…) if (!study_quote_read(offers[i].report, &offers[i].quote, error)) return FALSE;
 *   study_offers_weigh(offers, 2, 0, STUDY_QUOTE_SEED);
 *   … offers[0].cost.total, offers[0].wins, offers[1].breaks_even_at …
 *
 * A training of `days` costs
 *
 *   GPUs × (up_front + gpu_hour × hours that are paid) + electricity where it is extra
 *
 * of all GPUs, those of spare nodes ([reliability] spare_nodes) among them, which draw nothing.
 * and paid is the longer of the training and the committed term. Who keeps the GPUs after the training has them for
 * what is left of the term; that is not counted as worth anything.
 *
 * How sure the cheapest is: cases are drawn from a seed. In each, every step is as much longer or shorter than foretold
 * as a draw from its interval says (straight between its ends, which hold 80 % of cases, and the step at the middle),
 * one draw for all offers of one kind of GPU, since what errs there errs alike; and the prices of each topology
 * are moved by a draw within their spread. A case is won by the cheapest of those that end in time. */
#pragma once

#include "run-report.h"

#define STUDY_QUOTE_SEED  20260101
#define STUDY_QUOTE_CASES 4000

typedef struct {
  gboolean given;   /* a key of [quote] is there */
  double gpu_hour;  /* USD */
  double term;      /* seconds; 0: none */
  double up_front;  /* USD for a GPU */
  gboolean extra;   /* electricity is not in the price */
  double kwh_price; /* USD; of `extra` */
  double spread;    /* of prices, a share of them */
  double spares;    /* GPUs of spare nodes, which are paid as the others are */
  guint32 delivery; /* day, as GDate counts (g_date_get_julian); 0: at once */
} StudyQuote;

typedef struct {
  double days;                        /* that are paid */
  double rent, up_front, electricity; /* USD */
  double total, per_month;            /* USD; a month is a twelfth of 365.25 days */
} StudyCost;

typedef struct {
  const RunReport *report; /* with its days_to_train */
  double days;             /* of the training as it will be, failures included */
  StudyQuote quote;
  StudyCost cost;         /* the rest: study_offers_weigh's */
  double wins;            /* share of the cases; all of them may be lost where none ends in time */
  double breaks_even_at;  /* USD for a GPU-hour at which it costs what the cheapest other does; 0: at no price */
  double breaks_even_for; /* trainings like this one after which it costs what the cheapest does; 0: never */
} StudyOffer;

/* From the settings that the report was made under. Errors: a delivery that is no day; electricity that is extra at no
 * price. */
gboolean study_quote_read(const RunReport *report, StudyQuote *ret, GError **error);
/* Of `trainings` of so many days, one after the other. */
StudyCost study_quote_cost(const StudyQuote *quote, const RunReport *report, double days, double trainings);
/* `limit`: days within which it must end, from delivery on; 0: none. */
void study_offers_weigh(StudyOffer *offers, guint n, double limit, guint32 seed);
