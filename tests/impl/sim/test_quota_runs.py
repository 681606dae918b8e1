"""Runs with the mutation quota on: rare, and full of what the check judges."""

from fencepost.conformance.checks.mutation_quota_kept import check
from fencepost.conformance.runs.run_end import run_end
from fencepost.impl.sim.adapter import simulate
from fencepost.impl.sim.draw.draw import swarm
from fencepost.spec.vocabulary import NEWEST_LEVEL, Action, RefusalKind

SEED = 201
"""The first one that has the quota."""


def test_few_seeds_have_the_quota_and_they_have_no_other_administrator() -> None:
    drawn = [swarm(seed, level=NEWEST_LEVEL) for seed in (*range(SEED - 10, SEED + 10), 509)]
    limited = [one for one in drawn if one.mutation_quota]

    assert [one.seed for one in limited] == [SEED, 509]
    assert not any(one.asks or one.asks_last or one.moves or one.founds for one in limited)


def test_a_run_admits_refuses_validates_and_mutes_and_keeps_the_quota() -> None:
    events = simulate(SEED, level=NEWEST_LEVEL)
    told = {event.action for event in events if event.clock_ms is not None}
    result = check(events)

    assert told == {
        Action.ADMIT_MUTATION,
        Action.REFUSE_MUTATION,
        Action.VALIDATE_MUTATION,
        RefusalKind.MUTE_CONNECTION,
    }
    assert {event.api_version for event in events if event.method == "CreateTopics"} == {5, 6}
    assert {event.api_version for event in events if event.method == "DeleteTopics"} == {4, 5}
    assert any(event.throttle_time_ms for event in events if event.api_version == 4)
    assert (result.violations, result.premise_count > 20) == ((), True)
    assert run_end(events).bad == ()
