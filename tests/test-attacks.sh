#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Attacks by what strangers hand over, five on each verb whose output somebody else reads: report, compare, export,
# plot, check, import. Names that hold lines of our own files, ends of scripts, markup; surroundings; files that must
# not go. (test-trust-files.sh holds databases and links, test-hostile.sh what would take for ever.)
# usage: tests/test-attacks.sh FORETRAIN
set -uo pipefail
data=$(readlink -f "$(dirname "$0")")
# shellcheck source=tests/lib/verdicts.sh
. "$(dirname "$0")/lib/verdicts.sh"
unset FORETRAIN_DB

# call ARGUMENT…: within 10 s.
call() {
  timeout 10 "$foretrain" "$@" >out 2>err
  status=$?
}
# refused NAME FRAGMENT ARGUMENT…: exit status 2 and one message.
refused() {
  local name=$1 fragment=$2
  shift 2
  call "$@"
  [ $status -eq 2 ] && grep -qF -- "$fragment" err && [ "$(grep -c '^foretrain: ' err)" -eq 1 ]
  verdict "$name" $? "status $status: $(head -c 300 err)"
}
# given NAME: that was an answer, and nothing in it reaches a terminal or a runner.
given() {
  [ $status -le 1 ] && ! LC_ALL=C grep -q $'[\001-\010\013-\037]' out err &&
    ! grep -qE '^[[:space:]]*::|##[a-z]*\[' out err
  verdict "$1" $? "status $status: $(cat -v out err | head -c 300)"
}
is_safe() { [ -z "$(find "$scratch" -name 'pwned*')" ] && [ "$(sqlite3 good.db 'pragma integrity_check')" = ok ]; }

small_workload >a.ini
"$foretrain" run a.ini --db good.db -q || exit 1

# ---- report ----

refused "report over the database that it reads" 'is a database' report last --db good.db -o good.db
ln -s good.db page.html
refused "report over it by a link" 'is a database' report last --db good.db -o page.html
rm page.html
name=$'"><svg onload=bad()><!--<script>\xe2\x80\xa8'
cp a.ini "$name.ini" && call report "$name.ini" --db named.db -o p.html && [ -s p.html ] &&
  ! grep -qi '<svg onload\|<!--<script' p.html && [ "$(grep -oi '<script' p.html | wc -l)" -eq 2 ]
verdict "report: a name that ends attributes and begins comments" $? "status $status: $(head -c 300 err)"
cp good.db blobs.db
sqlite3 blobs.db "update run set workload = cast(x'6100ff3c2f7363726970743e' as text);
  update task set name = cast(x'00' as text)"
call report last --db blobs.db -o b.html
[ $status -eq 2 ] ||
  { [ $status -eq 0 ] && ! grep -q 'a.</script' b.html && iconv -f UTF-8 -t UTF-16 b.html >/dev/null; }
verdict "report: texts that end early and are no UTF-8" $? "status $status: $(head -c 300 err)"
cp good.db css.db && sqlite3 css.db "update task set stream = 'x;} body{display:none} /*', name = 'expression(bad())'"
call report last --db css.db -o s.html
[ $status -eq 0 ] && ! sed 's/<script.*//' s.html | grep -q 'display:none} /'
verdict "report: a name that is style" $? "status $status: $(head -c 300 err)"

# ---- compare ----

python3 - <<'PY'
import json
bad = "k\n::error::x\n##vso[task.complete]\x1b]0;t\x07</script>|`touch pwned`"
events = [{"ph": "X", "cat": "kernel", "name": bad, "pid": 0, "tid": bad, "ts": 100 * i, "dur": 50,
           "args": {"stream": 7, "device": 0}} for i in range(4)]
events += [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % i, "pid": 1, "tid": 1, "ts": 200 * i,
            "dur": 200} for i in range(2)]
