/* SPDX-License-Identifier: MIT */
/* Settings as expressions over runs name them: of which kind their values are, and what they are by default.
 *
 *   g_autoptr(StudySettings) settings = study_settings_open();
 *   subject = store_expression_parse_over("nics_per_node = 8", study_settings_find, settings, error); */
#pragma once

#include "store-expression.h"

typedef struct ConfSettings StudySettings;

StudySettings *study_settings_open(void);
void study_settings_close(StudySettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudySettings, study_settings_close)

/* A StoreFindSetting. */
gboolean study_settings_find(const char *word, StoreSettingFound *ret, gpointer settings);
