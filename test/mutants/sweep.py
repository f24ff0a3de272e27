# SPDX-License-Identifier: Apache-2.0
"""Takes each check out of the packet path, one at a time, and reports which test noticed.

A check is a place in bpf/ that ends in a drop reason. Of a condition of several alternatives each one is a check; what is
an answer of its own lets the packet go on instead. The kernel's verifier notices some: bounds that it demands. What nobody
notices has survived, unless it is among the doubled checks below, each with what it is doubled by.

    sweep.py                  all checks
    sweep.py policy.h own.h   those of these files
"""
import re
import sys
from pathlib import Path

from run import COPY, ROOT, build, copy_tree, finish

IGNORED_FILES = ("reasons.h", "abi.h", "losses.bpf.c")
# A test run makes no machine that lacks a table or headroom in the middle of a path; these have cases of their own.
IGNORED_REASONS = ("TABLE_MISSING", "NO_HEADROOM", "NOT_LINEAR")
# What is not about single packets, and long ones whose findings a case of its own has too.
PACKETS = ["-sfe=*dataplane*,*budget*,*explain*,*losses*", "-tce=*random*,*underlay and site*", "-aa=1"]
DOUBLED: dict[tuple[str, str], str] = {}


def alternatives(condition):
    """The spans of a condition's parts between `||` that stand in no parentheses."""
    depth, start, spans = 0, 0, []
    for at, letter in enumerate(condition):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and condition.startswith("||", at):
            spans.append((start, at))
            start = at + 2
    return [*spans, (start, len(condition))]


def is_kernels(text):
    """Null checks of pointers, which the verifier demands, and calls that fail for the kernel alone."""
    return re.fullmatch(r"\s*!\*?\w+\s*", text) is not None or "bpf_xdp_" in text


def mutations(line):
    """[(what is taken out, the line without it)]."""
    found = re.match(r"(\s*if \()(.*)(\) return -PT_DROP_\w+;.*)", line)
    if not found:
        return [(line.strip(), re.sub(r"-PT_DROP_\w+", "PT_GO_ON", line))]
    before, condition, after = found.groups()
    out = []
    for start, end in alternatives(condition):
        part = condition[start:end]
        if not is_kernels(part):
            out.append((part.strip(), f"{before}{condition[:start]} (0 && ({part})) {condition[end:]}{after}"))
    return out


def checks(files):
    for path in sorted((ROOT / "bpf").iterdir()):
        if path.suffix not in (".h", ".c") or path.name in IGNORED_FILES or (files and path.name not in files):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            reason = re.search(r"[^=] -PT_DROP_(\w+)", line)
            if reason and reason[1] not in IGNORED_REASONS:
                for taken, mutated in mutations(line):
                    yield path.name, number, reason[1], taken, mutated


def first_failure(output):
    names = re.findall(r"TEST CASE:\s*(.*(?:\n  [^ \n].*)?)", output)
    return " ".join(names[0].split()) if names else "a crash"


def judge(name, number, mutated):
    path = COPY / "bpf" / name
    original = path.read_text(encoding="utf-8")
    lines = original.splitlines()
    lines[number] = mutated
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        built = build("bpf")
        if built.returncode != 0:
            return "STALE", "does not build: " + (built.stderr.strip().splitlines() or ["?"])[0][:160]
        if finish([COPY / "build" / "test-bpf", "-tc=the verifier is done with each program*"]).returncode != 0:
            return "refused", "by the kernel's verifier, or over the budget"
        # The part's own tests first, which mostly know.
        own = COPY / "build" / "test-bpf", *PACKETS, f"-sf=*/{Path(name).stem}_test.cpp"
        for command in (own, own[:-1]):
            done = finish(command)
            if done.returncode != 0:
                return "caught", "by bpf: " + first_failure(done.stdout)
        return "SURVIVED", ""
    finally:
        path.write_text(original, encoding="utf-8")


def main():
    copy_tree({"bpf"})
    if build("bpf").returncode != 0 or finish([COPY / "build" / "test-bpf", *PACKETS]).returncode != 0:
        sys.exit("the tests of the packet path do not pass while nothing is taken out")
    bad = total = 0
    for name, number, reason, taken, mutated in checks(sys.argv[1:]):
        verdict, why = judge(name, number, mutated)
        if verdict == "SURVIVED" and (name, taken) in DOUBLED:
            verdict, why = "doubled", DOUBLED[name, taken]
        total += 1
        bad += verdict in ("SURVIVED", "STALE")
        print(f"{verdict:8} {name}:{number + 1} {reason.lower()}: {taken}  {why}", flush=True)
    build("bpf")
    print(f"{total - bad} of {total} checks are guarded, {bad} not")
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
