"""The answers of a ZooKeeper server to its four-letter words."""

import re
import socket
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fencepost.spec.wire.tls import client_context

TIMEOUT_S = 0.25
"""On one machine an answer takes a millisecond; a paused server must not hold us up for long."""
EPOCH_BITS = 32
"""A zxid is the epoch of its leader, then a counter of this many bits."""

_MODE = re.compile(r"^Mode: (leader|follower|standalone)$", re.MULTILINE)
_ZXID = re.compile(r"^Zxid: 0x([0-9a-f]+)$", re.MULTILINE)


class Mode(StrEnum):
    """The role of a server that serves in its ensemble."""

    LEADER = "leader"
    FOLLOWER = "follower"
    STANDALONE = "standalone"


class MemberState(StrEnum):
    """The state of the process of a server."""

    RUNNING = "running"
    PAUSED = "paused"
    CUT_OFF = "cut off"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """One answer to `srvr`."""

    mode: Mode
    zxid: int
    """Of the last transaction that it applied."""

    @property
    def epoch(self) -> int:
        """The epoch of the leader that made the last transaction; 0 when there was none yet."""
        return self.zxid >> EPOCH_BITS


def four_letter_word(
    endpoint: tuple[str, int], word: str, timeout_s: float, tls: Path | None = None
) -> str:
    """The answer of the server to `word` (`ruok`, `srvr`, `conf`); raises `OSError`."""
    with connected(endpoint, timeout_s, tls) as connection:
        connection.sendall(word.encode())
        answer = bytearray()
        while chunk := connection.recv(4096):
            answer += chunk
    return answer.decode(errors="replace")


def connected(endpoint: tuple[str, int], timeout_s: float, tls: Path | None) -> socket.socket:
    """A plain connection, or one under the identity in the folder `tls`; raises `OSError`."""
    plain = socket.create_connection(endpoint, timeout_s)
    if tls is None:
        return plain
    try:
        return client_context(tls).wrap_socket(plain, server_hostname=endpoint[0])
    except OSError:
        plain.close()
        raise


def server_status(endpoint: tuple[str, int], timeout_s: float = TIMEOUT_S) -> ServerStatus | None:
    """The mode and last zxid of a server that serves; None when it does not serve or answer."""
    try:
        answer = four_letter_word(endpoint, "srvr", timeout_s)
    except OSError:
        return None
    mode, zxid = _MODE.search(answer), _ZXID.search(answer)
    if mode is None or zxid is None:
        return None
    return ServerStatus(mode=Mode(mode[1]), zxid=int(zxid[1], 16))
