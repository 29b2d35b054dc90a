#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The program as a person meets it: mistakes get one error with a place and advice, exit status 2 and no database; good
# input gets an answer, a database and pictures.
# usage: tests/test-cli.sh FORETRAIN
set -uo pipefail
foretrain=$(readlink -f "$1")
source=$(readlink -f "$(dirname "$0")/..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 3
passed=0 failed=0

verdict() { # NAME GOOD DETAIL
  if [ "$2" = yes ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED %s\n%s\n' "$1" "$3"; fi
}

# refuses NAME FRAGMENT ARGUMENT…: exit status 2, one line of error that holds the fragment, no database.
refuses() {
  local name=$1 fragment=$2 good=yes status
  shift 2
  rm -f foretrain.db
  "$foretrain" "$@" >out 2>err
  status=$?
  [ $status -eq 2 ] || good=no
  grep -qF -- "$fragment" err || good=no
  [ "$(wc -l <err)" -eq 1 ] || good=no
  [ ! -e foretrain.db ] || good=no
  [ ! -s out ] || good=no
  verdict "$name" $good "  status $status, wanted \"$fragment\", error: $(cat err)"
}

# says NAME FRAGMENT ARGUMENT…: exit status 0 and the fragment on stdout.
says() {
  local name=$1 fragment=$2 good=yes status
  shift 2
  "$foretrain" "$@" >out 2>err
  status=$?
  [ $status -eq 0 ] || good=no
  grep -qF -- "$fragment" out || good=no
  verdict "$name" $good "  status $status, wanted \"$fragment\", error: $(cat err)"
}

workload() { # writes a.ini from the shipped workload, changed by a sed script
  sed -e "$1" "$source/workloads/llama2-7b.ini" >a.ini
  ln -sfn "$source/workloads/models" models
}

says "advice on more GPUs than the batch has sequences" "keeps the workload's global batch" advise llama3-8b-fsdp2 -q \
  --gpus 16 --set parallel.tensor=1 --set parallel.pipeline=1 --set parallel.zero_stage=3
workload 's/^micro_batch/micro_bach/'
refuses "unknown key" 'training.micro_bach' run a.ini
grep -q '^foretrain: a.ini:[0-9]*:[0-9]*: ' err && grep -q 'micro_batch' err
verdict "unknown key: place and advice" "$([ $? -eq 0 ] && echo yes)" "  $(cat err)"
workload 's/^\[training\]/[trainig]/'
refuses "unknown group" 'training' run a.ini
workload 's/^micro_batch.*/micro_batch = one/'
refuses "wrong type" 'training.micro_batch' run a.ini
workload 's/^micro_batch.*/micro_batch = 0/'
refuses "bad range" 'training.micro_batch' run a.ini
workload 's/^micro_batch.*/micro_batch = 1\nmicro_batch = 2/'
refuses "duplicate key" 'micro_batch' run a.ini
workload 's/^gradient_accumulation.*/gradient_accumulation = 1\nglobal_batch = 17/'
refuses "batch identity" 'training.global_batch' run a.ini
workload 's/^config.*/config = models\/llama-2-7.json/'
refuses "missing file" 'llama-2-7b.json' run a.ini
workload 's/^topology.*/topology = dgx-h10/'
refuses "unknown topology" 'dgx-h100' run a.ini
workload 's/^zero_stage.*/zero_stage = 4/'
printf '' >empty.ini
refuses "a topology without keys" 'empty.ini: node.gpu: is missing' run llama2-7b -t empty.ini
workload 's/^zero_stage.*/zero_stage = 4/'
refuses "no such stage" 'parallel.zero_stage' run a.ini
workload 's/^precision.*/precision = fp8/'
refuses "no fp8 on A100" 'fp8 matmuls are not in the hardware' run a.ini -t dgx-a100
workload 's/^framework.*/framework = ddp/; s/^zero_stage.*/zero_stage = 1/'
refuses "a stage that the framework has not" 'ddp shards nothing' run a.ini
workload ''
refuses "tensor parallelism by name" 'tensor' run a.ini --set parallel.tensor=2
refuses "no such tool" 'expected one of deepspeed, torchtitan, megatron' run a.ini --as vllm
refuses "missing unit" 'lacks a unit' run a.ini --set cluster.nic_bandwidth=200
refuses "unknown --set" 'did you mean "sequence_length"?' run a.ini --set training.sequence_lenght=1
refuses "another framework's section" 'framework paper does not read it' run a.ini \
  --set deepspeed.reduce_bucket_size=1e8
refuses "no bf16 on V100" 'training.precision' run a.ini -t dgx2-v100
refuses "unknown verb" 'stages' stage a.ini
refuses "advice on GPUs and nodes" 'exclude each other' advise a.ini --gpus 8 --nodes 1..2
refuses "advice within endless days" 'expected a number above 0' advise a.ini --days inf
refuses "advice for more than all money" 'expected a number above 0' advise a.ini --budget 1e308M
refuses "advice within days of nothing" 'total_tokens' advise a.ini --days 5 --set model.layers=1 -q
refuses "a share of advice without a database" 'with --db FILE' advise a.ini --shard 1/2
refuses "more ranks than are played one by one" 'ranks would be played one by one' \
  run llama2-7b --set cluster.nodes=16384 --fold=off
refuses "a timeline of every rank" 'at most 1572864 are with a timeline' \
  run llama2-7b --set cluster.nodes=256 --fold=off
refuses "a tool's recipe without a file" 'with -o FILE' advise a.ini --as megatron
refuses "advice on shares of no number" 'I/N' advise a.ini --shard 3/2 --db advice.db
refuses "advice on several jobs" 'each job gets is not modelled' advise a.ini a.ini --gpus 8
refuses "advice by a day long past" 'a day to come' advise a.ini --by 2020-01-01
refuses "a page without a name" 'report: say where to' report a.ini
refuses "a page of nothing" 'one to eight runs' report -o x.html
refuses "no workload" 'a workload' run
refuses "missing workload" 'llama2-7b' run llama2-7
refuses "unknown fidelity" 'no such choice' run a.ini --fidelity=chunk
printf '{"model_type": "jamba", "hidden_size": 8}' >moe.json
refuses "model to come" 'state-space' run a.ini --set model.config=moe.json

printf '\xef\xbb\xbf' >b.ini
sed -e 's/$/\r/' "$source/workloads/llama2-7b.ini" >>b.ini
sed -e 's/^config.*/config = c.json/' -i b.ini
sed -e 's/{/{ \/\/ a comment/' -e 's/}/,}/' "$source/workloads/models/llama-2-7b.json" | sed -e 's/,,/,/' >c.json
says "BOM, CRLF, comments and trailing commas are taken" 'ZeRO' run b.ini --db b.db
says "stages" 'ZeRO' stages a.ini --db a.db
says "who was played together" 'ranks 0-4, 6-15: alike' run a.ini --db a.db --explain --set 'cluster.slow_gpus=5: 0.8'
says "and why not" 'rank 5: its GPU runs at 0.8 of its speed' stages a.ini --db a.db --explain \
  --set 'cluster.slow_gpus=5: 0.8'
says "links too" 'nic.out: 15 alike; nic.1.1 at 0.5 of its capacity' run a.ini --db a.db --explain \
  --set 'cluster.slow_links=nic.1.1: 0.5'
says "without folding" 'Folding is off' run a.ini --db a.db --explain --fold=off
says "a length in thousands" '4096 is written out' run a.ini --db a.db --set sequence_length=4k
says "a spine that nothing crosses" 'under the same leaves' run a.ini --db a.db --set nodes=2 --set oversubscription=2
printf '[training]\nglobal_batch = 32\n[model]\nconfig = %s\n[cluster]\ntopology = dgx-h100\n' \
  "$source/workloads/models/llama-2-7b.json" >global.ini
says "a global batch alone" 'accumulated 4 times' run global.ini --db a.db \
  --set training.sequence_length=128
"$foretrain" run llama3-8b-fsdp2 --db e.db -q
says "a run's recipe with a setting over it" 'training.micro_batch = 2' export last --as accelerate --db e.db \
  --set training.micro_batch=2
refuses "with one that is none" 'no such group [a]' export last --as accelerate --db e.db --set a.b=1
says "a step explained" 'The critical path' explain a.ini --db a.db
says "and one that was kept" 'What would make it faster' explain last --db a.db
says "as JSON" '"endless_links_ps"' explain last --db a.db --json
says "with a setting over it" 'What it hangs on' explain last --db a.db --set training.micro_batch=2
cp a.db key.db && sqlite3 key.db "update run set run_key = '77777777' || substr(run_key, 9) where run_id = 1"
refuses "no run to explain, though a key begins so" 'no run is "77"' explain 77 --db key.db
says "a run by its key" 'step' compare 77777777 2 --db key.db
refuses "a figure of none" 'did you mean "network_bandwidth"' explain a.ini --set what_if.network_bandwith=2
for verb in "report -o p.html" "compare -t dgx-h100 -t dgx-a100" "compare -s training.micro_batch=2"; do
  # shellcheck disable=SC2086
  refuses "a deep model played again and again" 'again and again' $verb a.ini --db a.db --set model.layers=1025
done
says "JSON says so too" '"members" : "0-4,6-15"' run a.ini --db a.db --json --explain --set 'cluster.slow_gpus=5: 0.8'
refuses "layers explains nothing" 'Unknown option --explain' layers a.ini --explain
refuses "layers plays nothing" 'Unknown option --fold' layers a.ini --fold=off
refuses "layers writes no run" 'Unknown option --db' layers a.ini --db a.db
refuses "run draws nothing" 'Unknown option -o' run a.ini -o x.svg
refuses "run has no window" 'Unknown option --from' run a.ini --from '1 ms'
refuses "a trace and its JSON on one output" 'add -o FILE' trace a.ini --json
refuses "plot has no verdict" 'Unknown option --require-fit' plot memory a.ini --require-fit -o x.svg
refuses "list has no settings" 'Unknown option --set' list gpus --set a.b=1
refuses "list gpus reads no database" 'reads no database' list gpus --db b.db
refuses "layers: one output" 'choose one' layers a.ini --json -o x.csv
for verb in run stages layers plot compare trace replay list import schema; do
  says "$verb --help" "foretrain $verb" $verb --help
  [ -z "$(LC_ALL=C tr -d '\000-\177' <out)" ]
  verdict "$verb --help in plain letters" "$([ $? -eq 0 ] && echo yes)" "  $(cat out)"
done
refuses "an option with a slip" 'Unknown option --jsn; did you mean "--json"?' run a.ini --jsn
refuses "a plot without words names all kinds" \
  'timeline, memory, exposed, parity, pareto, scaling, oom-map, capacity, tornado' plot
refuses "a plot of nothing" 'no such plot' plot torando 1 -o x.svg
refuses "a window of a validation" 'no setting, window' plot parity --from '1 ms' -o x.svg
refuses "objectives of one run" "are pareto's" plot timeline last --minimize step -o x.svg
refuses "a number that is none" '--worst: expected a number from 0 on, found few' validate x.csv --worst few
refuses "no such trace point" 'did you mean "run.start"?' run a.ini --trace-points=net.*,run.strt
"$foretrain" run a.ini --db traced.db --trace-points='net.rate,run.step' --set model.layers=2 >out 2>err
"$foretrain" run a.ini --db untraced.db --set model.layers=2 | cmp -s - out && grep -q '^[0-9]* net.rate flow=' err \
  && ! grep -v ' net.rate \| run.step ' err
verdict "trace points go to stderr and change nothing" "$([ $? -eq 0 ] && echo yes)" "  $(head -3 err)"
says "switches of developers" '--fold=off|on' run --help-twins
says "all options" '--fidelity=flow|step' run --help-all
"$foretrain" run --help >out && ! grep -q -e --fold -e --tie out
verdict "help without the switches of developers" "$([ $? -eq 0 ] && echo yes)" "  $(cat out)"
wide=$(for verb in run fit sweep plot compare import; do "$foretrain" $verb --help; done | awk 'length > 100')
verdict "help fits a terminal" "$([ -z "$wide" ] && echo yes)" "  $wide"
says "help of a kind" 'foretrain plot memory' plot memory --help
! grep -q -e --minimise out
verdict "help of a kind has its own options" "$([ $? -eq 0 ] && echo yes)" "  $(cat out)"
says "run --version" 'results version' run --version
says "-h" 'foretrain run WORKLOAD' -h
refuses "no such rank" 'no rank 16' run a.ini --set 'cluster.slow_gpus=16: 0.8'
refuses "a spread above the whole" 'cluster.gpu_spread' run a.ini --set cluster.gpu_spread=105%
says "JSON" '"step_ps"' run a.ini --db a.db --json
says "step fidelity" 'ZeRO' run a.ini --db a.db --fidelity=step --set model.layers=1
says "fit" 'ZeRO-3' fit a.ini --vary micro_batch
says "stages beside another layout" 'tensor=2' stages llama3-8b-fsdp2 --db a.db --layout tensor=2
refuses "a layout that is none" 'is not KEY=VALUE, as in tensor=4' stages a.ini --db a.db --layout tensor
refuses "a layout of nothing" 'expected KEY=VALUE, as in tensor=4, found nothing' stages a.ini --db a.db --layout ' ,'
refuses "one of nothing, to fit" 'as in tensor=4, found nothing' fit a.ini --vary layers --layout ''
refuses "a layout that says two things" '"tensor=4" says again what' stages a.ini --db a.db --layout 'tensor=2 tensor=4'
refuses "by two names" '"parallel.tensor=4" says again' stages a.ini --db a.db --layout 'tensor=2 parallel.tensor=4'
refuses "a layout that is none, to fit" 'did you mean "parallel.tensor"' fit a.ini --vary layers --layout tensors=2
says "fit of a layout" 'context=2' fit llama3-8b-fsdp2 --vary micro_batch --layout context=2
says "each stage's memory as Megatron logs it" 'Rank 8] (after' run llama2-7b-megatron --db a.db --as megatron \
  --set parallel.pipeline=2
"$foretrain" plot timeline llama2-7b-megatron --db a.db --set parallel.pipeline=2 --set model.layers=4 -q -o stages.svg
grep -q "'stage 0'" stages.gnuplot && grep -q '# bubble' stages.dat
verdict "stages have lanes, and bubbles show" "$([ $? -eq 0 ] && echo yes)" "  $(head -3 stages.dat)"
refuses "a stage that is not there" 'has no stage 7' plot timeline last --db a.db --stage 7 -o stages.svg
says "fit as JSON" '"value"' fit a.ini --vary layers --json
refuses "fit of nothing" 'what may vary is not said' fit a.ini
refuses "fit of a key that has no limit" 'is not micro_batch, sequence_length, layers or nodes' fit a.ini --vary lr
refuses "an allocator setting that does nothing here" 'garbage_collection_threshold' run a.ini \
  --set memory.garbage_collection_threshold=0.8
refuses "too small a split limit" 'max_split_size' run a.ini --set memory.max_split_size=1MiB
says "expandable segments" 'in expandable' run a.ini --db a.db --set memory.expandable_segments=yes
says "layers" 'q_proj' layers a.ini
says "layers as JSON" '"parameters" : 6738415616' layers a.ini --json
says "list" 'h100-sxm5-80gb' list gpus
says "topologies: GPU, count, network, price, instance" \
  'h100-sxm5-80gb          8  32 x efa-v2-100g      310          6.88  p5.48xlarge' list topologies
says "links" 'nvlink4-nvswitch3       nvswitch     450.0            382.0  measured' list links
says "runs" 'paper' list runs --db a.db
says "settings" 'micro_batch' list settings
says "schema" 'CREATE TABLE' schema
"$foretrain" run a.ini --db a.db --set training.micro_batch=64 --set training.activation_checkpointing=none \
  --require-fit >out
verdict "--require-fit" "$([ $? -eq 1 ] && echo yes)" "  $(head -5 out)"
# Llama 3 8B with two sequences a GPU: 0.1 GiB to spare, less than peaks are known to within.
"$foretrain" run llama3-8b-fsdp2 --set training.micro_batch=2 --set training.sequence_length=8448 --db edge.db \
  --require-fit >edge.out
[ $? -eq 1 ] && grep -q '^AT THE EDGE: ' edge.out && grep -q ' edge  ' edge.out &&
  [ "$(sqlite3 edge.db 'select verdict, device_used_low_bytes < capacity_bytes, device_used_high_bytes > capacity_bytes
    from run')" = 'edge|1|1' ]
verdict "the edge is no fit" "$([ $? -eq 0 ] && echo yes)" "  $(head -9 edge.out)"
"$foretrain" run llama3-8b-fsdp2 --set training.micro_batch=2 --db edge.db --require-fit --edge-fits -q
verdict "unless it is asked to be" "$([ $? -eq 0 ] && echo yes)" ""
printf '[edge]\nworkload = llama3-8b-fsdp2\ntraining.micro_batch = 2\nstep < 10 s\n' >edge.ini
"$foretrain" check edge.ini --db none.db >edge.out
[ $? -eq 1 ] && grep -q 'verdict edge, device_used_high' edge.out
verdict "check: the edge fails" "$([ $? -eq 0 ] && echo yes)" "  $(cat edge.out)"
"$foretrain" check edge.ini --db none.db --edge-fits >edge.out
verdict "check: unless it is asked to pass" "$([ $? -eq 0 ] && echo yes)" "  $(cat edge.out)"
"$foretrain" run llama2-7b --set parallel.framework=deepspeed --set parallel.zero_stage=2 --set cluster.nodes=1 \
  --set parallel.offload_optimizer=cpu --set 'host.dram=100 GiB' --db edge.db --require-fit >edge.out
[ $? -eq 1 ] && grep -q '^OUT OF HOST MEMORY: ' edge.out
verdict "host memory runs out" "$([ $? -eq 0 ] && echo yes)" "  $(head -9 edge.out)"
grep -q 'if it fitted' out
verdict "OOM says if it fitted" "$([ $? -eq 0 ] && echo yes)" "  $(cat out)"
"$foretrain" plot timeline last --db a.db -o t.svg && "$foretrain" plot memory last --db a.db -o m.png && [ -s t.svg ] \
  && [ -s m.png ]
verdict "plots" "$([ $? -eq 0 ] && echo yes)" ""
# Seven figures, a tenth less and a tenth more of each; the one that matters most makes the step longer, then shorter.
"$foretrain" plot tornado last --db a.db -o w.svg -q && [ "$(grep -c '^[0-6] ' w.dat)" = 14 ] &&
  grep '^6 ' w.dat | awk '{sign[NR] = $2} END {exit !(sign[1] > 0 && sign[2] < 0)}'
verdict "a tornado" "$([ $? -eq 0 ] && echo yes)" "  $(cat w.dat)"
for view in v_stage_table v_overlap v_memory_at_peak v_exposed_by_cause; do
  [ "$(sqlite3 a.db "select count(*) > 0 from $view")" = 1 ]
  verdict "$view" "$([ $? -eq 0 ] && echo yes)" ""
done
# DeepSpeed's stage 1 hides nothing: the view and the summary name the gather after the step and the reductions.
"$foretrain" run llama2-7b --db c.db --set parallel.framework=deepspeed --set parallel.zero_stage=1 \
  --set model.layers=2 >out 2>&1
grep -q 'boundary .*: gather parameters$' out && grep -q 'bucket-fill .*: reduce gradients$' out
verdict "causes name collectives" "$([ $? -eq 0 ] && echo yes)" "  $(cat out)"
[ "$(sqlite3 c.db "select group_concat(distinct collective) from v_exposed_by_cause where cause = 'boundary'")" = \
  'gather parameters' ]
verdict "v_exposed_by_cause names them" "$([ $? -eq 0 ] && echo yes)" ""
[ "$(sqlite3 a.db "select count(*) from run where step_ps <> compute_ps + exposed_ps + idle_ps")" = 0 ]
verdict "steps add up" "$([ $? -eq 0 ] && echo yes)" ""
[ "$(sqlite3 a.db "select count(*) from rank_class c where exposed_ps <> (select coalesce(sum(end_ps - start_ps), 0) \
  from exposure e
  where e.run_id = c.run_id and e.rank_class = c.rank_class and cause not in ('bubble', 'host-idle'))")" = 0 ]
verdict "causes add up" "$([ $? -eq 0 ] && echo yes)" ""


# The layer profile: 2 rows for the embedding, each of 32 layers and the head, and its sums are those of --json.
"$foretrain" layers a.ini -o p.csv && "$foretrain" layers a.ini --json >p.json
[ "$(head -1 p.csv)" = layer,phase,time_us,flops,bytes,activation_bytes,parameters ] && [ "$(wc -l <p.csv)" = 69 ] &&
  [ "$(sed -n '2p;3p;4p;68p' p.csv | cut -d, -f1,2 | tr '\n' ' ')" = \
    'embedding,forward embedding,backward 0,forward head,forward ' ]
verdict "layer profile: rows" "$([ $? -eq 0 ] && echo yes)" "  $(head -4 p.csv)"
[ "$(awk -F, 'NR > 1 && $2 == "forward" {sum += $7} END {printf "%.0f", sum}' p.csv)" = 6738415616 ]
verdict "layer profile: parameters" "$([ $? -eq 0 ] && echo yes)" ""
[ "$(awk -F, 'NR > 1 {sum += $4} END {printf "%.0f", sum}' p.csv)" = \
  "$(sqlite3 :memory: "select printf('%.0f', sum(value ->> 'flops')) from json_each(readfile('p.json'), '$.layers')")" ]
verdict "layer profile: flops" "$([ $? -eq 0 ] && echo yes)" ""
"$foretrain" run a.ini --db a.db --json >plain.json \
  && "$foretrain" run a.ini --db a.db --json --set model.profile=p.csv >replayed.json
[ "$(grep '"step_ps"' plain.json)" = "$(grep '"step_ps"' replayed.json)" ] && grep -q '"step_ps"' plain.json
verdict "layer profile: replayed, it is the run" "$([ $? -eq 0 ] && echo yes)" \
  "  $(grep step_ps plain.json replayed.json)"
grep -q '"json_version" : 1' p.json
verdict "layers --json has a version" "$([ $? -eq 0 ] && echo yes)" ""
for list in gpus links platforms topologies workloads runs; do
  db=
  [ $list = runs ] && db='--db a.db'
  says "list $list --json" '"' list $list --json $db
  [ "$(sqlite3 :memory: "select count(*) > 0 and min(type) = 'object' from json_each(readfile('out'))")" = 1 ]
  verdict "list $list --json: objects" "$([ $? -eq 0 ] && echo yes)" "  $(head -5 out)"
done

# Databases: whose fault a path is, and that reading creates nothing.
mkdir folder.svg
refuses "blank database" 'blank' run a.ini --db ''
FORETRAIN_DB='  ' refuses "blank FORETRAIN_DB" 'FORETRAIN_DB' run a.ini
refuses "database in a missing folder" 'no folder "nowhere"' run a.ini --db nowhere/a.db
refuses "database that is a folder" 'is a folder' run a.ini --db folder.svg
refuses "no database to list" 'no database "foretrain.db"' list runs
refuses "no database to draw from" 'no database "none.db"' plot memory last --db none.db -o x.svg
refuses "picture in a missing folder" 'no folder "nowhere"' plot memory a.ini -o nowhere/x.svg
refuses "picture that is a folder" 'is a folder' plot memory a.ini -o folder.svg
refuses "profile in a missing folder" 'No such file' layers a.ini -o nowhere/x.csv
refuses "profile that is a folder" 'Is a directory' layers a.ini -o folder.svg
refuses "a workload's own error" 'training.foo' plot memory llama2-7b --set training.foo=1 -o x.svg
refuses "neither run nor workload" 'did you mean "llama2-7b"?' plot memory llama2-7 -o x.svg
refuses "settings of a run that is kept" 'was run already' plot memory last --db a.db --fold=off -o x.svg
refuses "--set that is not text" 'not UTF-8' run a.ini --set $'training.micro_batch=\xff'
refuses "an option that is not text" 'Invalid byte' run a.ini --fold $'\xff'
"$foretrain" plot memory a.ini --db fresh.db -o x.svg -q 2>err && [ -s fresh.db ] && [ -s x.svg ] && [ ! -s err ]
verdict "plot of a workload runs and keeps it" "$([ $? -eq 0 ] && echo yes)" "  $(cat err)"
chmod 444 fresh.db
says "a read-only database is listed" 'paper' list runs --db fresh.db
for words in 'run a.ini --db b.db' 'list gpus' 'schema' 'run --help' '--help' '--version'; do
  "$foretrain" $words >/dev/full 2>err
  [ $? -eq 3 ] && grep -q 'standard output' err
  verdict "full disk: $words" "$([ $? -eq 0 ] && echo yes)" "  $(cat err)"
done
"$foretrain" layers a.ini -o /dev/full 2>err
[ $? -eq 3 ] && grep -q '/dev/full: cannot be written: No space' err
verdict "full disk: profile" "$([ $? -eq 0 ] && echo yes)" "  $(cat err)"

# Imports: other tools' files to an overlay and to topologies that run; what a file cannot tell is asked for by option.
data=$source/tests/data
says "import a matrix" 'GPUs are h100-sxm5-80gb, as --gpu says' import nvidia-smi-topo \
  "$data/nvidia-smi-topo/nvswitch.txt" --gpu h100-sxm5-80gb -o smi.ini
says "the imported matrix runs" 'on 4 × h100-sxm5-80gb in 1 node' run a.ini -t smi.ini --set cluster.nodes=1 --db b.db
says "import what nvidia-smi -q says" '2 NICs, one beside each GPU' import nvidia-smi "$data/nvidia-smi/l40sx2.xml" \
  --nic roce-200g -o smi.ini
says "import hwloc's machine" 'no NVLink joins the GPUs' import lstopo "$data/lstopo/h100x2.xml" -o hwloc.ini
says "import a fabric over an instance" '4 nodes with up to 2 links' import iblinkinfo "$data/fabric/rails.iblinkinfo" \
  -t a3-megagpu-8g -o fabric.ini
says "import Slurm's tree" 'states no rates' import slurm-topology "$data/fabric/topology.conf" \
  -t fabric.ini -o tree.ini
for made in smi hwloc fabric tree; do
  says "what import wrote to $made.ini runs" 'in 1 node' run a.ini -t "$made.ini" --set cluster.nodes=1 --db b.db
done
yes '# a line of something else' | head -c 100000 >big.log
truncate -s 1G big.log
for kind in nccl-topology nvidia-smi-topo nvidia-smi lstopo recipe; do
  refuses "1 GiB for $kind" 'no file of this kind is so large' import $kind big.log
done
for kind in ibnetdiscover iblinkinfo slurm-topology nccl-tests; do
  refuses "1 GiB for $kind" 'no file of this kind is so large' import $kind big.log -t dgx-h100
done
refuses "1 GiB for kineto" 'expected "{"' import kineto big.log -o big.csv
truncate -s 100 big.log
truncate -s 1G big.log
refuses "what is no text" 'is no text: byte 101 is NUL' import nccl-tests big.log -t dgx-h100
rm big.log
for machine in smi hwloc fabric tree; do
  says "$machine.ini runs" 'all-reduce' collective all-reduce -t $machine.ini --nodes 2 --bytes 1M
done
refuses "a fabric of no machine" 'add --topology' import ibnetdiscover "$data/fabric/rails.ibnetdiscover"
says "import NCCL's machine" 'written by foretrain import' import nccl-topology "$data/nccl-topology/full.xml" \
  -o nccl.ini
says "the imported machine runs over nodes" 'on 4 × h100-sxm5-80gb in 2 nodes' run a.ini -t nccl.ini \
  --set cluster.nodes=2 --db b.db
says "without -o it prints" 'gpu = a100-pcie-80gb' import nccl-topology "$data/nccl-topology/bridged.xml"
{ echo 'all_gather_perf -b 8'
  for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo \
    "# Rank $i Group 0 Pid 1 on node$((i / 8)) device $((i % 8)) [0000:0$((i % 8)):00] H100"; done
  echo '1024 16 float none -1 60.0 0.02 0.02 0 60.0 0.02 0.02 0'
  echo '1073741824 16777216 float none -1 4000.0 268.44 251.66 0 4000.0 268.44 251.66 0'; } >gather.log
sed '/Rank/d' gather.log >bare.log
refuses "import asks for all that a log lacks" 'say so with --nodes' import nccl-tests bare.log
says "import a log" '16 ranks on 2 nodes' import nccl-tests gather.log -t dgx-h100 -o mine.overlay.ini
grep -q '^hop_latency = ' mine.overlay.ini && grep -q '^nic_achievable = ' mine.overlay.ini
verdict "an overlay has its figures" "$([ $? -eq 0 ] && echo yes)" "  $(cat mine.overlay.ini)"
says "an overlay is laid over" 'ZeRO' run a.ini --db b.db --set cluster.overlay=mine.overlay.ini
[ "$(sqlite3 b.db "select count(*) from setting where name = 'node.nic_achievable' and run_id = (select max(run_id) \
  from run)")" = 1 ]
verdict "a run keeps the overlay's figures" "$([ $? -eq 0 ] && echo yes)" ""
says "several logs at once" 'from gather.log, tagged.log on dgx-h100' import nccl-tests gather.log \
  "$data/nccl-tests/tagged.log" -t dgx-h100
refuses "several machines at once" 'a kind and one file' import nccl-topology "$data/nccl-topology/full.xml" \
  "$data/nccl-topology/bridged.xml"
refuses "no kind" 'a kind and a file' import
refuses "unknown kind" 'did you mean "nccl-tests"?' import nccl-test gather.log
refuses "log without its machine" 'add --topology' import nccl-tests gather.log
refuses "missing log" 'no file "none.log"' import nccl-tests none.log -t dgx-h100
refuses "failed log" 'failed.log:6: nothing to fit: it failed before its first row' import nccl-tests \
  "$data/nccl-tests/failed.log" -t dgx-a100
refuses "RCCL" 'AMD GPUs are not modelled yet' import nccl-tests "$data/nccl-tests/rccl.log" -t dgx-a100
refuses "processes alone" '2 processes each printed as rank 0' import nccl-tests "$data/nccl-tests/alone.log" \
  -t dgx-a100
refuses "unknown operation" '"all-reduce"?' import nccl-tests "$data/nccl-tests/tagged.log" -t dgx-a100 \
  --operation all-reduc
refuses "an option of another kind" 'does not take --gpu' import nccl-tests gather.log -t dgx-h100 --gpu l4
refuses "a topology for a machine" 'does not take --topology' import nccl-topology "$data/nccl-topology/full.xml" \
  -t dgx-h100
refuses "a matrix without --gpu" 'add --gpu NAME' import nvidia-smi-topo "$data/nvidia-smi-topo/pairs.txt"
refuses "XML as a matrix" 'holds no matrix' import nvidia-smi-topo "$data/nccl-topology/full.xml" --gpu l4
refuses "a matrix as XML" 'nvswitch.txt:1' import nccl-topology "$data/nvidia-smi-topo/nvswitch.txt"
refuses "import into a missing folder" 'No such file' import nccl-topology "$data/nccl-topology/full.xml" \
  -o nowhere/x.ini
[ ! -e nowhere ]
verdict "nothing is written" "$([ $? -eq 0 ] && echo yes)" ""

# Model files.
sed -e 's/"hidden_size"/"hiden_size"/' "$source/workloads/models/llama-2-7b.json" >slip.json
refuses "key of a model with a slip" 'did you mean "hiden_size"?' run a.ini --set model.config=slip.json
refuses "framework with a slip" 'did you mean "deepspeed"?' run a.ini --set parallel.framework=deepsped
refuses "hexadecimal" 'in decimal, 4096' run a.ini --set training.sequence_length=0x1000
tr '\n' '\r' <a.ini >cr.ini
says "CR line ends" 'ZeRO' run cr.ini --db b.db

# Collectives by themselves.
says "nccl-tests' columns" 'size         count      type   redop    root     time   algbw   busbw #wrong' collective \
  all-reduce -t dgx-h100 -n 2
says "a size of a collective" '1048576        262144     float     sum      -1' collective all-reduce -t dgx-h100 -n 2 \
  -b 1M
says "other types" '1048576         32768    double    none      -1' collective all-gather -t dgx-h100 -g 4 -d double \
  -b 1M
says "collectives explained" 'ring' collective all-reduce -t dgx-h100 -n 2 -b 8..64 --explain
says "collectives as JSON" '"bus_bandwidth"' collective all-reduce -t dgx-h100 -b 1M --json
[ "$("$foretrain" collective all-reduce -t dgx-h100 | grep -vc '^#')" -eq 31 ] # 8 B to 8 GiB, doubled: 2^3 to 2^33
verdict "sizes are doubled" "$([ $? -eq 0 ] && echo yes)" ""
refuses "no such operation" 'did you mean "all-gather"?' collective al-gather -t dgx-h100
refuses "a collective nowhere" '--topology: is missing' collective all-gather
refuses "sizes that are none" '--bytes: expected a size or FROM..TO' collective all-gather -t dgx-h100 -b 8..many
refuses "sizes that run down" '--bytes: expected' collective all-gather -t dgx-h100 -b 8G..8
refuses "a type that is none" 'collective.dtype' collective all-gather -t dgx-h100 -d float17
refuses "a tree that gathers" 'NCCL has no tree for all-gather' collective all-gather -t dgx-h100 \
  --set collective.algorithm=tree
"$foretrain" collective all-reduce -t dgx-h100 -n 2 >sweep.log
says "a log beside its prediction" 'the furthest is 0.0 % off' collective all-reduce -t dgx-h100 -n 2 \
  --compare sweep.log
says "a log as JSON" '"measured_time_ps"' collective all-reduce -t dgx-h100 -n 2 --compare sweep.log --json
refuses "a log of other GPUs" 'sweep.log:7: measured on 16 GPUs, not 8' collective all-reduce -t dgx-h100 \
  --compare sweep.log
refuses "a log that is none" 'holds no rows of nccl-tests' collective all-reduce -t dgx-h100 --compare a.ini
refuses "a missing log" 'no file "sweep.lg"' collective all-reduce -t dgx-h100 --compare sweep.lg

# Predicted against measured.
truth=$source/tests/data/truth
says "errors by source" 'alpha   made-A' validate "$truth/steps.csv" --db v.db
says "rows that cannot be expressed" '3 could not be expressed' validate "$truth/steps.csv" --db v.db
says "why not" 'deepspeed.offload_optimizer.ratio: Twin-Flow' validate "$truth/steps.csv" --db v.db
says "collectives by size" '>= 64 MiB' validate "$truth/collectives.csv" --db v.db
says "every row" 's-4 (hand-made) did not run' validate "$truth/collectives.csv" --db v.db --rows
says "the worst rows" 'at the peak: parameters' validate "$truth/steps.csv" --db v.db --worst 1
says "validation as JSON" '"predicted.step_time_s"' validate "$truth/steps.csv" --db v.db --json --rows
cp v.db other.db && sqlite3 other.db 'pragma user_version = 99'
refuses "a database of another schema, before tables are read" "schema version 99" validate nothing.csv --db other.db
"$foretrain" validate "$truth/steps.csv" --db v.db -q >out && [ ! -s out ]
verdict "validate, quietly" "$([ $? -eq 0 ] && echo yes)" "  $(cat out)"
"$foretrain" validate "$truth"/*.csv --db v.db --jobs 1 --json --rows >one \
  && "$foretrain" validate "$truth"/*.csv --db v.db --jobs 3 --json --rows >three && cmp -s one three
verdict "one thread or three" "$([ $? -eq 0 ] && echo yes)" ""
"$foretrain" plot parity --db v.db -o p.svg -q && [ -s p.svg ]
verdict "parity" "$([ $? -eq 0 ] && echo yes)" ""
refuses "parity of a run" 'parity alone' plot parity last --db v.db -o p.svg
refuses "parity with settings" 'no setting' plot parity --db v.db -t dgx-h100 -o p.svg
"$foretrain" run a.ini --db empty.db -q
refuses "parity of nothing" 'foretrain validate makes them' plot parity --db empty.db -o p.svg
refuses "no table" 'one or more tables' validate
refuses "a missing table" 'no file "steps.csv"' validate steps.csv
refuses "a table twice" 'is named twice' validate "$truth/steps.csv" "$truth/steps.csv"
refuses "fewer than no threads" '--jobs: expected a number from 0 on' validate "$truth/steps.csv" --jobs -2
sed -e 's/,1.0,4096,10,yes/,fast,4096,10,yes/' "$truth/steps.csv" >wrong.csv
refuses "a time that is none" 'wrong.csv:2:' validate wrong.csv
awk 'NR == 1 { print } NR == 2 { for (i = 1; i <= 4000; i++) { row = $0; sub(/^a-1/, "a-" i, row); print row } }' \
  "$truth/steps.csv" >many.csv
"$foretrain" validate many.csv --db stop.db >out &
sleep 0.5; kill -INT $!; wait $!; status=$?
[ $status -eq 130 ] && grep -q 'stopped before the end' out && [ -s stop.db ]
verdict "Ctrl-C ends cleanly" "$([ $? -eq 0 ] && echo yes)" "  status $status, $(head -1 out)"
# Traces: written, replayed to the same results, edited, refused.
"$foretrain" trace a.ini -o a.trace.csv && "$foretrain" run a.ini --db same.db >ran \
  && "$foretrain" replay a.trace.csv -t dgx-h100 --db same.db >replayed
# Nobody validated replays: what vouches for the number is another matter.
untrusted() { awk '/^Interval of/ { on = 1 } !on { print } /\.$/ { on = 0 }' "$1"; }
cmp -s <(untrusted ran) <(untrusted replayed)
verdict "trace, then replay, says what run says" "$([ $? -eq 0 ] && echo yes)" "  $(diff ran replayed | head -5)"
for table in rank_class task collective exposure memory memory_peak link oom note; do
  key=$(sqlite3 same.db "select group_concat(name) from pragma_table_info('$table') where name <> 'run_id'")
  [ "$(sqlite3 same.db "select count(*) from (select $key from $table where run_id = 1 except select $key from $table \
    where run_id = 2)")" = 0 ] &&
    [ "$(sqlite3 same.db "select (select count(*) from $table where run_id = 1) = (select count(*) from $table where \
      run_id = 2)")" = 1 ]
  verdict "trace, then replay, is run: $table" "$([ $? -eq 0 ] && echo yes)" ""
done
says "a trace to stdout" 'foretrain_trace = 1' trace a.ini
says "the trace of a run in the database" 'foretrain_trace = 1' trace 1 --db same.db
cmp -s out a.trace.csv
verdict "which is the same" "$([ $? -eq 0 ] && echo yes)" "  $(diff out a.trace.csv | head -5)"
refuses "the trace of a replay" 'trace file a.trace.csv' trace 2 --db same.db
refuses "the recipe of a replay" 'run 2 has no recipe: it was played from the trace file a.trace.csv' \
  export 2 --as megatron --db same.db
refuses "settings for a run's trace" 'was run already' trace 1 --db same.db --set model.layers=2
says "half the compute" 'ZeRO-3' replay a.trace.csv -t dgx-h100 --scale compute=0.5 --db same.db
refuses "scale of nothing" 'did you mean "compute"?' replay a.trace.csv -t dgx-h100 --scale comput=2
refuses "scale by nothing" 'expected compute=F' replay a.trace.csv -t dgx-h100 --scale compute=0
refuses "replay on no cluster" '--topology dgx-h100' replay a.trace.csv
refuses "replay on another GPU" 'a100-sxm4-80gb: say --retime' replay a.trace.csv -t dgx-a100
refuses "both" 'exclude each other' replay a.trace.csv -t dgx-a100 --retime --keep-times
refuses "a workload's setting for a trace" 'training' replay a.trace.csv -t dgx-h100 --set training.micro_batch=2
refuses "no such trace" 'none.csv' replay none.csv -t dgx-h100
refuses "a trace that is none" 'expected the columns' replay a.ini -t dgx-h100
head -c 5000 a.trace.csv >cut.trace.csv
refuses "a trace cut off" 'cut.trace.csv:' replay cut.trace.csv -t dgx-h100
sed 's/^rank,steady,12,/rank,steady,13,/' a.trace.csv >twice.trace.csv
refuses "a task twice" 'task 13 (' replay twice.trace.csv -t dgx-h100
"$foretrain" replay a.trace.csv -t dgx-a100 --retime --db same.db >replayed \
  && "$foretrain" run a.ini -t dgx-a100 --db same.db >ran &&
  cmp -s <(untrusted ran) <(untrusted replayed)
verdict "retimed, it is the other GPU's run" "$([ $? -eq 0 ] && echo yes)" "  $(diff ran replayed | head -5)"
"$foretrain" trace 1 --db same.db --format chrome -o chrome.json &&
  [ "$(sqlite3 same.db "select (select count(*) from task where run_id = 1) + (select count(*) from exposure where \
    run_id = 1) + (select count(*) from task where run_id = 1 and host_ps > 0)")" = \
    "$(sqlite3 :memory: "select sum(value ->> 'ph' = 'X') from json_each(readfile('chrome.json'), '$.traceEvents')")" ]
verdict "trace --format chrome: an event for each task and interval" "$([ $? -eq 0 ] && echo yes)" ""
says "trace --format chrome of a workload" 'process_name' trace a.ini --format chrome --db same.db
refuses "chakra without a name" 'what their names begin with' trace a.ini --format chakra
"$foretrain" trace a.ini --format chakra -o step --db same.db \
  && [ "$(ls step.*.et | wc -l)" = "$(sqlite3 :memory: "select max(cast(r.value as integer)) + 1 from \
  json_each(readfile('step.groups.json')) as g, json_each(g.value) as r")" ]
verdict "trace --format chakra: a file for each rank" "$([ $? -eq 0 ] && echo yes)" ""
"$foretrain" import chakra step.0.et >out 2>err
if grep -q 'built without protobuf-c' err; then
  refuses "Chakra traces without protobuf-c" '-Dchakra=enabled' import chakra step.0.et
else
  says "Chakra traces come back" 'Replayed on dgx-h100, 16 ranks' import chakra step.*.et --groups step.groups.json \
    -o back.trace.csv -t dgx-h100
  refuses "Chakra traces of some ranks" 'is needed, once' import chakra step.0.et step.2.et
  refuses "a machine without a trace" 'add -o FILE' import chakra step.0.et -t dgx-h100
fi
refuses "format with a slip" 'did you mean "chrome"?' trace a.ini --format crome
says "trace files documented" 'duration_ps' schema trace
refuses "no such schema" 'database, trace' schema tables
says "every rank played by itself" 'slowest of 16 ranks, rank 0' run llama2-7b --fold=off --db same.db
says "latencies in one unit" '0.00 us' list platforms
refuses "chakra to standard output" 'what their names begin with' trace a.ini --format chakra -o -
"$foretrain" trace a.ini >printed && says "a trace to standard output" 'streams = host' trace a.ini -o - \
  && cmp -s out printed && [ ! -e ./- ]
verdict "a file named - is standard output" "$([ $? -eq 0 ] && echo yes)" ""
# No file may grow beyond one block: what cannot be finished is not left behind.
(ulimit -f 1 && "$foretrain" trace a.ini -o begun.csv 2>err) || [ $? -eq 3 ] \
  && grep -q 'begun.csv: cannot be written' err && [ ! -e begun.csv ]
verdict "full disk: no half of a trace" "$([ $? -eq 0 ] && echo yes)" "  $(cat err)"
(ulimit -f 1 && "$foretrain" run a.ini --db begun.db 2>err >/dev/null) || [ $? -eq 3 ] \
  && grep -q 'begun.db' err && [ ! -e begun.db ]
verdict "full disk: no empty database" "$([ $? -eq 0 ] && echo yes)" "  $(cat err; ls -l begun.db)"
"$foretrain" trace a.ini -o /dev/full 2>err
[ $? -eq 3 ] && grep -q '/dev/full: cannot be written: No space' err
verdict "full disk: trace" "$([ $? -eq 0 ] && echo yes)" "  $(cat err)"

# Comparisons.
says "compare runs" 'times faster than A' compare 1 3 --db same.db
printf '{"traceEvents":[{"ph":"X","cat":"kernel","name":"a","ts":0,"dur":1000}]}' >measured.json
says "compare with a measured timeline" 'than the measured one' compare 1 measured.json --db same.db
# Two ranks: a kernel of 1 ms, then an all-reduce of 64 MiB that took 2 ms.
cp "$source/tests/data/traces/two-ranks.json" sent.json
says "figures of a trace" '3.000       1.000  33.33 %       2.000  66.67 %' import kineto sent.json --figures
says "a trace replayed" 'Replayed on dgx-h100: ' import kineto sent.json -o sent.trace.csv -t dgx-h100
says "why a replay is far off" 'are waits of streams and of the host' import kineto sent.json -o sent.trace.csv \
  -t dgx-h100
says "a trace on more ranks" 'Replayed on dgx-h100, 16 ranks: ' import kineto sent.json -o sent.trace.csv \
  -t dgx-h100 -s cluster.gpus_per_node=8 -s cluster.nodes=2
says "a trace on half the compute" 'compute times 0.5: ' import kineto sent.json -o sent.trace.csv -t dgx-h100 \
  --scale compute=0.5
says "a trace as it was measured" 'Replayed on dgx-h100: +0.0 % of the measured step (3.00 ms' \
  import kineto sent.json -o sent.trace.csv -t dgx-h100 --keep-communication
says "what a trace teaches" 'intra_achievable = ' import kineto sent.json --calibrate -t dgx-h100
# With matmuls of bf16 (4096 cubed in 250 us) beside it, both stand under one [node], which a run takes in.
sed '$s/]}$//' sent.json >matmuls.json
for i in 1 2 3; do cat <<JSON
, {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 1, "ts": ${i}0000, "dur": 20, "args": {
   "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Dims": [[4096, 4096], [4096, 4096]]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": ${i}0005, "dur": 2,
   "args": {"correlation": ${i}0}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "ts": ${i}0010, "dur": 250, "args": {"device": 0, "stream": 7,
   "correlation": ${i}0}}
JSON
done >>matmuls.json && echo ']}' >>matmuls.json
"$foretrain" import kineto matmuls.json --calibrate -t dgx-h100 -o taught.ini >out \
  && grep -q '^matmul_rate = 0\.' taught.ini \
  && grep -q '^intra_achievable = ' taught.ini && [ "$(grep -c '^.node.' taught.ini)" = 1 ]
verdict "what matmuls teach" "$([ $? -eq 0 ] && echo yes)" "  $(cat out taught.ini)"
says "a run with what a trace taught" 'step' run a.ini --db same.db -s cluster.overlay=taught.ini
refuses "a profile without layers" 'no module called' import kineto sent.json --profile
refuses "calibrate without a machine" '--calibrate needs --topology' import kineto sent.json --calibrate
refuses "an execution trace too many" '--execution is given once for each file' import kineto sent.json --figures \
  --execution a.json --execution b.json
printf '{"schema": "1.0.1", "nodes": []}' >et.json
refuses "an execution trace of another run" 'is not of the run of sent.json' import kineto sent.json --figures \
  --execution et.json
refuses "an execution trace alone" 'this beside it with --execution' import kineto et.json -o a.csv
printf '[node]\nmemory_rate = 0.5\nhost_rate = 0.1\n' >slower.ini
says "a run with slower memory and host" 'step' run a.ini --db same.db -s cluster.overlay=slower.ini
refuses "nodes without calibrate" '--nodes goes with --calibrate' import kineto sent.json --nodes 2
refuses "figures and a trace" '--figures prints what was measured' import kineto sent.json --figures -o a.csv
"$foretrain" import kineto sent.json -o sent.trace.csv -t dgx-h100 -s cluster.gpus_per_node=3 -s cluster.nodes=1 \
  >out 2>err
[ $? -eq 2 ] && grep -q '3 ranks cannot be made of the 2' err && grep -q '^measured' out && good=yes || good=no
verdict "ranks that are no multiple, after what was measured" $good "$(cat err)"
printf 'MICRO\n1\nconv1 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1048576 5\n' >micro.txt
refuses "another simulator's workload" 'is a workload of ASTRA-sim or SimAI' import kineto micro.txt -o a.csv
printf '{"traceEvents":[{"ph":"X","cat":"kernel","name":"a"' >broken.json
refuses "a broken timeline" 'broken.json:1:52: the file ends where' compare llama2-7b broken.json
says "compare equal runs" 'B takes as long as A' compare 1 2 --db same.db
says "compare a run with a workload" 'B is ' compare 1 gpt2-xl --db same.db
sed 's/^gpu_hour.*/gpu_hour = 5.90 USD/' "$source/topologies/dgx-h100.ini" >dear.ini
says "compare quotes" 'A token costs 2.00 times as much' compare --topology dgx-h100 --topology dear.ini a.ini \
  --db same.db
says "compare as JSON" '"differences"' compare 1 2 last --db same.db --json
[ "$(sqlite3 :memory: "select sum((select sum(p.value ->> 'time_ps') from json_each(d.value, '$.parts') as p) <> \
  (d.value ->> 'step_ps')) from json_each(readfile('out'), '$.differences') as d")" = 0 ]
verdict "differences add up" "$([ $? -eq 0 ] && echo yes)" ""
refuses "one run is no comparison" 'two or more runs' compare 1 --db same.db
refuses "quotes for two workloads" 'one workload' compare -t dgx-h100 -t dgx-a100 a.ini b.ini --db same.db
refuses "settings of runs that are kept" 'was run already' compare 1 2 --db same.db --set model.layers=2
refuses "no such run to compare" 'no run is' compare 1 4711 --db same.db
says "compare a run with a setting over it" 'What differs: training.compile no / yes' \
  compare 1 --set training.compile=yes --db same.db
says "compare sides" 'What differs: parallel.zero_stage 1 / 2' compare a.ini --set A:parallel.zero_stage=1 \
  --set B:parallel.zero_stage=2 --db same.db
says "compare clusters of other sizes" 'What differs: cluster.nodes 1 / 4' \
  compare a.ini -t dgx-h100=1 -t dgx-h100=4 --db same.db
refuses "a side that is not there" 'there are 2 sides, the last is B' \
  compare 1 2 --set C:training.compile=yes --db same.db
"$foretrain" sweep a.ini --grid zero_stage=1,2 --db points.db -q &&
  "$foretrain" run a.ini --set parallel.zero_stage=3 --db points.db -q
says "compare a sweep's point" 'What differs: parallel.zero_stage 1 / 3' compare 1 3 --db points.db
says "whose parts are played again" 'recomputation' compare 1 3 --db points.db
FORETRAIN_DB=same.db says "compare in FORETRAIN_DB" 'B is ' compare 1 3
# Recipes of other tools: below the workload, above the defaults; and what is no workload.
cp "$source"/tests/data/recipe/ds-plain.json .
sed -e '/^micro_batch/d; /^precision/d' -e 's/^framework.*/framework = paper\nrecipe = ds-plain.json/' \
  "$source/workloads/llama2-7b.ini" >recipe.ini
# What a table says of the memory at its peak: the rows below the sum add up to it, in hundredths, for both runs.
"$foretrain" compare llama2-7b llama3-8b --db add.db >out 2>err
sums=$(awk '/^memory at its peak/ { a = $6; b = $7; on = 1; next }
            on && /^---/ { printf "%.2f %.2f", a, b; exit }
            on { a -= $(NF - 2); b -= $(NF - 1) }' out | tr -d -)
[ "$sums" = '0.00 0.00' ] && grep -q '^  cache, rounding' out
verdict "compare: memory adds up" "$([ $? -eq 0 ] && echo yes)" "  $sums $(cat out err)"
says "recipe under a workload" 'is a recipe of DeepSpeed' run recipe.ini --db r.db
[ "$(sqlite3 r.db "select group_concat(value || ' ' \
  || origin, ', ') from (select value, origin from setting where name in
  ('parallel.framework', 'training.micro_batch', 'training.precision') order by name)")" = \
    'paper file, 2 recipe, bf16 recipe' ]
verdict "recipe: origins of settings" "$([ $? -eq 0 ] && echo yes)" "  $(sqlite3 r.db 'select * from setting')"
says "recipe: what overrules it" 'parallel.framework (paper, not deepspeed)' run recipe.ini --db r.db
refuses "recipe: what another framework refuses" \
  'is of framework deepspeed, but the workload says paper: leave framework out there' \
  run recipe.ini --set parallel.offload_optimizer=cpu
says "recipe: explained" 'sequences per GPU' run recipe.ini --db r.db --explain
says "recipe: --set wins" 'micro-batch 3' run recipe.ini --db r.db --set training.micro_batch=3
echo '{"zero_optimization": {"stage": 3, "overlap_com": true}}' >slip.json
sed -i 's/^recipe.*/recipe = slip.json/' recipe.ini
refuses "recipe: a key with a slip" 'did you mean "zero_optimization.overlap_comm"?' run recipe.ini
refuses "recipe: imported with a slip" 'slip.json:1:36: zero_optimization.overlap_com: ' import recipe slip.json \
  -o x.ini
[ ! -e x.ini ]
verdict "recipe: nothing written" "$([ $? -eq 0 ] && echo yes)" ""
refuses "recipe: no such file" 'no file "gone.json"' run recipe.ini --set parallel.recipe=gone.json
refuses "recipe for a workload" 'foretrain import recipe ds-plain.json -o workload.ini' run ds-plain.json

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
