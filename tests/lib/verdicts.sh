# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What shell tests share: an empty folder of their own, verdicts that are counted, a small workload, a database's dump.
#
#   . "$(dirname "$0")/lib/verdicts.sh"     # first of all; "$1" is the program, then $foretrain
#   small_workload >a.ini
#   verdict NAME STATUS DETAIL
#   count_verdicts                          # last: what passed and failed, and whether all passed
foretrain=$(readlink -f "$1")
scratch=$(mktemp -d)
trap 'chmod -R u+rwX "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 3
passed=0 failed=0

verdict() { # NAME STATUS DETAIL
  if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED %s\n  %s\n' "$1" "$3"; fi
}
count_verdicts() {
  echo "$(basename "$0" .sh): $passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

small_workload() {
  cat <<'INI'
[model]
family = llama
layers = 2
hidden_size = 256
heads = 4
intermediate_size = 512
vocab_size = 1000
[training]
sequence_length = 128
micro_batch = 1
[parallel]
framework = fsdp2
zero_stage = 3
[cluster]
topology = dgx-h100
nodes = 1
INI
}

# Less who wrote it and when.
dump() { sqlite3 "$1" .dump | grep -v '^INSERT INTO provenance'; }
