"""What a process asks for in vain again and again is told, unless it pauses."""

import pytest

from fencepost.conformance.runs.run_end import run_end
from fencepost.impl.core.types.broker_reports import IsrChangedRequest, IsrChangedResponse
from fencepost.impl.core.types.effects import ReadZnodes, Send, WriteZnodes
from fencepost.impl.core.types.events import ZnodesRead
from fencepost.impl.core.types.scripts import unknown
from fencepost.impl.core.types.zookeeper import Create
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.adapter import simulate
from fencepost.impl.sim.engine.failed_tries import TRIES_MAX, WITHIN_MS, FailedTries
from fencepost.spec.vocabulary import BrokerEpoch, BrokerId, ControllerEpoch, Ending, ErrorCode

REQUEST = IsrChangedRequest(broker_id=BrokerId(1), broker_epoch=BrokerEpoch(7), partitions=())
SEND = Send(request_id=1, to=BrokerId(2), request=REQUEST, timeout_ms=1000)
WATCH = ReadZnodes(op_id=1, paths=("/controller",), watch=True)
NO_WATCH = ReadZnodes(op_id=1, paths=("/controller",), watch=False)
WRITE = WriteZnodes(op_id=1, ops=(Create(path="/controller", data=b""),))
OFTEN = range(TRIES_MAX + 1)


def response(code: ErrorCode) -> IsrChangedResponse:
    return IsrChangedResponse(error_code=code, controller_epoch=ControllerEpoch(1))


@pytest.mark.parametrize(
    ("answer", "hasty"),
    [
        (None, {"IsrChanged to broker 2"}),
        (response(ErrorCode.NOT_CONTROLLER), {"IsrChanged to broker 2"}),
        (response(ErrorCode.NONE), set()),
    ],
)
def test_what_a_peer_refuses_is_not_asked_in_a_hurry(
    answer: IsrChangedResponse | None, hasty: set[str]
) -> None:
    tries = FailedTries()
    for time_ms in OFTEN:
        tries.answered(SEND, answer, time_ms)

    assert tries.hasty == hasty


@pytest.mark.parametrize(
    ("ask", "hasty"),
    [(WATCH, {"to watch /controller"}), (WRITE, {"to write /controller"}), (NO_WATCH, set())],
)
def test_without_a_connection_nothing_is_asked_in_a_hurry(
    ask: ReadZnodes | WriteZnodes, hasty: set[str]
) -> None:
    tries = FailedTries()
    for time_ms in OFTEN:
        tries.served(ask, unknown(ask), time_ms)

    assert tries.hasty == hasty


def test_what_is_answered_may_be_asked_often() -> None:
    tries = FailedTries()
    for time_ms in OFTEN:
        tries.served(WATCH, ZnodesRead(op_id=1, znodes=()), time_ms)

    assert not tries.hasty


def test_as_many_tries_in_a_longer_time_are_no_hurry() -> None:
    tries = FailedTries()
    for number in OFTEN:
        tries.answered(SEND, None, number * WITHIN_MS // TRIES_MAX)

    assert not tries.hasty


@pytest.mark.parametrize(
    ("mutant", "endings"), [(None, set()), ("retry_at_once", {Ending.RETRIES})]
)
def test_run_tells_of_hasty_retries_at_its_end(mutant: str | None, endings: set[Ending]) -> None:
    name = None if mutant is None else mutant_name(mutant)
    end = run_end(simulate(0, level=3, mutant=name))

    assert {bad.invariant for bad in end.bad} == endings
    assert all("in a hurry" in bad.message for bad in end.bad)
