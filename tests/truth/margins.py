# SPDX-License-Identifier: MIT
"""How far off peaks of reserved memory were: topologies/catalog/margins.csv, of which the verdict edge is made.

Every row of TABLES that runs and has a measured peak of reserved memory gives measured / predicted, but for those of
tier C; one that stands in two tables counts once. Classes are a framework and kind of run's memory (as trust-margin.h
has it), a framework (but for adapters), a kind, and all; those with too few rows are left out. Limits are those of
trust-span.h, at the coverage that residuals.ini says. The gate plays the rows, and writes the file."""
import csv
import io
import pathlib
import re

import residuals

TOLERANCE = 0.01  # of a factor: one percentage point
ALL = "all"
ADAPTERS = "adapters"
TABLES = [*residuals.TABLES, "fits.csv"]
here = pathlib.Path(__file__).resolve().parent
catalog = here.parents[1] / "topologies" / "catalog"
columns = ["framework", "kind", "low", "high", "rows", "sources", "source"]


def nodes_of(table):
    """Of each row: in how many nodes it ran; 1 where the table does not say."""
    with open(here / table, newline="") as file:
        return {row["id"]: float(row.get("cluster.nodes") or 1) for row in csv.DictReader(file)}


def kind_of(like, nodes):
    if like["offload"] != "no":
        return "offload"
    if float(like["tensor"]) > 1:
        return "tensor-over-nodes" if float(like["tensor"]) * nodes > float(like["gpus"]) else "tensor"
    degrees = max(float(like[axis]) for axis in ("tensor", "pipeline", "context", "expert"))
    if degrees > 1:
        return "model-parallel"
    return ADAPTERS if like["trainable"] == "lora" else "data-parallel"


def peaks(found):
    """Of each row once: source, id, table, framework, kind, measured / predicted."""
    rows, nodes = {}, {}
    for row in found["rows"]:
        measured = row.get("measured.peak_reserved_gib")
        if pathlib.Path(row["table"]).name not in TABLES or row["set"].endswith("-C"):
            continue
        if measured is None or "like" not in row:
            continue
        like, table = row["like"], pathlib.Path(row["table"]).name
        if table not in nodes:
            nodes[table] = nodes_of(table)
        kind = kind_of(like, nodes[table][row["id"]])
        rows.setdefault((row["source"], row["id"]), (table, like["framework"], kind,
                                                     measured / row["predicted.peak_reserved_gib"]))
    return rows


def limits(numbers, coverage):
    """Rank k from below and from above, interpolated: Hyndman and Fan's definition 6, at least the first."""
    numbers = sorted(numbers)
    place = max((len(numbers) + 1) * (100 - coverage) / 200, 1)
    rank, rest = int(place), place - int(place)
    inner = min(rank, len(numbers) - 1)
    low = numbers[rank - 1] + rest * (numbers[inner] - numbers[rank - 1])
    high = numbers[-rank] - rest * (numbers[-rank] - numbers[-1 - inner])
    return low, high


def span(chosen, coverage):
    """Within each source, then among sources. None: too few rows."""
    if (len(chosen) + 1) * (100 - coverage) < 200:
        return None
    sources = {}
    for (source, _), (_, _, _, ratio) in chosen.items():
        sources.setdefault(source, []).append(ratio)
    each = [limits(ratios, coverage) for ratios in sources.values()]
    low, high = limits([one[0] for one in each], coverage)[0], limits([one[1] for one in each], coverage)[1]
    return min(low, 1), max(high, 1)


def origin(chosen):
    tables = {}
    for (source, _), (table, _, _, _) in chosen.items():
        tables.setdefault(source, set()).add(table)
    return "; ".join(f"{source} ({', '.join(sorted(tables[source]))})" for source in sorted(tables))


def margins(found):
    coverage = int(re.search(r"(?m)^coverage = (\d+)$", (catalog / "residuals.ini").read_text()).group(1))
    rows = peaks(found)
    classes = sorted({(framework, kind) for _, framework, kind, _ in rows.values()})
    classes += sorted({(framework, ALL) for framework, _ in classes}) + sorted({(ALL, kind) for _, kind in classes})
    table = []
    for framework, kind in classes + [(ALL, ALL)]:
        chosen = {key: row for key, row in rows.items() if framework in (ALL, row[1]) and
                  (kind == row[2] or kind == ALL and (framework == ALL or row[2] != ADAPTERS))}
        limit = span(chosen, coverage)
        if limit is not None:
            table.append({"framework": framework, "kind": kind, "low": f"{limit[0]:.4g}", "high": f"{limit[1]:.4g}",
                          "rows": str(len(chosen)), "sources": str(len({source for source, _ in chosen})),
                          "source": origin(chosen)})
    return table


def committed():
    with open(catalog / "margins.csv", newline="") as file:
        return list(csv.DictReader(file))


def compare(now, was):
    old, new = ({(row["framework"], row["kind"]): row for row in rows} for rows in (was, now))
    differences = [f"{' '.join(key)}: {'missing there' if key in new else 'no more'}"
                   for key in sorted(set(old) ^ set(new))]
    for key in sorted(set(old) & set(new)):
        for limit in ("low", "high"):
            if abs(float(old[key][limit]) - float(new[key][limit])) > TOLERANCE:
                differences.append(f"{' '.join(key)}: {limit} is {new[key][limit]}, was {old[key][limit]}")
    return differences


def write(found):
    """Whether anything is other than it was: near the capacity verdicts hang on it."""
    now, was = margins(found), committed()
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(now)
    (catalog / "margins.csv").write_text(text.getvalue())
    return now != was
