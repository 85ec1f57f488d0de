"""A CAN bus between processes of one machine: each message is a UDP datagram to a multicast group.

A socket is bound to the group's own address and joined on the loopback interface, so that other groups do not reach it;
only a bus with a named interface leaves the machine, by one hop. Datagrams are those of python-can's ``udp_multicast``,
whose programs can take part: they send through the machine's first interface, so the group is joined there too, and
datagrams without an address of this machine are ignored. Datagrams that are no messages are counted and ignored:
anybody on the interface may send to a group.
"""

import ipaddress
import random
import socket
import struct
import sys
from contextlib import suppress
from functools import lru_cache
from typing import Any

import can
from can.interfaces.udp_multicast.utils import is_msgpack_installed, pack_message, unpack_message

from rtcvt.errors import InputError

PORT = 43113  # python-can's
MAX_DATAGRAM = 4096  # [bytes] of a datagram
IP_MULTICAST_ALL = 49  # <linux/in.h>
LOOPBACK = "127.0.0.1"


class MulticastBus(can.BusABC):
    """The bus of a group.

    Parameters
    ----------
    channel : str
        ``GROUP`` for this machine or ``GROUP@INTERFACE``, e.g. ``239.74.163.2@eth0``.

    Raises
    ------
    InputError
        The group is no multicast address of IPv4, or there is no such interface.
    OSError
        The socket cannot be had.
    """

    def __init__(self, channel: str, **_more: Any):
        group, _, interface = channel.partition("@")
        _require_group(group, channel)
        is_msgpack_installed()
        super().__init__(channel)
        self.unreadable = 0  # datagrams that were no messages
        self._group, self._wide = group, bool(interface)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._join(group, _place(interface, channel), hops=1 if interface else 0)
        except BaseException:
            self.shutdown()
            raise

    def _join(self, group: str, place: bytes, hops: int) -> None:
        s = self._socket
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if sys.platform == "linux":
            s.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)  # only datagrams from the interface joined here
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, hops)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(4) + place)
        s.bind((group, PORT))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + place)
        if not self._wide:
            with suppress(OSError):  # a machine without another interface, or that is joined there
                s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + bytes(4))

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        self._socket.settimeout(timeout if timeout is None else max(timeout, 1e-6))
        try:
            data, (sender, *_) = self._socket.recvfrom(MAX_DATAGRAM + 1)
        except TimeoutError:
            return None, False
        if not self._wide and not _is_own(sender):
            return None, False
        try:
            return unpack_message(data[:MAX_DATAGRAM], check=True), False
        except Exception:  # msgpack and python-can raise many kinds
            self.unreadable += 1
            return None, False

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """Send to all of the group."""
        del timeout
        self._socket.sendto(pack_message(msg), (self._group, PORT))

    def fileno(self) -> int:
        """Of the socket."""
        return self._socket.fileno()

    def shutdown(self) -> None:
        """Leave the group."""
        super().shutdown()
        self._socket.close()


@lru_cache(maxsize=64)
def _is_own(address: str) -> bool:
    """Whether an address is one of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as alone:
        try:
            alone.bind((address, 0))
        except OSError:
            return False
    return True


def free_group() -> str:
    """A group of the local scope 239.74.0.0/16 that nobody on this machine has a socket of."""
    for _ in range(100):
        group = f"239.74.{random.randrange(256)}.{random.randrange(1, 255)}"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as alone:
            try:
                alone.bind((group, PORT))  # refused if another process has it, even a shared one
            except OSError:
                continue
        return group
    raise InputError("--can", "", None, "a machine with a free multicast group")


def _require_group(group: str, channel: str) -> None:
    try:
        well = ipaddress.IPv4Address(group).is_multicast
    except ValueError:
        well = False
    if not well:
        raise InputError("--can", "", channel, "udp_multicast:GROUP or GROUP@INTERFACE with GROUP as 239.74.163.2")


def _place(interface: str, channel: str) -> bytes:
    """The last two fields of ``struct ip_mreqn``: an address and the number of an interface."""
    if not interface:
        return socket.inet_aton(LOOPBACK) + bytes(4)
    try:
        return bytes(4) + struct.pack("@i", socket.if_nametoindex(interface))
    except OSError:
        names = ", ".join(name for _, name in socket.if_nameindex())
        raise InputError("--can", "", channel, f"an interface of this machine: {names}") from None
