#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Speed that slips is seen: instructions of seven cases against those in instructions.csv, which no other load on the
# machine changes. Beyond the tolerance either way fails: what became slower needs its reason in the commit, what became
# faster must be held.
# usage: tests/bench/instructions.sh FORETRAIN VALGRIND "COMPILER AND LIBRARIES" [--accept]
#   Exit status: 77 where the counts are of another compiler or other libraries, or valgrind cannot count.
set -uo pipefail
foretrain=$1 valgrind=$2 built=$3
expected=$(dirname "$(readlink -f "$0")")/instructions.csv
per_mille=30
export FORETRAIN_DATA=${FORETRAIN_DATA:-$(dirname "$(dirname "$(dirname "$expected")")")}
unset MALLOC_PERTURB_ G_DEBUG G_SLICE FORETRAIN_DB # what tests set costs instructions
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run_of() { # CASE → its arguments
  case $1 in
    start) echo list gpus ;;
    run) echo run llama2-7b --db "$scratch/run.db" -q ;;
    slipped) echo run llama2-7b --fold=off --db "$scratch/slipped.db" -q ;;
    unfolded) echo run llama2-7b --set cluster.nodes=4 --set model.layers=8 --fold=off --timeline=no \
      --db "$scratch/unfolded.db" -q ;;
    communicators) echo run llama2-70b-hsdp --set cluster.nodes=512 --set parallel.shard_group=8 --timeline=no \
      --db "$scratch/communicators.db" -q ;;
    pipeline) echo run llama3.1-405b-megatron --timeline=no --db "$scratch/pipeline.db" -q ;;
    layouts) echo sweep llama2-70b --grid framework=megatron --grid nodes=64 --grid gradient_accumulation=64 \
      --grid zero_stage=1 --grid tensor=2,8 --grid pipeline=1,2,4 --jobs 1 --db "$scratch/layouts.db" -q ;;
    sweep) echo sweep llama2-7b --grid zero_stage=0,1,2,3 --grid nodes=1..4:1 --jobs 1 --db "$scratch/sweep.db" -q ;;
  esac
}

instructions() { # CASE → how many
  # shellcheck disable=SC2046
  "$valgrind" --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$foretrain" $(run_of "$1") 2>&1 \
    | sed -n 's/.*I *refs: *//p' | tr -d ,
}

cases="start run unfolded communicators pipeline layouts sweep"
if [ "${4:-}" = --accept ]; then
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
