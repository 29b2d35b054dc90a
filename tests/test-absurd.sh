#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Absurd values for every setting that `foretrain list settings` names: an answer, or one line of error with exit status
# 2, within 20 s of processor time and 4 GiB of addresses, never a crash. A setting is tried in a small workload of its
# framework.
# usage: tests/test-absurd.sh FORETRAIN [fast|fourth|whole|pairs [COUNT]]
#   fast: the upper end of each range and what lies beyond; whole: many more values, and under every framework; fourth:
#   each fourth of these, and all that are combined; pairs: COUNT (300) draws of two to four settings, each at a value
#   that it takes, by FORETRAIN_SEED (1)
set -uo pipefail
foretrain=$(readlink -f "$1")
source=$(readlink -f "$(dirname "$0")/..")
extent=${2:-fast}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 3
SECONDS_MOST=20 MEMORY_MOST=$((4 << 20)) # KiB
# The limit is of the program as users have it, not of an allocator that fills all that it gives and takes, which Meson
# asks for: on memory that is reserved and never touched this costs three times the play.
unset MALLOC_PERTURB_
export foretrain source SECONDS_MOST MEMORY_MOST

# Sanitizers reserve terabytes of addresses.
if grep -q __asan_init "$foretrain"; then MEMORY_MOST=unlimited; fi

workload() { # FRAMEWORK LINES-OF-PARALLEL…
  local framework=$1
  shift
  cat >"$framework.ini" <<INI
[model]
family = llama
layers = 4
hidden_size = 256
heads = 4
intermediate_size = 512
vocab_size = 1000
[training]
sequence_length = 128
micro_batch = 1
gradient_accumulation = 2
optimizer = adamw
activation_checkpointing = full
[parallel]
framework = $framework
$(printf '%s\n' "$@")
[cluster]
topology = dgx-h100
nodes = 2
INI
}
workload paper 'zero_stage = 3'
workload ddp 'zero_stage = 0'
workload deepspeed 'zero_stage = 3'
workload fsdp1 'zero_stage = 3'
workload fsdp2 'zero_stage = 3'
workload megatron 'zero_stage = 1' 'tensor = 2' 'pipeline = 2'
workload nanotron 'zero_stage = 1' 'tensor = 2' 'pipeline = 2'

# try ROOM FRAMEWORK [VERB: ]SETTING VALUE: prints what is wrong. Files are written into the room.
try() {
  local room=$1 status wrong="" said more settings=(-s "$3=$4") words=(run "$2.ini" -q --db "$1/$count.db")
  local begun=$SECONDS
  if [[ $4 =~ ^[0-9]+\ [a-z]+\.[a-z_]+= ]]; then
    settings=(-s "$3=${4%% *}")
    for more in ${4#* }; do settings+=(-s "$more"); done
  elif [ "$3" = several ]; then # GROUP.KEY=VALUE, a line each
    settings=()
    while IFS= read -r more; do settings+=(-s "$more"); done <<<"$4"
  fi
  if [ "$3" = lines ]; then # GROUP LINE…: of a topology, a line on each row
    printf '%s\n[%s]\n%s\n' "$(<"$source/topologies/dgx-h100.ini")" "${4%% *}" "${4#* }" >"$room/t.ini"
    settings=(-s "cluster.topology=$room/t.ini")
  fi
  if [[ $3 == *:\ * ]]; then # VERB: SETTING
    read -ra words <<<"${3%%: *} $2.ini"
    settings=(-s "${3#*: }=$4")
    [[ ${3%%: *} != @(plot|report)* ]] || words+=(-o "$room/t.svg")
    [[ ${3%%: *} == @(fit|layers|export|trace)* ]] || words+=(--db "$room/$count.db")
  fi
  (
    ulimit -c 0 -t "$SECONDS_MOST"
    [ "$MEMORY_MOST" = unlimited ] || ulimit -v "$MEMORY_MOST"
    exec timeout -k 1 $((20 * SECONDS_MOST)) \
      "$foretrain" "${words[@]}" "${settings[@]}" >"$room/out" 2>"$room/err"
  ) 2>/dev/null
  status=$?
  [ $((SECONDS - begun)) -lt 5 ] || echo "$((SECONDS - begun)) s: $2 $3 = ${4//$'\n'/ }" >>"$room/../slow"
  said=$(<"$room/err")
  case $status in
    0) echo answered >>"$room/../answers" ;;
    2)
      [ ${#said} -lt 4000 ] || wrong="error of ${#said} letters"
      [[ $'\n'$said =~ $'\n'foretrain:\  ]] || wrong="no error is said"
      ;;
    124 | 137 | 152) wrong="no answer within $SECONDS_MOST s" ;;
    *) wrong="exit status $status" ;;
  esac
  [ -z "$wrong" ] || printf "FAILED %s: %s = %.300s: %s\n  %.200s\n" "$2" "$3" "${4//$'\n'/ }" "$wrong" "$said"
}
tries() { # (FRAMEWORK SETTING VALUE)…
  local room count=0
  room=$(mktemp -d -p .)
  while [ $# -gt 0 ]; do
    count=$((count + 1))
    try "$room" "$1" "$2" "$3"
    shift 3
  done
  rm -rf "$room"
}
export -f try tries

# The settings, a line each: group.key, a tab, what it takes.
"$foretrain" list settings >settings.txt
awk '/^\[/ { group = substr($1, 2, length($1) - 2); next }
     /^  [a-z]/ { split($0, part, /  +/); if (part[2] != "key") print group "." part[2] "\t" part[3] }' settings.txt \
  | grep -v '	not modelled yet\|	lines of the group' >takes.txt
[ "$(wc -l <takes.txt)" -ge 150 ] || { echo "FAILED list settings names $(wc -l <takes.txt) settings"; exit 1; }

frameworks_of() { # SETTING
  case $1 in
    deepspeed.* | ddp.* | megatron.* | nanotron.*) echo "${1%%.*}" ;;
    fsdp.*) if [ "$extent" = fast ]; then echo fsdp2; else echo fsdp1 fsdp2; fi ;;
    model.* | training.* | parallel.*)
      if [ "$extent" = fast ]; then echo fsdp2; else echo paper ddp deepspeed fsdp1 fsdp2 megatron nanotron; fi
      ;;
    *) echo paper ;;
  esac
}

