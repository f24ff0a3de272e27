#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What it costs to hold many resources: three gateways, gw1 holds 1, 256 and 4,096 of them, and nothing happens.

Of each gateway the CPU time, of gw1 the flushes of its journal and what it sends, by the second. Then the longest that gw2
does not hear of gw1 while the disk that gw1's journal is on is flushed all the time by others, against the same without.
Needs root.

  bench/resources.py [--counts 1,256,4096] [--seconds S]
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.dont_write_bytecode = True

from lab import until  # noqa: E402  the path comes first
from lab.gateway import BUILD  # noqa: E402
from lab.gateway_trio import GatewayTrio  # noqa: E402
from lab.mesh_lab import SEGMENT  # noqa: E402
from lab.turns import Turns  # noqa: E402

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
FLUSHERS = 4
FLUSH_FOREVER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
while True:
    os.pwrite(fd, b"x" * 4096, 0)
    os.fsync(fd)
"""


class Holdings(Turns, GatewayTrio):
    """gw1 is the only candidate that claims by itself."""

    def __init__(self, count):
        self.count = count
        super().__init__()

    def policy(self, gateways=(1, 2, 3)):
        def add(tree):
            tree["resources"] = [{"id": f"r{n}", "number": n, "candidates": ["gw1", "gw2", "gw3"], "ttl_ms": 8000, "floor": 0}
                                 for n in range(self.count)]
            tree["prefixes"] += [{"segment": SEGMENT, "prefix": f"10.100.{n // 256}.{n % 256}/32",
                                  "owner": {"resource": f"r{n}"}, "class": "held"} for n in range(self.count)]
            tree["rules"].append({"from": "sites", "to": "held", "protocol": "icmp", "types": [8]})
        return super().policy(gateways).changed(add)

    def held(self):
        rows = self.gateways[1].ask("claims")["resources"]
        return sum(row["holder"] == "gw1" and row["standing"] == "held" for row in rows)


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def flushes(gateway):
    return int(re.search(r"^postern_journal_fsync_seconds_count (\d+)$", gateway.http("/metrics")[1], re.M).group(1))


def sent_bytes(gateway):
    (link,) = json.loads(gateway.namespace.run("ip", "-j", "-s", "link", "show", "dev", "mesh0").stdout)
    return link["stats64"]["tx"]["bytes"]


def reading(lab):
    return (time.monotonic(), [cpu_s(g.pid) for g in lab.gateways], flushes(lab.gateways[0]), sent_bytes(lab.gateways[0]))


def rates(lab, seconds):
    began, cpu, flushed, sent = reading(lab)
    time.sleep(seconds)
    ended, cpu_then, flushed_then, sent_then = reading(lab)
    passed = ended - began
    return {"cpu_ms_per_s": [round((b - a) / passed * 1000, 1) for a, b in zip(cpu, cpu_then)],
            "flushes_per_s": round((flushed_then - flushed) / passed, 2),
            "sent_bytes_per_s": round((sent_then - sent) / passed)}


def longest_silence_ms(lab, seconds):
    """Of gw1, as gw2 counts it."""
    longest = 0
    for _ in range(int(seconds * 20)):
        rows = lab.gateways[1].ask("claims", "--resource", "r0")["gateways"]
        longest = max(longest, *(int(row["silent_ms"]) for row in rows if row["gateway"] == "gw1"))
        time.sleep(0.05)
    return longest


def under_flushes(lab, seconds):
    quiet_ms = longest_silence_ms(lab, seconds)
    state = lab.gateways[0].files
    busy = [subprocess.Popen([sys.executable, "-c", FLUSH_FOREVER, state / f"flushed-{n}"]) for n in range(FLUSHERS)]
    try:
        return quiet_ms, longest_silence_ms(lab, seconds)
    finally:
        for process in busy:
            process.kill()
            process.wait()


def measure(count, seconds):
    with Holdings(count) as lab:
        lab.set_automatic(False, gateways=(2, 3))
        lab.adopt(lab.policy())
        began = time.monotonic()
        until(f"all {count} are held", lambda: lab.held() == count, 120, every=0.5)
        found = {"resources": count, "claimed_within_s": round(time.monotonic() - began, 1)}
        time.sleep(2)
        found.update(rates(lab, seconds))
        found["longest_silence_ms"], found["longest_silence_flushing_ms"] = under_flushes(lab, seconds)
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--counts", default="1,256,4096")
    parser.add_argument("--seconds", type=float, default=10)
    asked = parser.parse_args()
    print(f"resources: {platform.system()} {platform.release()}, {os.cpu_count()} processors; TTL 8 s, a beat each second")
    print(f"{'held':>5} {'claimed in':>11} {'CPU ms/s gw1 gw2 gw3':>22} {'flushes/s':>10} {'sent B/s':>9} {'silent ms':>10} "
          f"{'while flushing':>15}")
    found = []
    for count in map(int, asked.counts.split(",")):
        row = measure(count, asked.seconds)
        found.append(row)
        cpu = " ".join(f"{ms:6.1f}" for ms in row["cpu_ms_per_s"])
        print(f"{count:5} {row['claimed_within_s']:9} s {cpu:>22} {row['flushes_per_s']:10} {row['sent_bytes_per_s']:9} "
              f"{row['longest_silence_ms']:10} {row['longest_silence_flushing_ms']:15}", flush=True)
    (BUILD / "bench-resources.json").write_text(json.dumps({"schema": 1, "kernel": platform.release(), "runs": found}) + "\n",
                                                encoding="utf-8")


if __name__ == "__main__":
    main()
