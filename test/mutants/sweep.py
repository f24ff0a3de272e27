# SPDX-License-Identifier: Apache-2.0
"""Takes each check out of the packet path, one at a time, and reports which test noticed.

A check is a place in bpf/ that ends in a drop reason. Of a condition of several alternatives each one is a check; what is
an answer of its own lets the packet go on instead. In a copy of the tree each check gets a number, and the one whose number
a constant of the loaded program has is left out: so there is one build for all. The kernel's verifier notices some. What nobody notices has survived, unless it is among the doubled checks below, each with what doubles it.

    sweep.py                     all checks
    sweep.py policy.h own.h:93   those of these files, and lines
"""
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

from run import COPY, ROOT, build, copy_tree

IGNORED_FILES = ("reasons.h", "abi.h", "losses.bpf.c")
# A test run makes no machine that lacks a table or headroom in the middle of a path; these have cases of their own.
IGNORED_REASONS = ("TABLE_MISSING", "NO_HEADROOM", "NOT_LINEAR")
# What is not about single packets, and long ones whose findings a case of its own has too.
PACKETS = ["-sfe=*dataplane*,*budget*,*explain*,*losses*", "-tce=*random*,*underlay and site*", "-aa=1"]
LOADS = "-tc=the verifier is done with each program*"
DOUBLED = {
    ("envelope.h", "found == -PT_DROP_TOO_BIG"): "by total > mtu: the lookup tells the MTU that is too small; and no next hop then",
    ("neighbour.h", "flow->options"): "by the question's type and target, which stand where an extension header would",
    ("own.h", "!endpoint->via"): "by via != sender: an admitted sender is never 0",
    ("parse.h", "total > 0xffff"): "by total > present: no frame is so long",
    ("route.h", "(*port)->role != role"): "by the segment, and by the devmap of the role",
    ("transport.h", "flow->payload_length < sizeof(*tcp)"): "by header > payload_length: no header is shorter",
    ("hostport.h", "!packet->segment"): "by pt_can_hand, without which nobody comes there",
}

KNOB = 'const volatile __u32 pt_left_out SEC(".rodata.sweep") = 0;\n'
KNOB_GOES_BEHIND = "#define PT_GO_ON 0\n"
OPENED = '  if (!object) return kernel_error(errc::load, "cannot open the built-in BPF object"'
TURN = """  if (const char* number = std::getenv("PT_LEFT_OUT"); number != nullptr) {
    bpf_map* knob = ::bpf_object__find_map_by_name(object.get(), ".rodata.sweep");
    const __u32 left_out = static_cast<__u32>(std::atoi(number));
    if (::bpf_map__set_initial_value(knob, &left_out, sizeof(left_out)) != 0) std::abort();
  }
"""


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
    """Null checks of pointers and bounds of offsets, which the verifier demands, and calls that fail for the kernel alone."""
    bounds = ("bpf_xdp_", "PT_FARTHEST_HEADER", "PT_SUM_CHUNK", "PT_IPV4_OPTIONS_BYTES", "more > 0")
    return re.fullmatch(r"\s*!\*?\w+\s*", text) is not None or any(word in text for word in bounds)


class Sweep:
    def __init__(self):
        self.checks = []  # (file, line from 1, reason, what is left out); its number is its place, from 1

    def number(self, name, line, reason, text):
        self.checks.append((name, line, reason.lower(), " ".join(text.split())))
        return len(self.checks)

    def with_switches(self, name, line, text, before):
        reason = re.search(r"[^=] -PT_DROP_(\w+)", text)
        if not reason or reason[1] in IGNORED_REASONS or re.match(r"\s*if \(bpf_xdp_[^;]*$", before):
            return text
        found = re.match(r"(\s*if \()(.*)(\) return -PT_DROP_\w+;.*)", text)
        if not found:
            number = self.number(name, line, reason[1], text)
            return re.sub(r"(?<![=!] )-PT_DROP_\w+", lambda drop: f"(pt_left_out == {number} ? PT_GO_ON : {drop[0]})", text)
        before, condition, after = found.groups()
        parts = []
        for start, end in alternatives(condition):
            part = condition[start:end]
            if is_kernels(part):
                parts.append(part)
            else:
                number = self.number(name, line, reason[1], part)
                parts.append(f"(pt_left_out != {number} && ({part}))")
        return f"{before}{' || '.join(parts)}{after}"

    def install(self):
        for path in sorted((ROOT / "bpf").iterdir()):
            if path.suffix in (".h", ".c") and path.name not in IGNORED_FILES:
                lines = path.read_text(encoding="utf-8").split("\n")
                text = "\n".join(self.with_switches(path.name, n + 1, line, lines[n - 1]) for n, line in enumerate(lines))
                if path.name == "vocabulary.h":
                    text = text.replace(KNOB_GOES_BEHIND, KNOB_GOES_BEHIND + KNOB)
                (COPY / "bpf" / path.name).write_text(text, encoding="utf-8")
        plane = COPY / "userspace" / "dataplane" / "plane.cpp"
        text = plane.read_text(encoding="utf-8")
        plane.write_text(text.replace(OPENED, TURN + OPENED), encoding="utf-8")


def run_tests(number, *filters):
    return subprocess.run([COPY / "build" / "test-bpf", *filters], cwd=COPY, text=True, capture_output=True, timeout=900,
                          env={**os.environ, "PT_LEFT_OUT": str(number)})


def first_failure(output):
    names = re.findall(r"TEST CASE:\s*(.*(?:\n  [^ \n].*)?)", output)
    case = re.findall(r"one\.says := (.*)", output)
    return (" ".join(names[0].split()) if names else "a crash") + (f": {case[0]}" if case else "")


def judge(number, name):
    if run_tests(number, LOADS).returncode != 0:
        return "refused", "by the kernel's verifier, or over the budget"
    # The part's own tests first, which mostly know.
    own = f"-sf=*/{Path(name).stem}_test.cpp"
    for filters in ([*PACKETS, own], PACKETS):
        done = run_tests(number, *filters)
        if done.returncode != 0:
            return "caught", "by bpf: " + first_failure(done.stdout)
    return "SURVIVED", ""


def main():
    copy_tree({"bpf"})
    sweep = Sweep()
    sweep.install()
    built = build("bpf")
    if built.returncode != 0:
        sys.exit(f"the tree with switches does not build:\n{built.stderr[-2000:]}")
    if (done := run_tests(0, *PACKETS)).returncode != 0:
        sys.exit(f"the tests of the packet path do not pass while nothing is left out:\n{done.stdout[-2000:]}")
    wanted = set(sys.argv[1:])
    asked = [n for n, (name, line, *_) in enumerate(sweep.checks, 1) if not wanted or wanted & {name, f"{name}:{line}"}]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = pool.map(lambda n: judge(n, sweep.checks[n - 1][0]), asked)
        for number, (verdict, why) in zip(asked, verdicts):
            name, line, reason, text = sweep.checks[number - 1]
            if verdict == "SURVIVED" and (name, text) in DOUBLED:
                verdict, why = "doubled", DOUBLED[name, text]
            bad += verdict == "SURVIVED"
            print(f"{verdict:8} {name}:{line} {reason}: {text}  {why}", flush=True)
    print(f"{len(asked) - bad} of {len(asked)} checks are guarded, {bad} not")
    return 1 if bad or not asked else 0


if __name__ == "__main__":
    sys.exit(main())
