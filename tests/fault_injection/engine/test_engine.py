"""The engine in virtual time against a target of dataclasses, and each injector on real things."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from fencepost.fault_injection.engine.driver import FaultDriver
from fencepost.fault_injection.engine.process_world import ProcessWorld
from fencepost.fault_injection.engine.progress import EVIDENCE_MS
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.request_faults import DropRequest, HoldRequest
from fencepost.fault_injection.faults.targets import CONTROLLER, broker
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.injectors.dispatch import injector_for
from fencepost.fault_injection.injectors.injection import ResolvedFault
from fencepost.fault_injection.injectors.injector import InjectionError, Injector
from fencepost.fault_injection.processes.trace_tail import NoTraces, Traces
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.spec.trace import Phase
from fencepost.spec.wire import fault_control_pb2
from tests.fault_injection.fakes import FakeProcess, FakeTarget, registered
from tests.grpc_server import Method, serving


@dataclass
class VirtualTime:
    ns: int = 5_000_000_000
    alarms: list[tuple[int, Callable[[], None]]] = field(default_factory=list)

    def now_ns(self) -> int:
        return self.ns

    def wait(self, seconds: float) -> None:
        self.ns += int(seconds * 1e9)
        for at_ns, ring in [alarm for alarm in self.alarms if alarm[0] <= self.ns]:
            ring()
            self.alarms.remove((at_ns, ring))


@dataclass
class MemoryLedger:
    lines: list[str] = field(default_factory=list)

    def open(self, kind: str, **fields: str | int | bool) -> int:
        assert kind == "fault"
        self.lines.append(f"open {fields['fault_id']}")
        return len(self.lines)

    def close(self, entry: int) -> None:
        self.lines.append("close " + self.lines[entry - 1].removeprefix("open "))


@dataclass
class FakeInjection:
    """Does nothing; what it proves is set by the test."""

    name: str
    log: list[str]
    proof: str | None = "seen"
    refuses_to_heal: int = 0
    inject_error: BaseException | None = None
    look_error: Exception | None = None

    def inject(self) -> None:
        self.log.append(f"inject {self.name}")
        if self.inject_error:
            raise self.inject_error

    def evidence(self) -> str | None:
        if self.look_error:
            raise self.look_error
        return self.proof

    def heal(self) -> None:
        self.log.append(f"heal {self.name}")
        if self.refuses_to_heal:
            self.refuses_to_heal -= 1
            raise InjectionError("not now")

    def healed(self) -> str | None:
        return "well"


@dataclass
class Bench:
    time: VirtualTime = field(default_factory=VirtualTime)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    target: FakeTarget = field(default_factory=FakeTarget)
    changes: list[dict[str, Any]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    plans: dict[str, FakeInjection] = field(default_factory=dict)

    def engine(self, traces: Traces | None = None) -> FaultDriver:
        world = ProcessWorld(
            target=self.target,
            ledger=self.ledger,
            on_phase=self.changes.append,
            now_ns=self.time.now_ns,
            make_injector=self.make,
            traces=traces or NoTraces(),
        )
        return FaultDriver(world, self.time.wait)

    def plan(self, name: str) -> FakeInjection:
        return self.plans.setdefault(name, FakeInjection(name, self.log))

    def make(self, deed: ResolvedFault[Any]) -> Injector[str]:
        assert deed.target is self.target
        assert deed.victim_id
        assert deed.receiver_id is None
        self.log.append(f"ledger {self.ledger.lines[-1]}")
        return self.plan(deed.fault_id)

    def phases(self, fault_id: str) -> list[Phase]:
        return [line["phase"] for line in self.changes if line["fault_id"] == fault_id]


def pause(fault_id: str, at_ms: int, for_ms: int = 500) -> StoryAction:
    fault = PauseBroker(target=broker(1), for_ms=for_ms)
    return StoryAction.at(action_id=fault_id, at_ms=at_ms, fault=fault)


def run(bench: Bench, *faults: StoryAction) -> FaultDriver:
    with bench.engine() as engine:
        engine.run(Story(seed=1, actions=faults))
    return engine


def test_fault_goes_through_all_phases_at_its_times() -> None:
    bench = Bench()

    (report,) = run(bench, pause("a", 1000)).reports()

    assert bench.phases("a") == [
        Phase.PLANNED,
        Phase.INJECTING,
        Phase.ACTIVE,
        Phase.HEALING,
        Phase.HEALED,
    ]
    assert report.is_effective
    assert report.injected_ns is not None
    assert report.healed_ns is not None
    assert 1.0e9 <= report.injected_ns - 5e9 <= 1.1e9
    assert 0.5e9 <= report.healed_ns - report.injected_ns <= 0.7e9


def test_undo_is_in_the_ledger_before_the_deed_and_closed_after_healing() -> None:
    bench = Bench()

    run(bench, pause("a", 0))

    assert bench.log == ["ledger open a", "inject a", "heal a"]
    assert bench.ledger.lines == ["open a", "close a"]


def test_fault_without_evidence_is_healed_and_ineffective_after_its_hard_deadline() -> None:
    bench = Bench()
    bench.plan("a").proof = None

    (report,) = run(bench, pause("a", 0, for_ms=500)).reports()

    assert report.phase is Phase.INEFFECTIVE
    assert not report.is_effective
    assert bench.log[-1] == "heal a"
    assert report.healed_ns is not None
    assert report.healed_ns - 5e9 >= (500 + EVIDENCE_MS) * 1e6


def test_what_was_tried_is_told_of_a_target_that_could_not_be_asked() -> None:
    bench = Bench()
    told = "the broker at 127.0.0.1:1 does not answer fault commands (UNAVAILABLE)"
    bench.plan("a").look_error = InjectionError(told)

    run(bench, pause("a", 0))

    unseen = f"nothing was seen of it in {EVIDENCE_MS} ms; {told}"
    assert any(unseen in str(line["detail"]) for line in bench.changes)


def test_fault_that_depends_on_luck_is_not_prolonged() -> None:
    bench = Bench()
    bench.plan("a").proof = None
    fault = DropRequest(method="Fetch", sender=broker(1), for_ms=500)

    (report,) = run(
        bench, StoryAction.at(action_id="a", at_ms=0, fault=fault, must_take_effect=False)
    ).reports()

    assert report.phase is Phase.INEFFECTIVE
    assert report.healed_ns is not None
    assert report.healed_ns - 5e9 < 1e9


def test_role_that_nobody_plays_makes_the_fault_ineffective() -> None:
    bench = Bench(target=FakeTarget(controller_id=None))
    fault = StoryAction.at(action_id="a", at_ms=0, fault=ExpireSession(target=CONTROLLER))

    (report,) = run(bench, fault).reports()

    assert report.phase is Phase.INEFFECTIVE
    assert bench.log == []


def test_broker_that_is_away_is_waited_for() -> None:
    bench = Bench()
    del bench.target.registrations[1]
    bench.time.alarms.append((6_000_000_000, lambda: bench.target.come_back(1)))

    (report,) = run(bench, pause("a", 0)).reports()

    assert report.is_effective
    assert report.injected_ns is not None
    assert report.injected_ns >= 6_000_000_000


def test_role_is_resolved_at_injection_and_pinned_in_the_executed_schedule() -> None:
    bench = Bench()
    fault = StoryAction.at(action_id="a", at_ms=90, fault=ExpireSession(target=CONTROLLER))

    (timed,) = run(bench, fault).executed(seed=7).actions

    assert timed.fault == ExpireSession(target=broker(3))
    assert timed.at_ms >= 90


def test_failed_injection_is_undone_and_has_no_effect() -> None:
    bench = Bench()
    bench.plan("a").inject_error = InjectionError("the broker is away")
    bench.plan("a").proof = None

    (report,) = run(bench, pause("a", 0)).reports()

    assert report.phase is Phase.INEFFECTIVE
    assert bench.log == ["ledger open a", "inject a", "heal a"]


def test_healing_is_tried_again_until_it_succeeds() -> None:
    bench = Bench()
    bench.plan("a").refuses_to_heal = 3

    (report,) = run(bench, pause("a", 0)).reports()

    assert report.phase is Phase.HEALED
    assert bench.log.count("heal a") == 4


def test_target_that_is_never_well_again_is_a_failed_fault() -> None:
    bench = Bench()
    bench.plan("a").refuses_to_heal = 1_000_000

    (report,) = run(bench, pause("a", 0)).reports()

    assert report.phase is Phase.FAILED


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError()], ids=repr)
def test_whatever_ends_a_run_heals_in_reverse_order(error: BaseException) -> None:
    bench = Bench()
    bench.plan("c").inject_error = error

    with pytest.raises(type(error)):
        run(bench, pause("a", 0, 9000), pause("b", 50, 9000), pause("c", 100))

    assert [line for line in bench.log if line.startswith("heal")] == ["heal c", "heal b", "heal a"]
    assert bench.phases("a")[-1] is Phase.HEALED


def test_a_fault_interrupted_at_its_first_line_is_healed() -> None:
    bench = Bench()

    def interrupt(line: dict[str, Any]) -> None:
        bench.changes.append(line)
        if line["phase"] is Phase.INJECTING:
            raise KeyboardInterrupt

    driver = bench.engine()
    driver.world.on_phase = interrupt
    with pytest.raises(KeyboardInterrupt), driver:
        driver.run(Story(seed=1, actions=(pause("a", 0),)))

    assert bench.phases("a")[-2:] == [Phase.HEALING, Phase.INEFFECTIVE]
    assert bench.log[-1] == "heal a"
    assert bench.ledger.lines == ["open a", "close a"]


def test_kill_without_restart_stays_until_everything_is_healed() -> None:
    bench = Bench()
    killed = StoryAction.at(
        action_id="a", at_ms=0, fault=KillBroker(target=broker(2), restart_after_ms=None)
    )

    with bench.engine() as engine:
        engine.run(Story(seed=1, actions=(killed, pause("b", 100))))
        healed_by_the_schedule = list(bench.log)
        engine.heal_all()

    assert "heal b" in healed_by_the_schedule
    assert "heal a" not in healed_by_the_schedule
    assert bench.log[-1] == "heal a"


def test_single_fault_is_injected_proved_and_healed_by_hand() -> None:
    bench = Bench()

    with bench.engine() as engine:
        running = engine.inject("a", PauseBroker(target=broker(1), for_ms=60_000))
        engine.await_active(running)
        before = list(bench.log)
        engine.heal(running)

    assert before[-1] == "inject a"
    assert running.phase is Phase.HEALED


def test_single_fault_may_be_healed_at_once() -> None:
    bench = Bench()

    with bench.engine() as engine:
        running = engine.inject("a", ExpireSession(target=broker(1)))

    assert running.phase is Phase.HEALED


def inject(target: FakeTarget, fault: Fault, broker_id: int = 1) -> Injector[str]:
    injection = injector_for(deed(target, fault, broker_id))
    injection.inject()
    return injection


def deed(target: FakeTarget, fault: Fault, broker_id: int) -> ResolvedFault[Fault]:
    return ResolvedFault(fault_id="rule-1", fault=fault, target=target, victim_id=broker_id)


def test_pause_is_proved_by_the_process_state_and_the_lost_session() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    target = FakeTarget(registrations={1: registered(9, 1)})
    target.processes[1] = StoppableProcess(child)
    pause_fault = inject(target, PauseBroker(target=broker(1), for_ms=3000))
    try:
        while_registered = pause_fault.evidence()
        del target.registrations[1]
        when_gone = pause_fault.evidence()
        pause_fault.heal()
        before_registration = pause_fault.healed()
        target.registrations[1] = registered(10, 5)

        assert while_registered is None
        assert when_gone == f"process {child.pid} in state T, session 0x9 ended"
        assert before_registration is None
        assert pause_fault.healed() == "registered at zxid 5 by session 0xa"
    finally:
        child.kill()
        child.communicate()


class StoppableProcess(FakeProcess):
    """A real child that is really stopped."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        super().__init__(pid=child.pid)
        self.child = child

    def pause(self) -> None:
        self.child.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(self.child.pid, 2)
        assert status

    def resume(self) -> None:
        self.child.send_signal(signal.SIGCONT)
        os.waitpid(self.child.pid, 8)


