"""The requests and answers on one connection to ZooKeeper, and what rules do to single ones.

An answer may be withheld, and with it the connection; or a request is kept from ZooKeeper and
answered with an error. Then a harmless request is sent in its place: answers have to come in the
order of requests, and only the server knows which other requests are under way.
"""

import asyncio
from collections.abc import Callable

from fencepost.fault_injection.network.active_rules import ActiveLinkRule, ActiveLinkRules
from fencepost.fault_injection.network.proxy.frames import (
    Frames,
    Request,
    harmless_instead_of,
    request_in,
    with_error,
    xid_of_reply,
    zxid_of_success,
)
from fencepost.fault_injection.network.rules import Link, LostReply

Doomed = tuple[ActiveLinkRule, Request]


class Conversation:
    """Gets every frame of both sides, and returns those that pass."""

    def __init__(self, link: Link, rules: ActiveLinkRules, reset: Callable[[], None]) -> None:
        self._link = link
        self._rules = rules
        self._reset = reset
        self._asked, self._answered = Frames(), Frames()
        self._counts = {"asked": 0, "answered": 0}
        self._losing: Doomed | None = None
        """The write of which the answer is to be withheld."""
        self._failing: dict[int, Doomed] = {}
        """By xid, the requests of which ZooKeeper knows nothing."""

    def asks(self, data: bytes) -> list[bytes]:
        """The frames to pass on to the server."""
        frames = self._asked.feed(data)
        self._answered.is_plain = self._asked.is_plain
        return [self._asks_for(frame) for frame in frames]

    def answers(self, data: bytes) -> list[bytes]:
        """The frames to pass on to the client."""
        frames = self._answered.feed(data)
        passing: list[bytes] = []
        for frame in frames:
            self._counts["answered"] += 1
            is_first = self._counts["answered"] == 1
            if self._losing is not None and not is_first and self._is_withheld(frame):
                # What came before has to reach the client, and a reset may overtake it: so the
                # connection ends by the next turn of the loop, after these have been sent.
                asyncio.get_running_loop().call_soon(self._reset)
                self._answered.is_plain = False
                return passing
            passing.append(self._failed(frame) if self._failing and not is_first else frame)
        return passing

    def _asks_for(self, frame: bytes) -> bytes:
        self._counts["asked"] += 1
        if self._counts["asked"] == 1 or self._asked.is_plain:
            return frame
        request = request_in(frame)
        if request is None:
            return frame
        failing = self._rules.failing(self._link, is_write=request.is_write)
        if failing is not None:
            failing.status.requests_taken += 1
            self._failing[request.xid] = failing, request
            return harmless_instead_of(request)
        if request.is_write and self._losing is None:
            losing = self._rules.losing(self._link)
            self._losing = (losing, request) if losing is not None else None
        return frame

    def _failed(self, frame: bytes) -> bytes:
        """The frame, or the error that the client gets instead of this answer."""
        found = self._failing.pop(xid_of_reply(frame) or 0, None)
        if found is None:
            return frame
        active, request = found
        active.status.failed_requests.append(request.path)
        return with_error(frame, active.rule.error_code)

    def _is_withheld(self, frame: bytes) -> bool:
        """True when the frame is the answer to withhold, and reports success."""
        assert self._losing is not None
        active, write = self._losing
        if xid_of_reply(frame) != write.xid:
            return False
        self._losing = None
        zxid = zxid_of_success(frame, write)
        if zxid is None or not active.applies:
            return False
        active.status.lost_replies.append(LostReply(path=write.path, zxid=zxid))
        active.status.connections_reset += 1
        return True
