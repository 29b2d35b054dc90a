/* SPDX-License-Identifier: MIT */
/* Costs, break-evens by bisection, and cases drawn from a seed. */
#include "study-quote.h"

#include <stdio.h>

#include "base-error.h"

#define HOURS_PER_DAY      (BASE_DAY / BASE_HOUR)
#define DAYS_PER_MONTH     (365.25 / 12)
#define MOST_TRAININGS     1000.0
#define HALVINGS           50
#define LEAST_STEP         0.05 /* of what is foretold */
#define HALF_OF_THE_MIDDLE 0.4  /* an interval holds 80 % of cases, 40 % to either side */

/* A canonical value ("3600 s", "0.1"): its unit is the base. */
static double number(const RunIdentity *identity, const char *name, double otherwise) {
  const char *value = run_identity_setting(identity, name);
  return value != NULL ? g_ascii_strtod(value, NULL) : otherwise;
}

static gboolean read_day(const char *text, guint32 *ret) {
  gint year, month, day;
  char end;
  if (sscanf(text, "%4d-%2d-%2d%c", &year, &month, &day, &end) != 3 || month < 1 || month > 12 || day < 1 || day > 31 ||
      year < 1 || !g_date_valid_dmy((GDateDay)day, (GDateMonth)month, (GDateYear)year))
    return FALSE;
  GDate date;
  g_date_clear(&date, 1);
  g_date_set_dmy(&date, (GDateDay)day, (GDateMonth)month, (GDateYear)year);
  *ret = g_date_get_julian(&date);
  return TRUE;
}

gboolean study_quote_read(const RunReport *report, StudyQuote *ret, GError **error) {
  const RunIdentity *identity = &report->identity;
  double hours = sim_time_to_seconds(run_report_slowest(report)->step) / BASE_HOUR;
  StudyQuote quote = {.gpu_hour = report->price_per_step / (hours * identity->gpus),
                      .term = number(identity, "quote.term", 0),
                      .up_front = number(identity, "quote.up_front", 0),
                      .extra = g_strcmp0(run_identity_setting(identity, "quote.power"), "extra") == 0,
                      .kwh_price = number(identity, "power.kwh_price", 0),
                      .spread = number(identity, "quote.price_spread", 0)};
  quote.spares = number(identity, "reliability.spare_nodes", 0) * identity->gpus / identity->nodes;
  const char *delivery = run_identity_setting(identity, "quote.delivery");
  for (guint32 i = 0; i < identity->n_settings; i++)
    quote.given |= g_str_has_prefix(identity->settings[i].name, "quote.");
  if (delivery != NULL && !read_day(delivery, &quote.delivery)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: quote.delivery: expected a day, as in 2027-03-01, found \"%s\"",
                identity->topology, delivery);
    return FALSE;
  }
  if (quote.extra && quote.kwh_price <= 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: quote.power = extra: say what electricity costs, as in power.kwh_price = 0.08 USD",
                identity->topology);
    return FALSE;
  }
  *ret = quote;
  return TRUE;
}

StudyCost study_quote_cost(const StudyQuote *quote, const RunReport *report, double days, double trainings) {
  double gpus = report->identity.gpus + quote->spares, used = days * trainings;
  StudyCost cost = {.days = MAX(used, quote->term / BASE_DAY), .up_front = quote->up_front * gpus};
  cost.rent = quote->gpu_hour * gpus * HOURS_PER_DAY * cost.days;
  if (quote->extra && report->days_to_train > 0)
    cost.electricity = report->energy_to_train * quote->kwh_price * used / report->days_to_train;
  cost.total = cost.rent + cost.up_front + cost.electricity;
  cost.per_month = cost.days > 0 ? cost.total / (cost.days / DAYS_PER_MONTH) : 0;
  return cost;
}

static double total(const StudyOffer *offer, double trainings) {
  return study_quote_cost(&offer->quote, offer->report, offer->days, trainings).total;
}

