#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scores the formula that everybody knows on fits.csv, and foretrain beside it: what simulating has to be better than.

usage: tests/truth/plain.py [FORETRAIN [TABLE]]

The formula adds states and activations, on the first and on the last stage of the pipeline, and says "fits" where the
larger sum is less than what the GPU can use:

  states        2 + 6 + 12 bytes a parameter: 16-bit parameters, 16-bit gradients and their fp32 sum, fp32 master and
                both momenta; under ZeRO-1 the 12, under ZeRO-2 the 6 too, under ZeRO-3 all of them over the
                data-parallel ranks (Rajbhandari et al. 2020)
  activations   what the operations of a llama layer save in 16 bits, counted as Korthikanti et al. 2022 count a GPT's
                (inputs of norms, projections and attention, q, k, v, and four of the MLP's width; sequence parallel,
                no stored scores), of as many micro-batches as the stage has in flight; on the last stage 16-bit
                logits, their fp32 copy and its gradient: 10 bytes for each token and word of the vocabulary

all over the tensor ranks. A row is hard where that sum is 0.6 to 1.5 of what can be used. With FORETRAIN the same rows
are played; verdicts "edge" count neither as right nor as wrong, rows that cannot be expressed are left out of both."""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STATES = (2, 6, 12)  # bytes of a parameter: itself, gradient, optimizer
LOGITS = 10  # bytes of a token and word
HARD = (0.6, 1.5)
GIB = 1 << 30
here = pathlib.Path(__file__).resolve().parent


def usable():
    """Bytes by GPU, from the catalogue."""
    text = (here.parents[1] / "topologies" / "catalog" / "gpus.ini").read_text()
    sections = re.split(r"(?m)^\[(.+)\]$", text)[1:]
    found = {name: re.search(r"(?m)^memory_usable = ([\d.]+) GiB$", body)
             for name, body in zip(sections[::2], sections[1::2])}
    return {name: float(match.group(1)) * GIB for name, match in found.items() if match}


def number(row, key, otherwise=1):
    return int(row.get(key) or otherwise)


def end_stage(row):
    """Of the first or last pipeline rank, before tensor ranks divide: parameters, and bytes that a token leaves."""
    hidden, heads, wide = (number(row, f"model.{key}") for key in ("hidden_size", "heads", "intermediate_size"))
    keys = hidden // heads * number(row, "model.kv_heads", heads)
    layers = -(-number(row, "model.layers") // number(row, "parallel.pipeline"))
    layer = 2 * hidden * hidden + 2 * hidden * keys + 3 * hidden * wide + 2 * hidden
    saved = 2 * (6 * hidden + 2 * keys + 4 * wide)
    return layers * layer + number(row, "model.vocab_size") * hidden, layers * saved


def formula(row):
    tensor, pipeline = number(row, "parallel.tensor"), number(row, "parallel.pipeline")
    gpus = number(row, "cluster.nodes") * number(row, "cluster.gpus_per_node")
    data, stage = max(gpus // (tensor * pipeline), 1), number(row, "parallel.zero_stage", 0)
    parameters, saved = end_stage(row)
    kept = [size / data if stage >= least else size for size, least in zip(STATES, (3, 2, 1))]
    tokens = number(row, "training.sequence_length") * number(row, "training.micro_batch")
    in_flight = min(pipeline, number(row, "training.gradient_accumulation"))
    first = saved * tokens * in_flight
    last = first // in_flight + LOGITS * tokens * number(row, "model.vocab_size")
    both = first + last - first // in_flight if pipeline == 1 else max(first, last)
    return (parameters * sum(kept) + both) / tensor


def tell(name, verdicts, hard):
    """verdicts: id → (measured, said)."""
    for title, rows in (("all", verdicts), ("hard", {key: both for key, both in verdicts.items() if key in hard})):
        told = [both for both in rows.values() if both[1] != "edge"]
        ran_out = [both for both in rows.values() if both[0] == "no"]
        if not told or not ran_out:
            continue
        right = sum(measured == said for measured, said in told)
        missed = sum(said == "yes" for _, said in ran_out)
        print(f"  {name:10} {title:4} {len(rows):5} rows   right {100 * right / len(told):5.1f} %   edge "
              f"{100 * (len(rows) - len(told)) / len(rows):5.1f} %   said to fit, ran out {missed} of {len(ran_out)}")


def played(foretrain, table):
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run([foretrain, "validate", table, "--rows", "--json", "--db", f"{scratch}/plain.db"],
                             capture_output=True, text=True, env={**os.environ, "FORETRAIN_DATA": str(here.parents[1])})
    if run.returncode != 0:
        sys.exit(f"plain.py: foretrain validate ended with {run.returncode}: {run.stderr}")
    rows = json.loads(run.stdout)["rows"]
    return {row["id"]: row["predicted.fits"] for row in rows if row.get("predicted.fits") is not None}


def score(table, foretrain=None):
    with open(table, newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file) if row["measured.fits"] in ("yes", "no")}
    capacity = usable()
    sums = {key: formula(row) / capacity[row["cluster.gpu"]] for key, row in rows.items()}
    hard = {key for key, share in sums.items() if HARD[0] <= share <= HARD[1]}
    plain = {key: (row["measured.fits"], "yes" if sums[key] < 1 else "no") for key, row in rows.items()}
    print(f"Every row of {pathlib.Path(table).name}")
    tell("formula", plain, hard)
    if foretrain is not None:
        said = {key: fits for key, fits in played(foretrain, table).items() if key in rows}
        print(f"Those that foretrain plays, {len(said)} of {len(rows)}")
        tell("formula", {key: plain[key] for key in said}, hard)
        tell("foretrain", {key: (rows[key]["measured.fits"], fits) for key, fits in said.items()}, hard)


if __name__ == "__main__":
    if len(sys.argv) > 3 or sys.argv[1:2] == ["--help"]:
        sys.exit(__doc__)
    score(sys.argv[2] if len(sys.argv) > 2 else here / "fits.csv", *sys.argv[1:2])
