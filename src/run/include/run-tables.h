/* SPDX-License-Identifier: MIT */
/* What rows come to before they are played, kept for plays of the same rows: who waits for whom, who follows whom on a
 * stream, which collective is the how-manieth.
 *
 *   RunTables *tables = run_tables_new();
 *   … run_play(&system, &(RunOptions){.tables = tables}, …) …      // again and again, of Programs with the same rows
 *   run_tables_free(tables);
 */
#pragma once

typedef struct RunTables RunTables;

RunTables *run_tables_new(void);
void run_tables_free(RunTables *tables);