numbers="0 -1 nan inf 1e308 9223372036854775807 9223372036854775808 1e9 0.5 1e-300"
long=$(printf 'x%.0s' $(seq 5000))
texts=("" " " "-" "((((" "%s%n" "0" "9223372036854775808" "../../../etc/passwd" $'\001' "$long")
[ "$extent" != fast ] || { numbers="nan 9223372036854775808"; texts=("$long"); }

# values TAKES: one a line, as they would be written.
values() {
  local takes=$1 number
  case $takes in
    *" from "*" to "*)
      if [ "$extent" = fast ]; then
        sed -n 's/.* to \(.*\)/\1/p' <<<"$takes"
      else
        sed -n 's/.*from \(.*\) to \(.*\)/\1\n\2/p' <<<"$takes"
      fi
      for number in $numbers; do
        echo "$number"
        case $takes in
          a\ size*) echo "$number GiB" ;;
          a\ rate*) echo "$number GB/s" ;;
          a\ time*) echo "$number s" ;;
        esac
      done
      ;;
    "a whole number"* | "a number"*) printf '%s\n' 0 1 $numbers ;;
    "yes or no"*) printf '%s\n' yes no maybe ;;
    "one of "*)
      [ "$extent" = fast ] || sed 's/^one of //; s/;.*//; s/, /\n/g' <<<"$takes"
      echo nosuch
      ;;
    *) printf '%s\n' "${texts[@]}" ;;
  esac
}

# ends TAKES: values within what it takes, one a line.
ends() {
  case $1 in
    *" from "*" to "*) sed -n 's/.*from \(.*\) to \([^;]*\).*/\1\n\2/p' <<<"$1" ;;
    "a whole number"* | "a number"*) printf '%s\n' 1 1000000000 ;;
    "yes or no"*) printf '%s\n' yes no ;;
    "one of "*) sed 's/^one of //; s/;.*//; s/, /\n/g' <<<"$1" ;;
  esac
}
tried() { # FILE: of cases
  local count failed
  count=$(($(tr -dc '\0' <"$1" | wc -c) / 3))
  : >answers
  : >slow
  # shellcheck disable=SC2016
  xargs -0 -n 60 -P 2 bash -c 'tries "$@"' tries <"$1" >wrong
  cat wrong
  failed=$(grep -c '^FAILED' wrong)
  sort -rn slow | head -n 10 | cut -c -200
  echo "test-absurd: $count values tried, $(wc -l <answers) answered, $failed wrong"
  [ "$failed" -eq 0 ] && [ "$count" -ge "$2" ]
}

