# SPDX-License-Identifier: MIT
"""What is predicted of each fifth row of the tables: predictions.tsv. A play of two minutes holds each figure, where
the whole gate holds medians: what changes predictions is seen either way, and --accept writes both."""
import csv
import pathlib

EACH = 5
TOLERANCE = 0.01  # of a figure
here = pathlib.Path(__file__).resolve().parent
table = here / "predictions.tsv"
keys = ["table", "source", "id"]
figures = ["status", "step_time_s", "time_us", "fits", "peak_reserved_gib", "peak_allocated_gib",
           "steady_allocated_gib"]


def sample(path, folder):
    """Writes each fifth row of a table, with its header and comments, under the same name into the folder."""
    head, kept, nth = None, [], 0
    for line in path.read_text().splitlines(keepends=True):
        if not line.strip() or line.startswith("#"):
            kept.append(line)
        elif head is None:
            head = line
            kept.append(line)
        else:
            nth += 1
            if nth % EACH == 0:
                kept.append(line)
    written = pathlib.Path(folder) / path.name
    written.write_text("".join(kept))
    return written


def plain(value):
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def predictions(played):
    """(table, source, id) to its figures, texts."""
    return {(pathlib.Path(row["table"]).name, row["source"], row["id"]):
            {"status": row["status"], **{name: plain(row.get(f"predicted.{name}")) for name in figures[1:]}}
            for row in played["rows"]}


def committed(path=table):
    with open(path, newline="") as file:
        return {tuple(row[k] for k in keys): {name: row[name] for name in figures}
                for row in csv.DictReader(file, delimiter="\t")}


def write(found):
    with open(table, "w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(keys + figures)
        writer.writerows([*key, *found[key].values()] for key in sorted(found))


def differ(now, was):
    try:
        return abs(float(now) - float(was)) > TOLERANCE * abs(float(was))
    except ValueError:
        return now != was


def compare(now, was):
    """A line for each figure that is another than was committed."""
    lines = []
    for key in sorted({*now, *was}):
        if key not in now or key not in was:
            lines.append(f"{' '.join(key)}: {'is not committed' if key in now else 'is no more'}")
            continue
        lines += [f"{' '.join(key)} {name}: {now[key][name] or 'none'}, was {was[key][name] or 'none'}"
                  for name in figures if differ(now[key][name], was[key][name])]
    return lines
