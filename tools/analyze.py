# SPDX-License-Identifier: MIT
"""gcc -fanalyzer on files of a build, with its flags but little optimised: warnings are errors.

usage: tools/analyze.py BUILD SOURCE..."""
import json
import pathlib
import shlex
import subprocess
import sys

build, sources = pathlib.Path(sys.argv[1]), {pathlib.Path(name).resolve() for name in sys.argv[2:]}
status = 0
for entry in json.loads((build / "compile_commands.json").read_text()):
    if (pathlib.Path(entry["directory"]) / entry["file"]).resolve() not in sources:
        continue
    words = iter(shlex.split(entry["command"]))
    kept = []
    for word in words:
        if word in ("-o", "-MQ", "-MF"):  # with the name that follows
            next(words)
        elif word != "-MD":
            kept.append(word)
    found = subprocess.run([*kept, "-O1", "-fanalyzer", "-Werror", "-o", "/dev/null"], cwd=entry["directory"])
    status |= found.returncode != 0
sys.exit(status)
