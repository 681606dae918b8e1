"""A healed cluster does what can be done of what is asked, and refuses all else."""

from dataclasses import replace

import pytest

from fencepost.conformance.runs.run_end import run_end
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import described, run
from fencepost.impl.sim.requests.last_quotas import NAME as QUOTA_NAME
from fencepost.impl.sim.requests.last_requests import NAME
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Ending, ProtocolLevel
from tests.impl.sim.build import calm


def play(seed: int, mutant: str | None = None) -> list[TraceEvent]:
    options: RunOptions = replace(calm(), seed=seed, asks_last=True, duration_ms=500)
    if mutant is not None:
        options = replace(options, mutant=mutant_name(mutant))
    return run(described(options), "last")


@pytest.mark.parametrize("seed", range(4))
def test_all_that_is_asked_last_is_done_or_refused(seed: int) -> None:
    events = play(seed)

    assert run_end(events).bad == ()
    produced = [event for event in events if event.node == NAME and event.action == "Produce"]
    assert len(produced) == 10


@pytest.mark.parametrize(
    ("mutant", "wrong"),
    [
        ("move_anywhere", "NONE in place of INVALID_REPLICA_ASSIGNMENT"),
        ("grant_any_election", "NONE in place of ELECTION_NOT_NEEDED"),
        ("route_to_preferred", "the metadata of broker 1 are not those of ZooKeeper"),
        ("tell_partial_batch", "partition last-2/0 on [1, 3] has not come"),
    ],
)
def test_a_wrong_answer_and_what_does_not_come_are_told(mutant: str, wrong: str) -> None:
    (bad,) = run_end(play(1, mutant)).bad

    assert bad.invariant is Ending.ANSWERS
    assert wrong in bad.message


def test_below_level_2_nothing_is_asked_last() -> None:
    options = replace(calm(), level=ProtocolLevel.CONTROLLER_EPOCH, asks_last=True, duration_ms=500)

    assert NAME not in {event.node for event in run(described(options), "last")}


def test_one_broker_alone_is_asked_under_a_quota_too() -> None:
    options = replace(calm(), brokers=1, replication_factor=1, mutation_quota=True, duration_ms=500)
    events = run(described(options), "last")

    assert run_end(events).bad == ()
    assert QUOTA_NAME in {event.node for event in events}
