#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Trace points that are off cost next to nothing: the same steps, played by floors with points and by floors built
# without, in instructions, which no other load on the machine changes.
# Lines written would cost far more than the limit.
# usage: tests/test-trace-cost.sh TRACED UNTRACED VALGRIND
set -uo pipefail
per_mille=20

instructions() { # PROGRAM… → how many
  "$valgrind" --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$@" 2>&1 | sed -n 's/.*I *refs: *//p' \
    | tr -d ,
}

valgrind=$3
with=$(instructions "$1") without=$(instructions "$2") on=$(instructions "$1" on)
[ -n "$with" ] && [ -n "$without" ] && [ -n "$on" ] || { echo "valgrind cannot count here"; exit 77; }
echo "with points off $with instructions, without points $without, all on $on"
# The planted fault: points that are on must be seen by the same comparison.
[ $((with * 1000)) -le $((without * (1000 + per_mille))) ] && [ $((on * 1000)) -gt $((without * (1000 + per_mille))) ]
