/* SPDX-License-Identifier: MIT */
/* A report of Nsight Systems, made by hand. */
#include "nsys-sample.h"

const char nsys_sample_schema[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, "
    "nameId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, "
    "textId INTEGER);"
    "INSERT INTO StringIds VALUES (1, 'one'), (2, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)'), "
    "(3, 'two'), (4, 'cudaLaunchKernel_v7000'), (5, 'cudaDeviceSynchronize_v3020'), (6, 'cudaMemcpyAsync_v3020'), "
    "(7, 'iteration 3');"
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200');";

const char nsys_sample_events[] =
    "INSERT INTO NVTX_EVENTS VALUES (1000000, 2000000, 59, NULL, 83886089, 7);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1010000, 1015000, 83886089, 1, 4), "
    "(1020000, 1030000, 83886089, 2, 4), (1100000, 1152000, 83886089, 3, 6), (1160000, 1170000, 83886089, 4, 5), "
    "(2100000, 2110000, 83886089, 5, 4);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1020000, 1030000, 0, 7, 1, 83886080, 1, 1), "
    "(1040000, 1140000, 0, 20, 2, 83886080, 2, 2), (2110000, 2120000, 0, 7, 5, 83886080, 3, 3);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1150000, 1151000, 0, 7, 3, 83886080, 64, 2, 2, 0);";
