#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An installed tree works wherever it lies: installed under a DESTDIR, moved, and run where no source tree is known.
# usage: tests/test-install.sh FORETRAIN BUILD_ROOT
set -uo pipefail
build=$(readlink -f "$2")
source=$(readlink -f "$(dirname "$0")/..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset FORETRAIN_DATA FORETRAIN_DB XDG_DATA_HOME XDG_DATA_DIRS
export HOME=$scratch/home
passed=0 failed=0

verdict() { # NAME STATUS DETAIL
  if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED %s\n  %s\n' "$1" "$3"; fi
}

DESTDIR=$scratch/dest meson install -C "$build" --no-rebuild >"$scratch/log" 2>&1
verdict "meson install" $? "$(tail -5 "$scratch/log")"
program=$(find "$scratch/dest" -path '*/bin/foretrain' -type f)
[ -x "$program" ]
verdict "the program is installed" $? "$(find "$scratch/dest" | head -20)"
prefix=${program%/bin/foretrain}
mkdir "$scratch/home" "$scratch/work" && mv "$prefix" "$scratch/moved" && cd "$scratch/work" || exit 3
foretrain=$scratch/moved/bin/foretrain

for file in share/man/man1/foretrain.1 share/bash-completion/completions/foretrain \
  share/zsh/site-functions/_foretrain; do
  [ -s "$scratch/moved/$file" ]
  verdict "$file" $? "$(find "$scratch/moved" -name "$(basename $file)*")"
done
for list in topologies workloads; do
  diff <("$foretrain" list $list | tail -n +2 | cut -d " " -f1) \
    <(cd "$source/$list" && for file in *.ini; do echo "${file%.ini}"; done \
    | LC_ALL=C sort) >diff
  verdict "all $list are installed" $? "$(cat diff)"
done
"$foretrain" run gpt2-xl --db moved.db >out 2>err
verdict "a workload runs" $? "$(cat err)"
# Where it looks is told by what it does not find: its own folders, not the source's.
"$foretrain" run nowhere 2>err
grep -q "looked in .*$scratch/moved/share/foretrain/workloads" err && ! grep -q "$source" err
verdict "it looks beside itself" $? "$(cat err)"
mkdir -p "$scratch/home/.local/share/foretrain/workloads" "$scratch/xdg/foretrain/workloads"
cp "$scratch/moved/share/foretrain/workloads/gpt2-xl.ini" "$scratch/home/.local/share/foretrain/workloads/mine.ini"
cp "$scratch/moved/share/foretrain/workloads/gpt2-xl.ini" "$scratch/xdg/foretrain/workloads/ours.ini"
"$foretrain" list workloads | grep -q '^mine '
verdict "the person's own data" $? ""
XDG_DATA_DIRS=$scratch/xdg "$foretrain" list workloads | grep -q '^ours '
verdict "data of XDG_DATA_DIRS" $? ""
strip -o stripped "$foretrain" 2>/dev/null || cp "$foretrain" stripped
! grep -qF "$source/" stripped
verdict "no path of the source is in the program" $? "$(strings -a stripped 2>/dev/null | grep -F "$source/" | head -3)"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
