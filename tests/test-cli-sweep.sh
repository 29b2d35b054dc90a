#!/usr/bin/env bash
# Sweeps, bests, budgets and merged databases as a person meets them.
# usage: tests/test-cli-sweep.sh FORETRAIN
set -uo pipefail
foretrain=$(readlink -f "$1")
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
expect "the same again" 0 '0 played, 16 in the database already' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 --db a.db
expect "a condition" 0 '4 played, 12 left out by --where' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 --where 'zero_stage = 3' --db b.db
expect "JSON" 0 '"known": 16' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 --db a.db --json
expect "a share" 0 '6 points, 6 played' sweep llama2-7b --grid nodes=1..4:1 --grid zero_stage=0,1,2,3 --shard 1/3 --db s1.db
expect "no share" 2 '--shard: expected I/N' sweep llama2-7b --grid nodes=1 --shard 4/3
expect "a wrong key" 2 'no setting is called "nods"; did you mean "cluster.nodes"?' sweep llama2-7b --grid nods=1,2
expect "a metric of runs" 2 'step is known only once a point has run' sweep llama2-7b --grid nodes=1,2 --where 'step < 1 s'
expect "a wrong value is a row" 0 '1 cannot run' sweep llama2-7b --grid topology=dgx-h100,dgx-h10 --db c.db

"$foretrain" sweep llama2-7b --grid nodes=1..400:1 --grid micro_batch=1..20:1 --db stop.db --jobs 1 >out &
sleep 0.5; kill -INT $!; wait $!; status=$?
reached=$(sqlite3 stop.db 'select count(*) from point where run_key in (select run_key from run)')
if [ $status -eq 130 ] && [ "$reached" -gt 0 ] && [ "$(sqlite3 stop.db 'pragma integrity_check')" = ok ]; then
  passed=$((passed + 1))
else
  failed=$((failed + 1)); echo "FAILED Ctrl-C: status $status, $reached points"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
