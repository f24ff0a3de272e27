# SPDX-License-Identifier: Apache-2.0
"""Breaks the program on purpose, one guarding line at a time, and reports which named test noticed.

Each entry of a .toml file beside this one names a file, the text to replace and the test that must fail then. The
mutation is applied to a copy of the tree; the copy's build is incremental. A mutant that builds and passes its test has
survived: then the test does not guard what it claims to. Each test must pass before anything is broken.

    run.py            all mutants
    run.py WORD...    those whose name contains a word, and those of a file: packet.toml
"""
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutants" / "tree"
PYTEST = ["/usr/bin/python3", "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]


def load(words):
    mutants = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        of_file = tomllib.loads(path.read_text())["mutant"]
        mutants += [m for m in of_file if not words or any(w in m["name"] or w == path.name for w in words)]
    return mutants


# What a tier needs of the build so far, and what is built for it.
PARTS = {"unit": ["asan"], "bpf": ["release"], "e2e": ["release"], "crash": ["release", "simulation", "simulation-8m"],
         "simulation": ["release", "simulation"], "mesh": ["release", "simulation"],
         "stories": ["release", "simulation"]}
TARGETS = {"unit": ["build/test-unit"], "bpf": ["build/test-bpf"], "e2e": ["all"],
           "crash": ["all", "build/journal-driver", "build/journal-simulation", "build/journal-simulation-8m"],
           "simulation": ["build/journal-simulation"], "mesh": ["build/mesh-simulation"],
           "stories": ["build/test-stories"]}
SIMULATIONS = {"simulation": "journal-simulation", "mesh": "mesh-simulation"}


def copy_tree(tiers):
    """The sources as they are, and of the build what is not there yet."""
    COPY.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.split("\n")
    names = {name for name in files if name and (ROOT / name).is_file()}
    for path in COPY.rglob("*"):
        name = path.relative_to(COPY)
        if name.parts[0] != "build" and path.is_file() and str(name) not in names:
            path.unlink()
    for name in names:
        source, target = ROOT / name, COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(source, target)  # as old as in the tree whose objects are copied
        elif target.read_bytes() != source.read_bytes():
            target.write_bytes(source.read_bytes())  # newer than what was built from it
    parts = {"bpf", "gen"}.union(*(PARTS[tier] for tier in tiers))
    for part in parts:
        if (ROOT / "build" / part).exists() and not (COPY / "build" / part).exists():
            shutil.copytree(ROOT / "build" / part, COPY / "build" / part, copy_function=shutil.copy2)
    (COPY / "build").mkdir(exist_ok=True)
    shutil.copy2(ROOT / "build" / ".deps", COPY / "build" / ".deps")


def build(tier):
    """With the compiler that this was started with, on all cores."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    command = ["make", "-s", "-C", str(COPY), f"-j{os.cpu_count()}", f"CXX={os.environ.get('CXX', 'g++')}"]
    return subprocess.run([*command, *TARGETS[tier]], text=True, capture_output=True, env=environment)


def finish(command):
    """A test that does not end has noticed something too."""
    try:
        return subprocess.run(command, cwd=COPY, text=True, capture_output=True, timeout=600)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, (late.stdout or b"").decode(errors="replace"), "")


def run_test(mutant):
    """The finished process of the named test alone, and whether it ran anything. A simulation's test is its arguments."""
    tier, test = mutant["tier"], mutant["test"]
    if tier in SIMULATIONS:
        done = finish([COPY / "build" / SIMULATIONS[tier], *test.split()])
        return done, done.returncode in (0, 1, 124)
    if tier in ("unit", "stories", "bpf"):
        done = finish([str(COPY / "build" / f"test-{tier}"), f"-tc={test}"])
        return done, "test cases: 0 |" not in " ".join(done.stdout.split())
    done = finish([*PYTEST, str(COPY / "test" / tier), "-k", test])
    return done, done.returncode != 5


def broken_tests(mutants):
    """{(tier, test): why} of the tests that fail, or are not there, while nothing is broken: they would catch anything."""
    broken = {}
    for tier in sorted({m["tier"] for m in mutants}):
        built = build(tier)
        if built.returncode != 0:
            sys.exit(f"the tree does not build:\n{built.stderr[-2000:]}")
        for test in sorted({m["test"] for m in mutants if m["tier"] == tier}):
            done, ran = run_test({"tier": tier, "test": test})
            if not ran:
                broken[tier, test] = f"STALE: no test named {test!r}"
            elif done.returncode != 0:
                broken[tier, test] = f"BROKEN: {test!r} fails without the mutation too"
    return broken


def judge(mutant):
    path = COPY / mutant["file"]
    original = path.read_text()
    if original.count(mutant["find"]) != 1:
        return f"STALE: the text occurs {original.count(mutant['find'])} times in {mutant['file']}"
    try:
        path.write_text(original.replace(mutant["find"], mutant["replace"]))
        built = build(mutant["tier"])
        if built.returncode != 0:
            return "STALE: does not build: " + (built.stderr.strip().split("\n") or ["?"])[0][:200]
        done, _ran = run_test(mutant)
        return "SURVIVED" if done.returncode == 0 else "caught"
    finally:
        path.write_text(original)
        os.utime(path)


def main():
    mutants = load(sys.argv[1:])
    copy_tree({m["tier"] for m in mutants})
    broken = broken_tests(mutants)
    bad = 0
    # By file, so that a source is compiled as rarely as may be.
    for mutant in sorted(mutants, key=lambda m: (m["tier"], m["file"])):
        verdict = broken.get((mutant["tier"], mutant["test"])) or judge(mutant)
        bad += verdict != "caught"
        by = f" by {mutant['tier']}: {mutant['test']}" if verdict == "caught" else ""
        print(f"{verdict:8} {mutant['name']}{by}", flush=True)
    for tier in sorted({m["tier"] for m in mutants}):
        build(tier)
    print(f"{len(mutants) - bad} caught, {bad} not")
    return 1 if bad or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
