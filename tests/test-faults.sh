#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the machine does to a run: full disks, files that may not be written, other writers, damaged and foreign
# databases, no gnuplot, no output, no home, other languages and time zones, a folder that is gone, names of every kind.
# Each is one clear message, or has no effect.
# usage: tests/test-faults.sh FORETRAIN [fast|whole]
#   fast: of sizes of disks, damages and names only some
set -uo pipefail
# shellcheck source=tests/lib/verdicts.sh
. "$(dirname "$0")/lib/verdicts.sh"
extent=${2:-fast}
unset FORETRAIN_DB

# says NAME STATUS FRAGMENT ARGUMENT…: that exit status, and one message on stderr, which holds the fragment.
says() {
  local name=$1 wanted=$2 fragment=$3 status
  shift 3
  timeout 20 "$foretrain" "$@" >out 2>err
  status=$?
  [ $status -eq "$wanted" ] && grep -qF -- "$fragment" err && [ "$(grep -c '^foretrain: ' err)" -eq 1 ]
  verdict "$name" $? "status $status, wanted $wanted: $(head -c 300 err)"
}

small_workload >a.ini
"$foretrain" run a.ini --db good.db >good.txt || exit 1
dump good.db >good.sql

# ---- A disk that is full, at every size ----

grid=(sweep a.ini --grid micro_batch=1..20:1 --grid sequence_length=128..1280:128 -q --jobs 1)
"$foretrain" "${grid[@]}" --db whole.db
dump whole.db >whole.sql
sizes="1 8 100 250 400" parts="20 35 50 65 80 95" # KiB, per cent
[ "$extent" = whole ] || { sizes="8 250" parts="35 80"; }
for blocks in $sizes; do
  (ulimit -f $blocks; exec "$foretrain" "${grid[@]}" --db full.db) >out 2>err
  status=$?
  [ $status -eq 3 ] && [ "$(grep -c '^foretrain: .*full.db' err)" -eq 1 ]
  verdict "a sweep on a disk of $blocks KiB" $? "status $status: $(head -c 300 err)"
  [ ! -s full.db ] || [ "$(sqlite3 full.db 'pragma integrity_check')" = ok ]
  verdict "  leaves a sound database" $? "$(ls -l full.db)"
