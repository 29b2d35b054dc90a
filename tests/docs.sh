#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README and the pages of docs/ show what the program really prints. Each page is followed as its reader would
# follow it, in an
# empty folder of its own with its own database, and what the commands print must be what the page shows, to the
# letter:
#
#   ```console              every line after "$ " is run by bash (a "\" at its end continues it on the next line);
#   $ foretrain list gpus   the lines below, up to the next "$ " or the end of the block, are what it prints,
# errors too,
#   gpu     memory GiB …    without blanks at the ends of lines
#   ```
#   <!-- file: mine.ini --> the fenced block that follows is first written to that file
#
# A picture that a page draws under the name of one in plots/ must have the same data and the same script as that one.
# Also held: pages link to what exists, prose is wrapped at 120 columns, README has at most 150 lines, a page at
# most 270; what is new may be longer. Figures in prose (13.04 GiB, 1239 ms, 2.4 %) stand in a block of their page, and
# *so does what is quoted*, but for those that come from elsewhere: <!-- from elsewhere: 149 ms -->, behind their
# paragraph.
# --accept writes what is printed now into the pages, and the pictures into plots/.
# usage: tests/docs.sh FORETRAIN [--accept]
set -euo pipefail
export LC_ALL=C.UTF-8 NO_COLOR=1
program=$(readlink -f "$1")
accept=${2:-}
cd "$(dirname "$(readlink -f "$0")")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/foretrain"
export PATH=$scratch/bin:$PATH FORETRAIN_DATA=$PWD
unset FORETRAIN_DB

# run FOLDER COMMAND: what it prints, in that folder.
run() {
  (cd "$1" && bash -c "$2" 2>&1 </dev/null || true) | awk '{ sub(/[ \t\r]+$/, ""); print }'
}

# render PAGE FOLDER: the page, with what its commands print now.
render() {
  local mode=text line command file=
  while IFS= read -r line || [ -n "$line" ]; do
    if [ "$mode" = console ] && [[ "$line" == '$ '* ]]; then
      printf '%s\n' "$line"
      command=${line#'$ '}
      while [[ "$command" == *\\ ]] && IFS= read -r line; do
        printf '%s\n' "$line"
        command=${command%\\}$line
      done
      run "$2" "$command"
      continue
    fi
    [ "$mode" != console ] || [ "$line" = '```' ] || continue
    printf '%s\n' "$line"
    case "$mode:$line" in
      'text:```console') mode=console ;;
      'text:<!-- file: '*) file=${line#'<!-- file: '} file=$2/${file%' -->'} ;;
      'text:```'*)
        mode=block
        [ -z "$file" ] || { mode=file; : >"$file"; }
        ;;
      *':```') mode=text file= ;;
      file:*) printf '%s\n' "$line" >>"$file" ;;
    esac
  done <"$1"
}

# links PAGE: those that lead nowhere. A heading's anchor is its text in small letters, blanks as dashes, without
# other signs.
links() {
  local target file anchor
  grep -oE '\]\([^)#: ]*(#[^) ]*)?\)' "$1" | sed 's/^](//; s/)$//' | sort -u | while read -r target; do
    file=${target%%#*} anchor=${target#"${target%%#*}"}
    if [ -n "$file" ]; then file=$(dirname "$1")/$file; else file=$1; fi
    if [ ! -e "$file" ]; then
      echo "$1: a link to $target, which does not exist"
    elif [ -n "$anchor" ]; then
      grep -E '^#+ ' "$file" | sed -E 's/^#+ //' | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g' |
        grep -qxF "${anchor#\#}" || echo "$1: a link to $target, a heading that does not exist"
    fi
  done
}

# shape PAGE LINES: what is too long.
shape() {
  awk '/^```/ { fenced = !fenced; next } !fenced && !/^[|!<#]/ { print NR ":" $0 }' "$1" | { grep -E '^[0-9]+:.{121}' \
    || true; } |
    sed -E "s|^([0-9]+):.*|$1:\1: prose of more than 120 columns|"
  [ "$(wc -l <"$1")" -le "$2" ] || echo "$1: more than $2 lines"
}

# figures PAGE: those in its prose that none of its blocks has.
figures() {
  awk '
    function tokens(text, into) { # its numbers
      while (match(text, /[0-9]+([.][0-9]+)?/)) {
        into[substr(text, RSTART, RLENGTH)]
        text = substr(text, RSTART + RLENGTH)
      }
    }
    /^```/ { fenced = !fenced; next }
    fenced { tokens($0, shown); blocks = blocks " " $0; next }
    /^<!-- from elsewhere: / { tokens($0, shown); next }
    /^\|/ { next }
    { prose[NR] = $0 }
    END {
      gsub(/[ \t]+/, " ", blocks)
      unit = "[0-9]+([.][0-9]+)? (ms|us|s|%|[KMGT]i?B|[KMGT]B/s|USD)([^A-Za-z0-9]|$)"
      for (line = 1; line <= NR; line++) {
        text = prose[line]
        gsub(/`[^`]*`/, "", text)
        quoted = text
        while (match(text, unit)) {
          figure = substr(text, RSTART, RLENGTH)
          text = substr(text, RSTART + RLENGTH - 1)
          number = figure
          sub(/ .*/, "", number)
          if (number ~ /[.]|[0-9][0-9][0-9]/ && !(number in shown)) print line ": " figure
        }
        while (match(quoted, /(^|[^*])[*][^* ][^*]*[0-9][^*]*[*]/)) {
          phrase = substr(quoted, RSTART, RLENGTH)
          quoted = substr(quoted, RSTART + RLENGTH)
          gsub(/^[^*]?[*]|[*]$/, "", phrase)
          if (!index(blocks, phrase)) print line ": *" phrase "*"
        }
      }
    }' "$1" | sed -E "s|^([0-9]+): (.*)|$1:\1: \2 stands in no block of the page|"
}

