#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One step in two simulators: written as Chakra traces, played by ASTRA-sim's analytical backends and by foretrain, the
# times side by side. Not part of any test: ASTRA-sim is to be built first (its build/astra_analytical/build.sh).
# usage: tools/astra-sim.sh FORETRAIN ASTRA_SIM_SOURCE WORKLOAD TOPOLOGY GPUS GB_PER_SECOND NANOSECONDS
#   GB_PER_SECOND, NANOSECONDS: what each GPU gets to and from one switch that joins all, and the latency of a hop.
# e.g.   tools/astra-sim.sh build/src/foretrain ~/astra-sim llama3-8b-fsdp2 dgx-h100 8 450 500
set -euo pipefail
if [ $# -ne 7 ]; then
  sed -n 's/^# usage: /usage: /p; s/^#   GB/  GB/p; s/^# e\.g\. */e.g. /p' "$0" >&2
  exit 2
fi
foretrain=$(readlink -f "$1") astra=$(readlink -f "$2") workload=$3 topology=$4 gpus=$5 rate=$6 latency=$7
programs=$astra/build/astra_analytical/build/bin
if [ ! -x "$programs/AstraSim_Analytical_Congestion_Unaware" ]; then
  echo "astra-sim.sh: $programs holds no AstraSim_Analytical_Congestion_Unaware; build it first" >&2
  exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Rings in chunks, as ASTRA-sim's own example of an HGX H100 has them; no memory but the GPUs'.
cat >"$scratch/system.json" <<'JSON'
{"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 2, "preferred-dataset-splits": 4,
 "all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"],
 "reduce-scatter-implementation": ["ring"], "all-to-all-implementation": ["ring"],
 "collective-optimization": "localBWAware", "local-mem-bw": 3350, "boost-mode": 0}
JSON
echo '{"memory-type": "NO_MEMORY_EXPANSION"}' >"$scratch/memory.json"
printf 'topology: [ Switch ]\nnpus_count: [ %s ]\nbandwidth: [ %s ]\nlatency: [ %s ]\n' "$gpus" "$rate" "$latency" \
  >"$scratch/network.yml"

"$foretrain" trace "$workload" -t "$topology" --db "$scratch/runs.db" --format chakra -o "$scratch/step"
printf '%-34s %12s %12s\n' "one step, ms" "step" "exposed"
for kind in Unaware Aware; do
  (cd "$scratch" && "$programs/AstraSim_Analytical_Congestion_$kind" --workload-configuration="$scratch/step" \
    --comm-group-configuration="$scratch/step.groups.json" --system-configuration="$scratch/system.json" \
    --remote-memory-configuration="$scratch/memory.json" --network-configuration="$scratch/network.yml") \
    >"$scratch/said" 2>&1 || { tail -n 5 "$scratch/said" >&2; exit 1; }
  # "sys[3] finished, 1198647790 cycles, exposed communication 10009790 cycles": a cycle is a ns; the slowest rank.
  sed -n 's/.*finished, \([0-9]*\) cycles, exposed communication \([0-9]*\) cycles.*/\1 \2/p' "$scratch/said" |
    sort -n | tail -n 1 | awk -v name="ASTRA-sim, congestion-$(tr UA ua <<<"$kind")" \
      '{ printf "%-34s %12.2f %12.2f\n", name, $1 / 1e6, $2 / 1e6; found = 1 } END { exit !found }'
done
"$foretrain" import chakra "$scratch"/step.*.et --groups "$scratch/step.groups.json" -o "$scratch/back.trace.csv" \
  -t "$topology" | awk '$1 == "replayed" { printf "%-34s %12.2f %12.2f\n", "foretrain, the same traces", $2, $7 }'
"$foretrain" run "$workload" -t "$topology" --db "$scratch/runs.db" | awk '
  $1 " " $2 == "Step time" { step = $3 } $1 == "exposed" { exposed = $2 }
  END { printf "%-34s %12.2f %12.2f\n", "foretrain, its own run", step, exposed }'
