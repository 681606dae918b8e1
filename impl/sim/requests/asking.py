"""A client that follows a script of requests, and notes each wrong answer and what has not come."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.fault_injection.workload.config_operations import ALTER_CONFIGS
from fencepost.fault_injection.workload.operations import Answer, Operation
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.sim.engine.listener import CertifiedCaller
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.injectors.driver import SimulatedFaultDriver
from fencepost.impl.sim.world.clients import SimulatedClient, error_codes
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.operations import request_of
from fencepost.spec.config_store import CONFIG_CHANGES, ConfigEntity
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId, ErrorCode, Outcome
from fencepost.spec.znodes import TopicPartition

DONE_MS = 15_000
"""What is granted has come at the latest after this time."""
LOOK_MS = 5
Replicas = tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class Until:
    """Time passes until something holds, or too much of it has passed."""

    what: str
    """What has not come, if it does not hold."""
    holds: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class After:
    """So much time passes."""

    ms: int


By = CertifiedCaller | Asker
"""The sender: by a certificate, or over a plain connection of another name than the client's."""
Asked = tuple[BrokerId | None, Request] | tuple[BrokerId | None, Request, By] | Until | After
Step = Generator[Asked, Response | None, None]
"""Yields what is asked, of a broker or of any, perhaps by another, and is sent the
answer; or yields a wait."""


class AskingClient(SimulatedClient):
    """Follows its script."""

    def __init__(self, cluster: VirtualCluster, name: str, driver: SimulatedFaultDriver) -> None:
        super().__init__(cluster, name)
        self._driver = driver
        self.wrong: list[str] = []
        """What was not answered, or done, as it had to be; one sentence each."""
        self.is_done = False
        self._script: Step

    def begin_work(self, script: Step) -> None:
        """Do the first step of the script."""
        self._script = script
        self._go_on(is_first=True)

    def _go_on(self, answer: Response | None = None, *, is_first: bool = False) -> None:
        try:
            step = next(self._script) if is_first else self._script.send(answer)
        except StopIteration:
            self.is_done = True
            return
        match step:
            case Until():
                self._wait(step, self.cluster.scheduler.now_ms + DONE_MS)
            case After(ms=ms):
                self.cluster.scheduler.after_ms(ms, self._go_on)
            case to, request, *callers:
                self.ask(to or self.any_broker(), request, self._go_on, *callers)

    def _wait(self, until: Until, deadline_ms: int) -> None:
        is_late = self.cluster.scheduler.now_ms >= deadline_ms
        if not until.holds() and not is_late:
            again = partial(self._wait, until, deadline_ms)
            self.cluster.scheduler.after_ms(LOOK_MS, again)
            return
        if is_late:
            self.wrong.append(f"{until.what} has not come")
        self._go_on()

    # What scripts are made of

    def expect(
        self,
        request: Request,
        *codes: ErrorCode,
        to: BrokerId | None = None,
        caller: By | None = None,
    ) -> Step:
        """The answer has these error codes, one for each thing that was asked.

        That all of a change is done is told with the version that it made, or found.
        """
        before = self.config_version
        answer = yield (to, request, caller) if caller else (to, request)
        told, is_done = results(answer), {*codes} == {ErrorCode.NONE}
        name = type(answer if answer is not None else request).__name__
        if getattr(answer, "hmac", b"") and not is_done:
            self.wrong.append(f"{name} refuses, and gives a secret")
        version = getattr(answer, "config_version", before)
        if is_done and not before <= version <= self.config_version:
            self.wrong.append(f"{name} tells version {version}, not {self.config_version}")
        if told != [*codes]:
            by = f" for {caller.principal or 'a stranger'}" if caller else ""
            self.wrong.append(f"{name}{by}: {', '.join(told)} in place of {', '.join(codes)}")

    @property
    def config_version(self) -> int:
        """Of the last change of the configuration in ZooKeeper; `ANY_VERSION` without one."""
        stat = self.cluster.zookeeper.peek(CONFIG_CHANGES).stat
        return stat.version if stat is not None else ANY_VERSION

    def drops(self, entity: ConfigEntity, gone: Sequence[str], asked: Step) -> Step:
        """What is asked is a change after which entries are gone: the trace tells it."""
        told = {"action": ALTER_CONFIGS, "path": entity.path, "op_id": self.next_operation()}
        inv_ns = self.trace.now_ns()
        values = [f"{name}=" for name in gone]
        self.trace.write({"kind": Kind.INVOKE, "values": values, **told})
        yield from asked
        ends = {"kind": Kind.COMPLETE, "inv_ns": inv_ns, "outcome": Outcome.OK}
        self.trace.write({**ends, **told})

    def operate(self, operation: Operation) -> Generator[Asked, Response | None, Answer]:
        """The leader of the partition does it, and answers."""
        traced = self.begin(operation)
        response = yield self.leader_of(operation.partition), request_of(operation)
        answer = traced.answer(response)
        traced.end(answer)
        if not answer.is_ok:
            self.wrong.append(f"{operation.action}: {answer.error_code}")
        return answer

    def served(self, key: TopicPartition, replicas: Sequence[BrokerId] = ()) -> Until:
        """The partition is led, and has these replicas, or any, which are its ISR."""

        def holds() -> bool:
            assigned = self.cluster.assignments().get(key, ())
            known = self.cluster.state(key)
            if not assigned or (replicas and assigned != tuple(replicas)) or known is None:
                return False
            return known[0].isr == {*assigned} and self._leads(known[0].leader, key)

        return Until(f"partition {key.topic}/{key.partition} on {list(replicas)}", holds)

    def rest(self) -> Until:
        """All is as it must be, and no broker is without ZooKeeper: some wait for a new session."""
        processes = self.cluster.processes
        return Until(
            "a cluster at rest",
            lambda: (
                all(one.zookeeper.is_connected for one in processes.values())
                and is_converged(self.cluster)
            ),
        )

    def begin_fault(self, fault_id: str, fault: Fault, after_ms: int = 0) -> None:
        """Have a fault begin now, or so much later."""
        action = StoryAction.at(
            action_id=fault_id, at_ms=after_ms, fault=fault, must_take_effect=False
        )
        self._driver.plan_fault(action, self.cluster.scheduler.now_ms)

    def end_fault(self, fault_id: str) -> None:
        """Heal that fault."""
        self._driver.heal(fault_id)

    def leader_of(self, key: TopicPartition) -> BrokerId:
        """The leader in ZooKeeper; any broker if it names none."""
        return BrokerId(self.cluster.view().leaders.get(key, self.any_broker()))

    def _leads(self, broker_id: BrokerId, key: TopicPartition) -> bool:
        process = self.cluster.processes.get(broker_id)
        replica = process.node.broker.replicas.get(key) if process is not None else None
        return replica is not None and replica.is_leader


def results(answer: Response | None) -> list[ErrorCode]:
    """The error codes of what was asked, one each; that of the whole where it says so."""
    told = error_codes(answer)
    return told[1:] if len(told) > 1 else told
