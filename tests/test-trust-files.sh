#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files from strangers: a database whose texts are commands and markup, whose triggers, views and values are traps;
# links in shared folders. Nothing of it runs, nothing else is written, texts stay texts.
# usage: tests/test-trust-files.sh FORETRAIN
set -uo pipefail
# shellcheck source=tests/lib/verdicts.sh
. "$(dirname "$0")/lib/verdicts.sh"
unset FORETRAIN_DB

# call ARGUMENT…: within 10 s, and never a crash.
call() {
  timeout 10 "$foretrain" "$@" >out 2>err
  status=$?
  [ $status -le 3 ]
}

small_workload >a.ini
"$foretrain" run a.ini --db good.db -q || exit 1

# ---- Texts ----

# Markup, a formula of a spreadsheet, a terminal's command, a shell's, SQL, a runner's command on a line of its own.
text=$'</script><script>bad()</script><img src=x onerror=bad()>\n::error::x\n  ::warning::y ##[error]\e]0;t\a'
text+='$(touch pwned)`touch pwned`'
text+=$'\n!touch pwned\n\'; DROP TABLE run; --"|=cmd()|%s%n'
cp good.db hostile.db
hex=$(printf %s "$text" | od -An -v -tx1 | tr -d ' \n')
sqlite3 hostile.db "update run set workload = cast(x'$hex' as text), model = cast(x'$hex' as text),
  topology = cast(x'$hex' as text), gpu = cast(x'$hex' as text);
  update task set name = cast(x'$hex' as text), stream = cast(x'$hex' as text);
  update note set text = cast(x'$hex' as text);
  update setting set value = cast(x'$hex' as text) where name in ('cluster.topology', 'model.name')"
for words in 'report last -o p.html' 'plot timeline last -o t.svg' 'plot memory last -o m.svg' \
  'plot exposed last -o e.svg' \
  'compare last last' 'compare last last --json' 'list runs' 'list runs --json' 'explain last' 'best --minimise step' \
  'trace last --format chrome -o c.json' 'run last' 'plot pareto -o q.svg' 'plot scaling -o s.svg' \
  'export last --as trainer'; do
  # shellcheck disable=SC2086
  call $words --db hostile.db
  verdict "$words" $? "status $status: $(head -c 300 err)"
  ! LC_ALL=C grep -q $'[\001-\010\013-\037]' out err
  verdict "$words: nothing reaches the terminal" $? "$(cat -v out err | head -c 300)"
  ! grep -qE '^[[:space:]]*::|##\[' out err
  verdict "$words: no line is a runner's command" $? "$(grep -hE '^[[:space:]]*::|##\[' out err | head -3)"
  [[ $words != *--json ]] || [ $status -ne 0 ] || python3 -c 'import json; json.load(open("out"))' 2>py
  verdict "$words: JSON" $? "$(tail -1 py 2>/dev/null)"
done
[ -s p.html ] && ! grep -q '<script>bad\|<img src=x' p.html && [ "$(grep -o '<script' p.html | wc -l)" -eq 2 ]
verdict "HTML" $? "$(grep -o '.\{40\}<script>bad.\{20\}' p.html | head -2)"
for picture in *.svg; do
  python3 -c 'import sys, xml.etree.ElementTree as x
assert not [e for e in x.parse(sys.argv[1]).iter() if e.tag.split("}")[-1] in ("script", "img", "foreignObject")]' \
    "$picture" 2>py
  verdict "$picture is well-formed, without scripts" $? "$(tail -1 py)"
done
[ "$(ls -- *.svg | wc -l)" -ge 3 ] && python3 -c 'import json; json.load(open("c.json"))'
verdict "pictures and a trace are there" $? "$(ls)"
[ -z "$(find . -name pwned)" ] && [ "$(sqlite3 hostile.db 'select count(*) from run')" -ge 1 ]
verdict "nothing ran" $? "$(find . -name pwned)"

