#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A sweep over processes beside the same in one: points per second of each, and how near N processes come to N times
# one.
# The machine must have a free core for each process.
# usage: tests/bench/mpi.sh FORETRAIN [PROCESSES [SEQUENCE LENGTHS]]
#   FORETRAIN of a build with -Dmpi=enabled. Points: 8 for each sequence length; 12 500 of them make 100 000.
set -euo pipefail
foretrain=$(readlink -f "$1") processes=${2:-2} lengths=${3:-12500}
export FORETRAIN_DATA=${FORETRAIN_DATA:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
export LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sweep=(sweep llama2-7b --grid 'zero_stage=0,1,2,3' --grid 'nodes=1,2' --grid "sequence_length=256..$((255 + lengths)):1"
       --jobs 1 -q)

seconds() { # COMMAND → wall time
  /usr/bin/time -o "$scratch/time" -f %e "$@" >/dev/null
  cat "$scratch/time"
}

points=$((lengths * 8))
one=$(seconds "$foretrain" "${sweep[@]}" --db "$scratch/one.db")
many=$(seconds mpirun -n "$processes" "$foretrain" "${sweep[@]}" --db "$scratch/many.db")
awk -v n="$points" -v p="$processes" -v one="$one" -v many="$many" 'BEGIN {
  printf "| %d points, one process | %.1f s | %.0f points/s |\n", n, one, n / one
  printf "| the same, %d processes | %.1f s | %.0f points/s: %.3f of %d times one |\n", p, many, n / many,
         one / many / p, p
}'
