"""How often a process asks in vain for one thing: retries have their pause (ZK-009).

That is bounded liveness turned round: while a fault lasts, the others are not worn out by those
that it keeps from their work. What a client asked for is not counted: it is tried once.
"""

from collections import deque
from collections.abc import Hashable

from fencepost.impl.core.types.broker_reports import PartitionId
from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, Send, WriteZnodes
from fencepost.impl.core.types.messages import Response
from fencepost.impl.core.types.request_header import ForwardableRequest
from fencepost.impl.core.types.scripts import Answer, Ask, is_unknown
from fencepost.impl.sim.world.network import method_of
from fencepost.spec.vocabulary import ErrorCode

WITHIN_MS = 500
TRIES_MAX = 16
"""Of one thing in that time. A pause of 100 ms allows five, and some more where a role or a session
changes meanwhile; without one, each tick of 20 ms makes another."""


class FailedTries:
    """What one process has asked in vain of its peers and of ZooKeeper, and when."""

    def __init__(self) -> None:
        self._times: dict[Hashable, deque[int]] = {}
        self.hasty: set[str] = set()
        """What it asked for too often, one phrase each."""

    def answered(self, send: Send, response: Response | None, now_ms: int) -> None:
        """The peer has answered, or has not in time."""
        error = ErrorCode.REQUEST_TIMED_OUT if response is None else _error_in(response)
        if error is ErrorCode.NONE or isinstance(send.request, ForwardableRequest):
            return
        request = send.request
        about = f" of {request.key}" if isinstance(request, PartitionId) else ""
        self._note(f"{method_of(request)}{about} to broker {send.to}", now_ms)

    def served(self, ask: Ask, answer: Answer, now_ms: int) -> None:
        """ZooKeeper has answered, or the connection is lost."""
        if not is_unknown(answer):
            return
        match ask:
            case WriteZnodes(ops=ops):
                self._note(f"to write {', '.join(op.path for op in ops)}", now_ms)
            case ReadZnodes(paths=paths, watch=True) | ListChildren(paths=paths, watch=True):
                self._note(f"to watch {', '.join(paths)}", now_ms)
            case ReadZnodes() | ListChildren():
                pass

    def _note(self, what: str, now_ms: int) -> None:
        times = self._times.setdefault(what, deque())
        times.append(now_ms)
        while times[0] <= now_ms - WITHIN_MS:
            times.popleft()
        if len(times) > TRIES_MAX:
            self.hasty.add(what)


def _error_in(response: Response) -> ErrorCode:
    """That of the whole; a response without one has it in its parts."""
    return getattr(response, "error_code", ErrorCode.NONE)