# The names and values of files that a pull request brings.
cp a.ini $'n\n::error::n.ini'
call run $'n\n::error::n.ini' --db good.db && [ $status -eq 0 ] && ! grep -qE '^[[:space:]]*::' out err
verdict "a workload's name" $? "$(cat out err | head -c 300)"
call run $'m\n ::error::m.ini' --db good.db
[ $status -eq 2 ] && ! grep -qE '^[[:space:]]*::' err
verdict "a name in an error" $? "$(head -c 300 err)"
printf '{"model_type": "a\\n::error::x"}' >config.json
call run a.ini -s model.config=config.json -s model.family=nosuch --db good.db
[ $status -eq 2 ] && ! grep -qE '^[[:space:]]*::' err
verdict "a value in an error" $? "$(head -c 300 err)"

# ---- Traps in the schema ----

# trap NAME SQL: read by every verb that reads databases; rows of `run` before are those after.
trapped() {
  local name=$1 before words
  rm -f trap.db*
  cp good.db trap.db
  sqlite3 trap.db "$2" || { verdict "$name: laying it" 1 ""; return; }
  before=$(sqlite3 good.db 'select count(*) from run')
  for words in 'list runs' 'compare last last' 'report last -o r.html' 'best --minimise step' \
    'plot memory last -o r.svg' \
    'run a.ini -q'; do
    # shellcheck disable=SC2086
    call $words --db trap.db
    verdict "$name: $words" $? "status $status: $(head -c 300 err)"
    [ $status -lt 2 ] || [ "$(grep -c '^foretrain: ' err)" -eq 1 ]
    verdict "$name: $words: one message" $? "$(head -c 300 err)"
  done
  sqlite3 trap.db 'select * from sprung' >sprung 2>/dev/null
  [ ! -s sprung ] || [ "$(cat sprung)" = 0 ]
  verdict "$name: it was not sprung" $? "$(cat sprung)"
  [ "$(sqlite3 good.db 'select count(*) from run')" -eq "$before" ]
  verdict "$name: others are as they were" $? ""
}
trapped "triggers" "create table sprung (n); insert into sprung values (0);
  create trigger a after insert on run begin update sprung set n = n + 1; end;
  create trigger b after insert on setting begin delete from run; end;
  create trigger c after insert on provenance begin update sprung set n = n + 1; end"
trapped "an endless view for a table" "alter table run rename to old;
  create view run as with recursive n(i) as (select 1 union all select i + 1 from n) select old.* from old, n"
trapped "an endless view for another" "alter table setting rename to old;
  create view setting as with recursive n(i) as (select 1 union all select i + 1 from n) select old.* from old, n"
trapped "times without end" "pragma ignore_check_constraints = on;
  update run set step_ps = 9223372036854775807; update rank_class set step_ps = 9223372036854775807"
trapped "negative times" "pragma ignore_check_constraints = on;
  update run set step_ps = -1, exposed_ps = -9223372036854775808"
trapped "numbers that are none" "update run set exposed_share = 9e999, tokens_per_second = -9e999"
trapped "a text of 80 MB" "update run set workload = printf('%.80000000c', 'x')"
trapped "no classes" "delete from rank_class"
trapped "a missing table" "drop table rank_class"
trapped "a missing column" "alter table setting drop column origin"
# Ten million bytes in place of a table's rows, and its schema rewritten to nonsense.
trapped "a schema of nonsense" \
  "pragma writable_schema = on; update sqlite_master set sql = 'create table run (' where name = 'run'"

# ---- Files beside a database ----

