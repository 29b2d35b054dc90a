#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The table of docs/speed.md: runs the programs beside this file and two tables of `validate`, and prints what they
# measured as it stands there. With --rows it measures nothing and holds the page's rows to those of this script.
# usage: tests/bench/table.sh BUILD [--all]      --all: every rank of 16 384 GPUs too (a minute, 2 GB)
#        tests/bench/table.sh --rows PAGE
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
root=$(dirname "$(dirname "$here")")
export LC_ALL=C FORETRAIN_DATA=${FORETRAIN_DATA:-$root}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

programs="event-queue net run groups sweep memory"

measure() { # BUILD [--all]
  local program
  for program in $programs; do
    echo "bench: $program" >&2
    if [ "$program" = run ] && [ "${2:-}" = --all ]; then
      stdbuf -oL "$1/tests/bench/bench-run" --all >"$scratch/run"
    else
      stdbuf -oL "$1/tests/bench/bench-$program" >"$scratch/$program"
    fi
  done
  local table
  for table in collectives data_parallel; do
    echo "bench: validate $table" >&2
    /usr/bin/time -o "$scratch/$table" -f "user %U" "$1/src/foretrain" validate "$root/tests/truth/$table.csv" \
      --jobs 1 -q --db "$scratch/validate.db"
  done
}

# The number before (or after, where WHERE says so) the words, in the program's line that holds PATTERN.
before() { # PROGRAM PATTERN WORDS
  [ ! -f "$scratch/$1" ] || grep -F -m 1 -- "$2" "$scratch/$1" | sed -E "s/.* ([0-9.]+) *$3.*/\1/"
}
after() { # PROGRAM PATTERN WORDS
  [ ! -f "$scratch/$1" ] || grep -F -m 1 -- "$2" "$scratch/$1" | sed -E "s/.*$3 *([0-9.]+).*/\1/"
}
milliseconds() { # SECONDS
  awk -v s="$1" 'BEGIN { printf s < 0.1 ? "%.1f ms" : "%.0f ms", 1000 * s }'
}

row() { # LOAD PROGRAM MEASURED
  echo "| $1 | \`$2\` | $3 |"
}

queue() { # WORDS → its three sizes
  local size all=()
  for size in '   1000' ' 100000' '1000000'; do
    all+=("$(after event-queue "$size pending" "$1")")
  done
  echo "${all[0]} / ${all[1]} / ${all[2]} million/s"
}

run() { # PATTERN → whole run; each step
  echo "$(milliseconds "$(after run "$1" whole)"); $(after run "$1" play) ms"
}

rate() { # PATTERN → of the sweep so named
  echo "$(before sweep "$1" "per second") points/s"
}

rows() {
  row "event queue, hold model, 1 000 / 100 000 / 1 000 000 pending" bench-event-queue "$(queue pending:)"
  row "the same of a bare 4-ary heap" bench-event-queue "$(queue heap)"
  row "ring all-reduce of 1 GiB, every message its own transfer, 64 / 256 / 1 024 hosts" bench-net \
    "$(after net "1 GiB, 64" hosts) / $(after net "1 GiB, 256" hosts) / $(after net "1 GiB, 1024" hosts) s"
  row "all-to-all, 256 hosts, 65 280 flows on a two-level tree" bench-net "$(after net all-to-all hosts) s"
  row "8 192 random flows on 1 024 hosts, leaves 2 : 1, no two completions together" bench-net \
    "$(after net "leaves 2 : 1" "2 : 1") s"
  row "Llama-2-7B, ZeRO-3, 8 GPUs: whole run; each step played" bench-run "$(run " 8 GPUs, folded")"
  row "the same on 16 384 GPUs, equal ranks played once: whole run; each step played" bench-run \
    "$(run " 16 384 GPUs, folded")"
  row "the same on 512 GPUs, every rank played" bench-run "$(after run "512 GPUs" whole) s"
  row "Llama-3.1-405B on 16 384 GPUs, 16 stages, equal ranks played once" bench-run "$(after run "405B" whole) s"
  row "34 944 communicators (tensor 8, pipeline 16, data 128): Program; communicators; fold" bench-groups \
    "$(after groups " 34944 " Program); $(after groups " 34944 " groups); $(after groups " 34944 " fold) ms"
  row "sweep, one thread: stages, nodes, sequence lengths" bench-sweep "$(rate "ZeRO 0 to 3")"
  row "sweep, one thread: FSDP2, NIC rates, prices, each price set played once" bench-sweep "$(rate "FSDP2, nodes")"
  row "sweep, one thread: sequence lengths and micro-batches" bench-sweep "$(rate "ZeRO-3, sequence")"
  row "sweep, one thread: layouts of Llama-2-70B on 512 GPUs, those that can run" bench-sweep "$(rate "layouts of 70B")"
  row "sweep, one thread: points that the database has" bench-sweep "$(rate "the same, known")"
  row "allocator, takes and gives of up to 512 tensors on four streams" bench-memory \
    "$(before memory "takes and gives" "million") million/s"
  row "\`validate tests/truth/collectives.csv --jobs 1\`" "time -f %U" "$(after collectives user user) s"
  row "\`validate tests/truth/data_parallel.csv --jobs 1\`" "time -f %U" "$(after data_parallel user user) s"
}

# The page's rows without what was measured.
hold() { # PAGE
  local status=0
  rows | sed -E 's/ \| [^|]*\|$/ |/' >"$scratch/wanted"
  sed -n '/^| load | program/,/^$/p' "$1" | sed 1,2d | grep . | sed -E 's/ \| [^|]*\|$/ |/' >"$scratch/found"
  diff -u --label "rows of $(basename "$0")" --label "$1" "$scratch/wanted" "$scratch/found" || status=1
  [ $status = 0 ] || echo "the table of $1 is not the one that ./dev bench prints: put its rows there" >&2
  return $status
}

usage() {
  echo "usage: table.sh BUILD [--all] | table.sh --rows PAGE" >&2
  exit 2
}

if [ "${1:-}" = --rows ]; then
  [ $# = 2 ] || usage
  hold "$2"
  exit
fi
case $# in
1) ;;
2) [ "$2" = --all ] || usage ;;
*) usage ;;
esac
measure "$@"
echo
sed -n '1s/.*, on /processor: /p' "$scratch/run"
echo "date, load: $(date +%F), $(cut -d ' ' -f 1 /proc/loadavg)"
echo
echo "| load | program | measured |"
echo "|---|---|---:|"
rows
if [ "${2:-}" = --all ]; then
  row "Llama-2-7B, ZeRO-3, 16 384 GPUs, every rank played" "bench-run --all" \
    "$(after run "384 GPUs, unfolded" whole) s, $(before run "384 GPUs, unfolded" "MB so far") MB"
fi
