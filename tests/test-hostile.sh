#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hostile input stays text: control characters of names, commands for CI runners, HTML in Markdown, bytes that are no
# UTF-8; and what would take for ever or be lost is refused.
# usage: tests/test-hostile.sh FORETRAIN
set -uo pipefail
# shellcheck source=tests/lib/verdicts.sh
. "$(dirname "$0")/lib/verdicts.sh"

# refuses NAME FRAGMENT ARGUMENT…: exit status 2 within 30 s, under sanitizers too, with an error that holds the
# fragment.
refuses() {
  local name=$1 fragment=$2 status
  shift 2
  timeout 30 "$foretrain" "$@" >out 2>err
  status=$?
  [ $status -eq 2 ] && grep -qF -- "$fragment" err
  verdict "$name" $? "status $status: $(head -c 300 err)"
}

small_workload >a.ini

# ---- What would take for ever ----

printf '[%.0s' $(seq 200000) >deep.yaml
refuses "YAML: lists within lists" 'nested deeper than 100' import recipe deep.yaml
{ printf 'a: '; printf '{b: %.0s' $(seq 5000); } >maps.yaml
refuses "YAML: maps within maps" 'nested deeper than 100' import recipe maps.yaml
{ printf '['; printf 'a.%.0s' $(seq 200000); echo 'b]'; } >deep.toml
refuses "TOML: a table of as many parts" 'nested deeper than 100' import recipe deep.toml
printf -- '--num-layers 2 \f\f\v\n' >feeds.sh
timeout 10 "$foretrain" import recipe feeds.sh >out 2>err
[ $? -le 2 ]
verdict "a command line with form feeds" $? "$(head -c 300 err)"
refuses "more threads than a machine has use for" 'at most 1024' sweep a.ini --grid micro_batch=1,2 --jobs 1000000
pipelined=(a.ini -s parallel.framework=megatron -s parallel.zero_stage=1 -s parallel.tensor=2 -s parallel.pipeline=2
  -s training.gradient_accumulation=64)
refuses "more layers than can be played" 'at most 131072 passes through a layer' run "${pipelined[@]}" \
  -s model.layers=10000
refuses "the same as a trace" 'at most 131072 passes' trace "${pipelined[@]}" -s model.layers=10000 -o t.csv
refuses "a longer timeline than is kept" 'leave it away (--timeline=no)' run "${pipelined[@]}" -s model.layers=5000 \
  --db t.db

# A pipe that nobody writes to never opens, a device never ends.
mkfifo pipe
for file in pipe /dev/zero; do
  refuses "$file for a workload" 'pipe or a device' run "$file"
  refuses "$file for a topology" 'pipe or a device' run a.ini -t "$file"
  refuses "$file for a model" 'pipe or a device' run a.ini -s "model.config=$file"
  refuses "$file for a layer profile" 'pipe or a device' run a.ini -s "model.profile=$file"
  refuses "$file for budgets" 'pipe or a device' check "$file"
  refuses "$file for a table" 'pipe or a device' validate "$file"
  refuses "$file for a trace" 'pipe or a device' replay "$file" -t dgx-h100
  for what in kineto recipe nccl-tests nvidia-smi lstopo; do
    refuses "$file for $what" 'pipe or a device' import "$what" "$file"
  done
done

# ---- What would be lost ----

refuses "a database that is no file" 'no file to SQLite' run a.ini --db :memory:

# ---- The machine's faults are no results ----

# Also where the program itself looks for its data.
for files in 6 8 10 -6 -8 -10; do
  (
    [ "$files" -gt 0 ] || unset FORETRAIN_DATA
    ulimit -n "${files#-}"
    exec "$foretrain" sweep a.ini --grid micro_batch=1,2,3,4 --db "files$files.db" >out 2>err
  )
  status=$?
  if [ "${files#-}" = 10 ] && [ $status -eq 0 ]; then # enough, where no two threads open files at one time
    grep -q '4 played' out
  else
    [ $status -eq 3 ] && grep -q 'Too many open files' err && ! grep -q 'cannot run' out
  fi
  verdict "a sweep with $files file descriptors" $? "status $status: $(head -c 300 err) $(cat out)"
done

# ---- Names ----

long=$(printf 'x%.0s' $(seq 100000))
refuses "a value of any length" 'training.trainable' run a.ini -s "training.trainable=$long"
[ "$(wc -c <err)" -lt 4000 ]
verdict "an error stays short, whatever it quotes" $? "$(wc -c <err) bytes"
{ grep -v '^family' a.ini && printf '[ddp]\nbucket_cap = %s\n' "$long"; } >long.ini
refuses "the same in a file" 'ddp.bucket_cap' run long.ini
[ "$(wc -c <err)" -lt 4000 ]
verdict "an error of a file stays short" $? "$(wc -c <err) bytes"
escape=$'\033[2J\033]0;title\a'
refuses "an error that quotes escape sequences" 'u001b[2J' run a.ini -s "training.precision=$escape"
! LC_ALL=C grep -q $'[\001-\010\013-\037]' err
verdict "none of them reaches the terminal" $? "$(cat -v err | head -c 300)"
cp a.ini "a$escape.ini"
"$foretrain" run "a$escape.ini" --db "n$escape.db" >out 2>err
verdict "a file's name with escape sequences" $? "$(cat -v err | head -c 300)"
! LC_ALL=C grep -q $'[\001-\010\013-\037]' out err
verdict "is printed without them" $? "$(cat -v out | head -c 300)"
cp a.ini $'b\377\376.ini'
"$foretrain" run $'b\377\376.ini' --db n.db --json >out 2>err && iconv -f UTF-8 -t UTF-16 out >/dev/null
verdict "a file's name that is not UTF-8 makes JSON that is" $? "$(cat -v err | head -c 300)"

cat >budgets.ini <<'INI'
[::stop-commands::x]
workload = a.ini
step <= 1 ps
[<script>alert(1)</script> `a` (c) | \| d]
workload = a.ini
step <= 1 ps
INI
"$foretrain" check budgets.ini --db n.db --github --markdown table.md >out 2>err
status=$?
[ $status -eq 1 ]
verdict "names of budgets" $? "status $status: $(head -c 300 err)"
! grep -v '^::error file=' out | grep -qE '^[[:space:]]*::|##\['
verdict "no name is a command of the runner" $? "$(grep -nE '::|##' out | head -5)"
! grep -qE '(^|[^\\])<script' table.md && ! grep -qE '(^|[^\\])`' table.md
verdict "no name is HTML or code in Markdown" $? "$(tail -4 table.md)"
# Cells of a row: bars that no backslash stands before.
[ "$(sed 's/\\\\//g; s/\\|//g' table.md | grep '^|' | awk -F'|' '{ print NF }' | sort -u | wc -l)" -eq 1 ]
verdict "no name ends its cell" $? "$(tail -4 table.md)"

count_verdicts
