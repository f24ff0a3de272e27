#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""How long a resource is without a holder, as distributions over many runs, and what becomes of its packets.

Three gateways in namespaces; gw1 and gw2 are candidates, a host behind each has the address and sends numbers from it all
the time, the same ones at the same time, to a stock peer. A host behind gw3 sends numbers to the address. So a number from
the address that came by nobody was lost, one that came by both was forwarded twice. A fault befalls the holder, the other
one takes over, the fault is mended; then it is the other one's turn. Needs root, and some minutes.

  bench/failover.py [--runs N] [--ttl-ms MS] [--kinds untouched,released,...]
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import signal
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.dont_write_bytecode = True

from lab import until  # noqa: E402  the path comes first
from lab.claimants import VIP, Claimants  # noqa: E402
from lab.contest import deaf  # noqa: E402
from lab.gateway import BUILD  # noqa: E402
from lab.traffic import Worker  # noqa: E402
from lab.turns import RESOURCE  # noqa: E402
from lab.witness import PORT, NumberLog  # noqa: E402

RATE = 1000
# SPEC 10.4
BEAT_S, DELIVERY_S, APPLY_S, RHO, MARGIN_S, TURN_S = 1.0, 2.0, 1.0, 0.11, 2.0, 0.5


KINDS = ("untouched", "released", "killed", "frozen", "partitioned", "unlinked")


def tenure_s(ttl_s):
    return ttl_s * (1 - RHO) - MARGIN_S


def silence_s(ttl_s):
    return ttl_s * (1 + RHO) + MARGIN_S


def bound_s(ttl_s):
    """From a fault to the next holder: silence since a beat that was delivered late, its turn, and its arming."""
    return DELIVERY_S + silence_s(ttl_s) + TURN_S + APPLY_S