json.dump({"traceEvents": events}, open("k.json", "w"))
PY
call compare last k.json --db good.db
given "compare with a trace of hostile names"
call compare last k.json --db good.db --json && python3 -c 'import json; json.load(open("out"))'
verdict "  in JSON" $? "status $status: $(head -c 300 err)"
refused "compare: SQL for a run" '' compare last '1; drop table run' --db good.db
refused "compare: a run beyond all numbers" '' compare last 99999999999999999999 --db good.db
printf 'root:x:0:0::error::\n' >secret
refused "compare: a topology that is another file" '' \
  compare --topology "$PWD/secret" --topology dgx-h100 a.ini --db good.db

# ---- export ----

cp good.db set.db
# shellcheck disable=SC2016
sqlite3 set.db "update setting set value = '\$(touch pwned)' || char(10) || 'touch pwned2 #' where name in
  ('model.config', 'parallel.recipe', 'cluster.topology', 'training.optimizer', 'model.family')"
call export last --db set.db --as trainer
[ $status -eq 2 ] || ! grep -q '^touch' out
verdict "export of settings that are commands" $? "status $status: $(head -c 300 out err)"
sed 's/framework = fsdp2/framework = megatron/; s/zero_stage = 3/zero_stage = 1/' a.ini >m.ini
# shellcheck disable=SC2016
name='$(touch pwned)`touch pwned`'$'\n''touch pwned;#'
cp m.ini "$name.ini" && call export "$name.ini" --as megatron -o run.sh && [ -s run.sh ] &&
  ! grep -qE '^(touch|[^#]*(\$\(|`)touch)' run.sh
verdict "export: a name that is a command, in a script" $? "status $status: $(head -c 300 err) $(cat run.sh)"
refused "export over a database" 'is a database' export a.ini --as trainer -o good.db
cp a.ini $'y\nevil: yes.ini' && call export $'y\nevil: yes.ini' --as accelerate
[ $status -eq 0 ] && ! grep -q '^evil' out
verdict "export: a name that is a line of YAML" $? "status $status: $(head -c 300 out err)"
cp a.ini $'y\n[evil].ini' && call export $'y\n[evil].ini' --as torchtitan
[ $status -eq 0 ] && ! grep -q '^\[evil' out
verdict "export: a name that is a table of TOML" $? "status $status: $(head -c 300 out err)"

# ---- plot ----

mkdir home && printf '!touch %s/pwned\nsystem("touch %s/pwned")\n' "$PWD" "$PWD" >home/.gnuplot
cp home/.gnuplot .gnuplot
HOME=$PWD/home GNUTERM='svg; !touch pwned' GNUPLOT_LIB=$PWD call plot timeline last --db good.db -o p.svg
[ $status -eq 0 ] && [ -s p.svg ]
verdict "plot: somebody's settings of gnuplot" $? "status $status: $(head -c 300 err)"
# shellcheck disable=SC2016
call plot memory last --db good.db -o ./"|touch pwned;'.system('touch pwned').'\`touch pwned\`.svg"
[ $status -eq 0 ]
verdict "plot: a picture's name that is a command" $? "status $status: $(head -c 300 err)"
cp good.db p.dat
refused "plot: a database where its data go" 'is a database' plot memory last --db good.db -o p.svg
rm p.dat
refused "plot: a picture's name of several lines" 'control characters' \
  plot memory last --db good.db -o $'a\n!touch pwned\n.svg'
mkdir folder.svg
refused "plot: a folder in its place" 'is a folder' plot memory last --db good.db -o folder.svg

# ---- check ----

