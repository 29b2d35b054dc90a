#!/usr/bin/env bash
# Rules of the tree that no compiler checks.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=0
complain() {
  echo "lint: $1"
  sed 's/^/  /' <<<"$2"
  bad=1
}

found=$(git ls-files 'src/*.c' 'src/*.h' 'tests/*.c' | xargs wc -l | awk '$1 > 500 && $2 != "total" {print $2 ": " $1 " lines"}')
[ -z "$found" ] || complain "files over 500 lines" "$found"

found=$(git grep -nE '#include "\.\.?/' -- src tests || true)
[ -z "$found" ] || complain "includes that walk around the floors" "$found"

found=$(git grep -nE '\b(TODO|FIXME|XXX)\b' -- src tests/*.c dev || true)
[ -z "$found" ] || complain "unfinished" "$found"

found=$(git grep -nE '\b(exp|log|pow|sin|cos|log2|log10|expf|powf)\(' -- 'src/*.c' || true)
[ -z "$found" ] || complain "transcendental functions, which differ between machines" "$found"

found=$(for file in $(git ls-files 'src/*.c' 'src/*.h' 'tests/*.c' 'tests/*.h'); do head -c 2 "$file" | grep -q '/\*' || echo "$file"; done)
[ -z "$found" ] || complain "files that do not begin by saying what they are for" "$found"

exit $bad
