#!/usr/bin/env bash
# The gate holds, and it can fail: against a table in which one error is smaller than today's, one more row ran, it
# names both and nothing else. usage: tests/truth/test-gate.sh FORETRAIN
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

# Residuals that are not those of today are named: one that moved, one that is described otherwise, one that is missing.
catalog=$here/../../topologies/catalog
python3 - "$here" "$catalog/residuals.csv" <<'PY'
import copy, importlib.machinery, importlib.util, sys
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("residuals", f"{sys.argv[1]}/residuals")
residuals = importlib.util.module_from_spec(importlib.util.spec_from_loader("residuals", loader))
loader.exec_module(residuals)
was = residuals.committed()
assert len(was) > 2 and residuals.compare(was, was) == []
now = copy.deepcopy(was)
now[0]["measured_over_predicted"] = str(float(now[0]["measured_over_predicted"]) + 0.011)
now[1]["gpus"] = "7"
assert residuals.compare(now, was) == ["1 rows moved by more than 1 points", "1 rows are described otherwise"]
assert residuals.compare(was, was[1:]) == ["1 rows are missing there"]
assert residuals.compare(was[1:], was) == ["1 rows there run no more"] and residuals.compare(was[1:], was, False) == []
PY
