#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice? Changes lines of the floors where numbers decide, one at a time, and runs tests until one fails.

usage: tools/mutate.py [COUNT [SEED]]      100 changes, seed 1; in build-mutate/, in a copy of the tree
       tools/mutate.py try FILE:LINE TEXT  that one line as TEXT, by all programs that reach it

A change is a comparison, an operator, a constant or a condition that means something else, or a statement that is left
out. What does not compile, or compiles to the same object, is drawn again. The tests are always the same: the CUnit
programs of the fast suite. The scripts are left out: they hold words, names, faults and attacks, and documents whose
numbers the programs compute. Run are those programs that reach the changed line, as gcov counts, the shortest and those
that noticed most so far first, until one fails; one that takes ten times as long as it should, or 4 GiB, has noticed.
First each change gets some seconds of tests, then those that are open the rest. What is found is kept from run to run:
one that is broken off goes on, and one after tests were added runs only these for what was not noticed before.
Prints each change that none noticed, and how many were. Exit status: 0 at least nine tenths were noticed, 1 fewer, 2 a
test fails as things are.
"""
import difflib
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
FIRST = 20  # seconds of tests
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


def make(root, targets, build="build"):
    return subprocess.run(["ninja", "-C", f"{root}/{build}"] + targets, stdout=subprocess.DEVNULL, check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def measure(tests, digests, environment, root):
    """By test: seconds of processor time as things are; kept while its source is the same."""
    kept = root + "/../seconds.json"
    seconds = {}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            seconds = {name: of for name, (digest, of) in json.load(file).items() if digests.get(name) == digest}
    for name, test in tests.items():
        if name in seconds:
            continue
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if quiet([f"{root}/build/{test}"], 600, env=environment, cwd=root) != 0:
            print(f"mutate: {name} fails as things are", file=sys.stderr)
            sys.exit(2)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds[name] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    with open(kept, "w", encoding="utf-8") as file:
        json.dump({name: (digests[name], of) for name, of in seconds.items()}, file)
    return seconds


def reach_of(tests, environment, root):
    """By source file and line: the programs that reach it; only lines that gcov knows. Kept as it was measured, with
    the sources: lines are found again in what these are now, and programs that are new are taken to reach all. Measured
    anew when build-mutate/reached.json is deleted."""
    kept = root + "/../reached.json"
    if not os.path.exists(kept):
        with open(kept, "w", encoding="utf-8") as file:
            json.dump(measured_reach(tests, environment, root), file)
    with open(kept, encoding="utf-8") as file:
        then = json.load(file)
    lines = {path: found_again(lines, then["sources"][path], source_lines(root, path))
             for path, lines in then["lines"].items() if os.path.exists(os.path.join(root, path))}
    return lines, tests.keys() - set(then["tests"])


def source_lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as source:
        return source.read().splitlines(keepends=True)


def found_again(lines, then, now):
    """{line: names} of a source as it was, by the lines that it has now."""
    again = {}
    for old, new, count in difflib.SequenceMatcher(None, then, now, autojunk=False).get_matching_blocks():
        again.update((new + i + 1, lines[str(old + i + 1)]) for i in range(count) if str(old + i + 1) in lines)
    return again


def measured_reach(tests, environment, root):
    build = root + "/build-coverage"
    build_of(root, "build-coverage", ["-Dbuildtype=debug", "-Db_coverage=true"])
    lines = {}
    for name, test in tests.items():
        subprocess.run(["find", build, "-name", "*.gcda", "-delete"], check=True)
        quiet([f"{build}/{test}"], 3600, env=environment, cwd=root)
        for path, counts in coverage.reached(build, FLOORS)[0].items():
            for number, times in counts.items():
                names = lines.setdefault(path, {}).setdefault(str(number), [])
                if times > 0:
                    names.append(name)
    return {"tests": sorted(tests), "lines": lines, "sources": {path: source_lines(root, path) for path in lines}}


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


def write(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(lines))


class Trial:
    """The tree's copy, its tests, and what is known of both."""

    def __init__(self, source):
        self.root = root = source + "/build-mutate/tree"
        copied(source, root)
        build_of(root, "build", ["-Dbuildtype=plain", "-Dc_args=-O1"])
        self.environment = dict(os.environ, FORETRAIN_DATA=root, FORETRAIN_TEST_SOURCE=root, G_DEBUG="fatal-warnings")
        self.tests = all_tests(root)
        self.digests = {name: hashlib.sha256(bytes_of(f"{root}/{test}.c")).hexdigest()
                        for name, test in self.tests.items()}
        self.seconds = measure(self.tests, self.digests, self.environment, root)
        print(f"{len(self.tests)} tests, {sum(self.seconds.values()):.0f} s", flush=True)
        self.reach, self.new = reach_of(self.tests, self.environment, root)
        self.caught = dict.fromkeys(self.tests, 0)
        self.objects = objects_of(root)

    def open_tests(self, mutant):
        """Those that reach its line and have not passed it as they are now: the changed first, then the shortest and
        most promising."""
        lines = self.reach.get(mutant["path"], {})  # none: tables of constants
        near = reaching(lines, mutant["line"]) | self.new if lines else self.tests.keys()
        return sorted((name for name in near & self.tests.keys()
                       if mutant["passed"].get(name) != self.digests[name]),
                      key=lambda name: (name not in mutant["passed"],
                                        self.seconds[name] / (1 + self.caught[name]), name))

    def run(self, mutant, most):
        """Until a test notices it or `most` seconds of them have passed. FALSE: it is none."""
        path = os.path.join(self.root, mutant["path"])
        text = source_lines(self.root, mutant["path"])
        target = self.objects[path]
        write(path, text[:mutant["line"] - 1] + [mutant["new"]] + text[mutant["line"]:])
        try:
            if not is_another(self.root, target) or not make(self.root, ["src/foretrain"]):
                return False
            spent = 0
            for name in self.open_tests(mutant):
                if spent + self.seconds[name] > most and spent > 0:
                    break
                spent += self.seconds[name]
                if quiet([f"{self.root}/build/{self.tests[name]}"], 2 + int(10 * self.seconds[name]),
                         env=self.environment, cwd=self.root) != 0:
                    mutant["by"] = name
                    self.caught[name] += 1
                    break
                mutant["passed"][name] = self.digests[name]
            return True
        finally:
            write(path, text)
            make(self.root, [target])


