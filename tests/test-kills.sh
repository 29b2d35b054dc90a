#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sweeps that are killed at random moments, in one thread, in several, and over processes: the database opens, holds
# whole runs only, is gone on with, and ends equal to that of a sweep that nobody disturbed.
# usage: tests/test-kills.sh FORETRAIN [KILLS [PROCESSES]]
#   KILLS: how many in all (6); PROCESSES: also over so many of mpirun's, of a program that is built with MPI (0: not)
set -uo pipefail
# shellcheck source=tests/lib/verdicts.sh
. "$(dirname "$0")/lib/verdicts.sh"
kills=${2:-6} processes=${3:-0}
seed=${FORETRAIN_SEED:-1}
RANDOM=$seed
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_btl=self,vader

small_workload >a.ini
# One point in forty cannot run: that too is kept.
grid=(sweep a.ini --grid micro_batch=1..20:1 --grid sequence_length=128..1280:128 --grid zero_stage=0,2,3,4 -q)

fail() { echo "FAILED $1 (FORETRAIN_SEED=$seed)"; exit 1; }
now() { date +%s%N; }

"$foretrain" "${grid[@]}" --jobs 1 --db whole.db || fail "an undisturbed sweep"
dump whole.db >whole.sql
[ "$(sqlite3 whole.db 'select count(*) from run')" -ge 400 ] || fail "the sweep is large enough to be killed"

# What is there after a kill; a file that is not, or that holds no table yet, is fine too.
sound() { # DATABASE
  [ -e "$1" ] || return 0
  [ "$(sqlite3 "$1" 'pragma integrity_check')" = ok ] || fail "integrity: $(sqlite3 "$1" 'pragma integrity_check')"
  [ "$(sqlite3 "$1" 'select count(*) from sqlite_master')" -gt 0 ] || return 0
  [ -z "$(sqlite3 "$1" 'pragma foreign_key_check')" ] || fail "foreign keys"
  [ "$(sqlite3 "$1" 'select count(*) from run where run_id not in (select run_id from rank_class)
    or run_id not in (select run_id from setting) or run_id not in (select run_id from provenance)')" = 0 ] ||
    fail "a run that is not whole"
  [ "$(sqlite3 "$1" 'select count(*) - count(distinct run_key) from run')" = 0 ] || fail "a run twice"
}

# Over processes one of them is killed at random, and mpirun, below timeout, ends the others.
kill_now() { # PROCESS
  local all=("$1")
  [ "$over" -eq 0 ] || mapfile -t all < <(pgrep -P "$(pgrep -P "$1" -x mpirun || echo 0)" -x foretrain)
  [ ${#all[@]} -eq 0 ] || kill -9 "${all[RANDOM % ${#all[@]}]}" 2>/dev/null
}

# disturbed NAME KILLS JOBS COMMAND…: until so many were killed; a sweep that ends is compared, and another begun.
# Moments are drawn from the time that one takes that nobody disturbs.
disturbed() {
  local name=$1 most=$2 killed=0 ended=0 status sweep process begun took at
  sweep=("${@:4}" "${grid[@]}" --jobs "$3" --db "$name.db")
  begun=$(now)
  "${sweep[@]}" >/dev/null || fail "$name: undisturbed"
  took=$((($(now) - begun) / 1000000 + 1)) # ms
  rm -f "$name".db*
  while [ $killed -lt "$most" ]; do
    "${sweep[@]}" >/dev/null 2>err &
    process=$!
    at=$((RANDOM % took))
    sleep $((at / 1000)).$(printf %03d $((at % 1000)))
    kill_now $process
    wait $process 2>/dev/null
    status=$?
    sound "$name.db"
    [ $status -ne 124 ] || fail "$name: processes that wait for one that was killed"
    if [ $status -eq 137 ]; then
      killed=$((killed + 1))
      continue
    fi
    [ $status -eq 0 ] || fail "$name: exit status $status: $(head -c 300 err)"
    ended=$((ended + 1))
    dump "$name.db" | cmp -s - whole.sql || fail "$name: another database than the undisturbed sweep's"
    rm -f "$name".db*
  done
  "${sweep[@]}" >/dev/null || fail "$name: going on"
  dump "$name.db" | cmp -s - whole.sql || fail "$name: another database than the undisturbed sweep's"
  echo "$name: $killed killed, $((ended + 1)) ended, all databases equal"
}

share=$((kills / (processes > 0 ? 3 : 2))) over=0
disturbed one-thread $share 1 "$foretrain"
disturbed threads $share 4 "$foretrain"
[ "$processes" -eq 0 ] && exit 0
over=1
disturbed processes $((kills - 2 * share)) 1 timeout -k 1 60 mpirun -n "$processes" "$foretrain"
