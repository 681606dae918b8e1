"""One synchronous face for the real ZooKeeper and the simulated one.

A session records all that its client delivers, in order; every wait has a deadline.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import (
    ChildrenListed,
    SessionEstablished,
    WatchFired,
    ZnodesRead,
    ZnodesWritten,
    ZooKeeperEvent,
)
from fencepost.impl.core.types.zookeeper import Children, WriteOp, WriteResult, Znode
from fencepost.impl.shell.zookeeper.notifications import Operation
from fencepost.spec.vocabulary import SessionId

DEADLINE_S = 10.0
SESSION_TIMEOUT_MS = 1500

Event = TypeVar("Event")
Answer = ZnodesRead | ChildrenListed | ZnodesWritten


class Client(Protocol):
    """What differs: how an operation starts, how one waits, how a client ends."""

    def perform(self, operation: Operation) -> None: ...

    def wait(self, claim: Callable[[], bool]) -> None:
        """Let things happen until `claim` holds; fail at the deadline."""

    def close(self) -> None:
        """Close the session."""


class Session:
    """A client and everything that it delivered."""

    def __init__(self, open_client: Callable[[Callable[[ZooKeeperEvent], None]], Client]) -> None:
        self.history: list[ZooKeeperEvent] = []
        self._op_id = 0
        self._on: dict[type, Operation] = {}
        self._client = open_client(self._deliver)
        self.wait_for(SessionEstablished)

    @property
    def session_id(self) -> SessionId:
        """Of the newest session."""
        return self.heard(SessionEstablished)[-1].session_id

    def write(self, *ops: WriteOp) -> WriteResult:
        """One transaction."""
        (answer,) = self.ask(WriteZnodes(op_id=self.next_op_id(), ops=ops))
        assert isinstance(answer, ZnodesWritten)
        return answer.result

    def read(self, path: str, *, watch: bool = False) -> Znode:
        """One znode."""
        (answer,) = self.ask(ReadZnodes(op_id=self.next_op_id(), paths=(path,), watch=watch))
        assert isinstance(answer, ZnodesRead)
        assert answer.znodes is not None
        return answer.znodes[0]

    def children(self, path: str, *, watch: bool = False) -> tuple[str, ...] | None:
        """The children of one znode."""
        return self.listing(path, watch=watch).names

    def listing(self, path: str, *, watch: bool = False) -> Children:
        """The same, with the last transaction that created or deleted one."""
        (answer,) = self.ask(ListChildren(op_id=self.next_op_id(), paths=(path,), watch=watch))
        assert isinstance(answer, ChildrenListed)
        assert answer.children is not None
        (found,) = answer.children
        assert found == Children(path=path, names=found.names, pzxid=found.pzxid)
        return found

    def ask(self, *operations: Operation) -> list[Answer]:
        """Begin all operations before the first answer; the answers in the order they came."""
        wanted = {operation.op_id for operation in operations}
        for operation in operations:
            self._client.perform(operation)
        self._client.wait(lambda: len(self.answers(wanted)) == len(wanted))
        return self.answers(wanted)

    def answers(self, op_ids: set[int]) -> list[Answer]:
        """What was answered to these operations."""
        events = [event for event in self.history if isinstance(event, Answer)]
        return [event for event in events if event.op_id in op_ids]

    def when(self, kind: type[ZooKeeperEvent], operation: Operation) -> None:
        """Begin `operation` at the moment that the next event of `kind` is delivered."""
        self._on[kind] = operation

    def wait_for(self, kind: type[ZooKeeperEvent], count: int = 1) -> None:
        """`count` events of `kind` were delivered so far."""
        self._client.wait(lambda: len(self.heard(kind)) >= count)

    def heard(self, kind: type[Event]) -> list[Event]:
        """The events of `kind` so far."""
        return [event for event in self.history if isinstance(event, kind)]

    def fired(self) -> list[tuple[str, str]]:
        """Path and kind of the watches that fired so far."""
        fired = self.heard(WatchFired)
        return [(event.path, "children" if event.children else "data") for event in fired]

    def next_op_id(self) -> int:
        """A number that no operation of this session has."""
        self._op_id += 1
        return self._op_id

    def close(self) -> None:
        """Close the session."""
        self._client.close()

    def _deliver(self, event: ZooKeeperEvent) -> None:
        self.history.append(event)
        operation = self._on.pop(type(event), None)
        if operation:
            self._client.perform(operation)


class ZooKeeperFacade(Protocol):
    """A ZooKeeper with an empty tree, apart from the persistent paths."""

    def open_session(self) -> Session: ...

    def expire(self, session: Session) -> None:
        """The server ends the session; its client has to find out."""

    def close(self) -> None:
        """Every session is closed."""


def real_zookeeper(address: str) -> ZooKeeperFacade:
    """A folder of a real server; `address` has a chroot that nobody else uses."""
    from tests.impl.zookeeper_contract.real import RealZooKeeper

    return RealZooKeeper(address)


def simulated_zookeeper() -> ZooKeeperFacade:
    """The server of the simulator, in virtual time."""
    from tests.impl.zookeeper_contract.simulated import SimulatorFacade

    return SimulatorFacade()