def said(nth, mutant, left):
    """What is known of it, `left` tests being open."""
    if mutant["by"]:
        what = f"noticed by {mutant['by']}"
    else:
        what = f"{'open' if left else 'NOT NOTICED'} after {len(mutant['passed'])} programs, {left} left" \
            f"\n  - {mutant['old'].strip()}\n  + {mutant['new'].strip()}"
    print(f"{nth} {mutant['path']}:{mutant['line']}: {what}", flush=True)


def still_there(root, mutants):
    """Those whose line is as it was."""
    return [each for each in mutants if os.path.exists(os.path.join(root, each["path"])) and
            source_lines(root, each["path"])[each["line"] - 1:each["line"]] == [each["old"]]]


def draw(trial, mutants, count, rng):
    """Another one; it gets its first seconds of tests."""
    lines = candidates(trial.root)
    known = {(each["path"], each["line"], each["new"]) for each in mutants}
    while len(mutants) < count:
        _, path, number = rng.choice(lines)
        path = os.path.relpath(path, trial.root)
        text = source_lines(trial.root, path)
        changed = change(text[number], rng)
        mutant = {"path": path, "line": number + 1, "old": text[number], "new": changed, "by": None, "passed": {}}
        if changed in (None, text[number]) or (path, number + 1, changed) in known:
            continue
        if trial.run(mutant, FIRST):
            known.add((path, number + 1, changed))
            yield mutant


def go_on(trial, count, seed):
    kept = f"{trial.root}/../mutants-{seed}.json"
    mutants = []
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            mutants = still_there(trial.root, json.load(file))[:count]
    for each in mutants:
        if each["by"] in trial.caught:
            trial.caught[each["by"]] += 1

    def keep():
        with open(kept + ".new", "w", encoding="utf-8") as file:
            json.dump(mutants, file, indent=1)
        os.replace(kept + ".new", kept)

    def settle(most):
        for nth, mutant in enumerate(mutants, 1):
            if not mutant["by"] and trial.open_tests(mutant):
                trial.run(mutant, most)
                said(nth, mutant, 0 if mutant["by"] else len(trial.open_tests(mutant)))
                keep()
    settle(float("inf"))  # what was left open
    for mutant in draw(trial, mutants, count, random.Random(seed + len(mutants) * 1000003)):
        mutants.append(mutant)
        said(len(mutants), mutant, 0 if mutant["by"] else len(trial.open_tests(mutant)))
        keep()
    settle(8 * FIRST)
    settle(float("inf"))
    for nth, mutant in enumerate(mutants, 1):
        if not mutant["by"]:
            said(nth, mutant, 0)
    found = sum(each["by"] is not None for each in mutants)
    print(f"{found} of {len(mutants)} changes were noticed")
    return found * 10 >= len(mutants) * 9


def main():
    trial = Trial(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if sys.argv[1:2] == ["try"]:
        path, line = sys.argv[2].split(":")
        old = source_lines(trial.root, path)[int(line) - 1]
        mutant = {"path": path, "line": int(line), "old": old, "new": sys.argv[3] + "\n", "by": None, "passed": {}}
        if not trial.run(mutant, float("inf")):
            sys.exit("mutate: it does not compile, or to the same object")
        said(1, mutant, 0)
        sys.exit(mutant["by"] is None)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    sys.exit(not go_on(trial, count, int(sys.argv[2]) if len(sys.argv) > 2 else 1))


main()
