"""Stories that are drawn: every kind, in bounds, and again the same."""

from itertools import pairwise
from random import Random

import pytest

from fencepost.conformance.adapters.choices import NAMESPACES, PROXY
from fencepost.conformance.adapters.networks import possible
from fencepost.fault_injection.faults.catalogue import (
    DRAWN_FOR_REAL,
    DRAWN_KINDS,
    KINDS,
    kind_of,
)
from fencepost.fault_injection.faults.fault_json import as_json, fault_from_json
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.process_faults import CrashAt, KillBroker, PauseBroker
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.faults.targets import CONTROLLER, FaultError, broker
from fencepost.fault_injection.stories.drawn_story import PROFILE_KINDS, draw_story
from fencepost.fault_injection.stories.fault_draw import FaultDraw
from fencepost.fault_injection.stories.situations import (
    CONTROL,
    DATA,
    LEADERS,
    MOVES,
    Situation,
    SituationDraw,
)
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.fault_injection.stories.story_file import as_document, story_from_document

DURATION_MS = 20_000
SESSION_MS = 1_500


def drawn(
    seed: int, kinds: tuple[str, ...] = DRAWN_FOR_REAL, brokers: tuple[int, ...] = (1, 2, 3)
) -> Story:
    return draw_story(
        seed, brokers=brokers, duration_ms=DURATION_MS, session_timeout_ms=SESSION_MS, kinds=kinds
    )


def situation_draw(seed: int, *, may_move: bool) -> SituationDraw:
    return SituationDraw(
        random=Random(seed),
        brokers=(1, 2, 3, 4),
        session_timeout_ms=SESSION_MS,
        topic="t",
        partitions=2,
        replication_factor=3,
        may_move=may_move,
    )


# Single faults


@pytest.mark.parametrize("kind", sorted({*PROFILE_KINDS, *DRAWN_KINDS}))
def test_of_every_kind_a_fault_is_drawn(kind: str) -> None:
    draw = FaultDraw(random=Random(1), brokers=(1, 2, 3), session_timeout_ms=SESSION_MS)
    faults = [draw.fault(kind) for _ in range(50)]

    assert {fault.kind for fault in faults} == {kind}
    assert [fault_from_json(as_json(fault)) for fault in faults] == faults
    assert len({str(as_json(fault)) for fault in faults}) > 1 or not kind_of(kind).required


def test_what_a_situation_fixes_is_not_drawn() -> None:
    draw = FaultDraw(random=Random(1), brokers=(1, 2, 3), session_timeout_ms=SESSION_MS)
    faults = [draw.make(CrashAt, target=CONTROLLER, nth=2) for _ in range(50)]

    assert {(fault.target, fault.nth) for fault in faults} == {(CONTROLLER, 2)}
    assert len({fault.point for fault in faults}) > 1


def test_links_and_requests_are_between_two_brokers() -> None:
    draw = FaultDraw(random=Random(1), brokers=(1, 2, 3), session_timeout_ms=SESSION_MS)
    for kind in ("net.oneway", "rpc.hold"):
        routes = [(fault.victim, fault.towards) for fault in (draw.fault(kind) for _ in range(99))]
        assert all(sender != receiver for sender, receiver in routes)


# Stories


@pytest.mark.parametrize("seed", range(20))
def test_drawn_story_survives_its_document_and_repeats(seed: int) -> None:
    story = drawn(seed)

    assert story_from_document(as_document(story)) == story
    assert drawn(seed) == story


@pytest.mark.parametrize("kind", PROFILE_KINDS)
def test_every_kind_is_drawn_alone(kind: str) -> None:
    story = drawn(7, (kind,))

    assert {timed.fault.kind for timed in story.actions} == {kind}
    assert Backend.REAL in KINDS[kind].backends
    assert story_from_document(as_document(story)) == story


def test_seeds_differ() -> None:
    assert len({drawn(seed).actions for seed in range(50)}) == 50


