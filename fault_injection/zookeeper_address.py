"""Where a ZooKeeper is: one form of address for people, the client and the raw sockets."""

import re
from dataclasses import dataclass
from typing import Self

_FORM = re.compile(
    r"(?P<host>\[[^\]]+\]|[^:/\s,\[\]]+):(?P<port>\d{1,5})(?P<chroot>(?:/[^/\s]+)*)/?"
)
LARGEST_PORT = 65535


class ZooKeeperError(RuntimeError):
    """A ZooKeeper did not start or answer; the message is one sentence that says what to do."""


class AddressError(ZooKeeperError):
    """What was given is no address of a ZooKeeper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperAddress:
    """One server, and the path below which everything happens."""

    host: str
    port: int
    chroot: str = ""
    """Empty, or absolute without a slash at its end."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `HOST:PORT` or `HOST:PORT/chroot`; raises `AddressError`."""
        match = _FORM.fullmatch(text)
        if match is None or not 0 < int(match["port"]) <= LARGEST_PORT:
            raise AddressError(
                f"{text!r} is no ZooKeeper address; write HOST:PORT or HOST:PORT/chroot"
            )
        return cls(host=match["host"].strip("[]"), port=int(match["port"]), chroot=match["chroot"])

    @property
    def endpoint(self) -> tuple[str, int]:
        """What a socket connects to."""
        return self.host, self.port

    def full_path(self, path: str) -> str:
        """The path on the server of what is `path` below the chroot."""
        return self.chroot if self.chroot and path == "/" else self.chroot + path

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}{self.chroot}"
