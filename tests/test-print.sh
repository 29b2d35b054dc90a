#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual page and the completions: every option of every verb, as its own help lists them, is in each.
# usage: tests/test-print.sh FORETRAIN
set -uo pipefail
# shellcheck source=tests/lib/verdicts.sh
. "$(dirname "$0")/lib/verdicts.sh"

for what in man bash zsh; do "$foretrain" --print $what >$what; done
"$foretrain" --print fish >out 2>err
[ $? -eq 2 ] && grep -q 'man, bash or zsh' err
verdict "nothing else is printed" $? "$(cat err)"
bash -n bash
verdict "bash can read it" $? ""
if command -v zsh >/dev/null; then
  zsh -n zsh
  verdict "zsh can read it" $? ""
fi
if command -v groff >/dev/null; then
  [ -z "$(groff -man -ww -Tascii man 2>&1 >/dev/null)" ]
  verdict "groff can read it" $? "$(groff -man -ww -Tascii man 2>&1 >/dev/null | head -3)"
fi
# shellcheck disable=SC1091
. ./bash

complete_line() { # WORD… → what bash offers for the last
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _foretrain
  printf '%s\n' "${COMPREPLY[@]}"
}

# Sections of a verb, or a kind of one, in each.
in_man() { awk -v head=".SS $1" \
  'index($0, ".SS ") == 1 || index($0, ".SH ") == 1 { on = ($0 == head || index($0, head " ") == 1) } on' man \
  | sed 's/\\-/-/g'; }
in_zsh() { awk -v head="    \"$1\")" '$0 == head { on = 1 } on { print } / ;;$/ { on = 0 }' zsh; }

whole_man=$(sed 's/\\-/-/g' man)
holds() { # NAME TEXT PATTERN: the text, of several lines, has the extended expression
  [[ $'\n'$2$'\n' =~ $3 ]]
  verdict "$1" $? "${2:0:200}"
}
check() { # VERB [KIND]
  local option count=0 manual zsh offered
  manual=$(in_man "${*//-/\\\\-}")
  zsh=$(in_zsh "$*")
  offered=$(complete_line foretrain "$@" --)
  for option in $({ "$foretrain" "$@" --help-all 2>/dev/null; "$foretrain" "$@" --help; } \
    | sed -n 's/^  \(-., \)\{0,1\}--\([a-z-]*\).*/\2/p' | sort -u); do
    count=$((count + 1))
    case $option in
      help* | version) holds "manual: $* --$option" "$whole_man" "--$option" ;;
      *) holds "manual: $* --$option" "$manual" "--$option[^a-z-]" ;;
    esac
    holds "bash: $* --$option" "$offered" $'\n'"--$option"$'\n'
    holds "zsh: $* --$option" "$zsh" "'[*]*--$option[=[]"
  done
  [ $count -gt 1 ]
  verdict "$* has options" $? ""
}

verbs=$("$foretrain" --help | sed -n 's/^  foretrain \([a-z]*\).*/\1/p')
[ "$(complete_line foretrain '' | grep -v '^--' | tr '\n' ' ')" = "$(echo "$verbs" | tr '\n' ' ')" ]
verdict "bash: the verbs" $? "$(complete_line foretrain '')"
for verb in $verbs; do
  kinds=$(complete_line foretrain "$verb" '')
  case $verb in
  plot | list | import) for kind in $(grep -v '^--' <<<"$kinds"); do check "$verb" "$kind"; done ;;
  *) check "$verb" ;;
  esac
done
[ "$(complete_line foretrain run --fold '' | tr '\n' ' ')" = 'off on ' ]
verdict "bash: the choices of an option" $? "$(complete_line foretrain run --fold '')"
[ "$(complete_line foretrain trace --format = chr)" = chrome ]
verdict "bash: behind an equals sign" $? "$(complete_line foretrain trace --format = chr)"
# A planted fault: an option that nobody prints is missed.
sed -i 's/--require-fit//' bash
. ./bash
complete_line foretrain run -- >section.bash
! grep -qx -- --require-fit section.bash
verdict "an option taken out is missed" $? ""

count_verdicts
