"""Ports to listen on that are still free when their owner restarts.

The kernel takes the port of an outgoing connection from a range of its own. A listener in that
range may not get its port back after a restart, and a client that tries a dead port again and again
may connect to itself: so listeners get ports from below it.
"""

import errno
import secrets
import socket
from contextlib import ExitStack
from pathlib import Path

HOST = "127.0.0.1"
LOWEST = 10_000
ATTEMPTS = 10_000
"""More than enough to find a few free ones; a machine where they do not suffice has none."""

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_HIGHEST = 65_536


class NoPortError(OSError):
    """There are not that many free ports."""


def free_ports(count: int) -> list[int]:
    """`count` different ports of the loopback that nothing listens on; raises `NoPortError`.

    All are bound at once and then released, so none is returned twice. Another process may still
    take one before it is used.
    """
    highest = _first_outgoing()
    with ExitStack() as held:
        ports: list[int] = []
        for _ in range(ATTEMPTS):
            if len(ports) == count:
                return ports
            port = LOWEST + secrets.randbelow(highest - LOWEST)
            probe = held.enter_context(socket.socket())
            if port not in ports and _binds(probe, port):
                ports.append(port)
    raise NoPortError(errno.EADDRNOTAVAIL, f"{HOST} has no {count} free ports")


def _first_outgoing() -> int:
    """The first port of the kernel's own range; the end of all ports where that leaves too few."""
    first = int(_RANGE.read_text(encoding="ascii").split()[0])
    return first if first > LOWEST + ATTEMPTS else _HIGHEST


def _binds(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind((HOST, port))
    except OSError:
        return False
    return True
