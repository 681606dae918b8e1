from itertools import pairwise

import pytest

from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.faults.targets import FaultError, broker
from fencepost.fault_injection.stories.drawn_story import generate
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.fault_injection.stories.story_file import as_document, story_from_document

DURATION_MS = 20_000
SESSION_TIMEOUT_MS = 1500


def drawn(seed: int) -> Story:
    return generate(
        seed, brokers=[1, 2, 3], duration_ms=DURATION_MS, session_timeout_ms=SESSION_TIMEOUT_MS
    )


@pytest.mark.parametrize("seed", range(20))
def test_drawn_story_survives_its_document_and_repeats(seed: int) -> None:
    story = drawn(seed)

    assert story_from_document(as_document(story)) == story
    assert drawn(seed) == story


def test_seeds_differ() -> None:
    assert len({drawn(seed).actions for seed in range(50)}) == 50


@pytest.mark.parametrize("seed", range(50))
def test_process_faults_never_overlap_and_the_tail_is_quiet(seed: int) -> None:
    schedule = drawn(seed)
    process = [t for t in schedule.actions if not isinstance(t.fault, RpcFault)]

    assert process
    assert all((one.end_ms or 0) < two.at_ms for one, two in pairwise(process))
    assert schedule.end_ms <= DURATION_MS * 0.7
    assert min(t.at_ms for t in schedule.actions) >= DURATION_MS * 0.1


def test_every_kind_is_drawn_sooner_or_later() -> None:
    kinds = {timed.fault.kind for seed in range(50) for timed in drawn(seed).actions}

    assert kinds == set(DRAWN_FOR_REAL)


def test_only_chosen_kinds_are_drawn() -> None:
    schedule = generate(
        7, brokers=[1], duration_ms=DURATION_MS, session_timeout_ms=100, kinds=["zk.expire"]
    )

    assert {timed.fault.kind for timed in schedule.actions} == {"zk.expire"}


def test_generate_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(FaultError, match=r"unknown fault 'nap'; choose among proc\.kill"):
        generate(1, brokers=[1], duration_ms=10, session_timeout_ms=1, kinds=["nap"])
    with pytest.raises(FaultError, match=r"unknown fault 'net\.oneway'"):
        generate(1, brokers=[1], duration_ms=10, session_timeout_ms=1, kinds=["net.oneway"])
    with pytest.raises(FaultError, match="at least one broker"):
        generate(1, brokers=[], duration_ms=10, session_timeout_ms=1)
    with pytest.raises(FaultError, match="duration_ms is 0"):
        generate(1, brokers=[1], duration_ms=0, session_timeout_ms=1)


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
