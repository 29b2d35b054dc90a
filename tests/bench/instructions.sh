#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Speed that slips is seen: instructions of seventeen cases against those in instructions.csv, which no other load on
# the machine changes. Beyond the tolerance either way fails: what became slower needs its reason in the commit, what
# became faster must be held.
# usage: tests/bench/instructions.sh FORETRAIN VALGRIND "COMPILER AND LIBRARIES" BENCH [--accept]
#   BENCH: any of the programs bench-*; the others are looked for beside it.
#   Exit status: 77 where the counts are of another compiler or other libraries, or valgrind cannot count.
set -uo pipefail
foretrain=$1 valgrind=$2 built=$3
benches=$(dirname "$(readlink -f "$4")")
expected=$(dirname "$(readlink -f "$0")")/instructions.csv
per_mille=30
export FORETRAIN_DATA=${FORETRAIN_DATA:-$(dirname "$(dirname "$(dirname "$expected")")")}
unset MALLOC_PERTURB_ G_DEBUG G_SLICE FORETRAIN_DB # what tests set costs instructions
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

one_step() { # FRAMEWORK [SETTING...] → a run of it
  local framework=$1
  shift
  echo "$foretrain" run llama2-7b --set parallel.framework="$framework" "${@/#/--set=}" --timeline=no \
    --db "$scratch/$framework.db" -q
}

command_of() { # CASE → its words
  case $1 in
    queue) echo "$benches/bench-event-queue" 10000 ;;
    sharing) echo "$benches/bench-net" 128 ;;
    allocator) echo "$benches/bench-memory" 400000 ;;
    collectives) echo "$foretrain" validate "$root/tests/truth/collectives.csv" --jobs 1 -q \
      --db "$scratch/collectives.db" ;;
    start) echo "$foretrain" list gpus ;;
    run) echo "$foretrain" run llama2-7b --db "$scratch/run.db" -q ;;
    slipped) echo "$foretrain" run llama2-7b --fold=off --db "$scratch/slipped.db" -q ;;
    deepspeed) one_step deepspeed ;;
    fsdp1) one_step fsdp1 ;;
    fsdp2) one_step fsdp2 ;;
    megatron) one_step megatron parallel.zero_stage=1 parallel.tensor=2 ;;
    unfolded) echo "$foretrain" run llama2-7b --set cluster.nodes=4 --set model.layers=8 --fold=off --timeline=no \
      --db "$scratch/unfolded.db" -q ;;
    communicators) echo "$foretrain" run llama2-70b-hsdp --set cluster.nodes=512 --set parallel.shard_group=8 \
      --timeline=no --db "$scratch/communicators.db" -q ;;
    pipeline) echo "$foretrain" run llama3.1-405b-megatron --set model.layers=62 --set parallel.pipeline=8 \
      --set training.gradient_accumulation=32 --timeline=no --db "$scratch/pipeline.db" -q ;;
    layouts) echo "$foretrain" sweep llama2-70b --grid framework=megatron --grid nodes=64 \
      --grid gradient_accumulation=64 --grid zero_stage=1 --grid tensor=8 --grid pipeline=1,2,4 --jobs 1 \
      --db "$scratch/layouts.db" -q ;;
    sweep) echo "$foretrain" sweep llama2-7b --grid zero_stage=0,1,2,3 --grid nodes=1..16:1 --jobs 1 \
      --db "$scratch/sweep.db" -q ;;
    validate) echo "$foretrain" validate "$scratch/hundred.csv" --jobs 1 -q --db "$scratch/validate.db" ;;
    chrome) echo "$foretrain" trace last --format chrome -o "$scratch/chrome.json" -q --db "$scratch/timeline.db" ;;
  esac
}

instructions() { # CASE → how many
  # shellcheck disable=SC2046
  "$valgrind" --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null $(command_of "$1") 2>&1 \
    | sed -n 's/.*I *refs: *//p' | tr -d ,
}

root=$FORETRAIN_DATA
grep -v '^#' "$root/tests/truth/data_parallel.csv" | head -n 101 >"$scratch/hundred.csv"
"$foretrain" run llama2-7b --db "$scratch/timeline.db" -q || exit 1
cases="queue sharing allocator collectives start run deepspeed fsdp1 fsdp2 megatron unfolded communicators pipeline
layouts sweep validate chrome"
if [ "${5:-}" = --accept ]; then
  {
    echo "# Instructions that each case takes, in all of the process: instructions.sh compares, --accept writes."
    echo "# built = $built"
    echo "case,instructions"
    for case in $cases; do echo "$case,$(instructions "$case")"; done
  } >"$scratch/counted" && cp "$scratch/counted" "$expected"
  exit
fi

if [ "$(sed -n 's/^# built = //p' "$expected")" != "$built" ]; then
  echo "counts are not of $built"
  exit 77
fi

# within CASE NOW: whether it is what is expected of the case, near enough
within() {
  local before change
  before=$(sed -n "s/^$1,//p" "$expected")
  change=$((($2 - before) * 1000 / before))
  echo "$1: $2 instructions, $before expected, $change per mille"
  [ ${change#-} -le $per_mille ]
}

status=0
for case in $cases; do
  now=$(instructions "$case")
  [ -n "$now" ] || { echo "valgrind cannot count here"; exit 77; }
  within "$case" "$now" || status=1
done
# The planted fault: a run that plays every rank must not pass for one that need not.
if within run "$(instructions slipped)"; then status=1; fi
exit $status
