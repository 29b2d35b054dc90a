# SPDX-License-Identifier: MIT
"""What intervals rest on: residuals.csv, and the group [rows] of residuals.ini, in topologies/catalog.

Every row of tier A or B of TABLES that runs and has a measured step gives measured / predicted and what the run is
like, as foretrain itself reads it. Nothing is chosen or left out; tier C never counts. The same program gives the same
files; the date changes with the rows or the version of the model alone. The gate plays the rows, and writes both
files."""
import csv
import datetime
import io
import pathlib
import re

TOLERANCE = 0.01  # of a residual: one percentage point, as of the gate
here = pathlib.Path(__file__).resolve().parent
catalog = here.parents[1] / "topologies" / "catalog"
TABLES = ["data_parallel.csv", "float8.csv", "fp8.csv", "experts.csv", "hybrid.csv"]


def plain(value):
    return value if isinstance(value, str) else f"{value:.15g}"


def residuals(found):
    """Rows of residuals.csv, in order of the tables: a dictionary each."""
    rows = []
    for row in found["rows"]:
        tier = row["set"][-2:]
        if pathlib.Path(row["table"]).name not in TABLES or tier not in ("-A", "-B"):
            continue
        if "like" not in row or row.get("measured.step_time_s") is None:
            continue
        ratio = row["measured.step_time_s"] / row["predicted.step_time_s"]
        rows.append({"id": row["id"], "source": row["source"], "tier": tier[1], "measured_over_predicted": plain(ratio),
                     **{name: plain(value) for name, value in row["like"].items()}})
    return rows


def committed():
    with open(catalog / "residuals.csv", newline="") as file:
        return list(csv.DictReader(file))


def key(row):
    return (row["source"], row["id"])


def compare(now, was):
    """What differs between the rows that were played and those that are committed."""
    old, new = {key(row): row for row in was}, {key(row): row for row in now}
    moved = [row for row in now if key(row) in old and
             abs(float(row["measured_over_predicted"]) - float(old[key(row)]["measured_over_predicted"])) > TOLERANCE]
    changed = [row for row in now if key(row) in old and
               any(row[name] != old[key(row)].get(name) for name in row if name != "measured_over_predicted")]
    counts = [(len(moved), f"moved by more than {100 * TOLERANCE:g} points"), (len(changed), "are described otherwise"),
              (sum(k not in old for k in new), "are missing there"),
              (sum(k not in new for k in old), "there run no more")]
    return [f"{n} rows {what}" for n, what in counts if n > 0]


def write(found):
    now, was = residuals(found), committed()
    settings = (catalog / "residuals.ini").read_text()
    if now == was and f"model_version = {found['model_version']}\n" in settings:
        return
    names = ["id", "source", "tier", "measured_over_predicted", *next(r["like"] for r in found["rows"] if "like" in r)]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(now)
    for name, value in (("date", datetime.date.today()), ("model_version", found["model_version"]), ("rows", len(now))):
        settings = re.sub(rf"(?m)^{name} = .*$", f"{name} = {value}", settings)
    (catalog / "residuals.csv").write_text(text.getvalue())
    (catalog / "residuals.ini").write_text(settings)
