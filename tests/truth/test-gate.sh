#!/usr/bin/env bash
# The gate holds, and it can fail: against a table in which one error is smaller than today's, one more row ran, it names
# both and nothing else.
# usage: tests/truth/test-gate.sh FORETRAIN
set -euo pipefail
here=$(readlink -f "$(dirname "$0")")
"$here/gate" "$1"
planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
awk -F'\t' -v OFS='\t' '
  $1 == "aws-p5" && $2 == "judge" && $3 == ">= 64 MiB" && $4 == "time_us" { $6 = "0.0000" }
  $1 == "dgx-a100" && $2 == "judge" && $3 == "< 1 MiB" && $4 == "rows that ran" { $5 += 1 }
  { print }' "$here/errors.tsv" >"$planted"
if found=$("$here/gate" "$1" --against "$planted"); then
  echo "a planted fault was not seen: $found"
  exit 1
fi
echo "$found"
[ "$(wc -l <<<"$found")" -eq 3 ] && grep -q 'aws-p5 judge >= 64 MiB time_us:' <<<"$found" &&
  grep -q 'dgx-a100 judge < 1 MiB rows that ran:' <<<"$found"
