#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How processor time and memory grow: one row for each size, over four decades of GPUs, layers, micro-batches, classes
# of ranks and points of a sweep, as the table in docs/speed.md. Summaries only, one thread; the least of three times
# where they are short.
# usage: tests/bench/scale.sh FORETRAIN
set -euo pipefail
foretrain=$(readlink -f "$1")
export FORETRAIN_DATA=${FORETRAIN_DATA:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

measure() { # ARGUMENTS → "0.12 s | 34 MB"
  local repeat
  for repeat in 1 2 3; do
    rm -f "$scratch"/db*
    /usr/bin/time -o "$scratch/cost" -a -f "%U %S %M" "$foretrain" "$@" --db "$scratch/db" -q >/dev/null
    awk 'END { exit $1 + $2 > 2 }' "$scratch/cost" || break
  done
  awk '{ t = $1 + $2; if (n == 0 || t < least) { least = t; memory = $3 / 1024 } n++ }
       END { printf "%.2f s | %.0f MB", least, memory }' "$scratch/cost"
  rm -f "$scratch/cost"
}

row() { # WHAT SIZE ARGUMENTS
  local what=$1 size=$2
  shift 2
  echo "| $what | $size | $(measure "$@") |"
}

echo "| what grows | to | processor time | memory |"
echo "|---|---:|---:|---:|"
for nodes in 1 10 100 1000 10000; do
  row "GPUs, equal ranks played once: llama2-7b" $((nodes * 8)) run llama2-7b --set cluster.nodes=$nodes --timeline=no
done
row "classes, as GPUs that are each played: llama2-7b" 1 run llama2-7b --set cluster.nodes=1 \
  --set cluster.gpus_per_node=1 --fold=off --timeline=no
for nodes in 1 10 100 1000; do
  row "classes, as GPUs that are each played: llama2-7b" $((nodes * 8)) run llama2-7b --set cluster.nodes=$nodes \
    --fold=off --timeline=no
done
for stages in 1 2 4 8 16; do
  row "classes, as pipeline stages: llama2-70b" $stages run llama2-70b --set parallel.framework=megatron \
    --set parallel.zero_stage=1 --set parallel.tensor=8 --set parallel.pipeline=$stages --set cluster.nodes=64 \
    --set training.gradient_accumulation=64 --timeline=no
done
for layers in 1 10 100 1000 10000; do
  row "layers: llama2-7b" $layers run llama2-7b --set model.layers=$layers --timeline=no
done
for micro in 1 10 100 1000 10000; do
  row "micro-batches, one stage: llama2-7b" $micro run llama2-7b --set training.gradient_accumulation=$micro \
    --timeline=no
done
for micro in 16 160 1600 16000; do
  row "micro-batches, 16 stages: llama3.1-405b-megatron" $micro run llama3.1-405b-megatron \
    --set training.gradient_accumulation=$micro --timeline=no
done
for points in 1 10 100 1000 10000; do
  row "points: llama2-7b, sequence lengths" $points sweep llama2-7b \
    --grid sequence_length=1024..$((1023 + points)):1 --jobs 1
done
