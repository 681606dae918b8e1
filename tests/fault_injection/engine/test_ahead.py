"""Whoever takes the place of those that a fault ends is ready when it begins."""

from functools import partial
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from fencepost.fault_injection.engine.driver import READY_MS, SOON_MS
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.targets import CONTROLLER, broker
from fencepost.fault_injection.faults.zookeeper_faults import FailOverZooKeeper, HurtServer
from fencepost.fault_injection.injectors.ahead import make_ready, needs_successor
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.fault_injection.zookeeper.status import Mode, ServerStatus
from tests.fault_injection.engine.test_engine import Bench, pause, run
from tests.fault_injection.fakes import FakeTarget


def test_who_takes_the_place_of_the_next_to_die_is_ready_before() -> None:
    bench = Bench()
    ends = [KillBroker(target=target, restart_after_ms=300) for target in (CONTROLLER, broker(2))]
    seen: list[list[int]] = []
    for second in (5.5, 8.0, 10.0):
        ns = int(second * 1e9)
        bench.time.alarms.append((ns, lambda: seen.append(list(bench.target.prepared))))

    run(
        bench,
        pause("a", 0),
        StoryAction.at(action_id="b", at_ms=2500, fault=ends[0]),
        StoryAction.at(action_id="c", at_ms=4500, fault=ends[1]),
        pause("d", 5500),
    )

    assert seen == [[3], [3, 2], [3, 2]]


def test_who_plays_the_role_of_the_next_after_a_fault_is_made_ready_while_that_heals() -> None:
    bench = Bench()
    at_the_second: list[list[int]] = []
    ns = [int(second * 1e9) for second in (7.6, 8.0)]
    bench.time.alarms.append((ns[0], partial(setattr, bench.target, "controller_id", 1)))
    bench.time.alarms.append((ns[1], lambda: at_the_second.append(list(bench.target.prepared))))
    ends = KillBroker(target=CONTROLLER, restart_after_ms=300)

    run(
        bench,
        StoryAction.at(action_id="a", at_ms=2500, fault=ends),
        StoryAction.at(action_id="b", at_ms=4500, fault=ends),
    )

    assert at_the_second == [[3, 1]]


@pytest.mark.parametrize(("loaded_s", "waited_ms"), [(1.0, 1_000), (60.0, READY_MS)])
@pytest.mark.parametrize(("at_ms", "is_soon"), [(300, True), (SOON_MS, False)])
def test_a_plan_begins_when_who_will_start_anew_soon_is_ready(
    at_ms: int, is_soon: bool, loaded_s: float, waited_ms: int
) -> None:
    bench = Bench(target=FakeTarget(is_loading=True))
    loaded_ns = bench.time.ns + int(loaded_s * 1e9)
    bench.time.alarms.append((loaded_ns, partial(setattr, bench.target, "is_loading", False)))
    fault = KillBroker(target=broker(2), restart_after_ms=300)

    engine = run(bench, StoryAction.at(action_id="a", at_ms=at_ms, fault=fault))
    (report,) = engine.reports()

    assert engine.offset_ms == pytest.approx(waited_ms if is_soon else 0, abs=50)
    assert report.injected_ns is not None
    began_ms = report.injected_ns / 1e6 - 5_000 - engine.offset_ms
    assert began_ms == pytest.approx(at_ms, abs=50)
    assert bench.target.prepared[0] == 2


def test_a_server_that_will_end_has_its_successor_before() -> None:
    ready: list[int] = []
    serving = {
        1: ServerStatus(mode=Mode.FOLLOWER, zxid=1),
        2: ServerStatus(mode=Mode.LEADER, zxid=1),
    }
    servers = SimpleNamespace(
        prepare=ready.append, status=lambda: serving, is_ready=lambda number: number == 1
    )
    target = FakeTarget(servers=servers)
    stands, ends = (HurtServer(member="leader", deed=d, for_ms=9) for d in ("pause", "kill"))
    elects = FailOverZooKeeper(for_ms=9)
    none_serves = FakeTarget(servers=SimpleNamespace(status=dict))

    assert [needs_successor(fault) for fault in (stands, ends, elects)] == [False, True, True]
    asks = [make_ready(fault, target) for fault in (ends, replace(ends, member="1"), elects)]
    assert ready == [2, 1, 2]
    assert [is_ready is not None and is_ready() for is_ready in asks] == [False, True, False]
    with pytest.raises(InjectionError, match="no server of the ensemble is leader now"):
        make_ready(elects, none_serves)