if [ "$extent" = pairs ]; then
  while IFS=$'\t' read -r setting takes; do
    for framework in $(frameworks_of "$setting"); do
      while IFS= read -r value; do printf '%s %s=%s\n' "$framework" "$setting" "$value"; done < <(ends "$takes")
    done
  done <takes.txt >ends
  frameworks=(paper ddp deepspeed fsdp1 fsdp2 megatron nanotron) RANDOM=${FORETRAIN_SEED:-1}
  for framework in "${frameworks[@]}"; do
    awk -v own="$framework" '$1 == own || $1 == "paper" && $2 !~ /^(model|training|parallel)\./' ends |
      cut -d ' ' -f 2- >"ends.$framework"
  done
  for ((i = 0; i < ${3:-300}; i++)); do
    framework=${frameworks[RANDOM % 7]}
    mapfile -t of <"ends.$framework"
    several=$(for ((j = RANDOM % 3 + 2; j > 0; j--)); do echo "${of[(RANDOM * 32768 + RANDOM) % ${#of[@]}]}"; done)
    printf '%s\0several\0%s\0' "$framework" "$several"
  done >cases
  tried cases "${3:-300}"
  exit
fi

nth=0
while IFS=$'\t' read -r setting takes; do
  [ "$extent $setting" = 'fast model.layers' ] && continue # seconds
  for framework in $(frameworks_of "$setting"); do
    while IFS= read -r value; do
      nth=$((nth + 1))
      [ "$extent" = fourth ] && [ $((nth % 4)) -ne 0 ] || printf '%s\0%s\0%s\0' "$framework" "$setting" "$value"
    done < <(values "$takes")
  done
done <takes.txt >cases
# A head that has a matrix more than the tied one, on another stage than the embedding.
printf '%s\0%s\0%s\0' megatron model.family bert >>cases
# Lines of a topology: of NICs, of NVLinks, of the PCI tree.
of_lines() { printf 'paper\0lines\0%s\0' "$@"; }
{
  for number in $numbers; do
    of_lines "nics nic.0 = rate:${number}GB/s" "nics nic.0 = rate:200Gb/s latency:${number}us" \
      "nics nic.0 = rate:200Gb/s card:$number" "nics nic.$number = rate:200Gb/s" "nvlink gpu.0 = gpu.1*$number" \
      "nvlink gpu.0 = switch*$number" "nvlink gpu.$number = switch*18" "nvlink gpu.0 = c2c@${number}GB/s" \
      "pci switch.0 = socket.$number: gpu.0" "pci switch.0 = socket.0@gen${number}x16: gpu.0" \
      "pci switch.0 = socket.0@gen4x$number: gpu.0" "pci switch.0 = socket.0@${number}GB/s: gpu.0"
  done
  # A switch below itself, a pair that is no pair, a machine of one chain of switches, every GPU linked to every other
  # as often as may be.
  of_lines "pci switch.0 = switch.0: gpu.0" $'pci switch.0 = switch.1: gpu.0\nswitch.1 = switch.0: gpu.1' \
    "nvlink gpu.0 = gpu.0" "nvlink gpu.0 = gpu.1*2147483647" "nics nic.0 =" "pci socket.0 =" "nics $long" \
    "pci $(echo "switch.0 = socket.0:$(printf ' gpu.%u' 0 1 2 3 4 5 6 7) nic.0 nic.1 nic.2 nic.3 nic.4 nic.5 nic.6";
      for i in $(seq 2000); do echo "switch.$i = switch.$((i - 1)):"; done
      echo 'switch.2001 = switch.2000: nic.7')" \
    "nvlink $(for i in 0 1 2 3 4 5 6; do
      echo "gpu.$i =$(for ((j = i + 1; j < 8; j++)); do echo -n " gpu.$j*64"; done)"
    done)"
} >>cases
# What each alone is fine with may not be together: a value may hold further settings, after blanks.
together() { for framework in deepspeed fsdp2 megatron; do printf '%s\0%s\0%s\0' "$framework" "$@"; done; }
# Verbs that play a step again and again.
for verb in explain advise stages report "compare -t dgx-h100 -t dgx-a100" "plot tornado" "fit --vary micro_batch" \
  "fit --vary layers" "fit --vary nodes"; do
  printf 'fsdp2\0%s: model.layers\00010000\0' "$verb"
  [ "$extent" = fast ] || printf 'fsdp2\0%s: training.gradient_accumulation\0001000000\0' "$verb"
done >>cases
if [ "$extent" != fast ]; then
  # Those that play it once, which takes most of the limit, or not at all.
  once=(trace "plot memory")
  [ "$extent" = whole ] || once=()
  for verb in layers "export --as torchtitan" "${once[@]}"; do
    printf 'fsdp2\0%s: model.layers\00010000\0' "$verb"
  done >>cases
  {
    together cluster.nodes '65536 cluster.gpus_per_node=576'
    together model.layers '10000 training.gradient_accumulation=1000000'
    together model.layers '10000 training.gradient_accumulation=1000'
    together training.micro_batch '1000000 training.sequence_length=16777216 model.vocab_size=268435456'
    together model.experts '65536 model.experts_per_token=65536 model.hidden_size=1048576'
  } >>cases
fi
tried cases 301
