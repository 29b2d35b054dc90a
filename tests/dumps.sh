#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same inputs give the same bytes: canonical dumps (wall-clock facts apart) of every named build must be equal, and
# those of the first also with simultaneous events in other orders.
# usage: tests/dumps.sh BUILD BUILD…
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
first=

# dump BUILD [OPTION]
dump() {
  local build=$1 name
  name=$(basename "$build")${2:-}
  for workload in llama2-7b gpt2-xl mistral-7b; do
    "$build/src/foretrain" stages "$workload" --db "$scratch/$name.db" --quiet ${2:+"$2"}
  done
  sqlite3 "$scratch/$name.db" '.dump' | grep -v '^INSERT INTO provenance' >"$scratch/$name.sql"
  echo "$name: $(wc -l <"$scratch/$name.sql") lines, sha256 $(sha256sum "$scratch/$name.sql" | cut -c1-16)"
  [ -n "$first" ] || first=$name
  cmp "$scratch/$first.sql" "$scratch/$name.sql"
}

for build in "$@"; do dump "$build"; done
for tie in reverse shuffle:1 "shuffle:${FORETRAIN_SEED:-$RANDOM}"; do dump "$1" "--tie=$tie"; done
