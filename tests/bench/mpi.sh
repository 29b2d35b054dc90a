#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A sweep over processes beside the same in one: points per second of each, and how near N processes come to N times
# one: by the clock, for which the machine must have a free core for each process, and by processor time of all
# processes (their waiting for each other included), which other work on the machine hardly changes.
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

costs() { # COMMAND → wall time, processor time of all its processes
  /usr/bin/time -o "$scratch/time" -f "%e %U %S" "$@" >/dev/null
  awk '{ print $1, $2 + $3 }' "$scratch/time"
}

points=$((lengths * 8))
read -r one one_cpu < <(costs "$foretrain" "${sweep[@]}" --db "$scratch/one.db")
read -r many many_cpu < <(costs mpirun -n "$processes" "$foretrain" "${sweep[@]}" --db "$scratch/many.db")
awk -v n="$points" -v p="$processes" -v one="$one" -v many="$many" -v c1="$one_cpu" -v cp="$many_cpu" 'BEGIN {
  printf "| %d points, one process | %.1f s | %.1f s of processor time | %.0f points/s of it |\n", n, one, c1, n / c1
  printf "| the same, %d processes | %.1f s | %.1f s of processor time | %.0f points/s of each |\n", p, many, cp, n / cp
  printf "| of %d times one | %.3f by the clock | %.3f by processor time | |\n", p, one / many / p, c1 / cp
}'
