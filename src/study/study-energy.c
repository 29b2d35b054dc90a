/* SPDX-License-Identifier: MIT */
/* Matmul time from FLOP, what is left of compute streams, what is left of the step waits. */
#include "study-power.h"

#include "base-names.h"
#include "conf-csv.h"
#include "conf-path.h"

#define JOULES_PER_KWH 3.6e6

#define FIGURE(key, member) BASE_ROW(NULL, key, BASE_NUMBER, StudyPower, member, .min = 1e-3, .max = 10)
static const BaseField figures[] = {
    FIGURE("waiting_share", waiting),
    FIGURE("streaming_share", streaming),
    FIGURE("node_overhead_share", overhead_share),
    FIGURE("pue", pue),
};

static gboolean read_figure(const ConfCsv *csv, guint row, StudyPower *power, GError **error) {
  BasePlace place;
  conf_csv_place(csv, row, 1, &place);
  for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
    if (g_str_equal(figures[i].key, conf_csv_cell(csv, row, 0))) {
      GError *cause = NULL;
      if (base_field_read(&figures[i], conf_csv_cell(csv, row, 1), power, &cause))
        return TRUE;
      base_error_set_at(error, &place, "%s", cause->message);
      g_error_free(cause);
      return FALSE;
    }
  base_error_set_at(error, &place, "no such figure: \"%s\"", conf_csv_cell(csv, row, 0));
  return FALSE;
}

gboolean study_power_load(StudyPower *ret, GError **error) {
  g_autofree char *path = conf_path_find("energy.csv", NULL, "topologies/catalog", NULL, NULL, error);
  g_autoptr(ConfCsv) csv = path != NULL ? conf_csv_load(path, error) : NULL;
  StudyPower power = {0};
  if (csv == NULL)
    return FALSE;
  for (guint row = 0; row < csv->n_rows; row++)
    if (!read_figure(csv, row, &power, error))
      return FALSE;
  *ret = power;
  return TRUE;
}

static void overrule(const ConfSettings *settings, const char *name, double *value) {
  if (conf_settings_given(settings, name))
    *value = conf_settings_number(settings, name);
}

StudyPower study_power_of(const StudyPower *catalogue, const ConfSettings *settings) {
  StudyPower power = *catalogue;
  overrule(settings, "power.waiting_share", &power.waiting);
  overrule(settings, "power.streaming_share", &power.streaming);
  overrule(settings, "power.node_overhead", &power.node_overhead);
  overrule(settings, "power.pue", &power.pue);
  overrule(settings, "power.kwh_price", &power.kwh_price);
  return power;
}

/* The limit that the chip has where nobody lowered it. */
static double own_limit(const HwGpu *gpu) {
  return MAX(gpu->power_limit, gpu->power_measured);
}

double study_power_mean(const StudyPower *power, const HwGpu *gpu, KernelDtype dtype, double flops, double compute,
                        double step) {
  double limit = gpu->power_limit;
  if (limit <= 0 || step <= 0)
    return 0;
  KernelDraw matmul = kernel_power_matmul(gpu, dtype);
  double waits = MIN(power->waiting * own_limit(gpu), limit), streams = MIN(power->streaming * own_limit(gpu), limit);
  double dense = MIN(flops / matmul.rate, compute);
  return (dense * MAX(matmul.watts, streams) + (compute - dense) * streams + (step - compute) * waits) / step;
}

void study_walk_energy(const StudyWalk *walk, const StudyPower *catalogue, RunReport *report) {
  StudyPower power = study_power_of(catalogue, walk->settings);
  const HwCluster *cluster = walk->cluster;
  const RunClass *slow = run_report_slowest(report);
  double gpus = report->identity.gpus, step = sim_time_to_seconds(slow->step);
  int precision = base_names_find(model_precision_names, report->identity.precision);
  if (precision < 0)
    return;
  KernelDtype dtype = (KernelDtype)model_precision_dtype((ModelPrecision)precision);
  report->gpu_power = study_power_mean(&power, cluster->gpu, dtype, report->hardware_flops / gpus,
                                       sim_time_to_seconds(slow->compute), step);
  if (report->gpu_power <= 0)
    return;
  double node = power.node_overhead > 0 ? power.node_overhead
                                        : power.overhead_share * own_limit(cluster->gpu) * cluster->gpus_per_node;
  double watts = (report->gpu_power * gpus + node * cluster->nodes) * power.pue;
  report->energy_per_step = watts * step / JOULES_PER_KWH;
  if (report->tokens == 0)
    return;
  report->energy_to_train = report->energy_per_step * report->identity.total_tokens / (double)report->tokens;
  report->energy_cost = report->energy_to_train * power.kwh_price;
}
