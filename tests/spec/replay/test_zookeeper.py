"""ZooKeeper's lines and what brokers heard of it: one wrong field is rejected, and where."""

from collections import Counter
from collections.abc import Callable
from functools import cache

import msgspec
import pytest

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.fields import Fields
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Event
from fencepost.spec.replay.recorded_run import TraceFileLine, as_lines, recorded_run
from fencepost.spec.replay.replay import ZOOKEEPER, Replayed, replay
from fencepost.spec.replay.tlc_run import run_zookeeper_tlc
from fencepost.spec.replay.zookeeper import ZooKeeperProjection, project_zookeeper
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Outcome

SEED = 40
STATE = "/brokers/topics/t/0/leaderAndISR"
NOBODYS_SESSION = 7
READ, WRITE = "ReadLeaderAndIsr", "WriteLeaderAndIsr"

WRONG: dict[tuple[str, str], object] = {
    ("CreateSession", "session_id"): NOBODYS_SESSION,
    ("CreateSession", "zxid"): 1,
    ("CloseSession", "session_id"): NOBODYS_SESSION,
    ("CloseSession", "zxid"): 1,
    ("Create", "path"): "/brokers",
    ("Create", "data"): "{}",
    ("Create", "znode_version"): 1,
    ("Create", "session_id"): NOBODYS_SESSION,
    ("Create", "zxid"): 1,
    ("SetData", "path"): "/nowhere",
    ("SetData", "data"): '{"a\\b": "é\n"}',
    ("SetData", "znode_version"): 0,
    ("SetData", "session_id"): NOBODYS_SESSION,
    ("SetData", "zxid"): 1,
    ("Delete", "path"): "/brokers",
    ("Delete", "session_id"): NOBODYS_SESSION,
    ("Delete", "zxid"): 1,
    (READ, "path"): "/brokers",
    (READ, "data"): "{}",
    (READ, "znode_version"): 99,
    (WRITE, "path"): "/brokers",
    (WRITE, "data"): "{}",
    (WRITE, "znode_version"): 99,
    (WRITE, "expected_version"): 99,
    (WRITE, "session_id"): NOBODYS_SESSION,
    (WRITE, "zxid"): 1,
    (WRITE, "outcome"): Outcome.DEFINITE_ERROR,
}
"""Action and field -> what it is not."""

TOLD_LATER = {("CreateSession", "session_id"), ("Create", "data"), ("SetData", "data")}
"""ZooKeeper may begin any session and store any data; what follows contradicts it."""


@cache
def ordered() -> tuple[TraceFileLine, ...]:
    events = simulate_modelled(SEED, level=2, mutant=None)
    return tuple(total_order(recorded_run("run", as_lines(events))))


def projected(
    change: Callable[[TraceFileLine], TraceFileLine | None] = lambda line: line,
) -> ZooKeeperProjection:
    lines = [changed for line in ordered() if (changed := change(line)) is not None]
    return project_zookeeper("run", lines)


def first(action: str) -> TraceFileLine:
    """The first line that shows every field of the action.

    Of a znode if possible the state's, and written by itself: what stands in a multi with others
    is told from them by its session.
    """
    shown = [
        line
        for line in ordered()
        if line.event.action == action
        and (line.event.kind is Kind.ZOOKEEPER or line.event.outcome is Outcome.OK)
    ]
    zxids = Counter(line.event.zxid for line in shown)
    state = [line for line in shown if line.event.path == STATE]
    return next((line for line in state if zxids[line.event.zxid] == 1), (state or shown)[0])


def with_wrong(action: str, name: str) -> ZooKeeperProjection:
    target = first(action)

    def change(line: TraceFileLine) -> TraceFileLine:
        if line is not target:
            return line
        wrong = msgspec.structs.replace(line.event, **{name: WRONG[action, name]})
        return TraceFileLine(wrong, line.file, line.number)

    return projected(change)


def is_deletion_by_end(line: TraceFileLine) -> bool:
    return line.event.kind is Kind.ZOOKEEPER and line.event.action == "Delete"


def place(line: TraceFileLine) -> tuple[str, int]:
    return line.file, line.number


