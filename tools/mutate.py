#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice? Changes lines of the floors where numbers decide, one at a time, and runs tests until one fails.

usage: tools/mutate.py [COUNT [SEED]]      100 changes, seed 1; in build-mutate/, in a copy of the tree

A change is a comparison, an operator, a constant or a condition that means something else, or a statement that is left
out. What does not compile, or compiles to the same object, is drawn again. The tests are always the same: the CUnit
programs of the fast suite. The scripts are left out: they hold words, names, faults and attacks, and documents whose
numbers the programs compute. Run are those programs that reach the changed line, as gcov counts, the shortest and those
that noticed most so far first, until one fails; one that takes ten times as long as it should, or 4 GiB, has noticed.
Prints each change that none noticed, and how many were. Exit status: 0 at least nine tenths were noticed, 1 fewer, 2 a
test fails as things are.
"""
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys

import coverage

MEMORY = 4 << 30
FLOORS = ["event", "net", "mem", "coll", "plan", "run", "fold"]
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
    """By name: the program, in the folder of a build."""
    told = subprocess.run(["meson", "introspect", "--tests", root + "/build"], check=True,
                          stdout=subprocess.PIPE).stdout
    tests = {}
    for row in json.loads(told):
        program = os.path.basename(row["cmd"][0])
        if row["suite"] == ["foretrain:fast"] and re.fullmatch(r"test-[a-z0-9-]+", program) and len(row["cmd"]) == 1:
            tests[row["name"]] = "tests/" + program
    return tests


def in_order(tests, seconds, caught):
    """The shortest and most promising first."""
    return sorted(tests, key=lambda name: (seconds[name] / (1 + caught[name]), name))


def make(root, targets, build="build"):
    return subprocess.run(["ninja", "-C", f"{root}/{build}"] + targets, stdout=subprocess.DEVNULL, check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def measure(tests, environment, root):
    """By test: seconds of processor time as things are."""
    seconds = {}
    for name, test in tests.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if quiet([f"{root}/build/{test}"], 600, env=environment, cwd=root) != 0:
            print(f"mutate: {name} fails as things are", file=sys.stderr)
            sys.exit(2)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds[name] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds


def digest_of(root):
    """Of all that is built or read."""
    whole = hashlib.sha256()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("build"))
        for name in sorted(names):
            whole.update(os.path.join(folder, name).encode() + bytes_of(os.path.join(folder, name)))
    return whole.hexdigest()


def reach_of(tests, environment, root):
    """By source file and line: the programs that reach it; only lines that gcov knows. Kept until the tree changes."""
    kept, now = root + "/../reached.json", digest_of(root)
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            then = json.load(file)
        if then["digest"] == now:
            return {path: {int(line): names for line, names in lines.items()} for path, lines in then["lines"].items()}
    build = root + "/build-coverage"
    build_of(root, "build-coverage", ["-Dbuildtype=debug", "-Db_coverage=true"])
    lines = {}
    for name, test in tests.items():
        subprocess.run(["find", build, "-name", "*.gcda", "-delete"], check=True)
        quiet([f"{build}/{test}"], 3600, env=environment, cwd=root)
        for path, counts in coverage.reached(build, FLOORS)[0].items():
            for number, times in counts.items():
                names = lines.setdefault(path, {}).setdefault(number, [])
                if times > 0:
                    names.append(name)
    with open(kept, "w", encoding="utf-8") as file:
        json.dump({"digest": now, "lines": lines}, file)
    return lines


def reaching(lines, number):
    """The programs that reach a line; where gcov does not know it, the nearest that it knows before and after."""
    near = [number] if number in lines else [max((n for n in lines if n < number), default=None),
                                             min((n for n in lines if n > number), default=None)]
    return {name for n in near if n is not None for name in lines[n]}


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


def copied(source, root):
    """Brings a copy of the tree to what the tree is now; what is equal keeps its time, and is not built again."""
    names = subprocess.run(["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0")
    wanted = {os.path.join(root, name): bytes_of(os.path.join(source, name)) for name in names
              if name and os.path.isfile(os.path.join(source, name))}
    # Floors as shared libraries: a change links one of them, not every test.
    floors = root + "/src/meson.build"
    shared = wanted[floors].replace(b"static_library('floor-", b"shared_library('floor-")
    if shared == wanted[floors]:
        sys.exit("mutate: src/meson.build makes no static libraries")
    wanted[floors] = shared
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith("build")]
        for path in (os.path.join(folder, name) for name in files):
            if path not in wanted:
                os.remove(path)
    for path, whole in wanted.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path) or bytes_of(path) != whole:
            with open(path, "wb") as out:
                out.write(whole)
            shutil.copymode(os.path.join(source, os.path.relpath(path, root)), path)


def build_of(root, build, options):
    if not os.path.exists(f"{root}/{build}/build.ninja"):
        subprocess.run(["meson", "setup", f"{root}/{build}", root, "-Db_lundef=false"] + options, check=True,
                       stdout=subprocess.DEVNULL)
    if not make(root, [], build):
        sys.exit(f"mutate: the tree is not built: ninja -C {root}/{build}")


def noticed(names, tests, seconds, environment, root):
    """The test that fails; None: all pass."""
    for name in names:
        if quiet([f"{root}/build/{tests[name]}"], 2 + int(10 * seconds[name]), env=environment, cwd=root) != 0:
            return name
    return None


def write(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(lines))


def report(tried, where, by, among, line, changed):
    what = f"noticed by {by}" if by else f"NOT NOTICED by {among} programs\n  - {line.strip()}\n  + {changed.strip()}"
    print(f"{tried} {where}: {what}", flush=True)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = source + "/build-mutate/tree"
    copied(source, root)
    build_of(root, "build", ["-Dbuildtype=plain", "-Dc_args=-O1"])
    environment = dict(os.environ, FORETRAIN_DATA=root, FORETRAIN_TEST_SOURCE=root, G_DEBUG="fatal-warnings")
    tests = all_tests(root)
    seconds = measure(tests, environment, root)
    print(f"{len(tests)} tests, {sum(seconds.values()):.0f} s", flush=True)
    reach = reach_of(tests, environment, root)
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
        if is_another(root, objects[path]) and make(root, ["src/foretrain"]):
            tried += 1
            near = reaching(reach.get(os.path.relpath(path, root), {}), number + 1)
            by = noticed(in_order(near, seconds, caught), tests, seconds, environment, root)
            report(tried, f"{os.path.relpath(path, root)}:{number + 1}", by, len(near), text[number], changed)
        else:
            same += 1
        if by:
            found += 1
            caught[by] += 1
        write(path, text)
        make(root, [objects[path]])
    print(f"{found} of {tried} changes were noticed; {same} others did not compile, or to the same object")
    sys.exit(found * 10 < tried * 9)


main()
