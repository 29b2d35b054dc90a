#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same inputs give the same bytes: canonical dumps (wall-clock facts apart) of every named build must be equal.
# usage: tests/dumps.sh BUILD BUILD…
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
first=
for build in "$@"; do
  name=$(basename "$build")
  for workload in llama2-7b gpt2-xl mistral-7b; do
    "$build/src/foretrain" stages "$workload" --db "$scratch/$name.db" --quiet
  done
  sqlite3 "$scratch/$name.db" '.dump' | grep -v '^INSERT INTO provenance' >"$scratch/$name.sql"
  echo "$name: $(wc -l <"$scratch/$name.sql") lines, sha256 $(sha256sum "$scratch/$name.sql" | cut -c1-16)"
  [ -n "$first" ] || first=$name
  cmp "$scratch/$first.sql" "$scratch/$name.sql"
done
