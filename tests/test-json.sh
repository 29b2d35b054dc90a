#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --json of every verb: JSON, with its version everywhere, and no member that docs/json.md or the database's schema does
# not name. usage: FORETRAIN_DATA=. tests/test-json.sh FORETRAIN
. "$(dirname "$0")/lib/verdicts.sh"
page=$FORETRAIN_DATA/docs/json.md
small_workload >a.ini
"$foretrain" schema --json >schema.json

cat >members.py <<'PY'
import json, re, sys
# Maps whose keys are names of other things: settings, causes, tenants, kinds of operations, measures, operations.
MAPS = {"settings", "causes_ps", "memory_at_peak", "held_bytes", "compute", "errors", "verdicts", "operations", "like"}
def names(value, within=None):
    if isinstance(value, dict):
        for key, inner in value.items():
            if within not in MAPS:
                yield key
            yield from names(inner, key if isinstance(inner, dict) else None)
    elif isinstance(value, list):
        for inner in value:
            yield from names(inner)
answer = json.load(sys.stdin)
schema = json.load(open("schema.json"))
known = {column["name"] for table in schema["tables"] for column in table["columns"]}
known |= set(re.findall(r"`([a-z_0-9]+)`", open(sys.argv[1]).read())) | {"json_version", "model_version", "envelope"}
tops = answer if isinstance(answer, list) else [answer]
assert all("json_version" in top for top in tops), "no json_version"
unknown = sorted({name for name in names(answer) if name.split(".")[0] not in known})
assert not unknown, f"not documented: {unknown}"
PY

answers() { # NAME ARGUMENTS...
  local name=$1 status
  shift
  "$foretrain" "$@" --json >answer.json 2>error.txt
  status=$?
  [ "$status" -le 1 ] && python3 members.py "$page" <answer.json 2>why.txt
  verdict "$name" $? "status $status, $(tail -n 1 error.txt) $(tail -n 1 why.txt)"
}

answers "run" run a.ini --db a.db
answers "run that does not fit" run a.ini --db a.db --set training.micro_batch=2000
answers "explain" explain a.ini --db a.db
answers "stages" stages a.ini
answers "fit" fit a.ini --vary training.micro_batch
answers "collective" collective all-reduce --topology dgx-h100 --nodes 1
answers "layers" layers a.ini
answers "sweep" sweep a.ini --grid training.micro_batch=1,2 --db a.db
answers "best" best --minimise step --db a.db
answers "compare" compare a.ini --set training.micro_batch=2 --db a.db
answers "compare of quotes" compare a.ini --topology dgx-h100 --topology dgx-a100 --db a.db
answers "advise" advise a.ini --gpus 8 --db a.db
answers "advise with a length" advise a.ini --gpus 8 --db a.db --set training.total_tokens=1e9
for kind in gpus links platforms topologies workloads settings; do answers "list $kind" list $kind; done
answers "list runs" list runs --db a.db
printf '[check a]\nworkload = a.ini\nstep = 1 s\n' >budgets.ini
answers "check" check budgets.ini --db a.db
answers "list baselines" list baselines --db a.db
answers "merge" merge a.db --db b.db
answers "report" report last --db a.db -o r.html
"$foretrain" run a.ini --db a.db -q >/dev/null
answers "trace" trace a.ini -o a.trace.csv
answers "trace of Perfetto" trace last --db a.db --format chrome -o a.json
answers "trace of Chakra" trace a.ini --format chakra -o a
answers "replay" replay a.trace.csv --topology dgx-h100 --db a.db
answers "export" export a.ini --as torchtitan -o a.toml
answers "import" import recipe a.toml -o b.ini
table=$FORETRAIN_DATA/tests/truth/data_parallel.csv
{ head -n 1 "$table" && grep -m 1 '^[^#]*,fsdp2,' "$table"; } >truth.csv
# Two ranks: a kernel of 1 ms, then an all-reduce of 64 MiB that took 2 ms.
cp "$FORETRAIN_DATA/tests/data/traces/two-ranks.json" sent.json
has() { # NAME EXPRESSION, of the last answer as `a`
  python3 -c "import json; a = json.load(open('answer.json')); assert $2" 2>why.txt
  verdict "$1" $? "$(tail -n 1 why.txt)"
}
answers "import of figures" import kineto sent.json --figures
has "measured figures" \
  "a['measured'][0]['whole']['compute_ps'] == 10**9 and a['measured'][0]['exposed_ps'] == 2 * 10**9"
answers "import of a trace" import kineto sent.json -o sent.csv
has "no replay without a machine" "a['replay'] is None and a['written'][0]['path'] == 'sent.csv'"
answers "import of a replay" import kineto sent.json -o sent.csv -t dgx-h100 --keep-communication
has "a replay" "a['replay']['step_ps'] == a['measured_ps'] == 3 * 10**9 and a['replay']['of_measured'] == 1"
answers "import far off" import kineto sent.json -o sent.csv -t dgx-h100
has "why it is off" "a['replay']['of_measured'] < 0.97 and a['replay']['of_measured_with_its_communication'] == 1"
answers "import that calibrates" import kineto sent.json -o sent.ini -t dgx-h100 --calibrate
if ! "$foretrain" import chakra a.0.et 2>&1 | grep -q 'built without protobuf-c'; then
  answers "import of Chakra" import chakra a.*.et --groups a.groups.json -o back.csv -t dgx-h100
  has "Chakra's replay" "a['ranks'] == a['replay']['ranks'] and a['replay']['of_measured'] is None"
fi
answers "validate" validate truth.csv --rows --db a.db
answers "schema" schema
answers "schema trace" schema trace
if command -v gnuplot >/dev/null; then answers "plot" plot memory last --db a.db -o m.svg; fi
count_verdicts
