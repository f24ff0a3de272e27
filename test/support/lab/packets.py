# SPDX-License-Identifier: Apache-2.0
"""Packets made by hand, for what a well-behaved kernel would not send."""

import ipaddress
import struct

ETH_IPV4, ETH_IPV6, ETH_ARP, ETH_VLAN = 0x0800, 0x86DD, 0x0806, 0x8100
TCP, UDP, ICMP = 6, 17, 1


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(destination, source, ethertype, payload, vlan=None):
    tag = b"" if vlan is None else struct.pack("!HH", ETH_VLAN, vlan)
    return mac(destination) + mac(source) + tag + struct.pack("!H", ethertype) + payload


def _pseudo(source, destination, protocol, length):
    source, destination = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    if source.version == 4:
        return source.packed + destination.packed + struct.pack("!BBH", 0, protocol, length)
    return source.packed + destination.packed + struct.pack("!IHBB", length, 0, 0, protocol)


def udp(source, destination, source_port, destination_port, payload=b"postern"):
    header = struct.pack("!HHHH", source_port, destination_port, 8 + len(payload), 0)
    total = checksum(_pseudo(source, destination, UDP, 8 + len(payload)) + header + payload) or 0xFFFF
    return header[:6] + struct.pack("!H", total) + payload


def ipv4(source, destination, protocol, payload, ttl=64, fragment=0, more=False, whole=False, options=b""):
    """`fragment` in units of 8 bytes; `whole`: don't fragment; `options` a multiple of 4 bytes."""
    words = 5 + len(options) // 4
    header = struct.pack("!BBHHHBBH", 0x40 | words, 0, words * 4 + len(payload), 0x1234,
                         (0x4000 if whole else 0) | (0x2000 if more else 0) | fragment, ttl, protocol, 0)
    header += ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(destination).packed + options
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def ipv6(source, destination, protocol, payload, hop_limit=64):
    header = struct.pack("!IHBB", 6 << 28, len(payload), protocol, hop_limit)
    return header + ipaddress.IPv6Address(source).packed + ipaddress.IPv6Address(destination).packed + payload


def vxlan(vni, frame, flags=0x08):
    """RFC 7348, section 5."""
    return struct.pack("!BBHI", flags, 0, 0, vni << 8) + frame


def inner_udp(source, destination, port, gateway_mac, source_mac="02:00:00:00:02:fe", **ip):
    """A UDP datagram as the Ethernet frame that a tunnel carries."""
    version6 = ":" in source
    packet = (ipv6 if version6 else ipv4)(source, destination, UDP, udp(source, destination, 40000, port), **ip)
    return ethernet(gateway_mac, source_mac, ETH_IPV6 if version6 else ETH_IPV4, packet)
