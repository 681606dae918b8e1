"""The effects of one step, and scripts: procedures of the protocol that wait for ZooKeeper.

A script is a generator that yields what it asks of ZooKeeper and is resumed with the answer, so
that a procedure of V3 reads in the order of its numbered steps. Between a question and its answer
the node goes on: a script that has waited must look at the state again before it acts.
"""

from collections.abc import Generator
from dataclasses import dataclass, field

from msgspec.structs import replace

from fencepost.impl.core.types.effects import (
    ActionTaken,
    Effect,
    ListChildren,
    ReadZnodes,
    Reply,
    ReportMalformed,
    Send,
    WriteZnodes,
)
from fencepost.impl.core.types.events import ChildrenListed, ZnodesRead, ZnodesWritten
from fencepost.impl.core.types.messages import PeerRequest, Response
from fencepost.impl.core.types.zookeeper import Children, Unknown, Znode
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, LeaderEpoch
from fencepost.spec.znodes import MalformedZnodeError

Ask = ReadZnodes | ListChildren | WriteZnodes
Answer = ZnodesRead | ChildrenListed | ZnodesWritten
Script = Generator[Ask, Answer, None]

UNASSIGNED = 0
"""What a script asks has no number before the outbox gives it one."""


@dataclass(slots=True)
class Outbox:
    """Collects the effects of a step in order and numbers requests and operations."""

    now_ms: int = 0
    _effects: list[Effect] = field(default_factory=list)
    _scripts: dict[int, Script] = field(default_factory=dict)
    _last_id: int = 0

    def new_id(self) -> int:
        """A number not used before by this node, for a request or an operation."""
        self._last_id += 1
        return self._last_id

    def emit(self, *effects: Effect) -> None:
        """The effects are performed after those already collected."""
        self._effects.extend(effects)

    def took(self, action: ActionTaken) -> None:
        """The action stands in the trace at this place among the effects."""
        self._effects.append(action)

    def reply(self, token: int, response: Response) -> None:
        """The request that came with `token` is answered."""
        self._effects.append(Reply(token=token, response=response))

    def send(self, to: BrokerId, request: PeerRequest, timeout_ms: int) -> int:
        """The request is on its way, or lost; returns its id."""
        assert to != NO_BROKER, "it is known which broker is asked"
        request_id = self.new_id()
        send = Send(request_id=request_id, to=to, request=request, timeout_ms=timeout_ms)
        self._effects.append(send)
        return request_id

    def report(self, error: MalformedZnodeError) -> None:
        """The operator hears of a malformed znode (ZK-002)."""
        self._effects.append(ReportMalformed(path=error.path, reason=str(error)))

    def drain(self) -> list[Effect]:
        """All effects since the last drain."""
        effects, self._effects = self._effects, []
        return effects

    def run(self, script: Script) -> None:
        """The script has run up to its first question, or to its end."""
        try:
            ask = next(script)
        except StopIteration:
            return
        self._wait(script, ask)

    def answer(self, answer: Answer) -> None:
        """The script that asked has run up to its next question, or to its end."""
        script = self._scripts.pop(answer.op_id)
        try:
            ask = script.send(answer)
        except StopIteration:
            return
        self._wait(script, ask)

    def _wait(self, script: Script, ask: Ask) -> None:
        op_id = self.new_id()
        self._scripts[op_id] = script
        self._effects.append(replace(ask, op_id=op_id))


def unknown(ask: Ask) -> Answer:
    """The answer when the connection was lost: what a write did is not known."""
    match ask:
        case ReadZnodes(op_id=op_id):
            return ZnodesRead(op_id=op_id, znodes=None)
        case ListChildren(op_id=op_id):
            return ChildrenListed(op_id=op_id, children=None)
        case WriteZnodes(op_id=op_id):
            return ZnodesWritten(op_id=op_id, result=Unknown())


def is_unknown(answer: Answer) -> bool:
    """True of the answer when the connection was lost."""
    match answer:
        case ZnodesRead(znodes=None) | ChildrenListed(children=None):
            return True
        case ZnodesWritten(result=Unknown()):
            return True
        case _:
            return False


def read(
    *paths: str, watch: bool = False, leader_epoch: LeaderEpoch | None = None
) -> Generator[Ask, Answer, tuple[Znode, ...] | None]:
    """Ask for the data of znodes; None when the connection was lost."""
    if not paths:
        return ()
    asked = ReadZnodes(op_id=UNASSIGNED, paths=paths, watch=watch, leader_epoch=leader_epoch)
    answer = yield asked
    assert isinstance(answer, ZnodesRead)
    return answer.znodes


def list_children(
    *paths: str, watch: bool = False
) -> Generator[Ask, Answer, tuple[Children, ...] | None]:
    """Ask for the children of znodes; None when the connection was lost."""
    answer = yield ListChildren(op_id=UNASSIGNED, paths=paths, watch=watch)
    assert isinstance(answer, ChildrenListed)
    return answer.children
