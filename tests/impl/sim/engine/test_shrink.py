"""A failing run is made small, stays failing, and can be written as a story."""

from collections.abc import Callable
from dataclasses import replace

from fencepost.fault_injection.faults.network_faults import IsolateBroker, PartitionBrokers
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.impl.sim.engine.options import CALM
from fencepost.impl.sim.engine.run import described, run
from fencepost.impl.sim.engine.shrink import shrink
from fencepost.impl.sim.stories.play import play, story_text
from fencepost.impl.sim.world.network import Weather
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action
from tests.impl.sim.build import calm

Play = Callable[[], list[TraceEvent]]


def test_only_the_fault_that_matters_is_left() -> None:
    """A run fails when a session ends."""
    faults = (
        (200, PauseBroker(target=broker(1), for_ms=100)),
        (300, IsolateBroker(target=broker(2), for_ms=100)),
        (400, ExpireSession(target=broker(3))),
        (500, PauseBroker(target=broker(1), for_ms=100)),
        (600, IsolateBroker(target=broker(2), for_ms=100)),
    )
    options = replace(
        calm(*faults), weather=Weather(slow=0.01), brokers=4, partitions=2, duration_ms=1_000
    )

    def fails(of: Play) -> bool:
        return any(e.action == "CloseSession" for e in of())

    shrunk = shrink(options, fails)

    assert [timed.action_id for timed in shrunk.options.story.actions] == ["f2"]
    assert shrunk.options.weather == CALM
    assert (shrunk.options.brokers, shrunk.options.partitions) == (3, 1)
    assert (shrunk.options.producers, shrunk.options.consumers) == (1, 0)
    assert shrunk.options.operations == 1


def test_as_many_operations_as_it_takes_are_left() -> None:
    """A run fails when five records were appended."""

    def fails(of: Play) -> bool:
        return sum(e.action == Action.LEADER_APPEND for e in of()) >= 5

    shrunk = shrink(replace(calm(), duration_ms=1_000, think_ms=(1, 5)), fails).options

    assert (shrunk.producers, shrunk.consumers) == (1, 0)
    assert 5 <= shrunk.operations < 20
    assert fails(lambda: run(described(shrunk), "run"))
    assert not fails(
        lambda: run(described(replace(shrunk, operations=shrunk.operations - 1)), "run")
    )


def test_a_run_that_only_fails_whole_stays_as_it_is() -> None:
    options = replace(calm(), duration_ms=500, producers=1, consumers=0, operations=1)
    whole = run(described(options), "shrink")

    assert shrink(options, lambda of: of() == whole).options == options


def test_no_more_runs_are_played_than_allowed() -> None:
    played: list[int] = []

    def fails(_: Play) -> bool:
        played.append(1)
        return False

    assert shrink(calm(), fails, runs_max=3).runs == 3
    assert len(played) == 3


def test_a_fault_of_a_list_of_brokers_can_be_said_in_a_story() -> None:
    options = replace(
        calm((100, PartitionBrokers(side=(1, 3), for_ms=200))), duration_ms=500, producers=1
    )
    text = story_text(options, story_id="s")

    played = play(text, lambda _: [])

    assert "- {kind: net.partition, after_ms: 100, params: {side: [1, 3]}, for_ms: 200}" in text
    assert any(e.fault == "net.partition" and e.phase == "healed" for e in played.traces[-1])
