"""The peer of a connection: from its loopback port to a process of this run.

The kernel reports the inode of a connection's socket, and the inodes that each process holds.
Only processes of our own user can be read, as those of a run are. Standard library only.
"""

import os
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fencepost.fault_injection.processes.process_identity import PROC, living_processes

TABLES = (PROC / "net" / "tcp", PROC / "net" / "tcp6")
"""`man proc_net_tcp`. What listens for both families is in the second one."""
LISTENS = "0A"
_LOCAL, _REMOTE, _STATE, _INODE = 1, 2, 3, 9

# From linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h; `man sock_diag`.
_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = 1
_NO_COOKIE = 0xFFFFFFFF
_ALL_STATES = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_QUERY = struct.Struct("=BBxxI")
_PORTS = struct.Struct("!HH")
_DUMP = 0x300
_SOCKID_SIZE = 48
_PORT_AT = _HEADER.size + 4
_INODE_AT = _PORT_AT + _SOCKID_SIZE + 16
_ANSWER_MAX = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Socket:
    """One line of the kernel's table."""

    port: int
    peer_port: int
    listens: bool
    inode: int


class Peers:
    """Knows the members of a run by their processes."""

    def __init__(self) -> None:
        self.members: dict[str, int] = {}
        """Name -> pid of the leader of its session."""

    def owner_of(self, own: tuple[str, int], peer: tuple[str, int]) -> str | None:
        """The member with the socket bound to `own` and connected to `peer`; None: no member.

        Raises `ConnectionResetError` when it has closed that socket meanwhile.
        """
        inode = socket_inode(own, peer)
        if not inode:
            raise ConnectionResetError("the connecting process has gone")
        # Our parent is the harness, which connects most often and is no member.
        if inode in inodes_of(os.getppid()):
            return None
        for name, leader in self.members.items():
            if inode in inodes_of(leader):
                return name
        return _started_by(self.members, inode)


def _started_by(members: Mapping[str, int], inode: int) -> str | None:
    """The member that started the process which holds the socket."""
    names = {leader: name for name, leader in members.items()}
    for pid, stat in living_processes():
        if stat.session in names and inode in inodes_of(pid):
            return names[stat.session]
    return None


def socket_inode(own: tuple[str, int], peer: tuple[str, int]) -> int:
    """The inode of the socket with these two ends; 0 when its process has closed it.

    The other end must exist: the kernel can be asked if it knows that one.
    """
    with suppress(OSError):
        inode = _asked(own, peer)
        if inode or _asked(peer, own):
            return inode
    # The table is there always, and a hundred times slower.
    found = (s.inode for s in sockets() if (s.port, s.peer_port) == (own[1], peer[1]))
    return next(found, 0)


def _asked(own: tuple[str, int], peer: tuple[str, int]) -> int:
    ends = [socket.inet_aton(host) + bytes(12) for host in (own[0], peer[0])]
    any_device = struct.pack("=3I", 0, _NO_COOKIE, _NO_COOKIE)
    sockid = _PORTS.pack(own[1], peer[1]) + b"".join(ends) + any_device
    for _, inode in _messages(socket.AF_INET, _ALL_STATES, sockid, flags=_REQUEST):
        return inode
    return 0  # there is none, or none that the kernel knows of


def listening_ports(leader: int) -> list[int]:
    """The ports at which a process listens, or those that it started; ascending."""
    listening = _listening()
    own = inodes_of(leader)
    if not own & set(listening.values()):
        session = [pid for pid, stat in living_processes() if stat.session == leader]
        own = {inode for pid in session for inode in inodes_of(pid)}
    return sorted({port for port, inode in listening.items() if inode in own})


def _listening() -> dict[int, int]:
    """Port -> inode of all sockets that listen."""
    with suppress(OSError):
        nothing = bytes(_SOCKID_SIZE)
        found = [
            one
            for family in (socket.AF_INET, socket.AF_INET6)
            for one in _messages(family, 1 << int(LISTENS, 16), nothing, flags=_REQUEST | _DUMP)
        ]
        if found:
            return dict(found)
    return {s.port: s.inode for s in sockets() if s.listens}


def _messages(family: int, states: int, sockid: bytes, *, flags: int) -> Iterator[tuple[int, int]]:
    """Own port and inode of each socket that the kernel lists."""
    query = _QUERY.pack(family, socket.IPPROTO_TCP, states) + sockid
    header = _HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.send(header + query)
        while True:
            answer, at = kernel.recv(_ANSWER_MAX), 0
            while at + _HEADER.size <= len(answer):
                size, kind, *_ = _HEADER.unpack_from(answer, at)
                if kind != _BY_FAMILY:
                    return  # the end of the list, or an error
                port = struct.unpack_from("!H", answer, at + _PORT_AT)[0]
                yield port, struct.unpack_from("=I", answer, at + _INODE_AT)[0]
                at += (size + 3) & ~3
            if not flags & _DUMP:
                return


def sockets() -> Iterator[Socket]:
    """All TCP sockets of this network namespace."""
    for table in TABLES:
        if not table.exists():
            continue
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            yield Socket(
                port=_port(words[_LOCAL]),
                peer_port=_port(words[_REMOTE]),
                listens=words[_STATE] == LISTENS,
                inode=int(words[_INODE]),
            )


def inodes_of(pid: int) -> set[int]:
    """The inodes of the sockets that a process holds; none when it is gone or not ours."""
    inodes = set()
    with suppress(OSError):
        for entry in os.scandir(PROC / str(pid) / "fd"):
            with suppress(FileNotFoundError):  # closed since
                name = Path(entry).readlink().name
                if name.startswith("socket:["):
                    inodes.add(int(name[8:-1]))
    return inodes


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
