#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Three sites and a stranger on one machine, and what Postern does for them. In about a minute and a half; needs root.

  make demo             shows it and cleans up
  make demo KEEP=1      leaves it running, and says how to look around
  demo.py --down        takes down what was kept, or what a killed demo left behind
"""

import argparse
import os
import pathlib
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.dont_write_bytecode = True

from commentary import Commentary  # noqa: E402  the path comes first
from lab import MeshLab, leftovers  # noqa: E402
from story import Story  # noqa: E402
from takeover import Takeover  # noqa: E402

LOOK_AROUND = """
The mesh stays up as lab {id}. Look around:

  alias p='{root}/build/postern --config {config}'
  p status; p peers; p links; p events; p owners; p drops
  nsenter --net=/run/netns/pt-{id}-host-b ping {a}
  nsenter --net=/run/netns/pt-{id}-host-a iperf3 -s -D -B {a}
  nsenter --net=/run/netns/pt-{id}-host-b iperf3 -c {a}
  nsenter --net=/run/netns/pt-{id}-b tcpdump -ni eth0 udp port 4789       # VXLAN as a stock peer sees it
  nsenter --net=/run/netns/pt-{id}-stranger ping {a}                     # then: p drops
  nsenter --net=/run/netns/pt-{id}-gw curl -s http://127.0.0.1:9479/metrics
  nsenter --net=/run/netns/pt-{id}-gw nft list ruleset                   # the backstop

Change the policy, sign it, apply it:

  cd {authority}; ls; $EDITOR {policy}
  {root}/build/postern authority compile {policy} --after {snapshot} --expires 90d -o next.json
  {root}/build/postern authority sign next.json --key authority.key && p apply next.json

The gateway's files are in {files}, its log is posternd.log there.
Take it all down:

  {demo} --down
"""


class Interrupted(Exception):
    pass


def interrupted(number, _frame):
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # once is enough; the rest is cleaning up
    raise Interrupted(signal.Signals(number).name)


def take_down():
    swept = leftovers.sweep(also_kept=True)
    print(f"taken down: {', '.join(swept) or 'nothing was left'}")
    return 0


def look_around(lab):
    snapshot = lab.snapshot.name
    print(LOOK_AROUND.format(id=lab.id, root=ROOT, config=lab.gateway.config, a=lab.host_a.address4,
                             authority=lab.authority.directory, files=lab.gateway.files, demo=pathlib.Path(__file__),
                             snapshot=snapshot, policy=snapshot.replace("snapshot", "policy").replace("json", "yaml")))


def show(keep):
    say = Commentary()
    lab = None
    try:
        for lab_id in leftovers.sweep():
            print(f"(an earlier run was killed: cleaned up its lab {lab_id})")
        say.chapter("Three sites and a stranger, from network namespaces")
        lab = MeshLab(start=False)
        say.say(f"lab {lab.id}: gw runs Postern, host-a is behind it; b and c are plain Linux with kernel VXLAN")
        say.say("devices, host-b and host-c behind them; the stranger has such a device too, but nobody's trust.")
        Story(lab, say).tell()
        Takeover(say).tell()
        holds = say.closing_table()
        if keep:
            lab.keep()
            look_around(lab)
        return 0 if holds else 1
    except Interrupted as name:
        print(f"\ninterrupted ({name}); cleaning up")
        return 130
    except Exception as error:  # the commentary so far stands; say what broke it
        print(f"\n   ✘ the demo cannot go on: {error}", file=sys.stderr)
        if lab is not None:
            print(f"   posternd's last words:\n{lab.gateway.log()[-1500:]}", file=sys.stderr)
        return 1
    finally:
        if lab is not None:
            lab.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--down", action="store_true", help="take down kept and left-over labs")
    parser.add_argument("--keep", action="store_true", default=os.environ.get("KEEP", "") not in ("", "0"),
                        help="leave it running (KEEP=1)")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("the demo needs root: it makes network namespaces and loads BPF programs", file=sys.stderr)
        return 2
    if options.down:
        return take_down()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    return show(options.keep)


if __name__ == "__main__":
    sys.exit(main())
