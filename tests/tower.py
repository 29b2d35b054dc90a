#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tower's law, tried with the flags that each floor is compiled with: it sees base's front door, those of its row
in src/meson.build, and all of its own headers; no other header can be included. One preprocessing per floor asks
__has_include of every header in src. A header in a front door that nobody outside includes is told too.

usage: tower.py SOURCE_ROOT BUILD_ROOT"""
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys

source, build = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
src = source / "src"
table = (src / "meson.build").read_text()
rows = {name: set(re.findall(r"'([a-z]+)'", row)) for name, row in
        re.findall(r"^  \['([a-z]+)',\s*\[([^\]]*)\]\]", table, re.M)}
assert len(rows) > 10, "the table of floors was not found in src/meson.build"
headers = {path.name: path for path in sorted(src.rglob("*.h"))}
assert len(headers) == len(list(src.rglob("*.h"))), "two headers have one name"


def floor_of(path):
    return path.relative_to(src).parts[0]


def door(floor):
    """The folder that others see of a floor."""
    return src / floor / "include"


def commands():
    """What compiles the floors' sources: floor → (compiler, flags that say what is seen, where)."""
    found = collections.defaultdict(set)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not path.is_relative_to(src):
            continue
        words = shlex.split(entry["command"])
        compiler = next(word for word in words if not word.startswith("-") and not word.endswith("ccache"))
        flags = (word for word in words if word.startswith(("-I", "-D", "-isystem", "-std")) and ".p" not in word)
        found[floor_of(path)].add((compiler, tuple(flags), entry["directory"]))
    return found


def seen(command, more=()):
    """Names of the headers that a source compiled like this may include."""
    compiler, flags, folder = command
    asks = "".join(f'#if __has_include("{name}")\n"{name}"\n#endif\n' for name in headers)
    run = subprocess.run([compiler, *flags, *more, "-E", "-P", "-x", "c", "-"], cwd=folder, input=asks, text=True,
                         capture_output=True, check=True)
    return set(re.findall(r'^"(.*)"$', run.stdout, re.M))


def wrongs(floor, found):
    """What is not as the row of the floor says, as sentences."""
    for name, path in headers.items():
        other = floor_of(path)
        if other == floor:
            if name not in found and path.parent in (src / floor, src / floor / "include"):
                yield f"{floor} does not see its own {name}"
        elif (name in found) != (other in rows[floor] | {"base"} and path.parent == door(other)):
            yield f"{floor} {'sees' if name in found else 'does not see'} {name} of {other}"


def idle():
    """Headers in front doors that nobody outside needs."""
    users = collections.defaultdict(set)
    for path in [*src.rglob("*.[ch]"), *source.glob("tests/**/*.[ch]"), *source.glob("tools/**/*.[ch]")]:
        place = path.relative_to(source).parts
        for name in re.findall(r'^\s*#\s*include "(?:.*/)?(.*?)"', path.read_text(), re.M):
            is_open = "include" in place[2:-1]
            users[name].add("a front door" if is_open else place[1] if place[0] == "src" else place[0])
    for name, path in headers.items():
        if path.parent.name == "include" and users[name] <= {floor_of(path)}:
            yield f"{path.relative_to(source)} is in the front door, but only its own floor includes it"
    for floor in {each for row in rows.values() for each in row}:
        if not door(floor).is_dir():
            yield f"{floor} has no front door, src/{floor}/include, though others may include it"


def main():
    compiled = commands()
    bad = list(idle())
    for floor in rows:
        if not compiled[floor]:
            bad.append(f"nothing is known of how {floor} is compiled")
        for command in compiled[floor]:
            bad += wrongs(floor, seen(command))
    # The look itself must see a fault: base with the cli's folder.
    command = next(iter(compiled["base"]))
    if not list(wrongs("base", seen(command, [f"-I{src / 'cli'}"]))):
        bad.append("a floor that sees too much was not noticed")
    for each in bad[:20]:
        print(f"tower: {each}")
    print(f"tower: and {len(bad) - 20} more" if len(bad) > 20 else f"tower: {len(rows)} floors, {len(bad)} faults")
    return bool(bad)


sys.exit(main())