# What a transaction left behind that was broken off, as SQLite plays it back; its last words name a file, which SQLite
# would remove (https://www.sqlite.org/fileformat2.html).
cat >journal.py <<'PY'
import os, sqlite3, struct, sys
database, victim = sys.argv[1], os.path.abspath(sys.argv[2]).encode()
opened = sqlite3.connect(database)
opened.execute("pragma journal_mode = delete")
pages, size = (opened.execute("pragma " + what).fetchone()[0] for what in ("page_count", "page_size"))
opened.close()
mark = bytes.fromhex("d9d505f920a163d7")
with open(database + "-journal", "wb") as journal:
    journal.write((mark + struct.pack(">IIIII", 0, 1, pages, 512, size)).ljust(512, b"\0"))
    journal.write(struct.pack(">I", 0x40000000 // size + 1) + victim)
    journal.write(struct.pack(">II", len(victim), sum(victim)) + mark)
PY
for words in 'report last -o j.html' 'list runs' 'compare last last' 'run a.ini -q' 'merge good.db'; do
  rm -f j.db* && cp good.db j.db && echo precious >victim && python3 journal.py j.db victim
  # shellcheck disable=SC2086
  call $words --db j.db
  [ $status -eq 2 ] && grep -q 'j.db-journal: names another file' err && [ "$(cat victim)" = precious ]
  verdict "a journal that has a file removed: $words" $? "status $status: $(head -c 300 err); $(cat victim 2>&1)"
done
call merge j.db --db other.db
[ $status -eq 2 ] && [ "$(cat victim)" = precious ]
verdict "a journal beside what is merged" $? "status $status: $(head -c 300 err); $(cat victim 2>&1)"
# The attack itself works: without it the tests above could not fail.
sqlite3 j.db 'select count(*) from run' >out 2>&1
[ ! -e victim ]
verdict "sqlite3 itself removes the file" $? "$(cat out)"
for ending in journal wal shm; do
  rm -f k.db* && cp good.db k.db && echo precious >victim && ln -s victim k.db-$ending
  call report last --db k.db -o k.html
  [ $status -eq 2 ] && grep -q "k.db-$ending: is a link" err && [ "$(cat victim)" = precious ] &&
    [ "$(find . -name 'k.db-*' | wc -l)" -eq 1 ]
  verdict "a link for k.db-$ending" $? "status $status: $(head -c 300 err); $(head -c 100 victim)"
  rm k.db-$ending && mkfifo k.db-$ending
  call report last --db k.db -o k.html
  [ $status -eq 2 ] && grep -q "k.db-$ending: is no regular file" err
  verdict "a pipe for k.db-$ending" $? "status $status: $(head -c 300 err)"
  rm k.db-$ending
  [ "$(id -u)" -eq 0 ] || continue
  mkdir -p open && chmod 1777 open && cp good.db open/k.db && echo >open/k.db-$ending &&
    chown 65534 open/k.db-$ending
  call report last --db open/k.db -o k.html
  [ $status -eq 2 ] && grep -q "open/k.db-$ending: belongs to somebody else" err
  verdict "somebody else's k.db-$ending where anybody may write" $? "status $status: $(head -c 300 err)"
  rm open/k.db*
done
# A transaction of our own that was broken off is played back as ever.
cp good.db broken.db && python3 - <<'PY'
import os, sqlite3
if os.fork() == 0:
    opened = sqlite3.connect("broken.db", isolation_level=None)
    opened.execute("pragma journal_mode = delete")
    opened.execute("pragma cache_size = 1")
    opened.execute("begin")
    opened.execute("update setting set value = printf('%.9000c', 'x')")
    os._exit(0)
os.wait()
PY
[ -s broken.db-journal ]
verdict "a journal of a transaction that was broken off" $? "$(ls)"
call list runs --db broken.db
[ $status -eq 0 ] && cmp -s <(dump broken.db) <(dump good.db)
verdict "  is played back" $? "status $status: $(head -c 300 err)"

# ---- Links ----

mkdir shared && chmod 1777 shared && echo precious >victim
for name in out.html out.svg out.dat out.db out.csv; do ln -s ../victim "shared/$name"; done
call trace a.ini -o shared/out.csv
verdict "a link of one's own is followed" "$([ $status -eq 0 ] && grep -q streams victim; echo $?)" \
  "status $status: $(cat err)"
if [ "$(id -u)" -eq 0 ]; then
  echo precious >victim
  chown -h 65534:65534 shared/*
  for words in 'report last -o shared/out.html' 'plot memory last -o shared/out.svg' 'trace a.ini -o shared/out.csv' \
    'run a.ini --db shared/out.db'; do
    db=(--db good.db)
    [[ $words != *--db* && $words != trace* ]] || db=()
    # shellcheck disable=SC2086
    call $words "${db[@]}"
    [ $status -eq 2 ] && grep -q 'is a link that somebody else put' err && [ "$(cat victim)" = precious ]
    verdict "somebody else's link: $words" $? "status $status: $(head -c 300 err); $(head -c 100 victim)"
  done
  rm shared/out.svg
  call plot memory last --db good.db -o shared/out.svg
  [ $status -eq 2 ] && [ "$(cat victim)" = precious ]
  verdict "somebody else's link beside the picture" $? "status $status: $(head -c 300 err)"
fi

count_verdicts