@pytest.mark.parametrize("kinds", [DRAWN_FOR_REAL, PROFILE_KINDS])
def test_one_fault_is_active_at_a_time_beside_those_on_requests_and_the_tail_is_quiet(
    kinds: tuple[str, ...],
) -> None:
    for seed in range(50):
        story = drawn(seed, kinds)
        alone = [one for one in story.actions if not isinstance(one.fault, RpcFault)]

        assert alone
        assert all((one.end_ms or 0) < two.at_ms for one, two in pairwise(alone))
        assert story.end_ms <= DURATION_MS * 0.7
        assert min(one.at_ms for one in story.actions) >= DURATION_MS * 0.1


def test_every_kind_is_drawn_sooner_or_later() -> None:
    kinds = {timed.fault.kind for seed in range(50) for timed in drawn(seed).actions}

    assert kinds == set(DRAWN_FOR_REAL)


def test_nothing_suspends_a_promise_as_it_is_drawn() -> None:
    relaxing = {kind for kind in PROFILE_KINDS if KINDS[kind].relaxes}
    faults = [timed.fault for seed in range(50) for timed in drawn(seed, ("proc.kill",)).actions]

    assert relaxing == {"proc.kill"}  # with wipe, which no drawing has
    assert {fault.wipe for fault in faults if isinstance(fault, KillBroker)} == {"none"}


def test_a_story_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(FaultError, match=r"unknown fault 'nap'; choose among admin"):
        drawn(1, ("nap",))
    with pytest.raises(FaultError, match=r"unknown fault 'proc\.rolling'"):
        drawn(1, ("proc.rolling",))
    with pytest.raises(FaultError, match="at least one broker"):
        drawn(1, brokers=())
    with pytest.raises(FaultError, match="give at least two"):
        drawn(1, ("net.isolate",), brokers=(1,))
    with pytest.raises(FaultError, match="duration_ms is 0"):
        draw_story(1, brokers=[1], duration_ms=0, session_timeout_ms=1)


def test_namespaces_draw_what_they_can() -> None:
    assert possible(PROFILE_KINDS, PROXY) == list(PROFILE_KINDS)
    assert {"zk.conn_drop", "zk.lose_reply"}.isdisjoint(possible(PROFILE_KINDS, NAMESPACES))
    assert {"zk.link", "net.isolate"} <= set(possible(PROFILE_KINDS, NAMESPACES))


# Situations


@pytest.mark.parametrize("situation", sorted({*CONTROL, *DATA, *LEADERS, *MOVES}, key=str))
def test_every_situation_is_drawn_in_many_ways(situation: Situation) -> None:
    draw = situation_draw(1, may_move=True)
    stories = [situation(draw) for _ in range(20)]

    assert all(at_ms >= 0 for story in stories for at_ms, _ in story)
    assert len({str(story) for story in stories}) > 1
    assert situation(situation_draw(5, may_move=True)) == situation(
        situation_draw(5, may_move=True)
    )


def test_where_nothing_may_move_no_topic_changes() -> None:
    draw = situation_draw(1, may_move=False)
    faults = {
        fault.kind
        for situation in (*CONTROL, *DATA, *LEADERS)
        for _ in range(50)
        for _, fault in situation(draw)
    }

    assert faults.isdisjoint({"admin.reassign", "admin.delete_recreate_topic"})


def timed(action_id: str, at_ms: int) -> StoryAction:
    fault = PauseBroker(target=broker(1), for_ms=10)
    return StoryAction.at(action_id=action_id, at_ms=at_ms, fault=fault)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ((timed("a", 0), timed("a", 5)), "'a' is used twice"),
        ((timed("a", -5),), "a: at_ms is -5; give 0 or more"),
    ],
)
def test_inconsistent_story_is_refused(actions: tuple[StoryAction, ...], message: str) -> None:
    with pytest.raises(FaultError, match=message):
        Story(seed=0, actions=actions)
