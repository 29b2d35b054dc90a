#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Holds two builds equal, for changes that must not change what comes out: canonical database dumps, tables, JSON,
# traces and pictures' scripts of every shipped workload under every framework and ZeRO stage.
#
# usage: tools/behaviour.sh OLD_ROOT NEW_ROOT [--quick]
#   Each root is a source tree with a program in build/src/foretrain; it is run with that tree's own data.
#   --quick: two workloads instead of all (seconds instead of minutes).
#   Exit status: 0 all files equal, 1 some differ (which, and the first lines that do), 2 wrong usage.
# What OLD_ROOT says is kept in ${XDG_CACHE_HOME:-~/.cache}/foretrain-behaviour, by program and by this script.
set -euo pipefail

[ $# -ge 2 ] && [ "${3:---quick}" = --quick ] || { sed -n '5,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
script=$(readlink -f "$0")
old=$(readlink -f "$1") new=$(readlink -f "$2")
for root in "$old" "$new"; do
  [ -x "$root/build/src/foretrain" ] || { echo "behaviour: $root has no build/src/foretrain" >&2; exit 2; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset FORETRAIN_DB

workloads=(llama2-7b gpt2-xl)
[ "${3:-}" = --quick ] || workloads=($(cd "$old/workloads" && ls ./*.ini | sed 's#^\./##; s/\.ini$//'))
frameworks=(paper ddp deepspeed fsdp1 fsdp2 megatron nanotron)
verbs=(run stages fit collective sweep merge best compare check plot trace replay import validate list layers)

foretrain() { "$FORETRAIN_DATA/build/src/foretrain" "$@"; }

# keep NAME ARGUMENT…: both streams and the exit status of one call, in a file of that name.
keep() {
  local name=$1 status=0
  shift
  foretrain "$@" >"$name" 2>"$name.err" || status=$?
  echo "exit status $status" >>"$name.err"
}

# dump DATABASE: its rows as text, less who wrote them and when.
dump() {
  if [ -f "$1.db" ]; then sqlite3 "$1.db" .dump | { grep -v '^INSERT INTO provenance' || true; } >"$1.sql"; fi
}

matrix() {
  local workload framework stage
  for framework in "${frameworks[@]}"; do
    for workload in "${workloads[@]}"; do
      for stage in 0 1 2 3; do
        keep "$workload.$framework.$stage" run "$workload" --set parallel.framework="$framework" \
          --set parallel.zero_stage=$stage --set parallel.shard_group=all --timeline=yes --db "$framework.db"
      done
    done
    dump "$framework"
  done
}

each_workload() {
  local workload
  for workload in "${workloads[@]}"; do
    keep "$workload.stages" stages "$workload" --db stages.db
    keep "$workload.json" run "$workload" --json --db stages.db
    keep "$workload.layers" layers "$workload"
    keep "$workload.layers.json" layers "$workload" --json
  done
}

other_verbs() {
  local verb picture
  keep explain run llama3-8b-fsdp2 --explain --db runs.db
  keep second run llama2-7b --db runs.db
  keep compare compare 1 2 --db runs.db
  keep compare.json compare 1 2 --db runs.db --json
  keep chrome trace 1 --db runs.db --format chrome -o chrome-trace.json
  keep trace trace llama3-8b-fsdp2 -o program.trace.csv
  for picture in timeline memory; do keep "plot.$picture" plot $picture 1 --db runs.db -o $picture.svg; done
  keep sweep sweep llama2-7b --grid zero_stage=0,1,2,3 --grid micro_batch=1..4:1 --db sweep.db
  keep best best --minimise step --subject 'verdict = fits' --db sweep.db
  keep pareto plot pareto --db sweep.db -o pareto.svg
  keep fit fit llama2-7b --vary micro_batch --db fit.db
  dump sweep
  dump runs
  for verb in "${verbs[@]}"; do keep "help.$verb" "$verb" --help; done
  keep settings list settings
  keep schema schema
}

# produce ROOT FOLDER: everything the program of a tree says, less the tree's own path and what a clock says.
produce() {
  mkdir -p "$2"
  export FORETRAIN_DATA=$1
  (cd "$2" && matrix && each_workload && other_verbs && rm -f ./*.db ./*.db-wal ./*.db-shm ./*.svg)
  find "$2" -type f -print0 | xargs -0 sed -i -E \
    "s#$1#ROOT#g; s#$2#OUT#g; s/[0-9.]+ (ms|s) (to simulate|of simulation|wall)/T/g"
}

key=$( (cat "$script" "$old/build/src/foretrain"; echo "${workloads[@]}") | sha256sum | cut -c 1-16)
kept=${XDG_CACHE_HOME:-$HOME/.cache}/foretrain-behaviour/$key
if [ ! -d "$kept" ]; then
  echo "behaviour: $old, ${#workloads[@]} workloads"
  produce "$old" "$scratch/old"
  mkdir -p "$(dirname "$kept")"
  mv "$scratch/old" "$kept"
fi
echo "behaviour: $new, ${#workloads[@]} workloads"
produce "$new" "$scratch/new"
if diff -rq "$kept" "$scratch/new" >"$scratch/differences"; then
  echo "behaviour: $(find "$kept" -type f | wc -l) files equal"
  exit 0
fi
sed "s#$kept#OLD#g; s#$scratch/new#NEW#g" "$scratch/differences"
diff -r "$kept" "$scratch/new" | cut -c 1-200 | head -n 60 || true
exit 1
