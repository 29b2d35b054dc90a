/* SPDX-License-Identifier: MIT */
/* Logs as their readers fill them. Private to this floor. */
#pragma once

#include "import-nccl-tests.h"

ImportLog *import_log_new(void);
/* Of the newest of the log's files, of one process, without rows. */
ImportRun *import_run_add(ImportLog *log, guint line);
