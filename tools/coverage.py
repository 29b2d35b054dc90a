#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which lines and branches of each floor the tests reached, by gcov.

usage: tools/coverage.py BUILD      built with -Db_coverage=true, after its tests; writes
BUILD/uncovered, FILE:LINE: text
"""
import collections
import json
import os
import subprocess
import sys


def reached(build, floors=None):
    """{file: {line: times}} and {file: {(line, branch): times}} of what ran since the counts were last deleted."""
    build = os.path.abspath(build)
    lines = collections.defaultdict(dict)
    branches = collections.defaultdict(dict)
    for folder, _, names in os.walk(os.path.join(build, "src")):
        data = [os.path.join(folder, name) for name in names if name.endswith(".gcda")]
        if not data or floors and not any(f"libfloor-{floor}." in folder for floor in floors):
            continue
        found = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *data], cwd=build,
                               check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for text in found.splitlines():
            for file in json.loads(text)["files"]:
                path = os.path.relpath(os.path.join(build, file["file"]), os.path.dirname(build))
                if not path.startswith("src/"):
                    continue
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[path][number] = lines[path].get(number, 0) + line["count"]
                    for i, branch in enumerate(line["branches"]):
                        at = (number, i)
                        branches[path][at] = branches[path].get(at, 0) + branch["count"]
    return lines, branches


def main():
    build = os.path.abspath(sys.argv[1])
    lines, branches = reached(build)
    floors = collections.defaultdict(lambda: [0, 0, 0, 0])
    with open(os.path.join(build, "uncovered"), "w", encoding="utf-8") as out:
        for path in sorted(lines):
            source = open(os.path.join(os.path.dirname(build), path), encoding="utf-8").read().splitlines()
            sums = floors[path.split("/")[1]]
            for at, table in ((0, lines[path]), (2, branches[path])):
                sums[at] += sum(times > 0 for times in table.values())
                sums[at + 1] += len(table)
            for number in sorted(number for number, times in lines[path].items() if times == 0):
                out.write(f"{path}:{number}: {source[number - 1].strip()}\n")
    print(f"{'floor':10} {'lines':>7} {'reached':>9} {'branches':>9} {'reached':>9}")
    for floor, (hit, n, taken, ways) in sorted(floors.items()):
        print(f"{floor:10} {n:7} {100 * hit / max(n, 1):7.1f} % {ways:9} {100 * taken / max(ways, 1):7.1f} %")


if __name__ == "__main__":
    main()