def is_same_transaction(told: TraceFileLine, target: TraceFileLine) -> bool:
    kinds = {told.event.kind, target.event.kind}
    return kinds == {Kind.ZOOKEEPER} and told.event.zxid == target.event.zxid


@pytest.mark.tlc
def test_one_wrong_field_is_rejected_where_it_stands() -> None:
    runs = {(action, name): with_wrong(action, name) for action, name in WRONG}
    forgotten = first("Delete")
    runs["one deletion", "forgotten"] = projected(lambda one: None if one is forgotten else one)
    right = projected()
    old = projected(lambda one: None if is_deletion_by_end(one) else one)

    markers = run_zookeeper_tlc([*runs.values(), right, old])

    accepted = {marker.values[0] for marker in markers if marker.name == "accepted"}
    assert accepted == {len(runs) + 1, len(runs) + 2}, "as recorded, and by an older ZooKeeper"
    stuck = {marker.values[0]: marker.values[1] for marker in markers if marker.name == "stuck"}
    for number, ((action, name), run) in enumerate(runs.items(), start=1):
        index = stuck[number]
        assert isinstance(index, int)
        told = run.events[index - 1].line
        target = first(action) if (action, name) in WRONG else forgotten
        is_there = place(told) == place(target) or is_same_transaction(told, target)
        assert is_there is ((action, name) not in TOLD_LATER), (action, name)
    violated = {
        marker.values[0]: marker.values[2] for marker in markers if marker.name == "violated"
    }
    names = list(runs)
    assert violated[names.index(("SetData", "session_id")) + 1] == ["OnlyLiveSessionsWrite"]
    assert violated[names.index(("one deletion", "forgotten")) + 1] == ["EphemeralsHaveOwners"]


@pytest.mark.tlc
def test_a_write_that_never_happened_is_told_with_the_tree() -> None:
    lines = as_lines(simulate_modelled(SEED, level=2, mutant=None))
    wrong = next(
        line for line in lines if line.event.action == WRITE and line.event.outcome is Outcome.OK
    )
    changed = msgspec.structs.replace(wrong.event, data='{"version":1}')
    lines[lines.index(wrong)] = TraceFileLine(changed, wrong.file, wrong.number)

    found = replay([recorded_run("run", lines)])

    result = next(result for result in found.results if result.partition == ZOOKEEPER)
    assert result.verdict is Replayed.REJECTED
    assert result.why == (f"the spec does not allow {WRITE} ({wrong.file}, line {wrong.number})")
    assert result.explanation is not None
    state = result.explanation.state
    assert isinstance(state, dict)
    live = state["live_sessions"]
    assert isinstance(live, list)
    assert ("SetData", wrong.event.session_id) in result.explanation.enabled
    assert {who for _, who in result.explanation.enabled} == {0, *live}
    znodes = state["znodes"]
    assert isinstance(znodes, dict)
    assert znodes["/controller"] == {
        "czxid": first_zxid(lines, "/controller"),
        "data": next(one.event.data for one in lines if one.event.path == "/controller"),
        "ephemeral_owner": wrong.event.session_id,
        "version": 1,
    }


def first_zxid(lines: list[TraceFileLine], path: str) -> int | None:
    return next(line.event.zxid for line in lines if line.event.path == path)


@pytest.mark.long
@pytest.mark.tlc
def test_a_multi_of_hundreds_of_writes_is_replayed() -> None:
    """TLC evaluates it by recursion, and a thread's stack has an end."""
    paths = tuple(f"/znode-{number}" for number in range(300))
    line = ordered()[0]
    begun: Fields = {"action": "CreateSession", "session_id": 1, "zxid": 1}
    create: Fields = {"action": "Create", "data": "", "znode_version": 0, "ephemeral_owner": 0}
    changes = tuple(create | {"path": path} for path in paths)
    written: Fields = {"action": "Transaction", "session_id": 1, "zxid": 2, "changes": changes}
    projection = ZooKeeperProjection(
        run="large",
        events=(Event(begun, line), Event(written, line)),
        zxids=(1, 2),
        sessions=(1,),
        paths=frozenset(paths),
    )

    (marker,) = run_zookeeper_tlc([projection])

    assert marker.name == "accepted"
