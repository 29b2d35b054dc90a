/* SPDX-License-Identifier: MIT */
/* What fuzz-readers.c gives to libFuzzer and to fuzz-main.c. */
#pragma once

#include <glib.h>

/* The names of readers, NULL after the last. */
const char *fuzz_name(guint i);
/* Whether a reader takes milliseconds: it is replayed less often. */
gboolean fuzz_dear(guint i);
/* FALSE: no reader of that name. What a reader does wrong ends the program. */
gboolean fuzz_read(const char *name, const guint8 *data, gsize length);
/* A value without an error, or none with one: of the input, in words, and short. Takes the error. */
void fuzz_judge(gboolean value, GError *error);
/* Profilers' and Chakra's traces (fuzz-kineto.c). */
void fuzz_chakra(const char *path);
void fuzz_execution(const char *path);
void fuzz_kineto(const char *path);
void fuzz_kineto_program(const char *path);
/* SQL that a stranger ran on a report of Nsight Systems (fuzz-nsys.c). */
void fuzz_nsys(const char *path);
/* SQL that a stranger ran on a database of ours (fuzz-database.c). */
void fuzz_database(const char *path);
/* Files that a study reads (fuzz-study.c). */
void fuzz_workload(const char *path);
void fuzz_model_study(const char *path);
void fuzz_topology(const char *path);
void fuzz_overlay(const char *path);
void fuzz_recipe(const char *path);
void fuzz_truth(const char *path);
void fuzz_grid(const char *data, gsize length);
/* A model's config.json: its shape, its counts and its units, without a study (fuzz-model.c). */
void fuzz_model(const char *path);
/* Small texts (fuzz-words.c). */
void fuzz_quantity(const char *data, gsize length);
void fuzz_words(const char *data, gsize length);
void fuzz_ranks(const char *data, gsize length);
/* libFuzzer's door: the reader that FORETRAIN_FUZZ names. */
int LLVMFuzzerTestOneInput(const guint8 *data, size_t size);
