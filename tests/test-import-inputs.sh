#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Published traces and other tools' texts: each replays within 3 % of its measured step or is refused with the sentence
# of tests/data/traces/results.tsv, and the figures of those that are read are HTA's, by tests/truth/traces.tsv, and
# what they teach is that of tests/data/traces/rates.tsv.
# usage: FORETRAIN_INPUTS=FOLDER tests/test-import-inputs.sh FORETRAIN
set -uo pipefail
foretrain=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -d "${FORETRAIN_INPUTS:-}/traces" ]; then
  echo "skipped: FORETRAIN_INPUTS names no folder with traces and sim_text"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

verdict() { # NAME STATUS DETAIL
  if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED %s\n  %s\n' "$1" "$3"; fi
}

# within LIMIT FILE: the replay's last line says at most so many percent.
within() {
  tail -n 1 "$2" | sed -n 's/.*: \([-+][0-9.]*\) % of the measured step.*/\1/p' |
    awk -v most="$1" '{ off = $1 < 0 ? -$1 : $1; found = off <= most } END { exit !found }'
}

while IFS=$'\t' read -r file result what; do
  case $file in '#'* | '') continue ;; esac
  options=()
  [ "$result" = measured ] && options=(--keep-communication)
  if [ "$result" = chakra ]; then
    "$foretrain" import chakra "$FORETRAIN_INPUTS/$file" --ranks 2 -o "$scratch/o.csv" --topology "$what" \
      >"$scratch/out" 2>"$scratch/err" && grep -q '^replayed' "$scratch/out"
    verdict "$file" $? "$(head -c 300 "$scratch/err")"
  elif [ "$result" = refused ]; then
    "$foretrain" import kineto "$FORETRAIN_INPUTS/$file" -o "$scratch/o.csv" >"$scratch/out" 2>"$scratch/err"
    status=$?
    [ $status -eq 2 ] && grep -qF -- "$what" "$scratch/err" && [ "$(wc -l <"$scratch/err")" -eq 1 ]
    verdict "$file" $? "status $status: $(head -c 300 "$scratch/err")"
  else
    "$foretrain" import kineto "$FORETRAIN_INPUTS/$file" -o "$scratch/o.csv" --topology "$what" "${options[@]}" \
      >"$scratch/out" 2>"$scratch/err" && within 3 "$scratch/out"
    verdict "$file" $? "$(tail -n 1 "$scratch/out") $(head -c 300 "$scratch/err")"
  fi
done <"$here/data/traces/results.tsv"

# Kernel time, compute, non-compute, idle in ms to the microsecond, and overlap: HTA's, to a microsecond and 0.01 %.
equal() {
  awk -v want="$1" '
    { gsub(/rank [0-9]+|%/, ""); split(want, w, "\t"); ms[1] = $1; ms[2] = $2; ms[3] = $4; ms[4] = $6; good = NF >= 9 }
    { for (i = 1; i <= 4; i++) { off = ms[i] * 1000 - w[i]; if (off > 1.01 || off < -1.01) good = 0 } }
    w[5] == "none" { good = good && $9 == "none" }
    w[5] != "none" { off = $9 - w[5]; good = good && off < 0.011 && off > -0.011 }
    END { exit !good }'
}

while IFS=$'\t' read -r file rank kernel compute rest idle overlap why; do
  case $file in '#'* | '') continue ;; esac
  line=3
  [ "$rank" = all ] || line=$((rank + 3))
  row=$("$foretrain" import kineto "$FORETRAIN_INPUTS/traces/$file" --figures | sed -n "${line}p")
  equal "$kernel"$'\t'"$compute"$'\t'"$rest"$'\t'"$idle"$'\t'"$overlap" <<<"$row"
  status=$?
  if [ -n "$why" ]; then status=$((!status)); fi
  verdict "$file $rank: HTA's figures${why:+ (ours are not: $why)}" $status "$row"
done <"$here/truth/traces.tsv"

while IFS=$'\t' read -r file machine what; do
  case $file in '#'* | '') continue ;; esac
  "$foretrain" import kineto "$FORETRAIN_INPUTS/traces/$file" --calibrate --topology "$machine" >"$scratch/out" \
    2>"$scratch/err" && grep -qF -- "$what" "$scratch/out"
  verdict "$file teaches $what" $? "$(cat "$scratch/err" "$scratch/out")"
done <"$here/data/traces/rates.tsv"

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