def test_kill_is_proved_by_the_end_and_healed_by_a_newer_registration() -> None:
    target = FakeTarget(registrations={1: registered(9, 4)})
    kill = inject(target, KillBroker(target=broker(1), restart_after_ms=10))
    proof = kill.evidence()
    kill.heal()
    kill.heal()
    with_old_registration = kill.healed()
    target.registrations[1] = registered(10, 8)

    assert proof == "broker 1 killed"
    assert target.restarted == [1]
    assert with_old_registration is None
    assert kill.healed() == "registered at zxid 8 by session 0xa"


class FakeControl:
    """A broker's fault service that counts one match per look."""

    def __init__(self) -> None:
        self.rules: dict[str, fault_control_pb2.RpcRule] = {}
        self.looks = 0

    def add_rule(self, rule: fault_control_pb2.RpcRule) -> fault_control_pb2.RuleStatus:
        if rule.topic == "refuse":
            return fault_control_pb2.RuleStatus(error="no such topic")
        self.rules[rule.rule_id] = rule
        return fault_control_pb2.RuleStatus(rule_id=rule.rule_id)

    def get_rule(self, name: fault_control_pb2.RuleName) -> fault_control_pb2.RuleStatus:
        self.looks += 1
        if name.rule_id not in self.rules:
            return fault_control_pb2.RuleStatus(error="there is no such rule")
        return fault_control_pb2.RuleStatus(rule_id=name.rule_id, matched=self.looks - 1, held=1)

    def remove_rule(self, name: fault_control_pb2.RuleName) -> fault_control_pb2.RuleStatus:
        if self.rules.pop(name.rule_id, None) is None:
            return fault_control_pb2.RuleStatus(error="there is no such rule")
        return fault_control_pb2.RuleStatus(rule_id=name.rule_id, matched=2, released=1)