/* Trainings after which `offer` no longer costs more than `cheapest`. */
static double trainings_until(const StudyOffer *offer, const StudyOffer *cheapest) {
  double low = 1, high = MOST_TRAININGS;
  if (total(offer, high) >= total(cheapest, high))
    return 0;
  for (int i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    if (total(offer, middle) > total(cheapest, middle))
      low = middle;
    else
      high = middle;
  }
  return high;
}

static void break_even(StudyOffer *offers, guint n, guint of) {
  StudyOffer *offer = &offers[of];
  guint other = of == 0 ? 1 : 0;
  for (guint i = 0; i < n; i++)
    if (i != of && offers[i].cost.total < offers[other].cost.total)
      other = i;
  double hours = (offer->report->identity.gpus + offer->quote.spares) * HOURS_PER_DAY * offer->cost.days;
  double left = offers[other].cost.total - offer->cost.up_front - offer->cost.electricity;
  offer->breaks_even_at = left > 0 && hours > 0 ? left / hours : 0;
  offer->breaks_even_for = offers[other].cost.total < offer->cost.total ? trainings_until(offer, &offers[other]) : 0;
}

/* How much longer than foretold a step is, where a draw between 0 and 1 says how unlucky the case is. */
static double step_factor(const RunReport *report, double draw) {
  double step = (double)run_report_slowest(report)->step, away = (draw - 0.5) / HALF_OF_THE_MIDDLE;
  if (report->step_low == 0)
    return 1;
  double reach = away < 0 ? 1 - (double)report->step_low / step : (double)report->step_high / step - 1;
  return MAX(1 + away * reach, LEAST_STEP);
}

/* Draws of one case: of steps by kind of GPU, of prices by topology. */
static void draw(GRand *random, const StudyOffer *offers, guint n, double *ret_steps, double *ret_prices) {
  for (guint i = 0; i < n; i++) {
    const RunIdentity *identity = &offers[i].report->identity;
    double price = g_rand_double(random);
    ret_steps[i] = g_rand_double(random);
    ret_prices[i] = 1 + offers[i].quote.spread * (2 * price - 1);
    for (guint k = 0; k < i; k++) {
      const RunIdentity *other = &offers[k].report->identity;
      if (g_str_equal(other->gpu, identity->gpu))
        ret_steps[i] = ret_steps[k];
      if (g_str_equal(other->topology, identity->topology))
        ret_prices[i] = ret_prices[k];
    }
  }
}

/* The offer that wins a case; n: none ends in time. */
static guint winner(const StudyOffer *offers, guint n, double limit, const double *steps, const double *prices) {
  guint best = n;
  double least = 0;
  for (guint i = 0; i < n; i++) {
    StudyQuote quote = offers[i].quote;
    double days = offers[i].days * step_factor(offers[i].report, steps[i]);
    quote.gpu_hour *= prices[i];
    quote.up_front *= prices[i];
    double cost = study_quote_cost(&quote, offers[i].report, days, 1).total;
    if ((limit <= 0 || days <= limit) && (best == n || cost < least)) {
      best = i;
      least = cost;
    }
  }
  return best;
}

void study_offers_weigh(StudyOffer *offers, guint n, double limit, guint32 seed) {
  g_autofree double *steps = g_new(double, n), *prices = g_new(double, n);
  g_autofree guint *won = g_new0(guint, n + 1);
  for (guint i = 0; i < n; i++)
    offers[i].cost = study_quote_cost(&offers[i].quote, offers[i].report, offers[i].days, 1);
  GRand *random = g_rand_new_with_seed(seed);
  for (guint i = 0; i < STUDY_QUOTE_CASES; i++) {
    draw(random, offers, n, steps, prices);
    won[winner(offers, n, limit, steps, prices)]++;
  }
  g_rand_free(random);
  for (guint i = 0; i < n; i++) {
    offers[i].wins = (double)won[i] / STUDY_QUOTE_CASES;
    if (n > 1)
      break_even(offers, n, i);
  }
}