cat >budgets.ini <<'INI'
[a>b " onload='x' &amp; <script>]
workload = a.ini
step <= 1 ps
[x%0A::error::y,file=z:1]
workload = a.ini
step <= 1 ps
[{a}|b`c`@user(l)(javascript:x)##vso]
workload = a.ini
step <= 1 ps
INI
call check budgets.ini --db good.db --junit j.xml --github --markdown m.md
[ $status -eq 1 ] && [ "$(grep -c '^::error file=budgets.ini,line=[0-9]*,title=[^:,]*::step <= ' out)" -eq 3 ] &&
  [ "$(grep -c '::' out)" -eq 4 ] # the name stands in the table too, within its line
verdict "check: names that are properties and commands" $? "status $status: $(cat out err | head -c 500)"
python3 -c 'import xml.dom.minidom as m
d = m.parse("j.xml"); assert len(d.getElementsByTagName("failure")) == 3 and not d.getElementsByTagName("script")' 2>py
verdict "check: JUnit stays XML" $? "$(tail -1 py)"
! grep -qE '(^|[^\\])(<script|`|\[)' m.md
verdict "check: Markdown stays text" $? "$(tail -4 m.md)"
refused "check: JUnit over the database" 'is a database' check budgets.ini --db good.db --junit good.db
call check budgets.ini --db good.db --accept --reason $'fine\n::error::x\e[2J<script>'
call check budgets.ini --db good.db --github
[ $status -le 1 ] && ! grep -v '^::error file=' out | grep -q '^[[:space:]]*::' && ! LC_ALL=C grep -q $'\e' out
verdict "check: a reason of several lines" $? "status $status: $(cat -v out err | head -c 300)"

# ---- import ----

name=$'x\n[environment]\noverlay = evil\n#'
has_no_group() { [ $status -eq 0 ] && ! grep -q '^overlay = evil\|^evil' out; }
cp "$data/fuzz/corpus/lstopo/one" "$name" && call import lstopo "$name" --platform infiniband && has_no_group
verdict "import lstopo: a file's name that is a group" $? "status $status: $(head -c 300 out err)"
cp "$data/fuzz/corpus/slurm/tree" "$name" && call import slurm-topology "$name" -t dgx-h100 && has_no_group
verdict "import slurm-topology: the same" $? "status $status: $(head -c 300 out err)"
printf '%s' '{"train_micro_batch_size_per_gpu": 1, "wall_clock_breakdown": true, "zero_optimization": {"stage": 3,
  "overlap_comm": true, "reduce_bucket_size": 500, "stage3_prefetch_bucket_size": 50,
  "stage3_param_persistence_threshold": 1}}' >"$name"
call import recipe "$name" && has_no_group
verdict "import recipe: the same" $? "status $status: $(head -c 300 out err)"
cp a.ini "$name.ini" && call trace "$name.ini" -o t.csv && grep -q '^# workload = x.u000a' t.csv &&
  call replay t.csv -t dgx-h100 --db named.db
[ $status -eq 0 ]
verdict "trace: the same, and it is replayed" $? "status $status: $(head -c 300 out err)"
{
  printf '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c SYSTEM "secret">]>'
  cat "$data/fuzz/corpus/lstopo/one" && echo '<x>&b;&c;</x>'
} >bomb.xml
call import lstopo bomb.xml --platform infiniband
[ $status -eq 2 ] && ! grep -q 'root:x' out err
verdict "import lstopo: entities" $? "status $status: $(head -c 300 out err)"
head -c 100M /dev/zero | tr '\0' ' ' | gzip >bomb.json.gz
refused "import kineto: a file that unfolds a thousandfold" '100 times what it was' import kineto bomb.json.gz
mkdir bombs
for i in 1 2; do head -c 40M /dev/zero | gzip >bombs/rank$i.json.gz; done
tar cf bombs.tar bombs
refused "import kineto: an archive whose files do so together" '100 times what it was' import kineto bombs.tar
# Two million kernels and one more, 49 letters each: within what a packed file of a megabyte may unfold to.
{
  printf '['
  yes '{"ph":"X","ts":1,"dur":1,"cat":"kernel","name":""},' | head -n $(((2 << 20) + 1))
  printf '{}]'
} >many.json
refused "import kineto: kernels without end" 'has more than 2097152 kernels' import kineto many.json
rm many.json
refused "import: a database in the way" 'is a database' import lstopo "$data/fuzz/corpus/lstopo/one" \
  --platform infiniband -o good.db

is_safe
verdict "nothing ran, and the database is whole" $? "$(find "$scratch" -name 'pwned*')"

count_verdicts
