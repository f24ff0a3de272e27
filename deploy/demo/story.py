# SPDX-License-Identifier: Apache-2.0
"""What the demo shows, chapter by chapter. Each does something real to the lab and says what was seen of it."""

import json
import time

from lab import packets, until
from lab.mesh_lab import FORBIDDEN_UDP_PORT, VNI
from lab.traffic import TcpStream, UdpFlow, send_datagrams, send_frames

A4, A6, B4, C4 = "10.1.0.10", "fd00:1::10", "10.2.0.10", "10.3.0.10"
TUNNEL_PORT = 4789


class Story:
    def __init__(self, lab, say):
        self.lab = lab
        self.gw = lab.gateway
        self.say = say
        self.a, self.b, self.c = lab.host_a, lab.host_b, lab.host_c

    def tell(self):
        self.sign()
        self.forward()
        self.refuse()
        self.detach()
        self.revoke()
        self.reject_snapshots()
        self.outlive()
        self.look_back()
        self.measure()

    # ---- chapters

    def sign(self):
        say, lab = self.say, self.lab
        say.chapter("Only what the authority signed is in the kernel")
        say.command("postern keygen authority.key; postern authority root --mesh lab --threshold 1 --key ...")
        say.command("postern init --root root.json        # node key and journal of the gateway")
        lab.found()
        say.command("posternd --config postern.yaml")
        self.gw.start(ready=False)
        answered = self.b.ping(A4, 3, wait=0.3)
        say.claim("a gateway without a snapshot is closed", answered == 0 and self.gw.drops()["closed"] > 0,
                  f"{answered} of 3 pings, {self.gw.drops()['closed']} dropped as closed")
        say.command("postern authority compile policy.yaml; postern authority sign ...; postern apply snapshot.json")
        lab.adopt(lab.base_policy())
        status = until("the gateway is ready", lambda: self._ready())
        modes = {row["name"]: row["mode"] for row in status["interfaces"]}
        say.claim("the signed snapshot is active", status["snapshot"]["state"] == "active",
                  f"serial {status['snapshot']['serial']}, {status['peers']} peers, {status['rules']} rules")
        say.claim("XDP runs in the drivers", set(modes.values()) == {"native"},
                  ", ".join(f"{name} {mode}" for name, mode in modes.items()))

    def forward(self):
        say = self.say
        say.chapter("Real traffic between stock Linux machines, forwarded in XDP")
        say.say("The first packet of a way is dropped while its neighbours are resolved; wait for that.")
        self.lab.settle()
        before = self.gw.verdicts()
        for what, host, address in (("host-b → host-a", self.b, A4), ("host-b → host-a, IPv6", self.b, A6),
                                    ("host-a → host-c", self.a, C4), ("host-b → host-c by way of the gateway",
                                                                      self.b, C4)):
            answered = host.ping(address, 3)
            say.claim(f"ping {what}", answered == 3, f"{answered} of 3")
        for what, source, destination, address in (("host-b → host-a", self.b, self.a, A4),
                                                   ("host-a → host-b", self.a, self.b, B4)):
            with TcpStream(source.namespace, destination.namespace, address) as stream:
                stream.wait_received(100_000)
                say.claim(f"TCP {what}", stream.longest_gap < 0.5, f"{stream.received} bytes, no stall")
        with UdpFlow(self.b.namespace, self.a.namespace, A4) as flow:
            flow.wait_sent(1000)
            report = flow.stop()
        say.claim("UDP host-b → host-a, 1000 a second", report.lost == 0, f"{report.lost} of {report.sent} lost")
        after = self.gw.verdicts()
        moved = {name: after[name] - before[name] for name in ("decapsulated", "encapsulated", "relayed")}
        say.claim("every one of them went through XDP", min(moved.values()) >= 3 and
                  moved["decapsulated"] >= report.sent, ", ".join(f"{n} {name}" for name, n in moved.items()))

    def refuse(self):
        say, lab = self.say, self.lab
        say.chapter("What is not on the list is dropped, and counted by its reason")
        say.say("A stranger with a perfectly good tunnel pings host-a:")
        self._dropped("a stranger's tunnel", "peer_unknown", lambda: lab.stranger.host.ping(A4, 3, wait=0.2))
        say.say("Peer c sends a packet with an inner source that peer b owns:")
        spoofed = packets.vxlan(VNI, packets.inner_udp(B4, A4, 7000, self.gw.mac, lab.c.mac))
        self._dropped("a spoofed inner source", "source_denied",
                      lambda: send_datagrams(lab.c.namespace, self.gw.underlay, TUNNEL_PORT, [spoofed] * 3))
        say.say("A packet from an address of the mesh, but outside of any tunnel:")
        bare = self._frame(B4, A4)
        self._dropped("an untunnelled mesh address", "untunnelled",
                      lambda: send_frames(lab.b.namespace, "eth0", [bare] * 3))
        say.say(f"host-b sends to UDP port {FORBIDDEN_UDP_PORT} of host-a, which no rule allows:")

        def forbidden():
            with UdpFlow(self.b.namespace, self.a.namespace, A4, FORBIDDEN_UDP_PORT, rate=100) as flow:
                flow.wait_sent(20)
            return flow.stop().received
        self._dropped("a port that no rule allows", "policy_denied", forbidden)
        question = ("--in", "mesh0", "--src", B4, "--dst", A4, "--proto", "udp", "--dport", str(FORBIDDEN_UDP_PORT))
        say.say("And why? The packet path is asked itself, and counts nothing by that:")
        say.command(" ".join(("postern explain", *question)))
        before = self.gw.drops()
        said = self.gw.ask("explain", *question)
        say.claim("the deciding line of the snapshot is named",
                  said["reason"] == "policy_denied" and self.gw.drops() == before,
                  f"{said['reason']} in stage {said['stage']}: class {said['policy']['from']} to "
                  f"{said['policy']['to']} has no such rule ({said['decided_by']})")

    def detach(self):
        say, lab = self.say, self.lab
        say.chapter("XDP detached by hand: the gateway is closed, not an open router")
        for device in ("mesh0", "site0"):
            say.command(f"ip link set dev {device} xdp off")
            self.gw.detach_xdp(device)
        forwards = self.gw.namespace.run("sysctl", "-n", "net.ipv4.ip_forward").stdout.strip()
        say.say(f"The kernel still forwards IPv4 (ip_forward={forwards}) and has a route to host-a. "
                "Peer b tries through the tunnel, then without:")
        answered = self.b.ping(A4, 3, wait=0.2)
        with UdpFlow(self.b.namespace, self.a.namespace, A4, rate=100) as flow:
            send_frames(lab.b.namespace, "eth0",
                        [self._frame(lab.b.underlay, A4), self._frame(B4, A4)] * 10)
            flow.wait_sent(20)
        passed = flow.stop().received
        say.claim("without XDP nothing passes", answered == 0 and passed == 0,
                  f"{answered} pings and {passed} datagrams came through")
        status = self.gw.status()
        say.claim("and the gateway says so", not status["ready"], status["problems"][0] if status["problems"] else "-")
        say.command("postern reload")
        self.gw.reload()
        until("the gateway is ready again", self._ready)
        answered = self.b.ping(A4, 3)
        say.claim("a reload opens it again", answered == 3, f"{answered} of 3 pings")

    def revoke(self):
        say, lab = self.say, self.lab
        say.chapter("A peer is revoked while its TCP connection runs")
        with TcpStream(self.b.namespace, self.a.namespace, A4) as revoked, \
                UdpFlow(self.c.namespace, self.a.namespace, A4) as other:
            revoked.wait_received()
            other.wait_received()
            snapshot = lab.edition(lab.policy.revoking("b"))
            asked = time.monotonic()
            say.command("postern apply snapshot.json          # the same policy, peer b revoked")
            self.gw.apply(snapshot)
            applied = time.monotonic()
            lab.snapshot, lab.policy = snapshot, lab.policy.revoking("b")
            other.wait_received(300)
            late = revoked.last - applied
            report = other.stop()
            running = revoked.last > asked - 0.2
            say.claim("the revoked peer's TCP stops at once", running and late < 0.03,
                      f"last byte {late * 1000:+.0f} ms from the end of apply")
            say.claim("the other peer loses no packet", report.lost == 0, f"{report.lost} of {report.sent} lost")
        drops = self.gw.drops()["peer_revoked"]
        say.claim("its packets are dropped by name", drops > 0, f"{drops} dropped as peer_revoked")
        say.say("A further snapshot lets peer b in again.")
        lab.adopt(lab.base_policy())

    def reject_snapshots(self):
        say, lab = self.say, self.lab
        say.chapter("A tampered snapshot and an older one are refused")
        before = self.gw.status()
        tampered = lab.directory / "disk" / "tampered.json"
        good = lab.edition(lab.policy.revoking("c")).read_bytes()
        tampered.write_bytes(good.replace(b"10.3.0.0/24", b"10.3.0.0/23"))
        older = lab.authority.edition(lab.policy)  # serial 1 again
        for what, snapshot in (("a snapshot changed after signing", tampered), ("an older serial", older)):
            say.command(f"postern apply {snapshot.name}")
            done = self.gw.cli("apply", snapshot, check=False)
            say.quote(done.stderr)
            say.claim(f"{what} is refused", done.returncode == 5, f"exit {done.returncode}")
        after = self.gw.status()
        say.claim("the running generation is untouched", _place(before) == _place(after),
                  f"serial {after['snapshot']['serial']}, generation {after['generation']}")

    def outlive(self):
        say = self.say
        say.chapter("kill -9: the data path outlives the agent")
        with UdpFlow(self.c.namespace, self.a.namespace, A4) as inbound, \
                UdpFlow(self.a.namespace, self.c.namespace, C4) as outbound:
            inbound.wait_received()
            outbound.wait_received()
            say.command(f"kill -9 {self.gw.pid}")
            self.gw.kill()
            inbound.wait_received(500)
            say.say("No agent runs; both flows do. Now it starts again:")
            say.command("posternd --config postern.yaml")
            self.gw.start()
            inbound.wait_received(300)
            reports = [inbound.stop(), outbound.stop()]
        say.claim("no packet is lost over kill and restart", all(r.lost == 0 for r in reports),
                  f"{sum(r.lost for r in reports)} of {sum(r.sent for r in reports)} lost")
        adoption = self.gw.status()["adoption"]
        say.claim("the restart changes nothing in the kernel",
                  not adoption["changed"] and not adoption["tables_written"],
                  f"{len(adoption['tables_written'])} tables written")

    def look_back(self):
        say = self.say
        say.chapter("Who is linked, and what happened")
        say.command("postern links")
        links = self.gw.ask("links")
        say.quote(self.gw.cli("links").stdout)
        say.claim("links between gateways are on", links["on"],
                  f"{len(links['links'])} other gateways in this snapshot, half-open {links['half_open']}")
        say.command("postern events --limit 4         # and behind its cursor the rest")
        text = self.gw.cli("events", "--limit", 4).stdout
        say.quote(text)
        cursor = text.split()[-1]
        first, rest = self._events("--limit", 4), self._events("--cursor", cursor)
        lseqs = [int(event["lseq"]) for event in first + rest]
        adopted = [int(event["body"]["serial"]) for event in first + rest if event["kind"] == "AuthorityAdopted"]
        serial = self.gw.status()["snapshot"]["serial"]
        say.claim("every event once, over the kill too", lseqs == sorted(set(lseqs)) and adopted[-1] == serial,
                  f"{len(first)} and {len(rest)} events, serials {', '.join(map(str, adopted))} adopted")
        say.command(f"postern events --cursor {'7' * 32}{cursor[32:]}")
        done = self.gw.cli("events", "--cursor", "7" * 32 + cursor[32:], check=False)
        say.quote(done.stderr)
        say.claim("another journal's cursor is no beginning", done.returncode == 9, f"exit {done.returncode}")

    def measure(self):
        say = self.say
        say.chapter("The metrics tell all this")
        say.command("curl http://127.0.0.1:9479/metrics")
        _, text = self.gw.http("/metrics")
        wanted = ["postern_drops_total{reason=\"" + reason for reason in
                  ("peer_unknown", "source_denied", "untunnelled", "policy_denied", "peer_revoked")]
        lines = [line for line in text.splitlines() if line.startswith(tuple(wanted + ["postern_snapshot_serial"]))]
        say.quote("\n".join(lines))
        told = [line for line in lines if line.startswith(tuple(wanted)) and float(line.split()[-1]) > 0]
        code, _ = self.gw.http("/healthz")
        say.claim("every drop above is in the metrics", len(told) == len(wanted),
                  f"{len(told)} of {len(wanted)} reasons above zero")
        say.claim("/healthz", code == 200, code)

    # ---- what the chapters share

    def _events(self, *args):
        lines = map(json.loads, self.gw.cli("--json", "events", *args).stdout.splitlines())
        return [line for line in lines if line["schema"] == "postern/event/v1"]

    def _ready(self):
        status = self.gw.status()
        return status if status["ready"] else None

    def _dropped(self, what, reason, attempt, at_least=3):
        """Claims that `attempt` raises the drop counter of `reason`; attempt may return how much came through."""
        before = self.gw.drops()[reason]
        passed = attempt() or 0
        dropped = self.gw.drops()[reason] - before
        self.say.claim(f"{what} is dropped", dropped >= at_least and passed == 0, f"{dropped} dropped as {reason}")

    def _frame(self, source, destination):
        """An ordinary packet, addressed to the gateway on the underlay."""
        datagram = packets.ipv4(source, destination, packets.UDP, packets.udp(source, destination, 40000, 7000))
        return packets.ethernet(self.gw.namespace.mac("mesh0"), self.lab.b.namespace.mac("eth0"),
                                packets.ETH_IPV4, datagram)


def _place(status):
    return status["snapshot"]["hash"], status["snapshot"]["serial"], status["generation"]
