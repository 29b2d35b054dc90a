#!/usr/bin/env bash
# README shows what the program really prints: the stage table, the query's answer, a comparison and a trace, to the letter. With
# --update it also rewrites them and draws the pictures again.
# usage: tests/readme.sh FORETRAIN [--update]
set -euo pipefail
foretrain=$(readlink -f "$1")
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
db=$scratch/readme.db
stages=$("$foretrain" stages workloads/llama2-7b.ini --db "$db")
query='select zero_stage, verdict, step_ms, exposed_ms, device_used_gib from v_stage_table'
answer=$(sqlite3 -header -column "$db" "$query" | sed 's/ *$//')
compared=$("$foretrain" compare 3 4 --db "$db")
sized=(run workloads/llama3-8b-fsdp2.ini --set cluster.gpu=h100-sxm5-96gb-hbm2e --set fsdp.wrap=block --db "$db")
within() { awk '/^Interval/ { on = 1 } /^Step/ || on { print } /\.$/ { on = 0 }'; }
near=$("$foretrain" "${sized[@]}" | within)
far=$("$foretrain" "${sized[@]}" --set cluster.nodes=256 | within)
traced=$("$foretrain" trace workloads/llama2-7b.ini | sed -n '13,30p' | cut -c 1-118)

if [ "${2:-}" = --update ]; then
  # Between a line that names the command and the closing fence.
  replace() { # MARK TEXT
    awk -v mark="$1" -v text="$2" '
      done == 0 && index($0, mark) { print; found = 1; next }
      found == 1 && /^```$/ { print; print text; found = 2; skip = 1; next }
      skip == 1 && /^```$/ { skip = 0; done = 1 }
      skip != 1 { print }' README.md >"$scratch/README.md"
    cp "$scratch/README.md" README.md
  }
  replace '`./dev demo` runs' "$stages"
  replace 'The first of these answers' "$answer"
  replace '`foretrain compare 3 4`' "$compared"
  replace 'one node of them was measured' "$near"
  replace 'Nobody published 2 048' "$far"
  replace '`foretrain trace workloads/llama2-7b.ini |' "$traced"
  "$foretrain" plot timeline 3 --db "$db" -q -o plots/llama2-7b-timeline-zero2.png
  "$foretrain" plot timeline 4 --db "$db" -q -o plots/llama2-7b-timeline-zero3.png
  "$foretrain" plot memory 4 --db "$db" -q -o plots/llama2-7b-memory-zero3.png
fi

readme=$(cat README.md)
passed=0 failed=0
for shown in "$stages" "$answer" "$compared" "$near" "$far" "$traced"; do
  if [[ "$readme" == *"$shown"* ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "README.md does not show what the program prints (tests/readme.sh FORETRAIN --update mends it):"
    echo "$shown"
  fi
done
for script in timeline-zero2 timeline-zero3 memory-zero3; do
  [ -s "plots/llama2-7b-$script.png" ] && [ -s "plots/llama2-7b-$script.gnuplot" ] && passed=$((passed + 1)) || failed=$((failed + 1))
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
