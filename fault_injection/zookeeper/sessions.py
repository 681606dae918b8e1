"""Expire a ZooKeeper session for real: resume it from here with its password, and close it.

This works on any ZooKeeper and needs the password, which only a broker under fault control tells;
`control.py` needs no password and a server that is a process of ours. So both stay.

The server then deletes the session's ephemeral znodes and refuses its owner, exactly as after a
silence longer than its timeout, in milliseconds. The few messages that this takes are
kazoo's, and its client is not used: it would bring threads and reconnect on its own.
"""

import math
import socket
import struct
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from kazoo.protocol.serialization import Close, Connect, Exists, ReplyHeader

from fencepost.fault_injection.zookeeper.status import connected
from fencepost.spec.zookeeper import ZooKeeperAddress, ZooKeeperError

Evidence = dict[str, int | float | str | None]

MAX_ATTEMPTS = 1000
"""The owner takes its session back at most once per reconnect; it does not win this often."""
SESSION_TIMEOUT_MS = 10_000
PATIENCE_S = 0.03
"""A follower that two clients ask for one session at once answers the second one only."""
LEAST_WAIT_S = 0.001

_CLOSE_XID, _EXISTS_XID, _NOTIFICATION_XID = 1, 2, -1
_NO_NODE = -101
_NO_PASSWORD = bytes(16)
_LONGEST_FRAME = 1 << 20


class SessionError(ZooKeeperError):
    """The session was not expired; the message says why."""


class _Place(NamedTuple):
    address: ZooKeeperAddress
    tls: Path | None
    """The folder of our identity; None: connections are plain."""

    def __str__(self) -> str:
        return str(self.address)


class _Connection:
    """A socket that speaks length-prefixed frames; every wait ends at one deadline."""

    def __init__(self, where: _Place, deadline: float, patience_s: float = math.inf) -> None:
        """A server that is silent for `patience_s` counts as one that closed the connection."""
        self._address, self._tls = where
        self._deadline = deadline
        self._silent_at = math.inf
        self._socket = self._connect()
        self._silent_at = time.monotonic() + patience_s  # a handshake takes its time

    def close(self) -> None:
        self._socket.close()

    def _connect(self) -> socket.socket:
        """Connect to the first server that listens."""
        errors: list[OSError] = []
        for endpoint in self._address.endpoints:
            try:
                return connected(endpoint, self._remaining_s(), self._tls)
            except OSError as error:
                errors.append(error)
        raise SessionError(f"{self._address} does not answer: {errors[0]}") from errors[0]

    def open_session(self, session_id: int, password: bytes) -> int | None:
        """Ask for a session (0: a new one); its id, 0 if refused, None if the server hung up."""
        request = Connect(0, 0, SESSION_TIMEOUT_MS, session_id, password, read_only=False)
        self._send(request.serialize())
        response = self.receive()
        if response is None:
            return None
        granted, _ = Connect.deserialize(response, 0)
        return int(granted.session_id) if granted.time_out > 0 else 0

    def close_session(self) -> int | None:
        """Close the session of this connection; the zxid of its end, None if the server hung up."""
        self._send(struct.pack(">ii", _CLOSE_XID, Close.type))
        reply = self.receive()
        if reply is None:
            return None
        header, _ = ReplyHeader.deserialize(reply, 0)
        if header.err != 0:
            raise SessionError(f"{self._address} refused to close the session: error {header.err}")
        return int(header.zxid)

    def watch(self, path: str) -> int | None:
        """Set a watch on `path`; the session that owns the znode there, None if there is none."""
        request = Exists(path, watcher=True)
        self._send(struct.pack(">ii", _EXISTS_XID, request.type) + request.serialize())
        reply = self._receive_or_fail()
        header, at = ReplyHeader.deserialize(reply, 0)
        if header.err == _NO_NODE:
            return None
        if header.err != 0:
            raise SessionError(f"{self._address} refused to watch {path}: error {header.err}")
        return int(Exists.deserialize(reply, at).ephemeralOwner)

    def await_notification(self) -> None:
        """Wait until a watch of this connection fires."""
        while ReplyHeader.deserialize(self._receive_or_fail(), 0)[0].xid != _NOTIFICATION_XID:
            continue

    def receive(self) -> bytes | None:
        """The next frame; None when the server hung up."""
        try:
            header = self._read(4)
            return self._read(struct.unpack(">i", header)[0]) if header else None
        except ConnectionError:
            return None
        except TimeoutError as error:
            if time.monotonic() < self._deadline:
                return None
            raise SessionError(f"{self._address} did not answer in time") from error

    def _receive_or_fail(self) -> bytes:
        frame = self.receive()
        if frame is None:
            raise SessionError(f"{self._address} hung up on the watching session")
        return frame

    def _read(self, size: int) -> bytes | None:
        if not 0 <= size <= _LONGEST_FRAME:
            raise SessionError(f"{self._address} does not speak ZooKeeper's protocol")
        data = bytearray()
        while len(data) < size:
            self._socket.settimeout(self._remaining_s())
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                return None
            data += chunk
        return bytes(data)

    def _send(self, payload: bytes) -> None:
        try:
            self._socket.sendall(struct.pack(">i", len(payload)) + payload)
        except ConnectionError:
            return  # the read that follows finds the end

    def _remaining_s(self) -> float:
        remaining_s = self._deadline - time.monotonic()
        if remaining_s <= 0:
            raise SessionError(f"{self._address} did not expire the session in time")
        return min(remaining_s, max(LEAST_WAIT_S, self._silent_at - time.monotonic()))


