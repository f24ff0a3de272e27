# SPDX-License-Identifier: Apache-2.0
"""What `ethtool -K` and `ip link set up` do to an interface of this thread's namespace, by the ioctls below both."""

import array
import fcntl
import socket
import struct

# linux/sockios.h, linux/ethtool.h, linux/if.h
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCETHTOOL = 0x8913, 0x8914, 0x8946
ETHTOOL_STXCSUM, ETHTOOL_SGRO = 0x17, 0x2C
IFF_UP = 1
IFREQ_FLAGS, IFREQ_POINTER = struct.Struct("16sh22x"), struct.Struct("16sP16x")


def _ask(request, packed):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        return fcntl.ioctl(any_socket, request, packed)


def set_up(device):
    _, flags = IFREQ_FLAGS.unpack(_ask(SIOCGIFFLAGS, IFREQ_FLAGS.pack(device.encode(), 0)))
    _ask(SIOCSIFFLAGS, IFREQ_FLAGS.pack(device.encode(), flags | IFF_UP))


def gro_on(device):
    _set(device, ETHTOOL_SGRO, 1)


def tx_checksums_off(device):
    _set(device, ETHTOOL_STXCSUM, 0)


def _set(device, command, value):
    setting = array.array("I", [command, value])
    _ask(SIOCETHTOOL, IFREQ_POINTER.pack(device.encode(), setting.buffer_info()[0]))
