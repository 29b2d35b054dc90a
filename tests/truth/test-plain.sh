#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The baseline of fits: its formula by hand, and beside it the rows that foretrain plays. usage: test-plain.sh FORETRAIN
set -euo pipefail
here=$(readlink -f "$(dirname "$0")")
export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 LC_ALL=C
# One layer: q and o 2 x 64, k and v 128, three matrices of 8 x 16 and two norms are 656 parameters, beside the
# vocabulary's 256, of 20 bytes each; a token leaves 2 x (48 + 16 + 64) bytes and 10 a word. Two tensor ranks halve it.
python3 - <<'PY'
import plain
row = {"cluster.nodes": "1", "cluster.gpus_per_node": "1", "model.layers": "1", "model.hidden_size": "8",
       "model.heads": "1", "model.kv_heads": "1", "model.intermediate_size": "16", "model.vocab_size": "32",
       "training.sequence_length": "4", "training.micro_batch": "1", "training.gradient_accumulation": "1"}
alone = 912 * 20 + 4 * 256 + 4 * 32 * 10
assert plain.formula(row) == alone, plain.formula(row)
assert plain.formula({**row, "cluster.gpus_per_node": "2", "parallel.tensor": "2"}) == alone / 2
assert plain.formula({**row, "cluster.gpus_per_node": "2", "parallel.zero_stage": "1"}) == alone - 912 * 6
PY
some=$(mktemp)
trap 'rm -f "$some"' EXIT
python3 - "$here/fits.csv" "$some" <<'PY' # three that fit, two that do not
import csv, sys
with open(sys.argv[1], newline="") as table, open(sys.argv[2], "w", newline="") as some:
    rows = csv.DictReader(table)
    kinds = {"yes": [], "no": []}
    for row in rows:
        kinds.setdefault(row["measured.fits"], []).append(row)
    writer = csv.DictWriter(some, rows.fieldnames)
    writer.writeheader()
    writer.writerows(kinds["yes"][:3] + kinds["no"][:2])
PY
told=$(python3 "$here/plain.py" "$1" "$some")
echo "$told"
grep -q '^Those that foretrain plays, 5 of 5$' <<<"$told" && grep -q '^  foretrain  all      5 rows   right' <<<"$told"
