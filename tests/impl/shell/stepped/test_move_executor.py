"""A led broker: what is held, what a move releases, and what is said of a move that cannot be."""

import asyncio

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.node import Node
from fencepost.impl.core.types.effects import ReadZnodes, Send
from fencepost.impl.core.types.events import (
    Event,
    RequestReceived,
    ResponseReceived,
    SessionEstablished,
    SessionLost,
    SessionReconnected,
    SessionSuspended,
    Tick,
    WatchFired,
    ZnodesRead,
)
from fencepost.impl.core.types.messages import FetchRequest, FetchResponse, MetadataRequest
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.shell.stepped.move_executor import CannotMoveError, MoveExecutor
from fencepost.spec.pacing import Move, Verb
from fencepost.spec.vocabulary import BrokerId, Offset, SessionId

ASK = ReadZnodes(op_id=7, paths=("/a",))
ANSWER = ZnodesRead(op_id=7, znodes=())
FETCH = FetchRequest(topic="t", partition=0, fetch_offset=Offset(0))
SEND = Send(request_id=8, to=BrokerId(2), request=FETCH, timeout_ms=1000)
RESPONSE = ResponseReceived(
    request_id=8,
    sender=BrokerId(2),
    request=FETCH,
    response=FetchResponse(broker_id=BrokerId(2), fetch_offset=Offset(0)),
)
SHORT_S = 0.05


class Recording:
    """A process that notes what its executor does with it."""

    def __init__(self) -> None:
        self.core = Node(Config(broker_id=BrokerId(1)), {})
        self.steps: list[Event] = []
        self.done: list[object] = []

    async def step(self, event: Event) -> None:
        self.steps.append(event)

    def ask(self, ask: Ask) -> None:
        self.done.append(ask)

    async def send(self, send: Send, address: str) -> None:
        self.done.append((send, address))

    def awaken(self, mutant: MutantName) -> None:
        self.done.append(mutant)


def take(executor: MoveExecutor, *moves: Move, meanwhile: Event | None = None) -> None:
    """Make the moves; the event happens once the first of them waits."""

    async def lead() -> None:
        for move in moves:
            task = asyncio.create_task(executor.take(move, SHORT_S, "there"))
            await asyncio.sleep(0)
            if meanwhile is not None and move is moves[0]:
                executor.hold(meanwhile)
            await task

    asyncio.run(lead())


def test_a_question_is_asked_and_answered_when_moves_say_so() -> None:
    process = Recording()
    executor = MoveExecutor(process)
    executor.hold_ask(ASK)

    take(executor, Move(verb=Verb.ASK, number=7), meanwhile=ANSWER)
    assert (process.done, process.steps) == ([ASK], [])
    take(executor, Move(verb=Verb.ANSWER, number=7, at_ms=40))
    assert (process.steps, executor.now_ms) == ([ANSWER], 40)


def test_a_lost_answer_says_that_nobody_knows() -> None:
    process = Recording()
    executor = MoveExecutor(process)
    executor.hold_ask(ASK)

    take(executor, Move(verb=Verb.LOSE, number=7), Move(verb=Verb.ANSWER, number=7))

    assert process.steps == [ZnodesRead(op_id=7, znodes=None)]
    assert process.done == []


def test_what_zookeeper_does_late_is_not_told() -> None:
    process = Recording()
    executor = MoveExecutor(process)
    executor.hold_ask(ASK)
    lost = Move(verb=Verb.LOSE, number=7), Move(verb=Verb.ANSWER, number=7)

    take(executor, *lost)
    take(executor, Move(verb=Verb.ASK, number=7), meanwhile=ANSWER)

    assert (process.done, len(process.steps)) == ([ASK], 1)
    with pytest.raises(CannotMoveError, match="ZooKeeper was not asked question 7"):
        take(executor, Move(verb=Verb.ANSWER, number=7))


def test_a_request_is_kept_until_it_is_taken() -> None:
    process = Recording()
    executor = MoveExecutor(process)
    first, second = (RequestReceived(token=n, request=MetadataRequest()) for n in (1, 2))
    executor.hold(first)
    executor.hold(second)

    take(executor, Move(verb=Verb.GREET), Move(verb=Verb.KEEP, number=1), Move(verb=Verb.REQUEST))
    take(executor, Move(verb=Verb.TAKE, number=1))

    assert process.steps == [second, first]


def test_a_broker_hears_of_its_connection_and_of_the_end_of_its_session() -> None:
    process = Recording()
    executor = MoveExecutor(process)
    for event in (SessionEstablished(session_id=SessionId(5)), SessionLost()):
        executor.hold(event)

    moves = (Verb.ESTABLISH, Verb.SUSPEND, Verb.RECONNECT, Verb.SESSION_LOST)
    take(executor, *(Move(verb=verb) for verb in moves))

    assert process.steps == [
        SessionEstablished(session_id=SessionId(5)),
        SessionSuspended(),
        SessionReconnected(session_id=SessionId(5)),
        SessionLost(),
    ]


def test_an_answer_of_a_peer_may_be_told_twice() -> None:
    process = Recording()
    executor = MoveExecutor(process)
    executor.hold_send(SEND)

    take(executor, Move(verb=Verb.SEND, number=8))
    assert process.done == [(SEND, "there")]
    again = Move(verb=Verb.RESPOND, number=8)
    take(executor, again, again, meanwhile=RESPONSE)
    assert process.steps == [RESPONSE, RESPONSE]


def test_a_tick_allows_what_its_move_names_and_nothing_after() -> None:
    process = Recording()
    executor = MoveExecutor(process)

    take(executor, Move(verb=Verb.TICK, may=["advance"], at_ms=5))

    assert process.steps == [Tick()]
    assert not executor.pace.may_advance


def test_a_watch_is_waited_for_and_others_stay() -> None:
    process = Recording()
    executor = MoveExecutor(process)
    wanted = WatchFired(path="/a", children=True)
    executor.hold(WatchFired(path="/a", children=False))

    take(executor, Move(verb=Verb.WATCH, path="/a", children=True), meanwhile=wanted)

    assert process.steps == [wanted]


@pytest.mark.parametrize(
    ("move", "told"),
    [
        (Move(verb=Verb.ASK, number=9), "has not asked ZooKeeper question 9"),
        (Move(verb=Verb.ANSWER, number=7), "ZooKeeper was not asked question 7"),
        (Move(verb=Verb.SEND, number=9), "has no request 9 to send"),
        (Move(verb=Verb.RESPOND, number=8), "did not come within 0.05 s"),
        (Move(verb=Verb.WATCH, path="/b"), "did not come within 0.05 s"),
        (Move(verb=Verb.AWAKEN, mutant="x"), "there is no mutant 'x'"),
        (Move(verb=Verb.TAKE, number=3), "the broker keeps no request 3"),
        (Move(verb=Verb.KILL), "a broker makes no move kill"),
    ],
    ids=lambda value: value.verb if isinstance(value, Move) else None,
)
def test_a_move_that_cannot_be_made_is_told(move: Move, told: str) -> None:
    executor = MoveExecutor(Recording())
    executor.hold_ask(ASK)
    executor.hold_send(SEND)
    executor.hold(RequestReceived(token=1, request=MetadataRequest()))

    with pytest.raises(CannotMoveError, match=told):
        take(executor, move)
