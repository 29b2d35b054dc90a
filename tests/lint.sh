#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Rules of the tree that no compiler checks.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=0
complain() {
  echo "lint: $1"
  sed 's/^/  /' <<<"$2"
  bad=1
}

found=$(git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'tools/*.[ch]' | xargs wc -l |
  awk '$1 > 500 && $2 != "total" {print $2 ": " $1 " lines"}')
[ -z "$found" ] || complain "files over 500 lines" "$found"

found=$(git grep -nE '#include "\.\.?/' -- src tests tools || true)
[ -z "$found" ] || complain "includes that walk around the floors" "$found"

found=$(git grep -nE '\b(TODO|FIXME|XXX)\b' -- src 'tests/*.[ch]' tools dev || true)
[ -z "$found" ] || complain "unfinished" "$found"

found=$(git grep -nE '\b(exp|log|pow|sin|cos|log2|log10|expf|powf)\(' -- 'src/*.c' || true)
[ -z "$found" ] || complain "transcendental functions, which differ between machines" "$found"

# A script begins with #!, a source with its comment; an SPDX line may stand before.
begins() { # FILE…: those that do not
  awk 'FNR == 1 { said = 0 }
    !said && !/^#!|SPDX-License-Identifier/ {
      said = 1
      mark = FILENAME ~ /\.[ch]$/ ? "/*" : FILENAME ~ /\.py$/ ? "\"\"\"" : "# "
      if (index($0, mark) != 1) print FILENAME
    }' "$@"
}
ours() { git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'tools/*.[ch]' '*.sh' '*.py' dev .ci/run; }
# shellcheck disable=SC2046
found=$(begins $(ours))
[ -z "$found" ] || complain "files that do not begin by saying what they are for" "$found"

# 120 columns: comments and tables too, as characters, not bytes.
measured() { ours; git ls-files '*meson.build' meson_options.txt '*.sql'; }
found=$(measured | LC_ALL=C.UTF-8 xargs grep -HnE '^.{121}' | cut -c 1-100 || true)
[ -z "$found" ] || complain "lines over 120 columns" "$found"

# What a verb prints may quote files: cli_print shows their control characters.
found=$(grep -nE 'f?puts\(.*, stdout\)' src/cli/*.c | grep -vE '^src/cli/cli-(write|main|verb)\.c:' || true)
[ -z "$found" ] || complain "verbs print by cli_print (cli-write.h)" "$found"

found=$(measured | xargs awk 'FNR > 3 { next } /SPDX-License-Identifier: MIT/ { print FILENAME }' | sort -u |
  comm -13 - <(measured | sort -u))
[ -z "$found" ] || complain "files without a licence line" "$found"

# What belongs at the top, and nothing that a command left behind.
top='meson.build meson_options.txt src topologies workloads tests plots README.md dev docs tools LICENSE
  CONTRIBUTING.md CHANGELOG.md SECURITY.md'
found=$(git ls-files | cut -d / -f 1 | grep -v '^\.' | sort -u | comm -23 - <(tr -s ' \n' '\n\n' <<<"$top" | sort -u))
[ -z "$found" ] || complain "files that have no place at the top" "$found"
found=$(git ls-files -z | xargs -0 du -b -- 2>/dev/null | awk '$1 > 1048576' || true)
[ -z "$found" ] || complain "files over 1 MiB" "$found"

# Intervals know a published row by its source and its id, whichever table holds it.
found=$(awk -F, 'seen[$2 " " $1]++ { print $2 " " $1 }' topologies/catalog/residuals.csv)
[ -z "$found" ] || complain "published rows of one name (tests/truth, topologies/catalog/residuals.csv)" "$found"

exit $bad
