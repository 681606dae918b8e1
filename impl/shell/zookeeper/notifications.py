"""Notifications of a ZooKeeper connection thread to the node, before they become events."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import ChildrenListed, ZnodesRead, ZnodesWritten
from fencepost.spec.vocabulary import SessionId

Operation = ReadZnodes | ListChildren | WriteZnodes
Answer = ZnodesRead | ChildrenListed | ZnodesWritten
Result = Any
"""The result of a kazoo request (untyped): a value or an exception."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The client is connected, with a new session or the previous one."""

    session: object
    session_id: SessionId


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection is lost; kazoo reconnects."""

    session: object


@dataclass(frozen=True, slots=True)
class Expired:
    """The session has expired."""

    session: object


@dataclass(frozen=True, slots=True)
class Answered:
    """The results of one operation, sent at `sent_at` (monotonic seconds)."""

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
