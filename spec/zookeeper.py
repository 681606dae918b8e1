"""The address of a ZooKeeper, as users write it and as clients and raw sockets need it."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from fencepost.spec.wire.tls import CA_FILE, CERTIFICATE_FILE, KEY_FILE

Endpoint = tuple[str, int]
"""Host and port: what a socket connects to."""

_SERVER = r"(?:\[[^\]]+\]|[^:/\s,\[\]]+):\d{1,5}"
_FORM = re.compile(rf"(?P<servers>{_SERVER}(?:,{_SERVER})*)(?P<chroot>(?:/[^/\s]+)*)/?")
LARGEST_PORT = 65535


class ZooKeeperError(RuntimeError):
    """ZooKeeper did not start, answer or do what was asked; the message is one sentence."""


class AddressError(ZooKeeperError):
    """A text is not an address of ZooKeeper; the message gives the form."""


@dataclass(frozen=True, slots=True)
class ZooKeeperCredentials:
    """With what a session proves that it may write: `user:password` of ZooKeeper's `digest`."""

    text: str = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The first line of the file; raises `ZooKeeperError` when it has another form."""
        try:
            line = path.read_text(encoding="utf-8").partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ZooKeeperError(f"cannot read the credentials {path}: {reason}") from error
        user, _, password = line.partition(":")
        if not user or not password:
            raise ZooKeeperError(f"{path} has no credentials; write USER:PASSWORD in one line")
        return cls(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperAddress:
    """One server or the servers of one ensemble, and the path that all znodes are below."""

    endpoints: tuple[Endpoint, ...]
    chroot: str = ""
    """Empty, or absolute without a slash at its end."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `HOST:PORT[,HOST:PORT...][/chroot]`; raises `AddressError`."""
        match = _FORM.fullmatch(text)
        endpoints = [_endpoint(server) for server in match["servers"].split(",")] if match else []
        if match is None or not all(0 < port <= LARGEST_PORT for _, port in endpoints):
            raise AddressError(
                f"{text!r} is no ZooKeeper address; write HOST:PORT or HOST:PORT/chroot, "
                "and HOST:PORT,HOST:PORT for an ensemble"
            )
        return cls(endpoints=tuple(endpoints), chroot=match["chroot"])

    @property
    def servers(self) -> str:
        """`HOST:PORT[,HOST:PORT...]`, without the chroot."""
        return ",".join(map(_server, self.endpoints))

    def beginning_at(self, number: int) -> Self:
        """The same servers in the same cycle, of which another one is tried first."""
        first = number % len(self.endpoints)
        return replace(self, endpoints=self.endpoints[first:] + self.endpoints[:first])

    def full_path(self, path: str) -> str:
        """The path on the server of what is `path` below the chroot."""
        return self.chroot if self.chroot and path == "/" else self.chroot + path

    def __str__(self) -> str:
        return f"{self.servers}{self.chroot}"


def tls_options(folder: Path | None) -> dict[str, object]:
    """What kazoo needs for mutual TLS with the identity in `folder`; nothing for a plain one."""
    if folder is None:
        return {}
    return {
        "use_ssl": True,
        "verify_certs": True,
        "check_hostname": True,
        "ca": str(folder / CA_FILE),
        "certfile": str(folder / CERTIFICATE_FILE),
        "keyfile": str(folder / KEY_FILE),
    }


def _endpoint(text: str) -> Endpoint:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def _server(endpoint: Endpoint) -> str:
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
