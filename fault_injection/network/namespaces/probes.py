"""Probes of a network: a datagram from one member's address to another's, which arrives or not.

A datagram goes one way only, so each direction is tested by itself; no process of the member takes
part, so the network alone is tested. A socket is in the namespace in which it was made.
Standard library only.
"""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from weakref import WeakValueDictionary

from fencepost.fault_injection.network.namespaces.layout import PROBE_PORT, NetworkNode
from fencepost.fault_injection.network.rules import Link
from fencepost.fault_injection.network.service import LinkProbe

LENGTH_MAX = 64


class DatagramProbes:
    """The sockets of all members, and the probes that have not ended."""

    def __init__(self, nodes: Mapping[str, NetworkNode]) -> None:
        self._nodes = nodes
        self._sockets: dict[str, socket.socket] = {}
        self._numbers = count(1)
        self._sent: WeakValueDictionary[int, LinkProbe] = WeakValueDictionary()

    def open(self, node: NetworkNode) -> None:
        """Open the socket of a member; called inside its namespace."""
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        own.settimeout(0)
        own.bind((node.host, PROBE_PORT))
        self._sockets[node.name] = own
        asyncio.get_running_loop().add_reader(own, self._receive, node.name)

    def start(self, link: Link) -> LinkProbe:
        """Send a probe; raises `KeyError` for an unknown member."""
        sender, receiver = self._sockets[link[0]], self._nodes[link[1]]
        number = next(self._numbers)
        probe = self._sent[number] = LinkProbe(link=link)
        with suppress(OSError):  # whatever the network does to it is an answer
            sender.sendto(str(number).encode(), (receiver.host, PROBE_PORT))
        return probe

    def _receive(self, receiver: str) -> None:
        try:
            data, (host, _) = self._sockets[receiver].recvfrom(LENGTH_MAX)
        except OSError:  # the checksum was wrong, or an error of before is told
            return
        probe = self._sent.get(int(data)) if data.isdigit() else None
        if probe is None or probe.passed_ms is not None:
            return
        if probe.link[1] == receiver and self._nodes[probe.link[0]].host == host:
            probe.passed_ms = probe.waited_ms()
