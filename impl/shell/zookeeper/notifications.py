"""What the connection thread of a ZooKeeper client tells the node: facts, not yet events."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import ChildrenListed, ZnodesRead, ZnodesWritten
from fencepost.spec.vocabulary import SessionId

Operation = ReadZnodes | ListChildren | WriteZnodes
Answer = ZnodesRead | ChildrenListed | ZnodesWritten
Result = Any
"""What kazoo, which is untyped, completes a request with: a value or an exception."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The client has a connection, of a new session or of the one it had."""

    session: object
    session_id: SessionId


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection is gone; kazoo looks for another."""

    session: object


@dataclass(frozen=True, slots=True)
class Expired:
    """The session is over."""

    session: object


@dataclass(frozen=True, slots=True)
class Answered:
    """All requests of one operation, sent at `sent_at` (monotonic seconds), have ended."""

    session: object
    op_id: int
    results: Sequence[Result]
    zxid: int
    sent_at: float


@dataclass(frozen=True, slots=True)
class Triggered:
    """A watch of the session fired."""

    session: object
    path: str
    children: bool


Notification = Connected | Disconnected | Expired | Answered | Triggered
Post = Callable[[Notification], None]
