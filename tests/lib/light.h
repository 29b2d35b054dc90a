/* SPDX-License-Identifier: MIT */
/* Where a picture goes that is drawn on white: report_plot_parity(db, LIGHT("parity.svg"), &error). */
#pragma once

#include "report-plot.h"

#define LIGHT(path) (&(ReportCanvas){(path), FALSE})