@contextmanager
def control() -> Iterator[tuple[FakeControl, str]]:
    fake = FakeControl()
    session = fault_control_pb2.Session(session_id=9, password=b"secret")
    methods: dict[str, Method] = {
        "AddRule": (fake.add_rule, fault_control_pb2.RpcRule),
        "GetRule": (fake.get_rule, fault_control_pb2.RuleName),
        "RemoveRule": (fake.remove_rule, fault_control_pb2.RuleName),
        "GetSession": (lambda _: session, fault_control_pb2.SessionRequest),
    }
    with serving("FaultControl", methods) as address:
        yield fake, address


def test_rule_is_proved_by_its_match_count_and_removed() -> None:
    with control() as (fake, address):
        target = FakeTarget(registrations={1: registered(9, 1, address)})
        rule = inject(target, HoldRequest(method="Fetch", sender=broker(1), count=2, for_ms=10))
        sent = fake.rules["rule-1"]
        looks = [rule.evidence(), rule.evidence()]
        rule.heal()

        assert (sent.method, sent.to, sent.verb, sent.count) == ("Fetch", -1, "hold", 2)
        assert looks == [None, "1 request matched"]
        assert fake.rules == {}
        assert rule.healed() == "2 requests matched, 1 delivered late"


def test_rule_that_was_never_added_needs_no_healing() -> None:
    with control() as (_, address):
        target = FakeTarget(registrations={})
        fault = DropRequest(method="Fetch", sender=broker(1), for_ms=10)
        rule = injector_for(deed(target, fault, 1))
        with pytest.raises(InjectionError, match="broker 1 is not registered"):
            rule.inject()
        target.registrations[1] = registered(9, 1, address)
        rule.heal()

        with pytest.raises(InjectionError, match="there is no such rule"):
            rule.evidence()
        assert rule.healed() == "no rule is left"


