/* SPDX-License-Identifier: MIT */
/* Offers: costs by hand, where they meet, who wins, and what is refused. */
#include <string.h>

#include "base-error.h"
#include "harness.h"
#include "study-quote.h"

/* Ten GPUs that train for 30 days, with as much electricity as is said. */
static void make(RunReport *report, RunClass *rank_class, const char *name, double energy) {
  *rank_class = (RunClass){.step = SIM_SECOND};
  *report = (RunReport){.classes = rank_class, .n_classes = 1, .days_to_train = 30, .energy_to_train = energy};
  report->identity.gpu = (char *)"h";
  report->identity.topology = (char *)name;
  report->identity.gpus = 10;
}

/* 10 GPUs, 30 days, 2 USD an hour: 14 400 USD. A term of 60 days doubles it. 1 000 USD up front for each: 10 000 more.
 * 5 000 kWh at 0.1 USD: 500. */
static void costs_by_hand(void) {
  RunReport report;
  RunClass rank_class;
  make(&report, &rank_class, "h", 5000);
  StudyQuote quote = {.gpu_hour = 2};
  CU_ASSERT_DOUBLE_EQUAL(study_quote_cost(&quote, &report, 30, 1).total, 14400, 1e-6);
  quote.term = 60 * 86400.0;
  StudyCost cost = study_quote_cost(&quote, &report, 30, 1);
  CU_ASSERT_DOUBLE_EQUAL(cost.rent, 28800, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(cost.per_month, 28800 / (60 / (365.25 / 12)), 1e-6);
  quote.up_front = 1000;
  quote.extra = TRUE;
  quote.kwh_price = 0.1;
  cost = study_quote_cost(&quote, &report, 30, 1);
  CU_ASSERT_DOUBLE_EQUAL(cost.electricity, 500, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(cost.total, 28800 + 10000 + 500, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(study_quote_cost(&quote, &report, 30, 4).rent, 4 * 14400, 1e-6);
}

/* Renting costs 14 400 USD a training; buying 100 000, and 1 440 a training (0.2 USD an hour): as much after 100 000 /
 * 12 960 = 7.716 trainings. In one training no price of an hour makes up for it. Of two rents that differ in the price
 * alone, the dearer breaks even at the other's. */
static void where_they_meet(void) {
  RunReport reports[2];
  RunClass classes[2];
  StudyOffer offers[2];
  for (int i = 0; i < 2; i++) {
    make(&reports[i], &classes[i], i == 0 ? "a" : "b", 0);
    offers[i] = (StudyOffer){.report = &reports[i], .days = 30, .quote = {.gpu_hour = i == 0 ? 2 : 0.2}};
  }
  offers[1].quote.up_front = 10000;
  study_offers_weigh(offers, 2, 0, 1);
  CU_ASSERT_DOUBLE_EQUAL(offers[1].breaks_even_for, 100000 / 12960.0, 1e-6);
  CU_ASSERT_EQUAL(offers[1].breaks_even_at, 0);
  CU_ASSERT_TRUE(offers[0].wins == 1 && offers[1].wins == 0);
  offers[1].quote = (StudyQuote){.gpu_hour = 3};
  study_offers_weigh(offers, 2, 0, 1);
  CU_ASSERT_DOUBLE_EQUAL(offers[1].breaks_even_at, 2, 1e-9);
  CU_ASSERT_EQUAL(offers[1].breaks_even_for, 0);
}

/* Two offers of one price, each moved by a draw within a tenth: each wins half of the cases. At 1 and 1.1 the second
 * wins where 0.11 v < 0.1 u - 0.1, u and v even in -1 to 1: v < (u - 1) / 1.1, which some v meets from u = -0.1 on. The
 * integral of ((u - 1) / 1.1 + 1) / 2 over these u, and half of it: 1.1 / 8 = 0.1375. Without spread it never does.
 * Steps of one kind of GPU err together, so they change nothing; of two kinds they do. Within ten days of the thirty
 * hardly a case ends. */
static void shares_of_cases(void) {
  RunReport reports[2];
  RunClass classes[2];
  StudyOffer offers[2];
  for (int i = 0; i < 2; i++) {
    make(&reports[i], &classes[i], i == 0 ? "a" : "b", 0);
    reports[i].step_low = SIM_SECOND / 2;
    reports[i].step_high = 2 * SIM_SECOND;
    offers[i] = (StudyOffer){.report = &reports[i], .days = 30, .quote = {.gpu_hour = 1, .spread = 0.1}};
  }
  study_offers_weigh(offers, 2, 0, 5);
  CU_ASSERT_DOUBLE_EQUAL(offers[0].wins, 0.5, 0.03);
  CU_ASSERT_DOUBLE_EQUAL(offers[0].wins + offers[1].wins, 1, 1e-9);
  offers[1].quote.gpu_hour = 1.1;
  study_offers_weigh(offers, 2, 0, 5);
  CU_ASSERT_DOUBLE_EQUAL(offers[1].wins, 0.138, 0.03);
  double before = offers[1].wins;
  study_offers_weigh(offers, 2, 0, 5);
  CU_ASSERT_EQUAL(offers[1].wins, before);
  offers[0].quote.spread = offers[1].quote.spread = 0;
  study_offers_weigh(offers, 2, 0, 5);
  CU_ASSERT_TRUE(offers[0].wins == 1);
  reports[1].identity.gpu = (char *)"b";
  study_offers_weigh(offers, 2, 0, 5);
  CU_ASSERT_TRUE(offers[1].wins > 0.2 && offers[1].wins < 0.5);
  study_offers_weigh(offers, 2, 10, 5);
  CU_ASSERT_TRUE(offers[0].wins + offers[1].wins < 0.1);
}

static void what_is_refused(void) {
  RunReport report;
  RunClass rank_class;
  StudyQuote quote;
  GError *error = NULL;
  make(&report, &rank_class, "h", 0);
  RunSetting settings[] = {{.name = (char *)"quote.delivery", .value = (char *)"2027-02-30"},
                           {.name = (char *)"quote.power", .value = (char *)"extra"}};
  report.identity.settings = settings;
  report.identity.n_settings = 2;
  HARNESS_FAILS(study_quote_read(&report, &quote, &error), error, "quote.delivery: expected a day");
  settings[0].value = (char *)"2027-02-28";
  HARNESS_FAILS(study_quote_read(&report, &quote, &error), error, "power.kwh_price");
  settings[1].value = (char *)"included";
  CU_ASSERT_TRUE(study_quote_read(&report, &quote, NULL) && quote.given && quote.delivery > 0);
  report.identity.n_settings = 0;
  CU_ASSERT_TRUE(study_quote_read(&report, &quote, NULL) && !quote.given && quote.delivery == 0);
}

int main(void) {
  return harness_run("study-quote", (HarnessCase[]){
                                        {"costs by hand", costs_by_hand},
                                        {"where they meet", where_they_meet},
                                        {"shares of cases", shares_of_cases},
                                        {"what is refused", what_is_refused},
                                        {NULL, NULL},
                                    });
}
