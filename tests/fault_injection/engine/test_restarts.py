"""Brokers that end and start again: in good order, at once, or all of them one after the other."""

import pytest

from fencepost.fault_injection.faults.process_faults import BounceBroker, RollBrokers, StopBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.injectors.dispatch import injector_for
from fencepost.fault_injection.injectors.injection import ResolvedFault, ignore_broker
from fencepost.fault_injection.injectors.injector import InjectionError, Injector
from tests.fault_injection.engine.test_engine import inject
from tests.fault_injection.fakes import FakeProcess, FakeTarget, registered


class Cluster(FakeTarget):
    """Who starts again is another process, and registered."""

    in_sync = True

    def is_in_sync(self) -> bool:
        return self.in_sync

    def restart(self, broker_id: int) -> None:
        super().restart(broker_id)
        self.processes[broker_id] = FakeProcess(pid=100 + broker_id)


def end(process: FakeProcess, code: int | None) -> None:
    process.is_running, process.returncode = False, code


def roll(cluster: Cluster, fault: RollBrokers, told: list[int] | None = None) -> Injector[str]:
    """`told` takes each broker when its turn comes."""
    hears = ignore_broker if told is None else told.append
    injection = injector_for(
        ResolvedFault(fault_id="r", fault=fault, target=cluster, victim_id=None, on_broker=hears)
    )
    injection.inject()
    return injection


@pytest.mark.parametrize(
    ("code", "proof"),
    [
        (0, "process 7 ended with exit code 0"),
        (3, None),
        (None, "process 7 ended when it was asked to"),
    ],
)
def test_a_stop_is_proved_by_the_exit_code_where_it_is_known(
    code: int | None, proof: str | None
) -> None:
    target = Cluster()
    process = target.processes[1] = FakeProcess(pid=7)
    stop = inject(target, StopBroker(target=broker(1), restart_after_ms=0))
    while_it_ends = stop.evidence()
    ready_meanwhile = list(target.prepared)
    end(process, code)

    assert process.calls == ["ask to end"]
    assert while_it_ends is None
    assert ready_meanwhile == [1]
    assert stop.evidence() == proof
    stop.heal()
    target.registrations[1] = registered(4, 9)
    assert target.restarted == [1]
    assert stop.healed() == "registered at zxid 9 by session 0x4"


def test_a_process_that_does_not_end_is_made_to() -> None:
    target = Cluster()
    process = target.processes[1] = FakeProcess(pid=7)
    stop = inject(target, StopBroker(target=broker(1), restart_after_ms=0))
    stop.heal()

    assert process.calls == ["ask to end", "kill"]
    assert target.restarted == [1]


def test_a_bounce_is_proved_by_the_session_that_is_not_over() -> None:
    target = Cluster(registrations={1: registered(9, 4)}, is_loading=True)
    old = target.processes[1] = FakeProcess(pid=7)
    bounce = inject(target, BounceBroker(target=broker(1)))
    while_it_loads = (bounce.evidence(), list(old.calls), list(target.restarted))
    target.is_loading = False
    not_yet = bounce.evidence()
    target.processes[1].words = "/brokers/ids/1 belongs to session 0x9; waiting until that is over"
    proof = bounce.evidence()
    bounce.heal()
    before = bounce.healed()
    target.registrations[1] = registered(10, 8)

    assert while_it_loads == (None, [], [])
    assert (old.calls, target.restarted) == (["kill"], [1])
    assert not_yet is None
    assert proof == "process 101 found that its registration still belongs to session 0x9"
    assert before is None
    assert bounce.healed() == "registered at zxid 8 by session 0xa"


def test_a_bounce_whose_next_process_is_never_ready_does_nothing() -> None:
    target = Cluster(registrations={1: registered(9, 4)}, is_loading=True)
    old = target.processes[1] = FakeProcess(pid=7)
    bounce = inject(target, BounceBroker(target=broker(1)))
    proof = bounce.evidence()
    bounce.heal()

    assert (proof, old.calls, target.restarted) == (None, [], [])
    assert bounce.healed() == "registered at zxid 4 by session 0x9"


def test_a_broker_that_does_not_end_in_good_order_spoils_the_roll() -> None:
    cluster = Cluster()
    rolling = roll(cluster, RollBrokers(wait="none"))
    for broker_id in (1, 2, 3):
        end(cluster.processes[broker_id], 3 if broker_id == 2 else 0)
        assert rolling.evidence() is None
        assert rolling.evidence() is None

    assert cluster.restarted == [1, 2, 3]


def test_brokers_are_restarted_one_after_the_other() -> None:
    cluster, told = Cluster(), list[int]()
    rolling = roll(cluster, RollBrokers(), told)
    for broker_id in (1, 2, 3):
        assert rolling.evidence() is None
        assert cluster.restarted == list(range(1, broker_id)), "the one before is still ending"
        end(cluster.processes[broker_id], 0)
        cluster.in_sync = False
        assert cluster.prepared[-1] == broker_id
        assert rolling.evidence() is None
        assert rolling.evidence() is None, "the replicas are not in sync yet"
        assert cluster.restarted[-1] == broker_id
        cluster.in_sync = True
    proof = rolling.evidence()
    rolling.heal()

    assert told == cluster.restarted == [1, 2, 3]
    assert proof == ", ".join(f"broker {b} ended with 0 and was restarted" for b in (1, 2, 3))
    assert rolling.healed() == "brokers 1, 2, 3 are registered"


def test_an_interrupted_roll_leaves_nobody_down() -> None:
    cluster = Cluster()
    rolling = roll(cluster, RollBrokers(how="kill", gap_ms=600_000))
    assert rolling.evidence() is None
    rolling.heal()
    rolling.heal()

    assert cluster.restarted == [1]
    assert rolling.evidence() is None


def test_a_pass_of_an_upgrade_restarts_each_broker_as_the_next_version() -> None:
    cluster = Cluster()
    rolling = roll(cluster, RollBrokers(wait="none", code_level=3))
    proofs: list[str | None] = []
    for broker_id in (1, 2, 3):
        end(cluster.processes[broker_id], 0)
        proofs += rolling.evidence(), rolling.evidence()
        assert cluster.versions[broker_id] == (3, 2)

    told = "ended with 0 and was restarted as code of level 3 that speaks 2"
    assert proofs[-1] == ", ".join(f"broker {one} {told}" for one in (1, 2, 3))


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (RollBrokers(inter_broker_protocol=3), "broker 1 would speak level 3 with code of level 2"),
        (
            RollBrokers(code_level=3, inter_broker_protocol=3),
            "broker 1 still has code of level 2, which does not understand level 3",
        ),
    ],
)
def test_no_broker_speaks_what_another_does_not_understand(asked: RollBrokers, why: str) -> None:
    cluster = Cluster()

    with pytest.raises(InjectionError, match=f"^{why}$"):
        roll(cluster, asked)
    assert cluster.restarted == []