def expire_session(
    address: str,
    session_id: int,
    password: bytes,
    *,
    watch_path: str | None = None,
    deadline_s: float = 5.0,
    tls: Path | None = None,
) -> Evidence:
    """End the session on the server; at return its ephemeral znodes are gone and it is refused.

    `watch_path`, below the chroot of `address`, is a znode that the session owns: its deletion is
    awaited, and its delay is part of the evidence (milliseconds from our first request).
    With the folder of an identity, `tls`, connections are encrypted.
    Raises `SessionError` when the session was not there, or did not end within `deadline_s`.
    """
    where = _Place(ZooKeeperAddress.parse(address), tls)
    deadline = time.monotonic() + deadline_s
    if watch_path is None:
        return _expire(where, session_id, password, deadline)
    path = where.address.full_path(watch_path)
    with closing(_Connection(where, deadline)) as observer:
        if not observer.open_session(0, _NO_PASSWORD):
            raise SessionError(f"{where} grants no session to watch {watch_path} with")
        try:
            _require_owner(observer.watch(path), session_id, watch_path)
            started = time.monotonic()
            evidence = _expire(where, session_id, password, deadline)
            _await_deletion(observer, path, session_id)
            gone_ms = _elapsed_ms(started)
        finally:
            with suppress(SessionError):  # past the deadline it ends by its own timeout
                observer.close_session()
    return {**evidence, "watch_path": watch_path, "ephemeral_gone_ms": gone_ms}


def _expire(where: _Place, session_id: int, password: bytes, deadline: float) -> Evidence:
    started = time.monotonic()
    attempts, zxid = _close_from_here(where, session_id, password, deadline)
    _require_refusal(where, session_id, password, deadline)
    return {
        "session_id": session_id,
        "attempts": attempts,
        "zxid": zxid,
        "session_gone_ms": _elapsed_ms(started),
    }


def _close_from_here(
    where: _Place, session_id: int, password: bytes, deadline: float
) -> tuple[int, int | None]:
    """Resume and close the session; how many attempts it took, and the zxid when we were told it.

    The server keeps one connection per session, the latest. An owner that reconnects between our
    two messages therefore cuts us off, before our close arrived or just before its reply: the next
    attempt tells which, for a session that ended cannot be resumed.
    """
    close_sent = False
    for attempt in range(1, MAX_ATTEMPTS + 1):
        with closing(_Connection(where, deadline, PATIENCE_S)) as connection:
            granted = connection.open_session(session_id, password)
            if granted == 0 and close_sent:
                return attempt, None
            if granted == 0:
                raise SessionError(
                    f"{where} does not know session {session_id:#x}: it has ended before, "
                    "or the password is another's"
                )
            if granted is None:
                continue
            close_sent = True
            zxid = connection.close_session()
            if zxid is not None:
                return attempt, zxid
    raise SessionError(f"{where} cut us off {MAX_ATTEMPTS} times; session {session_id:#x} lives on")


def _require_refusal(where: _Place, session_id: int, password: bytes, deadline: float) -> None:
    """Check that the session cannot be resumed; its owner may cut us off by trying as well."""
    for _ in range(MAX_ATTEMPTS):
        with closing(_Connection(where, deadline, PATIENCE_S)) as connection:
            granted = connection.open_session(session_id, password)
        if granted == 0:
            return
        if granted is not None:
            raise SessionError(f"{where} grants session {session_id:#x} after its end")
    raise SessionError(f"{where} cut us off {MAX_ATTEMPTS} times; nothing shows that it ended")


def _require_owner(owner: int | None, session_id: int, path: str) -> None:
    if owner is None:
        raise SessionError(f"there is no znode {path}; its deletion would show the expiry")
    if owner != session_id:
        raise SessionError(f"znode {path} belongs to session {owner:#x}, not to {session_id:#x}")


def _await_deletion(observer: _Connection, path: str, session_id: int) -> None:
    """Wait until the session's znode is gone, by watch: a new owner may recreate it at once."""
    observer.await_notification()
    while observer.watch(path) == session_id:
        observer.await_notification()


def _elapsed_ms(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 3)
