/* SPDX-License-Identifier: MIT */
/* Kinds of foretrain list that have a file of their own. Private to this floor. */
#pragma once

#include "cli-listing.h"
#include "cli.h"

/* Builds every topology of the data folders. Errors: one that cannot be read. */
CliExit cli_list_topologies(CliListing *listing, GError **error);
/* Reads every workload of the data folders; of one that cannot be read the name alone. */
CliExit cli_list_workloads(CliListing *listing, GError **error);
