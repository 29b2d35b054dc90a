#!/bin/bash
# SPDX-License-Identifier: MIT
# A decoder of 32 layers on two machines: tensor 4, pipeline 2 in two chunks each, the rest data parallel
set -e
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NODES=${NODES:-2}
TP=4
PP=2
DP=$((GPUS_PER_NODE * NODES / (TP * PP)))
DTYPE=bf16
CHECKPOINTS=$1

mkdir -p "$CHECKPOINTS"

MODEL_ARGS=(
  --num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 14336 # inside the SwiGLU
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --seq-length 8192
  --max-position-embeddings 8192
  --position-embedding-type rope
  --swiglu
  --normalization RMSNorm
  --disable-bias-linear
  --untie-embeddings-and-output-weights
  --vocab-size 128256
  --attention-dropout 0.0
  --hidden-dropout 0.0
)

PARALLEL_ARGS="
  --tensor-model-parallel-size $TP \
  --pipeline-model-parallel-size ${PP} \
  --num-layers-per-virtual-pipeline-stage 8 \
  --sequence-parallel --use-distributed-optimizer \
  --overlap-grad-reduce"

TRAINING_ARGS=(--micro-batch-size 1 --global-batch-size $((DP * 16)) --train-iters 100 --lr 1e-4
  --recompute-granularity selective)
if [[ "$DTYPE" == "fp8" ]]; then
  TRAINING_ARGS+=(--fp8-format hybrid)
elif [ "$DTYPE" = bf16 ]; then
  TRAINING_ARGS+=(--bf16)
fi

torchrun --nproc_per_node $GPUS_PER_NODE --nnodes "$NODES" --master_port 6000 pretrain_gpt.py \
  "${MODEL_ARGS[@]}" ${PARALLEL_ARGS} ${TRAINING_ARGS[@]} \
  --save $CHECKPOINTS 2>&1 | tee "log.txt"
