#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""How long a holder's agent is away when it is killed and started again under a large snapshot: from the start of the
process to the first renewal of the lease that its kernel still has. It must fit what SPEC 10.4 leaves to a restart.
Two gateways in namespaces, both candidates; needs root and memory for two large meshes.

  bench/restart.py [--prefixes N] [--peers N] [--runs N]
"""

import argparse
import ipaddress
import json
import os
import pathlib
import platform
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.dont_write_bytecode = True

from failover import BEAT_S, DELIVERY_S, spread, tenure_s  # noqa: E402  the path comes first
from lab import until, wait  # noqa: E402
from lab.claimants import Claimants  # noqa: E402
from lab.gateway import BUILD  # noqa: E402
from lab.kernel_tables import KernelTables  # noqa: E402

NUMBER = 1


def ipv4(value):
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def enlarge(tree, peers, prefixes):
    """As bench/snapshot.cpp has it: each fourth prefix is of IPv6."""
    segment = tree["segments"][0]["id"]
    template = dict(tree["peers"][0])
    for number in range(peers):
        tree["peers"].append({**template, "id": f"site-{number}", "addresses": [ipv4(0xC6000000 + number)],
                              "mac": f"02:00:01:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"})
    row = next(row for row in tree["prefixes"] if "peer" in json.dumps(row["owner"]))
    for number in range(prefixes):
        block = ipaddress.ip_network((0xFD10 << 112 | number << 64, 64) if number % 4 == 0 else (0x64000000 + (number << 4), 28))
        tree["prefixes"].append({**row, "prefix": str(block), "segment": segment,
                                 "owner": {"peer": f"site-{number % peers}"}})


class Bench:
    def __init__(self, lab):
        self.lab = lab
        self.first = lab.gateways[0]
        self.tables = KernelTables(self.first)

    def begin(self, peers, prefixes):
        lab = self.lab
        small = lab.authority.edition(lab.policy(candidates=("gw1", "gw2")))
        lab.gateways[0].apply(small)
        lab.gateways[1].apply(small)
        lab.wait_for("gw1", on=(1, 2), timeout=60)
        large = lab.authority.edited(small, lambda tree: enlarge(tree, peers, prefixes))
        print(f"  a snapshot of {large.stat().st_size / 1e6:.0f} MB", file=sys.stderr, flush=True)
        for gateway in lab.gateways[:2]:
            began = time.monotonic()
            gateway.apply(large)
            print(f"  {gateway.id} applied it in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        self.epoch = lab.wait_for("gw1", on=(1, 2), timeout=120)

    def deadline_ns(self):
        """Of the lease, as the kernel has it."""
        return self.tables.deadline_boot_ns(NUMBER)

    def run(self):
        """How long it took, and whether it was still the same claim."""
        lab, first = self.lab, self.first
        lab.wait_for("gw1", on=(1, 2), timeout=120)
        until("gw2 has told all", lambda: {row["gateway"]: row["round"] for row in first.ask("claims")["gateways"]}["gw2"], 60, 0.1)
        first.kill()
        left, lines = self.deadline_ns(), len(first.log().splitlines())
        began = time.monotonic()
        starting = threading.Thread(target=first.start, kwargs={"ready": False})
        starting.start()
        lost = until("the lease is renewed, or over", lambda: self.deadline_ns() > left and "renewed" or
                     time.clock_gettime_ns(time.CLOCK_BOOTTIME) > left and "over", 60, 0.02) == "over"
        until("it serves", lambda: self.deadline_ns() > left, 120, 0.02)
        renewed = time.monotonic()
        starting.join()
        ticks = (pathlib.Path("/proc") / str(first.pid) / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
        for line in first.log().splitlines()[lines:]:
            print(f"    {line}", file=sys.stderr)
        print(f"    renewed {renewed - began:.2f} s after {time.strftime('%H:%M:%S', time.gmtime(time.time() - time.monotonic() + began))}",
              file=sys.stderr)
        return {"renewed_s": renewed - began, "cpu_s": sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), "kept": not lost and int(lab.claim(first)["epoch"]) == self.epoch}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefixes", type=int, default=1_000_000)
    parser.add_argument("--peers", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ttl-ms", type=int, default=60000, help="long, so that an apply or a slow machine loses nothing")
    options = parser.parse_args()
    wait.PATIENCE = 6
    with Claimants(ttl_ms=options.ttl_ms) as lab:
        lab.gateways[2].stop()  # no candidate
        bench = Bench(lab)
        bench.begin(options.peers, options.prefixes)
        runs = [bench.run() for _ in range(options.runs)]
    budget_s = tenure_s(10) - BEAT_S - DELIVERY_S
    renewed = spread([run["renewed_s"] for run in runs])
    print(f"restart: {options.peers} peers, {options.prefixes} prefixes, TTL {options.ttl_ms / 1000:g} s, {options.runs} runs; "
          f"{platform.system()} {platform.release()}, {os.cpu_count()} cores")
    cpu = spread([run["cpu_s"] for run in runs])
    print(f"CPU of the agent until then: {cpu['p50']:.2f}/{cpu['p90']:.2f}/{cpu['max']:.2f} s")
    print(f"from the start of the agent to its renewed lease: p50/p90/max {renewed['p50']:.2f}/{renewed['p90']:.2f}/"
          f"{renewed['max']:.2f} s; a TTL of 10 s leaves it {budget_s:.2f} s; the claim was kept {sum(run['kept'] for run in runs)} "
          f"of {len(runs)} times")
    (BUILD / "bench-restart.json").write_text(json.dumps(
        {"peers": options.peers, "prefixes": options.prefixes, "kernel": platform.release(), "budget_s": budget_s,
         "renewed_s": renewed, "runs": runs}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
