/* SPDX-License-Identifier: MIT */
/* A small report of Nsight Systems as SQL: what an export holds, by the tables and columns of its "SQLite Schema
 * Reference" that are read. */
#pragma once

extern const char nsys_sample_schema[];

/* Process 5 (globalPid 5 << 24, thread 9): a step of 1 to 2 ms that launches "one" (10 µs at 1020), an all-reduce (100
 * at 1040), copies 64 bytes to pageable memory (1 at 1150) and waits; "two" belongs to no step. */
extern const char nsys_sample_events[];
