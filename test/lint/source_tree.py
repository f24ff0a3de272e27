# SPDX-License-Identifier: Apache-2.0
"""Checks of the source tree that no compiler makes: who may include whom, where third-party headers stand, licence
lines, that each cited section of docs/SPEC.md exists, that its table of attacks names tests that exist, and that its
table of drop reasons is the one in bpf/reasons.h.

`--write` brings the generated table up to date instead of complaining.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A module may include itself and those that stand before it on its line.
MAY_INCLUDE = {
    "core": [],
    "wire": ["core"],
    "config": ["core", "wire"],
    "authority": ["core", "wire", "config"],
    "ledger": ["core", "wire", "authority"],
    "mesh": ["core", "wire", "config", "authority", "ledger"],
    "sync": ["core", "wire", "authority", "ledger", "mesh"],
    "claims": ["core", "wire", "authority", "ledger", "mesh"],
    "dataplane": ["core", "wire", "config", "authority", "ledger"],
    "observe": ["core", "wire", "config", "authority", "ledger", "mesh", "sync", "claims", "dataplane"],
    "agent": ["core", "wire", "config", "authority", "ledger", "mesh", "sync", "claims", "dataplane", "observe"],
    "cli": ["core", "wire", "config", "authority", "ledger"],
}
# bpf/abi.h: limits for the documents, layouts for the data plane and what shows it.
MAY_INCLUDE_ABI = {"authority", "dataplane", "observe", "agent"}

THIRD_PARTY = {
    r"tl/": ["core", "ledger", "cli"],
    r"sodium": ["wire", "mesh"],
    r"simdjson|xxh|xxhash": ["wire"],
    r"yaml-cpp/": ["config"],
    r"netlink/|linux/(rtnetlink|neighbour|if_link)\.h": ["dataplane"],
    r"bpf/|xdp/|nftables/|linux/bpf\.h|.*\.skel\.h": ["dataplane"],
    r"prometheus/|httplib": ["observe"],
    r"asio|spdlog/|curl/": ["agent"],
    r"CLI/": ["agent", "cli"],
    r"fmt/": ["agent", "cli"],
}
PURE = ["userspace/dataplane/compile", "userspace/authority/policy", "userspace/authority/adoption_rules"]
IMPURE = r"#include <(chrono|ctime|time\.h|random|iostream|fstream|unistd\.h|fcntl\.h|sys/.*)>"

NAMES_THAT_SAY_NOTHING = re.compile(r"(util|helper|manager|common|misc|_impl)", re.I)
MAX_LINES = 450


def sources():
    for pattern in ("bpf/*", "userspace/*/*", "test/**/*", "deploy/**/*", "bench/**/*", "Makefile"):
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def check_includes(path, module, text, report):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        name = match.group(2)
        where = f"{path.relative_to(ROOT)}:{number}"
        head = name.split("/")[0]
        if head in MAY_INCLUDE and match.group(1) == '"' and head != module and head not in MAY_INCLUDE[module]:
            report(f"{where}: {module} must not include {name}; it may use {', '.join(MAY_INCLUDE[module]) or 'only std'}")
        if name in ("abi.h", "reasons.h", "evidence.h") and module not in MAY_INCLUDE_ABI:
            report(f"{where}: {module} must not include {name}")
        for pattern, homes in THIRD_PARTY.items():
            if re.match(f"({pattern})", name) and name != "core" and module not in homes:
                report(f"{where}: <{name}> belongs to {', '.join(homes)} alone")


def check_userspace(path, text, report):
    module = path.relative_to(ROOT).parts[1]
    check_includes(path, module, text, report)
    name = str(path.relative_to(ROOT))
    if any(name.startswith(p) for p in PURE) and re.search(IMPURE, text):
        report(f"{name}: is pure (no clock, no I/O, no randomness), but includes {re.search(IMPURE, text).group(0)}")
    if module not in ("agent", "cli") and re.search(r"std::(cerr|cout|clog)|\bf?printf\(", text):
        report(f"{name}: only agent and cli print")
    if re.search(r"^\s*throw\b", text, re.M):
        report(f"{name}: errors are values; nothing throws")


def check_bpf(path, text, report):
    if path.name == "abi.h":
        includes = re.findall(r"#\s*include\s*[<\"]([^>\"]+)", text)
        if includes != ["linux/types.h", "reasons.h", "evidence.h"]:
            report(f"bpf/abi.h: includes {includes}, but may include only <linux/types.h>, reasons.h and evidence.h")
    if "GPL-2.0 OR BSD-2-Clause" not in text.split("\n", 1)[0]:
        report(f"{path.relative_to(ROOT)}:1: no line 'SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause'")


def check_file(path, report):
    name = str(path.relative_to(ROOT))
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    if NAMES_THAT_SAY_NOTHING.search(path.stem):
        report(f"{name}: its name does not say what it holds")
    if path.suffix in (".h", ".cpp", ".c", ".py", ".sh") and len(text.splitlines()) > MAX_LINES:
        report(f"{name}: {len(text.splitlines())} lines; more than {MAX_LINES} is more than one noun")
    if not path.stem.startswith("LICENSE") and "SPDX-License-Identifier:" not in "\n".join(text.splitlines()[:3]) and path.suffix not in (".json", ".inc", ".md", ""):
        report(f"{name}:1: no SPDX line")
    if name.startswith("userspace/"):
        check_userspace(path, text, report)
    if name.startswith("bpf/") and path.suffix in (".h", ".c"):
        check_bpf(path, text, report)


def spec_sections():
    text = (ROOT / "docs/SPEC.md").read_text()
    return set(re.findall(r"^#+ (\d+(?:\.\d+)*)\.? ", text, re.M))


def check_citations(report):
    known = spec_sections()
    for path in [*sources(), *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]:
        if path.suffix not in (".h", ".cpp", ".c", ".py", ".md", ""):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for match in re.finditer(r"SPEC((?:,? (?:and )?\d+(?:\.\d+)*)+)", line):
                for section in re.findall(r"\d+(?:\.\d+)*", match.group(1)):
                    if section not in known:
                        report(f"{path.relative_to(ROOT)}:{number}: cites SPEC {section}, which does not exist")


def check_attacks(report):
    """Each row of the table of attacks names a test that exists."""
    section = (ROOT / "docs/SPEC.md").read_text().split("### 3.11 Attacks\n")[1].split("\n##")[0]
    tests = set()
    for path in [*ROOT.glob("test/**/*.cpp"), *ROOT.glob("test/**/*.py")]:
        text = path.read_text(errors="replace")
        tests |= set(re.findall(r"^def (test_\w+)", text, re.M))
        tests |= {"".join(re.findall(r'"([^"]*)"', case)) for case in re.findall(r'TEST_CASE\(([^)]*)\)', text)}
    named = re.findall(r"\| `([^`]+)` \|$", section, re.M)
    for name in named:
        if name not in tests:
            report(f"docs/SPEC.md: 3.11 names the test `{name}`, which does not exist")
    if not named:
        report("docs/SPEC.md: 3.11 names no tests")


def reasons_table():
    text = (ROOT / "bpf/reasons.h").read_text()
    body = text.split("#define PT_DROP_REASONS(X)")[1].split("enum pt_verdict")[0].replace("\\\n", "\n")
    rows = re.findall(r'X\((\d+), (\w+),\s+"(\w+)",\s+"([^"]+)"\)', body)
    lines = ["| number | reason | meaning |", "| --- | --- | --- |"]
    lines += [f"| {number} | `{label}` | {text} |" for number, _, label, text in rows]
    numbers = [int(row[0]) for row in rows]
    assert numbers == sorted(set(numbers)), "drop reasons: numbers must rise and be unique"
    return "\n".join(lines) + "\n"


def check_reasons(report, write):
    path = ROOT / "docs/SPEC.md"
    text = path.read_text()
    begin, end = "<!-- drop reasons: generated from bpf/reasons.h -->\n", "<!-- end of drop reasons -->\n"
    head, rest = text.split(begin)
    table, tail = rest.split(end)
    if table != reasons_table():
        if write:
            path.write_text(head + begin + reasons_table() + end + tail)
        else:
            report("docs/SPEC.md: the table of drop reasons differs from bpf/reasons.h; run `make docs`")


def main():
    complaints = []
    for path in sources():
        check_file(path, complaints.append)
    check_citations(complaints.append)
    check_attacks(complaints.append)
    check_reasons(complaints.append, "--write" in sys.argv)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
