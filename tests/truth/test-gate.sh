#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The gate holds, and it can fail. usage: tests/truth/test-gate.sh FORETRAIN [fifth|whole]
set -euo pipefail
here=$(readlink -f "$(dirname "$0")")
planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
if [ "${2:-fifth}" = fifth ]; then
  "$here/gate" "$1" --fifth
else
  # Against the committed table, but for one error that is smaller there and one more row that ran, it names both and
  # nothing else.
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
fi

# A prediction that moved, one that is new and one that is no more are named; a hundredth is let pass.
export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1
python3 - <<'PY'
import copy, predictions
was = predictions.committed()
assert len(was) > 900 and predictions.compare(was, was) == []
timed = [key for key in was if was[key]["step_time_s"]][:2]
now = copy.deepcopy(was)
for key, factor in zip(timed, (1.011, 1.009)):
    now[key]["step_time_s"] = str(float(was[key]["step_time_s"]) * factor)
assert [line.split(": ")[0] for line in predictions.compare(now, was)] == [" ".join(timed[0]) + " step_time_s"]
now = copy.deepcopy(was)
now[timed[0]]["fits"], now[timed[1]]["step_time_s"] = "perhaps", ""
assert len(predictions.compare(now, was)) == 2
del now[timed[0]], now[timed[1]]
assert [line.split(": ")[1] for line in predictions.compare(now, was)] == ["is no more"] * 2
assert [line.split(": ")[1] for line in predictions.compare(was, now)] == ["is not committed"] * 2
PY

# Residuals that are not those of today are named: one that moved, one that is described otherwise, one that is missing.
python3 - <<'PY'
import copy, residuals
was = residuals.committed()
assert len(was) > 2 and residuals.compare(was, was) == []
now = copy.deepcopy(was)
now[0]["measured_over_predicted"] = str(float(now[0]["measured_over_predicted"]) + 0.011)
now[1]["gpus"] = "7"
assert residuals.compare(now, was) == ["1 rows moved by more than 1 points", "1 rows are described otherwise"]
assert residuals.compare(was, was[1:]) == ["1 rows are missing there"]
assert residuals.compare(was[1:], was) == ["1 rows there run no more"]
PY

# Margins by hand: of nine the range, of nineteen the second from each end, of eighteen nine tenths of the way there;
# sources are ranked among each other; a limit that moved and a class that is new are named.
python3 - <<'PY'
import copy, margins
near = lambda a, b: all(abs(x - y) < 1e-12 for x, y in zip(a, b))
assert near(margins.limits(range(9), 80), (0, 8)) and near(margins.limits(range(19), 80), (1, 17))
assert near(margins.limits(range(18), 80), (0.9, 16.1))
rows = {(source, i): ("t.csv", "f", "k", 1 + (0.1 if source == "b" else -0.1) + i / 100)
        for source in "ab" for i in range(9)}
assert near(margins.span(rows, 80), (0.9, 1.18))
assert margins.span(dict(list(rows.items())[:8]), 80) is None
was = margins.committed()
assert was[-1]["framework"] == was[-1]["kind"] == "all" and margins.compare(was, was) == []
now = copy.deepcopy(was)
now[-1]["high"] = str(float(now[-1]["high"]) + 0.011)
assert len(margins.compare(now, was)) == 1
assert margins.compare(was[1:], was) == [f"{was[0]['framework']} {was[0]['kind']}: no more"]
PY
