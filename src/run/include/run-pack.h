/* SPDX-License-Identifier: MIT */
/* A Report without its timeline as bytes, for another process of the same program.
 *
 *   g_autoptr(GByteArray) bytes = g_byte_array_new();
 *   run_report_pack(report, bytes);                              // appends
 *   RunReport *same = run_report_unpack(bytes->data, bytes->len);
 *
 * Both sides must be the same build on the same kind of machine: numbers go as they lie in memory. Bytes that nobody
 * packed are a broken contract. */
#pragma once

#include "run-report.h"

void run_report_pack(const RunReport *report, GByteArray *bytes);
RunReport *run_report_unpack(const guint8 *bytes, gsize n);