pages=(README.md docs/*.md)
passed=0 failed=0
tell() { # WHAT went wrong; nothing did where it is empty
  if [ -z "$1" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s\n' "$1"
  fi
}

# The comparison itself can fail: a page that shows what is not printed.
printf '%s\n' '```console' '$ echo one \' '  two' 'one, two' '```' >"$scratch/wrong.md"
printf '%s\n' '```console' '$ echo one \' '  two' 'one two' '```' >"$scratch/right.md"
mkdir "$scratch/wrong"
tell "$(render "$scratch/wrong.md" "$scratch/wrong" | cmp -s - "$scratch/right.md" \
  || echo 'tests/docs.sh: a wrong page passes')"
# So can that of figures.
printf '%s\n' 'It takes 13.5 ms of 150 ms, *at 2 GB/s*, 1 ms or 1.5 s.' '```' '150 ms at 2 GB/s' '```' \
  '<!-- from elsewhere: 1.5 s -->' '*at 3 GB/s*' >"$scratch/figures.md"
tell "$(figures "$scratch/figures.md" | sed "s|.*md:||" | cmp -s - <(printf '%s stands in no block of the page\n' \
  '1: 13.5 ms ' '6: *at 3 GB/s*') || echo 'tests/docs.sh: a wrong figure passes')"

for page in "${pages[@]}"; do
  mkdir -p "$scratch/new/$page" "$scratch/at/$page"
  render "$page" "$scratch/at/$page" >"$scratch/new/$page/page" &
done
wait

for page in "${pages[@]}"; do
  if [ "$accept" = --accept ]; then
    cmp -s "$scratch/new/$page/page" "$page" || { cat "$scratch/new/$page/page" >"$page"; echo "$page: accepted"; }
  fi
  tell "$(diff -u --label "$page, as it stands" --label "$page, as the program \
    prints" "$page" "$scratch/new/$page/page" || true)"
  tell "$(links "$page")"
  [ "$page" = docs/speed.md ] || tell "$(figures "$page")" # whose figures are those of ./dev bench
  case $page in README.md) tell "$(shape "$page" 150)" ;; *) tell "$(shape "$page" 270)" ;; esac
done
for page in CONTRIBUTING.md src/README.md; do
  tell "$(links "$page")"
  tell "$(shape "$page" 270)"
done
tell "$(links CHANGELOG.md)"
tell "$(shape CHANGELOG.md 1000)"

for picture in plots/*.png; do
  name=$(basename "$picture" .png)
  drawn=$(find "$scratch/at" -name "$name.png" | head -n 1)
  if [ -z "$drawn" ]; then
    tell "$picture: no page draws it"
    continue
  fi
  for part in "$name.dat" "$name.gnuplot"; do
    if [ "$accept" = --accept ] && ! cmp -s "${drawn%.png}${part#"$name"}" "plots/$part"; then
      cp "${drawn%.png}".* plots/
      echo "$picture: accepted"
    fi
    tell "$(cmp -s "${drawn%.png}${part#"$name"}" "plots/$part" || echo "plots/$part is not what the program draws \
      now")"
  done
done

if [ $failed -ne 0 ]; then
  echo "tests/docs.sh $1 --accept takes what is printed now; read the difference before it is committed"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
