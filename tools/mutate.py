#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice? Changes lines of the floors where numbers decide, one at a time, and runs tests until one fails.

usage: tools/mutate.py [COUNT [SEED]]      100 changes, seed 1; in a copy of the tree, which is left as it is

A change is a comparison, an operator, a constant or a condition that means something else, or a statement that is left
out. What does not compile, or compiles to the same object, is drawn again. Run are the fast tests that link the floor:
its own and those of whole steps, the shortest and those that noticed most so far first, then the others, then the
command line's and the documentation's outputs, until one fails; a test that takes ten times as long as it should, or
4 GiB, has noticed. Prints each change that no test noticed, and how many were. Exit status: 0 at least nine tenths were
noticed, 1 fewer, 2 a test fails as things are.
"""
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

MEMORY = 4 << 30
FLOORS = ["event", "net", "mem", "coll", "plan", "run", "fold"]
WHOLE = ["study", "study-repeat", "study-random", "study-memory", "study-zero-bubble", "study-layout", "run",
         "run-share", "run-pipeline", "run-contention", "facts-volume", "facts-time", "facts-memory",
         "exposure-frameworks", "fold-frameworks", "fold-layouts", "fold-workloads", "program-trace", "plan-refusals",
         "study-collective", "coll-fidelity", "study-fit", "run-trace", "report-chrome", "store-load", "study-families"]
SHELL = {"cli": "test-cli.sh", "cli-sweep": "test-cli-sweep.sh", "docs": "docs.sh"}
CHANGES = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
           (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" / ", " * "), (r" && ", " || "), (r" \|\| ", " && "),
           (r"\b1\b", "2"), (r"\b0\b", "1"), (r"\bTRUE\b", "FALSE"), (r"\bFALSE\b", "TRUE"), (r"\+\+", "--"),
           (r" \+= ", " -= "), (r" -= ", " += "), (r"\bMIN\(", "MAX("), (r"\bMAX\(", "MIN("), (r"if \(", "if (!")]
STATEMENT = re.compile(r"^ +[a-z_>.\[\]-]+(\(.*\)| [-+*|]?= .*);$")
# What stops the program when a contract is broken, explains a choice in words, or only traces it; what only frees,
# which is LeakSanitizer's to notice (./dev sanitize).
PLAIN = re.compile(r"^\s*(/\*|\*|#|static const|const |sim_require|base_trace|g_set_error|g_string_append|\"|"
                   r"g_free\(|[a-z_]+_(free|clear|unref)\(|[a-z_]+:$)")


def candidates(root):
    found = []
    for floor in FLOORS:
        for folder, _, names in os.walk(os.path.join(root, "src", floor)):
            for name in sorted(names):
                if name.endswith(".c"):
                    path = os.path.join(folder, name)
                    inside = False
                    for number, line in enumerate(open(path, encoding="utf-8")):
                        inside = line.startswith(" ") if line.strip() else inside
                        if inside and not PLAIN.match(line) and "_trace" not in line and "explain" not in name:
                            found.append((floor, path, number))
    return sorted(found)


def change(line, rng):
    ways = [(old, new) for old, new in CHANGES if re.search(old, line)]
    if STATEMENT.match(line.rstrip("\n")):
        ways.append(None)
    if not ways:
        return None
    way = rng.choice(ways)
    if way is None:
        return re.sub(r"\S.*", ";", line)
    spots = list(re.finditer(way[0], line))
    spot = rng.choice(spots)
    changed = line[:spot.start()] + way[1] + line[spot.end():]
    if way[1] == "if (!":
        changed = re.sub(r"if \(!(.*)\)( \{)?$", r"if (!(\1))\2", changed.rstrip("\n")) + "\n"
    return changed


def quiet(command, seconds, **more):
    """The exit status; `seconds` of processor time are a test's limit, whatever else the machine does."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit, check=False,
                          **more).returncode


def all_tests(root):
    """By name: the command that runs it."""
    tests = {}
    for name in sorted(os.listdir(os.path.join(root, "tests"))):
        if re.fullmatch(r"test-[a-z0-9-]+\.c", name) and not re.search("large|truth|chakra", name):
            tests[name[5:-2]] = [f"{root}/build/tests/{name[:-2]}"]
    for name, script in SHELL.items():
        tests[name] = ["bash", f"{root}/tests/{script}", f"{root}/build/src/foretrain"]
    return tests


