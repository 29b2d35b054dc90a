#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sweeps, bests, budgets and merged databases as a person meets them.
# usage: tests/test-cli-sweep.sh FORETRAIN
set -uo pipefail
foretrain=$(readlink -f "$1")
source=$(readlink -f "$(dirname "$0")/..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 3
passed=0 failed=0

# expect NAME STATUS FRAGMENT ARGUMENT…: exit status and a fragment of what is said, on either stream.
expect() {
  local name=$1 wanted=$2 fragment=$3 status
  shift 3
  "$foretrain" "$@" >out 2>err
  status=$?
  if [ $status -eq "$wanted" ] && cat out err | grep -qF -- "$fragment"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s\n  status %s, wanted %s and "%s": %s\n' "$name" $status "$wanted" "$fragment" "$(cat out err)"
  fi
}

expect "a grid" 0 '16 points, 16 played' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 --db a.db
expect "the same again" 0 '0 played, 16 in the database already' sweep llama2-7b --grid nodes=1..4:1 \
  --grid zero_stage=0,1,2,3 --db a.db
expect "a condition" 0 '4 played, 12 left out by --where' sweep llama2-7b --grid nodes=1..4:1 \
  --grid zero_stage=0,1,2,3 --where 'zero_stage = 3' --db b.db
expect "JSON" 0 '"known" : 16' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 --db a.db --json
expect "a share" 0 '6 points, 6 played' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 --shard 1/3 \
  --db s1.db
expect "no share" 2 '--shard: expected I/N' sweep llama2-7b --grid nodes=1 --shard 4/3
expect "a wrong key" 2 'no setting is called "nods"; did you mean "cluster.nodes"?' sweep llama2-7b --grid nods=1,2
expect "a metric of runs" 2 'step is known only once a point has run' sweep llama2-7b --grid nodes=1,2 \
  --where 'step < 1 s'
expect "a wrong value is a row" 0 '1 cannot run' sweep llama2-7b --grid topology=dgx-h100,dgx-h10 --db c.db

expect "the other shares" 0 '5 points, 5 played' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 \
  --shard 2/3 --db s2.db
expect "the last share" 0 '5 points, 5 played' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 \
  --shard 3/3 --db s3.db
expect "shares in one file" 0 's3.db: 5 runs, 5 points' merge s1.db s2.db s3.db --db all.db
expect "merging again" 0 's2.db: 0 runs, 5 points' merge s2.db --db all.db
expect "merging with oneself" 2 'is where the others go' merge all.db --db all.db
ln -s all.db link.db && ln all.db hard.db
for name in ./all.db link.db hard.db; do
  expect "merging with oneself as $name" 2 'is where the others go' merge "$name" --db all.db
done
expect "merging nothing" 2 'no database "none.db"' merge none.db --db all.db
expect "the whole grid is there" 0 '0 played, 16 in the database already' sweep llama2-7b --grid nodes=1..4:1 \
  --grid zero_stage=0,1,2,3 --db all.db
rows="select settings, status, step_ps, peak_allocated_bytes, value
  from point join run using (run_key) join setting using (run_id) where name = 'cluster.topology' order by number"
[ "$(sqlite3 all.db "$rows")" = "$(sqlite3 a.db "$rows")" ] && [ "$(sqlite3 all.db "$rows" | wc -l)" -eq 16 ]
[ $? -eq 0 ] && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED merged shares are the whole sweep"; }
[ -z "$(sqlite3 all.db 'pragma foreign_key_check')" ] && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED foreign keys"; }

# The least step of all runs that fit, as SQL finds it.
fastest=$(sqlite3 a.db "select run_id from run where verdict = 'fits' order by step_ps, run_id limit 1")
"$foretrain" best --minimise step --db a.db --json --top 1 >out
grep -q "\"run_id\" : $fastest," out && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED the fastest is run $fastest: $(cat out)"; }
cp "$source/workloads/llama2-7b.ini" 'a "quoted" name.ini'
"$foretrain" run 'a "quoted" name.ini' --db quoted.db -q && "$foretrain" best --minimise step --db quoted.db --json >out
python3 -c 'import json, sys; sys.exit(json.load(open("out"))[0]["workload"] != "a \"quoted\" name")' \
  && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED quotes in JSON: $(cat out)"; }
expect "the best under a condition" 0 '"gpus" : 8,' best --minimise step --subject 'gpus <= 8' --top 1 --db a.db --json
expect "what does not fit counts when asked for" 0 'oom' best --minimise step --maximise gpus \
  --subject 'verdict = oom' --db a.db --json
expect "the American spelling" 0 '"gpus" : 8,' best --minimize step --subject 'gpus <= 8' --top 1 --db a.db --json
expect "a front" 0 'tokens_per_second' best --minimise gpus --maximise tokens_per_second --db a.db
cp "$source/workloads/llama2-7b.ini" 'a"b.ini'
ln -sfn "$source/workloads/models" models
"$foretrain" run 'a"b.ini' -q --db quote.db
"$foretrain" best --minimise step --db quote.db --json >out
[ "$(sqlite3 :memory: "select json_extract(readfile('out'), '\$[0].workload')")" = 'a"b' ] && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED a quote in a name: $(head -4 out)"; }
"$foretrain" sweep llama2-7b --grid nics_per_node=4,8 --grid oversubscription=1,2 --grid zero_stage=3,4 \
  --db axes.db >out
grep -qF '4 cannot run: parallel.zero_stage: 4 is out of range' out && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED a sweep says why points cannot run: $(cat out)"; }
expect "axes are shown" 0 'nics_per_node  oversubscription' best --minimise step --db axes.db
expect "and told once where they are equal" 0 'All rows: workload llama2-7b' best --minimise step --db axes.db
expect "a subject over settings" 0 '"cluster.nics_per_node" : "4"' best --minimise step --db axes.db --json \
  --subject 'nics_per_node = 4 or oversubscription = 2'
expect "a row plays again" 0 'FITS' run 2 --db axes.db
keys='select count(distinct run_key) from run where run_id in (2, (select max(run_id) from run))'
[ "$(sqlite3 axes.db "$keys")" = 1 ] \
  && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED a run played again has the same key"; }
expect "with a setting over it" 0 'micro-batch 2' run 2 --db axes.db --set training.micro_batch=2
expect "no objective" 2 '--minimise price_to_train' best --db a.db
expect "no such metric" 2 'no metric of numbers is called "speed"' best --maximise speed --db a.db
expect "a wrong unit" 2 'a time cannot be compared with a size in bytes' best --minimise step --subject 'step < 3 GiB' \
  --db a.db
expect "nothing that fulfils it" 2 'no run has the figures' best --minimise step --subject 'step < 1 ns' --db a.db

expect "a front drawn" 0 'front.svg is drawn' plot pareto --db a.db -o front.svg
expect "two objectives drawn" 0 'is drawn' plot pareto --minimise step --minimise peak_reserved --subject 'gpus <= 16' \
  --db a.db -o two.svg
expect "three objectives" 2 'expected two objectives' plot pareto --minimise step --minimise gpus \
  --maximise tokens_per_second --db a.db -o x.svg
expect "scaling drawn" 0 'scaling.png is drawn' plot scaling --db a.db -o scaling.png
expect "scaling has no objectives" 2 'it takes --db, --subject and -o' plot scaling --minimise step --db a.db -o x.svg
expect "none of the best" 2 '--top: expected a number from 1 on, found 0' best --minimise step --db a.db --top 0
expect "a point's timeline" 2 'foretrain sweep --timeline=yes' plot timeline last --db a.db -o x.svg
expect "a picture has a name" 2 'ends in .svg or .png' plot pareto --db a.db -o -
expect "one run has no objectives" 2 "are pareto's" plot timeline last --minimise step --db a.db -o x.svg
[ -s front.svg ] && [ -s scaling.png ] && [ ! -e x.svg ] && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED pictures"; }

"$foretrain" sweep llama2-7b --grid nodes=1..400:1 --grid micro_batch=1..20:1 --db stop.db --jobs 1 >out &
sleep 0.5; kill -INT $!; wait $!; status=$?
reached=$(sqlite3 stop.db 'select count(*) from point where run_key in (select run_key from run)')
if [ $status -eq 130 ] && [ "$reached" -gt 0 ] && [ "$(sqlite3 stop.db 'pragma integrity_check')" = ok ]; then
  passed=$((passed + 1))
else
  failed=$((failed + 1)); echo "FAILED Ctrl-C: status $status, $reached points"
fi

# A key stands for every file that a run has read: NCCL's table, the rules of its search, tuners of plugins.
mkdir data && cp -r "$FORETRAIN_DATA/topologies" "$FORETRAIN_DATA/workloads" data
keyed() { FORETRAIN_DATA=$PWD/data "$foretrain" run llama2-7b -q --db keys.db; }
keyed
for file in nccl-2.30 nccl-search nccl-tuners; do
  echo '# a line' >>"data/topologies/catalog/$file.ini"
  keyed
done
keys=$(sqlite3 keys.db 'select count(distinct run_key) from run')
[ "$keys" = 4 ] && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED a key for each set of files: $keys"; }

budgets() { # writes b.ini, changed by a sed script
  printf '%s\n' '[a]' 'workload = llama2-7b' 'training.micro_batch = 1' 'step <= 60 s' \
    'peak_allocated <= 0.95 * capacity ; room' 'baseline = step 2 %, peak_allocated' | sed -e "$1" >b.ini
}
budgets ''
expect "no baseline yet" 2 'b.ini:1: a: has no accepted baseline in k.db, which does not exist' check b.ini --db k.db
expect "a baseline without a reason" 2 '--accept: say why' check b.ini --db k.db --accept
expect "a baseline" 0 'accepted' check b.ini --db k.db --accept --reason 'the first'
before=$(sha256sum <k.db)
expect "nothing moved" 0 '0 of 4 checks failed' check b.ini --db k.db
[ "$before" = "$(sha256sum <k.db)" ] && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED a check leaves the baselines' file as it is"; }
budgets 's/^step <=.*/training.sequence_length = 2048/'
expect "better is no failure" 0 'moved' check b.ini --db k.db
budgets 's/^step <=.*/training.sequence_length = 2048/; s/, peak_allocated/, peak_allocated either way/'
expect "either way" 1 'peak_allocated as accepted, either way' check b.ini --db k.db
budgets 's/micro_batch = 1/micro_batch = 2/; s/step 2 %, peak_allocated/peak_allocated 50 GiB/'
expect "a tolerance in bytes" 0 'peak_allocated within 50.00 GiB' check b.ini --db k.db
budgets 's/micro_batch = 1/micro_batch = 2/'
"$foretrain" check b.ini --db k.db >out
[ "$(sed -n 2p out | grep -c failed)" = 1 ] && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED failures first: $(cat out)"; }
"$foretrain" check b.ini --db k.db --json >out
python3 -c 'import json; d = json.load(open("out")); assert d["failed"] == 2 and d["json_version"] and \
  [c for c in d["checks"] if c["verdict"] == "failed" and c["line"] == 3 and c["accepted"]]' \
  && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED a check as JSON: $(cat out)"; }
expect "an annotation where the recipe changed" 1 '::error file=b.ini,line=3,title=a::step within 2 %25' check b.ini \
  --db k.db --github -q
expect "baselines are listed" 0 'the first' list baselines --db k.db
printf '[a]\nworkload = llama2-7b\n' >w.ini
expect "a workload alone must fit" 0 'verdict fits, device_used' check w.ini --db none.db
budgets 's/step <=.*/step <= 1 ns/'
expect "a breach" 1 '1 of 4 checks failed' check b.ini --db k.db
expect "an annotation" 1 '::error file=b.ini,line=4,title=a::step <= 1 ns' check b.ini --db k.db --github -q \
  --junit j.xml --markdown m.md
python3 "$source/tests/junit.py" j.xml && grep -q 'failures="1"' j.xml && grep -q '^| failed | a | step <= 1 ns' m.md \
  && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED JUnit and Markdown"; }
sed -i 's/<properties/<property/' j.xml
python3 "$source/tests/junit.py" j.xml 2>/dev/null \
  && { failed=$((failed + 1)); echo "FAILED the look at JUnit cannot fail"; } || passed=$((passed + 1))
budgets 's/step <=.*/step < 1 ns/;s/^peak_allocated <=/peak_allocated </'
expect "bare operators" 1 'step < 1 ns' check b.ini --db k.db
budgets 's/step <=.*/step > 1 ns/'
expect "above" 0 '0 of 4 checks failed' check b.ini --db k.db
budgets 's/step <=.*/step < /'
expect "half a budget" 2 'b.ini:4: "step <", column 7: expected a metric or a quantity, found the end' check b.ini \
  --db k.db

# A config.json and a tool's recipe are all that a budget needs, beside what these do not say.
cat >config.json <<'JSON'
{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
 "intermediate_size": 1024, "vocab_size": 1000,
 "max_position_embeddings": 2048, "tie_word_embeddings": false}
JSON
echo '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 1}' >ds.json
printf '%s\n' '[tiny]' 'config = config.json' 'recipe = ds.json' 'topology = dgx-h100' \
  'training.sequence_length = 1024' 'verdict = fits' 'zero_stage = 3' 'micro_batch = 2' 'step < 1 s' \
  'baseline = step 1 %, parameters' >r.ini
expect "a recipe and a config.json" 0 'zero_stage = 3' check r.ini --db r.db --accept --reason 'as it is'
expect "their baseline" 0 '0 of 6 checks failed' check r.ini --db r.db
sed -i 's/"stage": 3/"stage": 2/' ds.json
expect "the recipe's file moved it" 1 'parallel.zero_stage is 2, was 3' check r.ini --db r.db
expect "said at its line" 1 'file=ds.json,line=1' check r.ini --db r.db --github -q
sed -i 's/"stage": 2/"stag": 2/' ds.json
expect "a recipe that is none" 2 'ds.json' check r.ini --db r.db
sed -i 's/ds.json/none.json/' r.ini
expect "no recipe" 2 'none.json' check r.ini --db r.db
budgets 's/micro_batch = 1/micro_batch = 2/'
expect "the recipe moved it" 1 'training.micro_batch is 2, was 1' check b.ini --db k.db
budgets ''
sqlite3 k.db "update baseline set value = 2 * value, model_version = 'old'"
expect "the tool moved it" 0 'accepted under results version old' check b.ini --db k.db
sqlite3 k.db "update baseline set metric = 'peak_alocated' where metric = 'peak_allocated'"
expect "a renamed metric" 2 'a metric "peak_alocated", which this version lacks' check b.ini --db k.db
sqlite3 k.db "update baseline_setting set name = 'training.micro_bach' where name = 'training.micro_batch'"
expect "an unknown recipe" 2 'is not one of this version' check b.ini --db k.db
budgets 's/step <=/stp <=/'
expect "an unknown metric" 2 'b.ini:4: "stp <= 60 s", column 1: no metric is called "stp"' check b.ini --db k.db
budgets 's/= llama2-7b/= llama2-7/'
expect "a missing workload" 2 'b.ini:2: a:' check b.ini --db k.db
budgets 's/micro_batch = 1/micro_batch = x/; /^baseline/d'
expect "a wrong setting, at its line" 2 'b.ini:3:1: a: training.micro_batch: expected' check b.ini --db none.db
budgets 's/baseline = step/baseline = gpus/'
expect "another schema's baseline" 2 'is not one of this version' check b.ini --db k.db
budgets 's/baseline = step/baseline = topology/'
expect "a tolerance on texts" 2 'topology is a text and compared as it is' check b.ini --db k.db
budgets 's/step 2 %/step 2/'
expect "a tolerance that is no share" 2 'b.ini:6:1: a.baseline: a tolerance of 2 is neither a share below 100 % nor' \
  check b.ini --db k.db
budgets 's/micro_batch = 1/micro_batch = 2/; s/\[a\]/[a, b]/; s/^step.*/price_to_train <= 1 USD/; /^baseline/d'
expect "what has no value fails and says so" 1 'price_to_train has no value in this run' check b.ini --db none.db
expect "properties of an annotation" 1 '::error file=b.ini,line=4,title=a%2C b::price_to_train' check b.ini \
  --db none.db --github
[ ! -e none.db ] && passed=$((passed + 1)) \
  || { failed=$((failed + 1)); echo "FAILED a check without baselines leaves no database"; }
# ZeRO-0 keeps 16 bytes for each of 6.7e9 parameters on every GPU: more than 80 GB holds.
budgets 's/^training.*/parallel.zero_stage = 0/; /^baseline/d; /^peak/d'
expect "a time of what does not fit" 1 'verdict oom, short_by' check b.ini --db none.db
budgets 's/^training.*/parallel.zero_stage = 0/; /^baseline/d; s/^peak.*/verdict = oom/'
expect "one that is to run out" 0 '0 of 2 checks failed' check b.ini --db none.db
budgets ''
sqlite3 k.db 'pragma user_version = 99'
expect "another schema" 2 'schema version 99' check b.ini --db k.db
expect "the shipped workloads" 0 '0 of ' check "$source/tests/budgets.ini" --db own.db

"$foretrain" sweep llama2-7b --db m.db -q --grid zero_stage=2,3 --grid micro_batch=1,8 --grid model.layers=16,64
expect "a map of what fits" 0 'm.svg is drawn' plot oom-map --db m.db -o m.svg
expect "a map over named axes" 0 'm.svg is drawn' plot oom-map layers zero_stage --db m.db -o m.svg
expect "one axis alone" 2 'the one across and the one up' plot oom-map layers --db m.db -o m.svg
expect "capacity" 0 'c.svg is drawn' plot capacity --db m.db -o c.svg
expect "capacity of a run" 2 'it takes no more' plot capacity last --db m.db -o c.svg
expect "a map of no database" 2 'no database' plot oom-map --db none.db -o m.svg

# On a terminal a line says how far it is; -q keeps it away.
on_terminal() { # NAME FRAGMENT ARGUMENT…: a fragment of what a terminal gets
  local name=$1 fragment=$2
  shift 2
  script -qec "$(printf '%q ' "$foretrain" "$@")" /dev/null >out </dev/null
  if [ $? -eq 0 ] && grep -qE -- "$fragment" out; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s\n  wanted "%s": %s\n' "$name" "$fragment" "$(cat -v out)"
  fi
}
export FORETRAIN_DB=t.db
on_terminal "progress of a sweep" '1 of 2 points, ' sweep llama2-7b --grid nodes=1,2
on_terminal "of advice" ' of [0-9]+ layouts, ' advise llama2-7b --gpus 8
on_terminal "of an explanation: the tornado's plays come first" '1 of 15 plays, ' explain llama2-7b
on_terminal "and then what would make it faster" '[0-9]+ of ([2-9][0-9]|[0-9]{3}) plays, ' explain llama2-7b
on_terminal "of a tornado" '1 of 15 plays, ' plot tornado llama2-7b -o t.svg
for verb in "explain llama2-7b" "advise llama2-7b --gpus 8" "plot tornado llama2-7b -o t.svg"; do
  # shellcheck disable=SC2086
  script -qec "$(printf '%q ' "$foretrain" $verb -q)" /dev/null >out </dev/null
  if [ $? -eq 0 ] && ! grep -qE 'of [0-9]+ (plays|layouts), ' out; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED no progress of %s with -q: %s\n' "$verb" "$(cat -v out)"
  fi
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
