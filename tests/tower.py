#!/usr/bin/env python3
"""The tower's law, tried floor by floor: with the flags its sources are compiled with, a floor can include exactly base,
itself and the floors of its row in src/meson.build; every other floor's header must fail to compile.

usage: tower.py SOURCE_ROOT BUILD_ROOT"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

source, build = map(pathlib.Path, sys.argv[1:3])
table = (source / "src/meson.build").read_text()
rows = {name: set(re.findall(r"'([a-z]+)'", row)) for name, row in
        re.findall(r"^  \['([a-z]+)',\s*\[([^\]]*)\]\]", table, re.M)}
assert len(rows) > 10, "the table of floors was not found in src/meson.build"

commands = {}
for entry in json.loads((build / "compile_commands.json").read_text()):
    found = re.search(r"src/([a-z]+)/[a-z-]+\.c$", entry["file"])
    if found:
        commands.setdefault(found[1], entry)


def includes(floor, header):
    """Whether a source of the floor may say #include "header"."""
    words = shlex.split(commands[floor]["command"])
    flags = [word for word in words if word.startswith(("-I", "-D", "-isystem", "-std"))]
    compiler = [word for word in words if not word.startswith("-") and not word.endswith(("ccache",))][0]
    run = subprocess.run([compiler, *flags, "-fsyntax-only", "-x", "c", "-"], cwd=commands[floor]["directory"],
                         input=f'#include "{header}"\n', text=True, capture_output=True)
    return run.returncode == 0


failures = tried = 0
for floor in rows:
    for other in rows:
        headers = sorted((source / "src" / other).glob("*.h"))
        if not headers:
            continue
        allowed = other in rows[floor] | {"base", floor}
        if allowed and other == "base":
            continue  # every other header includes it
        tried += 1
        found = next((header.name for header in headers if includes(floor, header.name)), None)
        if (found is not None) != allowed:
            failures += 1
            print(f"{floor} cannot include any header of {other}" if allowed else f"{floor} can include {found} of {other}")
print(f"{tried - failures} passed, {failures} failed")
sys.exit(failures > 0 or tried == 0)
