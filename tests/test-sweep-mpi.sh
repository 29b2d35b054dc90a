#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A sweep over processes gives the database of a sweep in one, row for row, and goes on like it; advice is the same.
# usage: tests/test-sweep-mpi.sh FORETRAIN
set -euo pipefail
foretrain=$(readlink -f "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
# The tests of a container run as root, on as many cores as there are.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_btl=self,vader
grid=(sweep llama2-7b --grid zero_stage=0,1,2,3 --grid framework=paper,fsdp2 --grid nodes=1,2,3 --where 'nodes < 3')
dump() { sqlite3 "$1" .dump | grep -v '^INSERT INTO provenance'; }
check() { echo "$1"; shift; "$@" || { echo "FAILED"; exit 1; }; }

"$foretrain" "${grid[@]}" --db one.db --jobs 1
for processes in 2 3; do
  mpirun -n $processes "$foretrain" "${grid[@]}" --db $processes.db
  check "$processes processes, the same database" cmp <(dump one.db) <(dump $processes.db)
done
mpirun -n 3 "$foretrain" "${grid[@]}" --db 2.db >again
check "nothing is played twice" grep -q '24 points, 0 played, 12 in the database already' again
"$foretrain" "${grid[@]}" --set training.micro_batch=2 --db other.db --jobs 1 -q
check "the comparison can fail" eval '! cmp -s <(dump one.db) <(dump other.db)'
advice=(advise llama2-7b-megatron -q --top 3 --set training.micro_batch=1 --set parallel.tensor=1)
"$foretrain" "${advice[@]}" --jobs 1 >alone
mpirun -n 3 "$foretrain" "${advice[@]}" --db advice.db >together
check "advice of 3 processes is that of one" cmp alone together
check "and they played what it needs" [ "$(sqlite3 advice.db 'SELECT count(*) FROM run')" -gt 3 ]
mpirun -n 2 "$foretrain" sweep llama2-7b --grid nods=1 >out 2>&1 && status=0 || status=$?
check "bad input is said once, with status 2" [ "$status-$(grep -c 'no setting is called' out)" = 2-1 ]
mpirun -n 2 timeout 20 "$foretrain" sweep llama2-7b --grid nodes=1 --db none/x.db >out 2>&1 && status=0 || status=$?
check "a database that cannot be, once, and nobody waits" [ "$status-$(grep -c '^foretrain: ' out)" = 2-1 ]
mpirun -n 1 "$foretrain" sweep llama2-7b --grid nodes=1 --db alone.db : -n 1 timeout 20 "$foretrain" sweep llama2-70 \
  --grid nodes=1 --db alone.db >out 2>&1 && status=0 || status=$?
check "a process that cannot begin stops all" [ "$status-$(grep -c 'llama2-70' out)-$(grep -c 'another process' out)" \
  = 2-1-1 ]
