# SPDX-License-Identifier: Apache-2.0
"""Breaks the program on purpose, one guarding line at a time, and reports which named test noticed.

Each entry of a .toml file beside this one names a file, the text to replace and the test that must fail then. The
mutation is applied to a copy of the tree; the copy's build is incremental. A mutant that builds and passes its test has
survived: then the test does not guard what it claims to.

    run.py            all mutants
    run.py WORD...    those whose name contains a word
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
        mutants += tomllib.loads(path.read_text())["mutant"]
    return [m for m in mutants if not words or any(w in m["name"] for w in words)]


def copy_tree():
    COPY.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.split("\n")
    for name in filter(None, files):
        source, target = ROOT / name, COPY / name
        if not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copy2(source, target)
    if not (COPY / "build").exists():
        for part in ("release", "asan", "bpf", "gen", "simulation"):
            if (ROOT / "build" / part).exists():
                shutil.copytree(ROOT / "build" / part, COPY / "build" / part, copy_function=shutil.copy2)
        for path in (ROOT / "build").iterdir():
            if path.is_file():
                shutil.copy2(path, COPY / "build" / path.name)


TARGETS = {"unit": ["build/test-unit"], "bpf": ["build/test-bpf"], "e2e": ["all"], "crash": ["all", "tests-built"],
           "simulation": ["build/journal-simulation"]}


def build(tier):
    return subprocess.run(["make", "-s", "-C", str(COPY), *TARGETS[tier]], text=True, capture_output=True)


def run_test(mutant):
    """The finished process of the named test alone, and whether it ran anything. A simulation's test is its arguments."""
    if mutant["tier"] == "simulation":
        done = subprocess.run([COPY / "build" / "journal-simulation", *mutant["test"].split()], cwd=COPY, text=True,
                              capture_output=True, timeout=600)
        return done, done.returncode in (0, 1)
    if mutant["tier"] in ("unit", "bpf"):
        command = [str(COPY / "build" / f"test-{mutant['tier']}"), f"-tc={mutant['test']}"]
    else:
        command = [*PYTEST, str(COPY / "test" / mutant["tier"]), "-k", mutant["test"]]
    done = subprocess.run(command, cwd=COPY, text=True, capture_output=True, timeout=600)
    ran = "| 0 passed | 0 failed" not in done.stdout.replace("  ", " ") and "no tests ran" not in done.stdout
    if mutant["tier"] in ("unit", "bpf"):
        ran = ran and "test cases: 0 |" not in " ".join(done.stdout.split())
    return done, ran


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
        done, ran = run_test(mutant)
        if not ran:
            return f"STALE: no test named {mutant['test']!r}"
        return "SURVIVED" if done.returncode == 0 else "caught"
    finally:
        path.write_text(original)
        os.utime(path)


def main():
    mutants = load(sys.argv[1:])
    copy_tree()
    bad = 0
    for mutant in mutants:
        verdict = judge(mutant)
        bad += verdict != "caught"
        by = f" by {mutant['tier']}: {mutant['test']}" if verdict == "caught" else ""
        print(f"{verdict:8} {mutant['name']}{by}", flush=True)
    for tier in sorted({m["tier"] for m in mutants}):
        build(tier)
    print(f"{len(mutants) - bad} caught, {bad} not")
    return 1 if bad or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
