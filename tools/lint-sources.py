# SPDX-License-Identifier: MIT
"""The sources that a build compiles, a line each: what it leaves out (MPI's process) has no flags to be read with.

usage: tools/lint-sources.py BUILD [part]

part: those that the last ten commits touched, and each eighth of the others, other ones from commit to commit."""
import json
import pathlib
import subprocess
import sys
import zlib


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.split()


build = pathlib.Path(sys.argv[1])
root = pathlib.Path.cwd()
built = {(pathlib.Path(entry["directory"]) / entry["file"]).resolve()
         for entry in json.loads((build / "compile_commands.json").read_text())}
files = [name for name in git("ls-files", "src/*.c") if (root / name).resolve() in built]
if sys.argv[2:] == ["part"]:
    recent = set(git("log", "-10", "--name-only", "--format=", "--", "src"))
    turn = int(git("rev-list", "--count", "HEAD")[0]) % 8
    files = [name for name in files if name in recent or zlib.crc32(name.encode()) % 8 == turn]
print("\n".join(files))