done
"$foretrain" "${grid[@]}" --db full.db && dump full.db | cmp -s - whole.sql
verdict "with room again it ends as if nothing had been" $? "$(dump full.db | diff - whole.sql | head -3)"
for words in 'trace a.ini -o kept.csv' 'report last --db good.db -o kept.html' \
  'plot timeline last --db good.db -o kept.svg'; do
  file=${words##* }
  echo old >"$file"
  # shellcheck disable=SC2086
  (ulimit -f 1; exec "$foretrain" $words) >out 2>err
  status=$?
  [ $status -eq 3 ] && [ "$(cat "$file")" = old ] && [ -z "$(find . -maxdepth 1 -name '.foretrain*')" ]
  verdict "a full disk leaves the old $file" $? "status $status: $(head -c 300 err) $(head -c 40 "$file" 2>&1)"
done

# ---- What may not be written, or is somebody's ----

as_nobody=()
[ "$(id -u)" -ne 0 ] || as_nobody=(setpriv --reuid 65534 --clear-groups)
mkdir mine && cp good.db a.ini mine/ && chmod 444 mine/good.db && chmod 555 mine
chmod 755 . && chmod 711 "$scratch"
"${as_nobody[@]}" "$foretrain" run mine/a.ini --db mine/good.db >out 2>err
status=$?
[ $status -eq 3 ] && grep -q 'mine/good.db: .*read-only' err
verdict "a read-only database" $? "status $status: $(head -c 300 err)"
"${as_nobody[@]}" "$foretrain" list runs --db mine/good.db >out 2>err && grep -q fsdp2 out
verdict "is read" $? "$(head -c 300 err)"
"${as_nobody[@]}" "$foretrain" trace mine/a.ini -o mine/x.csv >out 2>err
status=$?
[ $status -eq 3 ] && grep -q 'mine/x.csv: cannot be written: Permission denied' err
verdict "a folder that may not be written" $? "status $status: $(head -c 300 err)"
"${as_nobody[@]}" "$foretrain" run mine/a.ini --db mine/new.db >out 2>err
status=$?
[ $status -eq 3 ] && grep -q 'mine/new.db' err
verdict "nor a database in it" $? "status $status: $(head -c 300 err)"

# ---- Others at the same file ----

"$foretrain" sweep a.ini --grid micro_batch=1..200:1 -q --db both.db --jobs 1 &
"$foretrain" sweep a.ini --grid micro_batch=201..400:1 -q --db both.db --jobs 1
one=$?
wait $!
other=$?
[ $one -eq 0 ] && [ $other -eq 0 ] && [ "$(sqlite3 both.db 'select count(*) from run')" = 400 ] \
  && [ "$(sqlite3 both.db 'pragma integrity_check')" = ok ]
verdict "two sweeps at once" $? "status $one and $other, $(sqlite3 both.db 'select count(*) from run') runs"
cp good.db locked.db
sqlite3 locked.db 'begin exclusive' '.shell touch has; timeout 15 sh -c "while [ -e has ]; do sleep 0.1; done"' &
while [ ! -e has ]; do sleep 0.05; done
says "a database that another process holds" 3 'locked.db: another process holds it locked' run a.ini --db locked.db
rm has
wait

# ---- Files that are no database of ours ----

for version in 1 99; do
  cp good.db version.db && sqlite3 version.db "pragma user_version = $version"
  says "schema version $version" 2 "has schema version $version, this foretrain reads" run a.ini --db version.db
  says "schema version $version, read" 2 "has schema version $version" list runs --db version.db
done
sqlite3 other.db 'create table t (a)'
says "somebody else's database" 2 "but not foretrain's" run a.ini --db other.db
says "no database" 2 'is no SQLite database' run a.ini --db a.ini
[ "$(head -c 7 a.ini)" = '[model]' ]
verdict "is left as it is" $? "$(head -c 40 a.ini)"
head -c 100000 good.db >torn.db
for words in 'export last --as accelerate' 'trace last -o t.csv' 'explain last' 'best --minimise step'; do
  # shellcheck disable=SC2086
  says "$words: of a torn database" 3 'torn.db: ' $words --db torn.db
  # shellcheck disable=SC2086
  says "$words: of no database" 2 'no database "none.db"' $words --db none.db
done
size=$(stat -c %s good.db)
for part in $parts; do
  cp good.db torn.db && truncate -s $((size * part / 100)) torn.db
  cp good.db holed.db &&
    dd if=/dev/urandom of=holed.db bs=512 seek=$((size * part / 51200)) count=8 conv=notrunc 2>/dev/null
  for file in torn holed; do
    for words in 'list runs' 'report last -o x.html' 'compare last last' 'run a.ini -q'; do
      # shellcheck disable=SC2086
      timeout 20 "$foretrain" $words --db $file.db >out 2>err
      status=$?
      [ $status -le 3 ] && { [ $status -lt 2 ] || [ "$(grep -c '^foretrain: ' err)" -eq 1 ]; }
      verdict "$words: a database $file at $part %" $? "status $status: $(head -c 300 err)"
    done
  done
done

# ---- gnuplot ----

mkdir empty bad && printf '#!/bin/sh\necho no such terminal >&2; exit 1\n' >bad/gnuplot && chmod +x bad/gnuplot
plot=(plot timeline last --db good.db -o p.svg)
(PATH=$scratch/empty; "$foretrain" "${plot[@]}" >out 2>err)
status=$?
[ $status -eq 3 ] && grep -q 'gnuplot does not run' err && [ ! -e p.svg ]
verdict "no gnuplot" $? "status $status: $(head -c 300 err)"
PATH=$scratch/bad:$PATH "$foretrain" "${plot[@]}" >out 2>err
status=$?
[ $status -eq 3 ] && grep -q 'gnuplot failed: no such terminal' err && [ ! -e p.svg ]
verdict "a gnuplot that fails" $? "status $status: $(head -c 300 err)"

# ---- Streams ----

"$foretrain" run a.ini --db good.db >&- 2>err
status=$?
[ $status -eq 3 ] && grep -q 'standard output cannot be written' err
verdict "no standard output" $? "status $status: $(head -c 300 err)"
"$foretrain" run a.ini --db good.db 2>&- <&- >out && grep -q FITS out
verdict "neither the others" $? "$(head -c 300 out)"
"$foretrain" run a.ini --db closed.db <&- >&- 2>&-
[ "$(sqlite3 closed.db 'pragma integrity_check; select count(*) from run' | tr '\n' ' ')" = 'ok 1 ' ]
verdict "no stream at all: nothing is printed into the database" $? "$(ls -l closed.db)"
set +o pipefail
"$foretrain" list settings 2>err | head -n 1 >/dev/null
[ ! -s err ]
verdict "a reader that stops is no error" $? "$(head -c 300 err)"
set -o pipefail

# ---- Surroundings ----

# around NAME COMMAND…: the same words and the same database as without.
around() {
  local name=$1
  shift
  rm -f "$scratch"/around.db*
  "$@" "$foretrain" run "$scratch/a.ini" --db "$scratch/around.db" >"$scratch/out" 2>"$scratch/err"
  local status=$?
  verdict "$name" $status "$(head -c 300 "$scratch/err")"
  cd "$scratch" || exit 3
  diff <(grep -v '\.db' out) <(grep -v '\.db' good.txt) >difference
  verdict "$name: the same words" $? "$(head -3 difference)"
  dump around.db | cmp -s - good.sql
  verdict "$name: the same database" $? "$(dump around.db | diff - good.sql | head -3)"
}
around "no environment" env -i
around "no home" env -u HOME
around "a home that is not" env HOME=/nowhere
around "a locale that is not" env LC_ALL=xx_YY.UTF-8 LANG=xx
mkdir locales
localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 2>/dev/null || echo "no German locale can be made here: C stands for it"
around "German, where a comma is a point" env LOCPATH="$scratch/locales" LC_ALL=de_DE.UTF-8
around "a time zone" env TZ=Pacific/Kiritimati
around "another folder" env -C /
mkdir gone && cd gone && rmdir ../gone
around "a folder that is gone" env
mkdir gone && cd gone && rmdir ../gone
"$foretrain" run a.ini >"$scratch/out" 2>"$scratch/err"
status=$?
cd "$scratch" || exit 3
[ $status -eq 2 ] && [ "$(grep -c '^foretrain: ' err)" -eq 1 ]
verdict "a relative name in it" $? "status $status: $(head -c 300 err)"

# ---- Names ----

mkdir names && cd names || exit 3
# shellcheck disable=SC2016
names=('$(touch pwned)' $'new\nline' '-dash' $'caf\xe9' "'; DROP TABLE run; --" '?mode=memory')
[ "$extent" = fast ] || names+=('with blanks' "single ' quote" 'double " quote' 'back \ slash' '`touch pwned`'
  ';touch pwned'
  '|touch pwned' '--set' '%s%n' $'bell\a' '#x' '~' '*')
for name in "${names[@]}"; do
  rm -rf ./* && cp ../a.ini "./$name.ini"
  shown=$(printf %q "$name")
  "$foretrain" run "./$name.ini" --db "./$name.db" >../out 2>../err \
    && [ "$(sqlite3 "file:$(printf %s "$PWD/$name.db" | od -An -v -tx1 | tr -d '\n' | tr ' ' %)" \
      'select count(*) from run')" = 1 ]
  verdict "run $shown" $? "$(head -c 300 ../err)"
  "$foretrain" report last --db "./$name.db" -o "./$name.html" >../out 2>../err && [ -s "./$name.html" ]
  verdict "report -o $shown" $? "$(head -c 300 ../err)"
  [ "$(find . -mindepth 1 -printf x | wc -c)" -eq 3 ]
  verdict "no other file than asked for: $shown" $? "$(ls -A)"
done
"$foretrain" run ./*.ini --db=-x.db >../out 2>../err && [ -s ./-x.db ]
verdict "--db=-x.db" $? "$(head -c 300 ../err)"
cd ..

count_verdicts
