/* SPDX-License-Identifier: MIT */
/* Offers on one page: what a training costs under each, in all and by month, when it is done, at which price or after
 * how many trainings it costs the same as the cheapest, and in which share of cases it is the cheapest. */
#pragma once

#include "base-json.h"
#include "study-quote.h"

/* Whether they are offers to compare: several, one has a quote, and how long the training takes is known of all. */
gboolean report_quotes_wanted(const StudyOffer *offers, guint n);
/* Weighed offers (study_offers_weigh). */
void report_quotes(const StudyOffer *offers, guint n, GString *text);
/* A list "quotes": {"topology", "nodes", "days", "paid_days", "cost", "cost_per_month", "up_front", "electricity",
 * "done" (day, or null), "wins", "breaks_even_gpu_hour", "breaks_even_trainings" (null: at no price, never)}. */
void report_quotes_json(const StudyOffer *offers, guint n, BaseJson *json);