def test_refused_rule_says_why() -> None:
    with control() as (_, address):
        target = FakeTarget(registrations={1: registered(9, 1, address)})

        with pytest.raises(InjectionError, match=r"refused AddRule: no such topic"):
            inject(target, DropRequest(method="Fetch", sender=broker(1), topic="refuse", for_ms=10))


def test_broker_without_fault_control_is_named() -> None:
    target = FakeTarget(registrations={1: registered(9, 1, "127.0.0.1:1")})

    with pytest.raises(InjectionError, match=r"127\.0\.0\.1:1 does not answer fault commands"):
        inject(target, DropRequest(method="Fetch", sender=broker(1), for_ms=10))


def test_expiry_is_proved_by_another_session() -> None:
    with control() as (_, address):
        target = FakeTarget(registrations={1: registered(9, 1, address)})
        expiry = inject(target, ExpireSession(target=broker(1)))
        before = expiry.evidence()
        del target.registrations[1]
        after = expiry.evidence()
        target.registrations[1] = registered(11, 8, address)

        assert target.expired == [(9, b"secret", 1)]
        assert before is None
        assert after == "session 0x9 ended"
        assert expiry.healed() == "registered at zxid 8 by session 0xb"


def test_server_ends_a_session_without_its_password() -> None:
    target = FakeTarget(registrations={1: registered(9, 1, "127.0.0.1:1")})

    inject(target, ExpireSession(target=broker(1), mode="server"))

    assert (target.ended, target.expired) == ([9], [])
