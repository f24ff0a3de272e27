# SPDX-License-Identifier: Apache-2.0
"""Where a packet can have gone: what the kernel counts in every namespace of a lab, and what its gateways dropped.

Read without starting a process where that can be, for each flow does it twice.
"""

import json
import pathlib
import re

from .command import run
from .namespace import RUN, enter

REASONS = pathlib.Path(__file__).resolve().parents[3] / "bpf" / "reasons.h"
LABS = pathlib.Path("/var/tmp")
# Counters of packets that went on as they should.
WELL = re.compile(r"InReceives|InDelivers|InDatagrams|OutDatagrams|OutRequests|OutTransmits|ForwDatagrams|Octets|NoECTPkts|"
                  r"InSegs|OutSegs|InMsgs|OutMsgs|OutType|InType|McastPkts|Echo|ActiveOpens|PassiveOpens|CurrEstab")


def read(lab_id):
    """{(place, counter): value} of all that counts in the lab now."""
    counts = {("machine", name): value for name, value in _machine()}
    for path in RUN.glob(f"pt-{lab_id}-*"):
        role = path.name.removeprefix(f"pt-{lab_id}-")
        counts.update(((role, name), value) for name, value in enter(path.name, lambda: list(_namespace())))
    counts.update(_gateways(lab_id))
    return counts


def rises(before, now):
    """Lines, one a place, of all that rose and may be the end of a packet; packets of an interface always."""
    places = {}
    for (place, name), value in now.items():
        more = value - before.get((place, name), 0)
        if more and not WELL.search(name):
            places.setdefault(place, []).append(f"{name} +{more}")
    return [f"  {place}: {', '.join(counters)}" for place, counters in sorted(places.items())]


def kernel_losses(lab_id):
    """Lines of the gateways' own metric of frames lost behind the packet path, since their agents started."""
    lines = []
    for path in sorted(RUN.glob(f"pt-{lab_id}-gw*")):
        done = run("nsenter", f"--net={path}", "--", "curl", "-s", "--max-time", 5, "http://127.0.0.1:9479/metrics",
                   check=False)
        role = path.name.removeprefix(f"pt-{lab_id}-")
        if done.returncode != 0:
            lines.append(f"  {role}: its agent does not run, so nobody counts what is lost behind the packet path")
        lines += [f"  {role}: {line}" for line in done.stdout.splitlines()
                  if line.startswith("postern_lost_packets_total") and not line.endswith(" 0")]
    return lines


def _namespace():
    net = pathlib.Path("/proc/thread-self/net")
    for line in (net / "dev").read_text(encoding="ascii").splitlines()[2:]:
        device, _, numbers = line.partition(":")
        row = [int(number) for number in numbers.split()]
        for name, column in (("rx", 1), ("rx_errors", 2), ("rx_dropped", 3), ("tx", 9), ("tx_errors", 10),
                             ("tx_dropped", 11)):
            yield f"{device.strip()} {name}", row[column]
    for file in ("snmp", "netstat"):
        lines = (net / file).read_text(encoding="ascii").splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            group, *names = names.split()
            yield from ((group.rstrip(":") + name, int(value)) for name, value in zip(names, values.split()[1:]))
    for line in (net / "snmp6").read_text(encoding="ascii").splitlines():
        name, value = line.split()
        yield name, int(value)


def _machine():
    """Of all namespaces together: the backlogs, and what waited for a neighbour in vain."""
    for cpu, line in enumerate(pathlib.Path("/proc/net/softnet_stat").read_text(encoding="ascii").splitlines()):
        columns = [int(column, 16) for column in line.split()]
        yield f"cpu{cpu} backlog_dropped", columns[1]
        yield f"cpu{cpu} backlog_squeezed", columns[2]
    for table in ("arp_cache", "ndisc_cache"):
        names, *rows = pathlib.Path(f"/proc/net/stat/{table}").read_text(encoding="ascii").splitlines()
        for place, name in enumerate(names.split()):
            if name in ("res_failed", "unresolved_discards", "table_fulls"):
                yield f"{table} {name}", sum(int(row.split()[place], 16) for row in rows)


def _gateways(lab_id):
    """What each gateway dropped, from its pinned table: an agent need not run."""
    labels = dict(re.findall(r'X\((\d+), [A-Z0-9_]+,\s+"(\w+)"', REASONS.read_text(encoding="utf-8").partition(
        "PT_DROP_REASONS")[2].partition("enum pt_verdict")[0]))
    for pin in (LABS / f"postern-lab-{lab_id}" / "bpf").glob("*/*/v*-drops"):
        for row in json.loads(run("bpftool", "-j", "map", "dump", "pinned", pin).stdout):
            reason = int.from_bytes(bytes(int(byte, 16) for byte in row["key"]), "little")
            packets = sum(int.from_bytes(bytes(int(byte, 16) for byte in cpu["value"][:8]), "little")
                          for cpu in row["values"])
            yield (f"packet path of {pin.parent.name}", f"drop {labels.get(str(reason), reason)}"), packets