class Bench:
    def __init__(self, lab):
        self.lab = lab
        lab.sites[2].namespace.ip("address", "delete", f"{VIP}/32", "dev", "lo")  # or it would be its own neighbour
        self.arrivals = {number: NumberLog(lab.sites[number - 1].namespace, "note_receive", address=VIP, port=PORT)
                         for number in (1, 2)}
        for log in self.arrivals.values():
            log.wait_for("listening", bool)
        lab.witness.hears([site.namespace for site in lab.sites[:2]], VIP)
        self.sender = Worker(lab.sites[2].namespace, "clock_send", address=VIP, port=PORT, source=lab.sites[2].address4,
                             rate=RATE)

    # ---- faults: each begins on entering, and is mended on leaving

    @contextlib.contextmanager
    def untouched(self, holder):
        """No fault: what the measurement itself loses."""
        time.sleep(2)
        yield

    @contextlib.contextmanager
    def released(self, holder):
        self.lab.gateways[holder - 1].cli("release", RESOURCE)
        yield

    @contextlib.contextmanager
    def killed(self, holder):
        self.lab.gateways[holder - 1].kill()
        yield
        self.lab.gateways[holder - 1].start()

    @contextlib.contextmanager
    def frozen(self, holder):
        os.kill(self.lab.gateways[holder - 1].pid, signal.SIGSTOP)
        yield
        os.kill(self.lab.gateways[holder - 1].pid, signal.SIGCONT)

    @contextlib.contextmanager
    def partitioned(self, holder):
        """From everybody, the stock peer too."""
        self.lab.cut(holder)
        yield
        self.lab.cut(holder, off=False)

    @contextlib.contextmanager
    def unlinked(self, holder):
        """From the gateways only: it is let serve on, as a partition lets it."""
        others = [gateway for number, gateway in enumerate(self.lab.gateways, 1) if number != holder]
        own = self.lab.gateways[holder - 1]
        with contextlib.ExitStack() as cuts:
            for other in others:
                cuts.enter_context(deaf(other, own))
            cuts.enter_context(deaf(own, *others))
            yield

    # ---- one run

    def run(self, kind, holder):
        heir = holder if kind == "untouched" else 3 - holder
        self.lab.witness.wait_for(holder, RATE // 4, 30)
        began = self.lab.witness.now()
        with getattr(self, kind)(holder):
            self.lab.witness.wait_for(heir, RATE // 2, 60)
            mended = self.lab.witness.now()
        self.lab.wait_for(f"gw{heir}", timeout=90)
        self.lab.level(60)
        self.lab.witness.wait_for(heir, RATE // 2, 30)
        ended = self.lab.witness.now() - RATE // 4  # what is still under way is not lost
        if kind == "released":  # the restart lets it claim again at once, when it is its turn
            self._forget_release(holder)
        return self._judge(holder, heir, began, mended, ended)

    def _forget_release(self, number):
        gateway = self.lab.gateways[number - 1]
        if self.lab.claim(gateway)["yields"]:
            gateway.stop()
            gateway.start()
            until("it has heard the others", lambda: all(row["round"] for row in gateway.ask("claims")["gateways"]), 20)

    def _judge(self, holder, heir, began, mended, ended):
        rows = self.lab.witness.rows(began, ended)
        by = {number: [n for n, gateway in rows if gateway == number] for number in (holder, heir)}
        both = set(by[holder]) & set(by[heir])
        both -= {n for n in both if heir == holder}
        first = by[heir][0]
        last = max((n for n in by[holder] if n < first), default=began)
        arrived = set()
        for log in self.arrivals.values():
            arrived.update(n for n, _ in list(log.seen) if began <= n < ended)
        return {"takeover_s": (first - began) / RATE, "unserved_s": max(0, first - last - 1) / RATE,
                "lost_from": ended - began - len(set(by[holder]) | set(by[heir])),
                "lost_to": ended - began - len(arrived), "twice": len(both),
                "overlap_after_heal_s": (max(both) - mended) / RATE if both and max(both) > mended else 0.0}


def spread(values):
    ordered = sorted(values)
    at = lambda share: ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
    return {"p50": statistics.median(ordered), "p90": at(0.9), "max": ordered[-1]}


def measure(kinds, runs, ttl_ms):
    found = {}
    with Claimants(watched=True, ttl_ms=ttl_ms, rate=RATE) as lab:
        lab.adopt(lab.policy(candidates=("gw1", "gw2")))
        holder, _ = lab.wait_for_any()
        bench = Bench(lab)
        for kind in kinds:
            found[kind] = []
            for number in range(runs):
                found[kind].append(bench.run(kind, holder))
                print(f"  {kind} {number + 1}: {found[kind][-1]}", file=sys.stderr, flush=True)
                holder = holder if kind == "untouched" else 3 - holder
    return found


def show(found, ttl_ms):
    ttl_s = ttl_ms / 1000
    print(f"fail-over at TTL {ttl_s:g} s: {RATE} packets/s each way, p50/p90/max; {platform.system()} {platform.release()}, "
          f"{os.cpu_count()} cores, namespaces of one machine")
    print(f"a holder stops {tenure_s(ttl_s):.2f} s after its last beat, is followed after {silence_s(ttl_s):.2f} s of silence; "
          f"bound {bound_s(ttl_s):.2f} s from the fault to the next holder, "
          f"{DELIVERY_S + APPLY_S:g} s from a heal to the end of an overlap")
    print(f"{'fault':<12}{'runs':>5}{'takeover s':>20}{'unserved s':>22}{'lost from':>20}{'lost to':>20}{'twice':>16}"
          f"{'overlap after heal s':>22}")
    out = {}
    for kind, runs in found.items():
        out[kind] = {name: spread([run[name] for run in runs]) for name in runs[0]}
        cell = lambda name, digits: "/".join(f"{out[kind][name][at]:.{digits}f}" for at in ("p50", "p90", "max"))
        print(f"{kind:<12}{len(runs):>5}{cell('takeover_s', 2):>20}{cell('unserved_s', 3):>22}{cell('lost_from', 0):>20}"
              f"{cell('lost_to', 0):>20}{cell('twice', 0):>16}{cell('overlap_after_heal_s', 2):>22}")
    print(f"{'what a TTL buys:':<18}{'TTL s':>6}{'stops after s':>15}{'followed after s':>18}{'bound s':>9}{'restart s':>11}")
    for ttl in (8, 10, 20, 30, 60):
        print(f"{'':<18}{ttl:>6}{tenure_s(ttl):>15.1f}{silence_s(ttl):>18.1f}{bound_s(ttl):>9.1f}"
              f"{tenure_s(ttl) - BEAT_S - DELIVERY_S:>11.1f}")
    (BUILD / "bench-failover.json").write_text(json.dumps(
        {"ttl_ms": ttl_ms, "rate": RATE, "kernel": platform.release(), "bound_s": bound_s(ttl_s), "runs": found,
         "spread": out}) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--ttl-ms", type=int, default=8000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    show(measure(options.kinds.split(","), options.runs, options.ttl_ms), options.ttl_ms)


if __name__ == "__main__":
    main()
