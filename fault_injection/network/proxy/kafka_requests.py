"""The requests and answers on a connection to a broker of Kafka, and what rules do to single ones.

A message is a length of four bytes and that many more. In every version a request begins with its
kind, version and number, and an answer with the number of its request. Answers come in the order of
requests, and senders wait for each: so nothing is taken out of a connection. To lose a request or
an answer, the connection is reset; a request that is kept for later reaches the broker on a
connection of the proxy's own, like one that its sender gave up while it was on its way.
Standard library only.
"""

import asyncio
import struct
from collections.abc import Callable, Iterator, Mapping

from fencepost.fault_injection.network.active_rules import ActiveLinkRule, ActiveLinkRules
from fencepost.fault_injection.network.proxy.frames import Frames
from fencepost.fault_injection.network.rules import Link, RequestHandling

LONGEST = 100 * 1024 * 1024
"""What `socket.request.max.bytes` lets a broker take."""
KINDS: Mapping[str, int] = {
    "Fetch": 1,
    "LeaderAndIsr": 4,
    "StopReplica": 5,
    "UpdateMetadata": 6,
    "ControlledShutdown": 7,
    "OffsetForLeaderEpoch": 23,
    "Vote": 52,
    "BeginQuorumEpoch": 53,
    "EndQuorumEpoch": 54,
    "AlterPartition": 56,
    "BrokerRegistration": 62,
    "BrokerHeartbeat": 63,
}
"""Requests between brokers by name; AlterPartition was AlterIsr before release 3.2."""
_REQUEST = struct.Struct(">ihhi")
_ANSWER = struct.Struct(">ii")


class KafkaConversation:
    """Gets every frame of both sides, and returns those that pass."""

    def __init__(
        self,
        link: Link,
        rules: ActiveLinkRules,
        *,
        reset: Callable[[], None],
        put_off: Callable[[int], None],
    ) -> None:
        """`put_off` lets pass nothing that comes later before so many milliseconds."""
        self._link = link
        self._rules = rules
        self._reset = reset
        self._put_off = put_off
        self._asked, self._answered = Frames(longest=LONGEST), Frames(longest=LONGEST)
        self._is_over = False
        self._unanswered: dict[int, ActiveLinkRule] = {}
        """By number, the requests of which the answer is to be lost."""
        self._doubled: dict[int, list[ActiveLinkRule]] = {}
        """By number, the requests of which the second answer is ours."""

    def asks(self, data: bytes) -> Iterator[bytes]:
        """The frames to pass on to the broker."""
        for frame in self._asked.feed(data):
            active = None if self._asked.is_plain else self._rule_for(frame)
            if self._is_over:
                return
            if active is None:
                yield frame
            else:
                active.status.requests_matched += 1
                yield from self._handled(frame, active)

    def answers(self, data: bytes) -> Iterator[bytes]:
        """The frames to pass on to its client."""
        for frame in self._answered.feed(data):
            number = _ANSWER.unpack_from(frame)[1] if len(frame) >= _ANSWER.size else -1
            if active := self._unanswered.pop(number, None):
                active.status.answers_withheld += 1
                self._end(active)
            if self._is_over:
                return
            if number in self._doubled and self._is_ours(number):
                continue
            yield frame

    def _rule_for(self, frame: bytes) -> ActiveLinkRule | None:
        if len(frame) < _REQUEST.size:
            return None
        return self._rules.handling(self._link, lambda wanted: is_meant(frame, wanted))

    def _handled(self, frame: bytes, active: ActiveLinkRule) -> Iterator[bytes]:
        handling = active.rule.requests
        assert handling is not None
        number = _REQUEST.unpack_from(frame)[3]
        match handling.verb:
            case "drop_request":
                self._end(active)
            case "hold" | "reorder":
                self._end(active)
                self._rules.keep(active, self._link[1], frame)
            case "delay":
                self._put_off(handling.delay_ms)
                yield frame
            case "drop_response":
                self._unanswered[number] = active
                yield frame
            case "duplicate":
                self._doubled[number] = [active, active]
                yield from (frame, frame)
            case verb:
                raise AssertionError(f"{verb} is refused when the rule is added")

    def _is_ours(self, number: int) -> bool:
        """True for the second answer to a request that the broker got twice."""
        active, *others = self._doubled.pop(number)
        if others:
            self._doubled[number] = others
            return False
        active.status.answers_withheld += 1
        return True

    def _end(self, active: ActiveLinkRule) -> None:
        # What came before has to reach the client, and a reset may overtake it.
        self._is_over = True
        active.status.connections_reset += 1
        asyncio.get_running_loop().call_soon(self._reset)


def is_meant(frame: bytes, wanted: RequestHandling) -> bool:
    """True when the request is of that kind and names that topic, if there is one to name."""
    kind = _REQUEST.unpack_from(frame)[1]
    if wanted.method and kind != KINDS.get(wanted.method):
        return False
    name = wanted.topic.encode()
    # Flexible versions have a length of one byte, which is one too many.
    return not name or struct.pack(">h", len(name)) + name in frame or _compact(name) in frame


def _compact(name: bytes) -> bytes:
    return bytes([(len(name) + 1) & 0xFF]) + name