def floors_of(command):
    """The floors whose libraries a program loads."""
    loaded = subprocess.run(["ldd", command[-1]], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"libfloor-(\w+)\.so", loaded))


def in_order(floor, tests, seconds, linked, caught):
    """The floor's tests and those of whole steps, then the rest, then the scripts; the most promising first."""
    def rank(name):
        far = 2 if name in SHELL else 0 if name.startswith(floor) or name in WHOLE else 1
        return far, seconds[name] / (1 + caught[name]), name
    return sorted((name for name in tests if floor in linked[name]), key=rank)


def make(root, targets):
    return subprocess.run(["ninja", "-C", root + "/build"] + targets, stdout=subprocess.DEVNULL, check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def measure(tests, environment, root):
    """By test: seconds of processor time as things are."""
    seconds = {}
    for name, command in tests.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if quiet(command, 600, env=environment, cwd=root) != 0:
            print(f"mutate: {name} fails as things are", file=sys.stderr)
            sys.exit(2)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds[name] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds


def objects_of(root):
    """By source file: its object, below build/."""
    with open(root + "/build/compile_commands.json", encoding="utf-8") as commands:
        return {os.path.normpath(os.path.join(row["directory"], row["file"])): row["output"]
                for row in json.load(commands) if "libfloor-" in row["output"]}


def bytes_of(path):
    with open(path, "rb") as source:
        return source.read()


def is_another(root, target):
    """Whether the source, changed, compiles, and to another object than before."""
    path = os.path.join(root, "build", target)
    before = bytes_of(path)
    return make(root, [target]) and bytes_of(path) != before


def prepare(source):
    """A copy whose floors are shared libraries: a change links one of them, not every test."""
    root = os.path.join(tempfile.mkdtemp(prefix="mutate-"), "tree")
    shutil.copytree(source, root, symlinks=True, ignore=shutil.ignore_patterns("build*", ".git"))
    path = os.path.join(root, "src/meson.build")
    text = open(path, encoding="utf-8").read()
    shared = text.replace("static_library('floor-", "shared_library('floor-")
    if shared == text:
        sys.exit("mutate: src/meson.build makes no static libraries")
    with open(path, "w", encoding="utf-8") as out:
        out.write(shared)
    subprocess.run(["meson", "setup", root + "/build", root, "-Dbuildtype=plain", "-Dc_args=-O2", "-Db_lundef=false"],
                   check=True, stdout=subprocess.DEVNULL)
    if not make(root, []):
        sys.exit("mutate: the tree is not built")
    return root


def noticed(names, tests, seconds, environment, root):
    """The test that fails; None: all pass."""
    for name in names:
        if quiet(tests[name], 2 + int(10 * seconds[name]), env=environment, cwd=root) != 0:
            return name
    return None


def write(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(lines))


def report(tried, where, by, line, changed):
    what = f"noticed by {by}" if by else f"NOT NOTICED\n  - {line.strip()}\n  + {changed.strip()}"
    print(f"{tried} {where}: {what}", flush=True)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = prepare(source)
    environment = dict(os.environ, FORETRAIN_DATA=root, FORETRAIN_TEST_SOURCE=root, G_DEBUG="fatal-warnings")
    tests = all_tests(root)
    linked = {name: floors_of(command) for name, command in tests.items()}
    seconds = measure(tests, environment, root)
    caught = dict.fromkeys(tests, 0)
    objects = objects_of(root)
    lines = candidates(root)
    tried = found = same = 0
    while tried < count:
        floor, path, number = rng.choice(lines)
        text = open(path, encoding="utf-8").read().splitlines(keepends=True)
        changed = change(text[number], rng)
        if changed is None or changed == text[number]:
            continue
        write(path, text[:number] + [changed] + text[number + 1:])
        by = None
        if is_another(root, objects[path]) and make(root, []):
            tried += 1
            by = noticed(in_order(floor, tests, seconds, linked, caught), tests, seconds, environment, root)
            report(tried, f"{os.path.relpath(path, root)}:{number + 1}", by, text[number], changed)
        else:
            same += 1
        if by:
            found += 1
            caught[by] += 1
        write(path, text)
        make(root, [objects[path]])
    print(f"{found} of {tried} changes were noticed; {same} others did not compile, or to the same object")
    shutil.rmtree(os.path.dirname(root))
    sys.exit(found * 10 < tried * 9)


main()
