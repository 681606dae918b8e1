"""Steps of stories on a running cluster of processes, by clients and an administrator of its own.

What processes cannot do, as to stop at a point of the protocol, is refused before anything is done.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from time import monotonic

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from fencepost.conformance.adapters.errors import ClusterError, StepNotOfferedError
from fencepost.conformance.adapters.implementation import PublishedState
from fencepost.conformance.clients.administrator import AdminClient, RefusedError
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.transport import REQUEST_UNKNOWN, Caller, RequestUnknownError
from fencepost.conformance.runs.running_cluster import POLL_S, STEP_S, RunningCluster
from fencepost.conformance.scenarios.process_steps import PROCESS_OBSERVATIONS, PROCESS_STEPS
from fencepost.fault_injection.engine.progress import RunningFault
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.targets import Target, broker
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.processes.trace_tail import TraceTail
from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.steps.config_step import ChangeStep, change_of
from fencepost.fault_injection.stories.steps.observation import Observation, partition_of
from fencepost.fault_injection.stories.steps.printed import printed_in
from fencepost.fault_injection.stories.steps.step_player import (
    StepPlayer,
    broker_of,
)
from fencepost.fault_injection.stories.steps.story_cluster import (
    BrokerStep,
    Ended,
    Lines,
    answer_line,
)
from fencepost.fault_injection.stories.story import Story
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.workload.commands import ControlCommand
from fencepost.fault_injection.workload.operations import Answer, Operation, Produce
from fencepost.spec.vocabulary import BrokerId, ElectionKind, Outcome
from fencepost.spec.znodes import TopicPartition

MS = 1000
SETTINGS = frozenset(
    {
        "brokers",
        "judged_level",
        "session_timeout_ms",
        "replica_lag_ms",
        "unclean_leader_election",
        "min_insync_replicas",
        "first_controller",
        "zookeeper",
        "extra",
    }
)
"""Of a cluster of processes; others are given by the command, or by nothing."""
NOT_FOLLOWED = {
    "also": (),
    "api_version": 0,
    "at": "",
    "claims": "",
    "client_id": "",
    "election": ElectionKind.PREFERRED,
    "user": "",
    "validate_only": False,
}
"""Fields of steps that no processes follow, and the value that each must have."""


class UnexpectedError(ClusterError):
    """A step prints something else than the story says."""

    def __init__(self, told: str, *, is_late: bool) -> None:
        super().__init__(told)
        self.is_late = is_late
        """The step used all the time that it had: it may come to pass in another run."""


def play_steps(
    story: Story, running: RunningCluster, note_unmet: Callable[[str, float], None]
) -> None:
    """Every step is done, and has printed what the story says.

    What a step demands in vain is noted, with the time (monotonic s) since when it is waited for.
    Raises `UnexpectedError` for what is printed instead, and `ClusterError`.
    """
    with ThreadPoolExecutor(1) as clients, ThreadPoolExecutor(1) as administrators:
        cluster = ProcessStoryCluster(running, clients, administrators)
        player = StepPlayer(cluster, PROCESS_STEPS, PROCESS_OBSERVATIONS)
        for index, step in enumerate(story.steps):
            where, since = f"steps[{index}] ({steps.verb_of(step)})", monotonic()
            try:
                printed = tuple(player.perform(step))
            except StoryError as error:
                raise ClusterError(f"{where}: {error}") from error
            if isinstance(step, steps.MustStep) and printed:
                note_unmet(f"{where}: {'; '.join(printed)}", since)
            elif printed != (expected := printed_in(step, "", printed)):
                told = f"{where} prints {_told(printed)} and not {_told(expected)}"
                raise UnexpectedError(told, is_late=is_late(step, monotonic() - since))
        cluster.end_what_is_put_off()


def is_late(step: steps.StoryStep, took_s: float) -> bool:
    """True when the step waited for something that did not come in its time.

    A wrong answer is none of that, nor is a change of what had to stay the same.
    """
    if isinstance(step, steps.UntilStep | steps.WaitForStep):
        keeps = isinstance(step, steps.UntilStep) and "same" in step.until.values()
        return not keeps and 0 < step.within_ms <= took_s * MS
    return took_s >= STEP_S


def require_playable(story: Story) -> None:
    """Raise `StoryError` for what only a simulator can play."""
    if story.runs:
        raise StoryError("it has runs, which fencepost simulate --story plays; give one story")
    if strange := sorted({*story.cluster} - SETTINGS):
        raise StoryError(f"cluster: {strange[0]} is no setting of processes; leave it out")
    if story.steps and story.actions:
        raise StoryError("it has steps and actions, which only a simulator plays beside each other")
    for index, step in enumerate(story.steps):
        if why := _why_not(step):
            raise StoryError(f"steps[{index}] ({steps.verb_of(step)}): {why}; a simulator plays it")


def _why_not(step: steps.StoryStep) -> str:
    if type(step) not in PROCESS_STEPS:
        return "no processes can do it"
    follows_broker = isinstance(step, ChangeStep) or not isinstance(step, steps.AdminStep)
    if not follows_broker and getattr(step, "broker", UNSET) is not UNSET:
        return "no processes follow the field broker"
    for name, usual in NOT_FOLLOWED.items():
        if getattr(step, name, usual) != usual:
            return f"no processes follow the field {name}"
    if isinstance(step, steps.CreateTopicStep) and not step.replicas:
        return "it names no replicas"
    if isinstance(step, steps.ShowStep) and step.show != "results":
        return f"{step.show} is not seen from outside"
    names = steps.seen_by(step)
    hidden = (name for name in names if Observation.parsed(name).name not in PROCESS_OBSERVATIONS)
    return next((f"{name} is not seen from outside" for name in hidden), "")


def _told(lines: tuple[str, ...]) -> str:
    return repr("\n".join(lines)) if lines else "nothing"


@dataclass(slots=True)
class ProcessStoryCluster:
    """A cluster of processes as the player of steps knows it.

    A broker that a step stops is stopped by a fault, which is recorded, proved, and healed at the
    end of the run.
    """

    running: RunningCluster
    clients: ThreadPoolExecutor
    """The client does one operation after the other."""
    administrators: ThreadPoolExecutor
    answer_ms: int = field(init=False, default=60_000)
    broker_ids: tuple[int, ...] = field(init=False)
    state: PublishedState = field(init=False)
    _client: RoutedClient | None = field(init=False, default=None)
    """Begun when it is first asked for: an idle client would leave an empty trace."""
    _begun: list[Future[None]] = field(init=False, default_factory=list)
    _put_off: list[tuple[int, Callable[[], object]]] = field(init=False, default_factory=list)
    """What is to be done at which time."""

    def __post_init__(self) -> None:
        self.broker_ids = self.running.brokers
        self.state = self.running.cluster.state

    @property
    def now_ms(self) -> int:
        """Milliseconds of CLOCK_MONOTONIC."""
        return round(monotonic() * MS)

    def wait(self, within_ms: int, holds: Callable[[], bool]) -> bool:
        """Wait until it holds; false when it does not in time."""
        deadline_ms, pause = self.now_ms + within_ms, threading.Event()
        while not holds():
            if self.now_ms > deadline_ms:
                return False
            pause.wait(POLL_S)
            self.running.engine.step()
            self._act_in_time()
            for operation in self._begun:
                if operation.done():
                    operation.result()  # raises what it was ended by
        return True

    def later(self, after_ms: int, act: Callable[[], object]) -> None:
        """Act so much later, while a step waits."""
        self._put_off.append((self.now_ms + after_ms, act))

    def end_what_is_put_off(self) -> None:
        """All of it has been done."""
        while self._put_off:
            self.wait(MS, lambda: not self._put_off)

    def _act_in_time(self) -> None:
        due = [one for one in self._put_off if one[0] <= self.now_ms]
        for one in due:
            self._put_off.remove(one)
            one[1]()

    def traces(self) -> TraceTail:
        """The lines of the run from its start on, with the phases of faults."""
        return TraceTail(self.running.session.folder, has_phases=True)

    def is_converged(self) -> bool:
        """True when all brokers live, and all replicas of every partition are in sync."""
        return self.running.cluster.is_in_sync()

    # Clients and administrators

    def create_topic(self, step: steps.CreateTopicStep) -> Lines:
        """Create the topic, and wait until its leaders serve; prints what does not come.

        A step that does not wait, or that says what is answered, is over with the answer.
        Raises `StoryError` when the named broker is not registered.
        """
        topic = step.create_topic
        assignment = [step.replicas] * (step.partitions if isinstance(step.partitions, int) else 1)
        try:
            administrator = self._administrator(step.broker)
        except InjectionError as error:
            raise StoryError(str(error)) from error
        if step.wait and not step.expected:
            return self._create_and_await(topic, assignment, administrator)
        try:
            administrator.create_topic(topic, assignment)
        except RefusedError as refused:
            return [refused.error_code]
        self._publish(TopicPartition(topic, number) for number in range(len(assignment)))
        return ["ok"] if step.expected else []

    def _administrator(self, named: Target | UnsetType) -> AdminClient:
        """Of the named broker, or of the first that answers; raises `InjectionError`."""
        cluster = self.running.cluster
        if isinstance(named, UnsetType):
            return cluster.administrator
        return cluster.administrator_at(broker_of(self, named))

    def _create_and_await(
        self, topic: str, assignment: Sequence[Sequence[int]], administrator: AdminClient
    ) -> Lines:
        try:
            self.running.create_topic(topic, assignment, administrator)
        except ClusterError as error:
            return str(error).splitlines()[:1]
        return []

    def _publish(self, created: Iterable[TopicPartition]) -> None:
        """What the final read reads, too."""
        known = self.running.partitions
        known.extend(partition for partition in created if partition not in known)

    def operate(self, operation: Operation, broker: Target | UnsetType, ended: Ended) -> None:
        """Operate in another thread, while faults take their course; once, at a named broker."""
        client = self._client_of_story()
        perform = partial(_perform, client, operation)
        if not isinstance(broker, UnsetType):
            perform = partial(client.perform, operation, broker_of(self, broker))
        self._begun.append(self.clients.submit(lambda: ended(answer_line(operation, perform()))))

    def _client_of_story(self) -> RoutedClient:
        if self._client is None:
            self._client = self.running.client()
        return self._client

    def administer(self, step: steps.AdminStep, ended: Ended) -> None:
        """Ask in another thread; for a change of the configuration once, as a client."""
        if isinstance(step, ChangeStep):
            client, named = self._client_of_story(), step.broker
            to = None if isinstance(named, UnsetType) else broker_of(self, named)
            self._begun.append(self.clients.submit(lambda: ended(_changed(client, step, to))))
            return
        self._begun.append(self.administrators.submit(lambda: ended(self._administer(step))))

    def _administer(self, step: steps.AdminStep) -> str:
        """Ask until it is granted, or refused as the step says.

        A controller refuses a broker of which it has not heard.
        """
        deadline, pause = monotonic() + STEP_S, threading.Event()
        while True:
            try:
                self._ask(step)
            except (ClusterError, InjectionError) as refused:
                code = refused.error_code if isinstance(refused, RefusedError) else ""
                if (code,) == printed_in(step, "", (code,)):
                    return code
                if code == REQUEST_UNKNOWN:
                    name = self.running.cluster.settings.implementation.name
                    told = f"{name} takes no request for the step {steps.verb_of(step)}"
                    raise StepNotOfferedError(told) from refused
                if monotonic() > deadline:
                    return str(refused)
                pause.wait(POLL_S)
            else:
                return "ok"

    def _ask(self, step: steps.AdminStep) -> None:
        administrator = self.running.cluster.administrator
        match step:
            case steps.DeleteTopicStep(delete_topic=topic):
                administrator.delete_topic(topic)
                if step.wait:
                    self.running.await_state(
                        lambda: topic not in self.state.topics(), f"end of {topic}"
                    )
                known = self.running.partitions
                known[:] = [partition for partition in known if partition.topic != topic]
            case steps.CreatePartitionsStep(create_partitions=topic, partition_count=count):
                administrator.set_partition_count(topic, count)
                self._publish(TopicPartition(topic, number) for number in range(count))
            case steps.ElectStep():
                administrator.elect_all([partition_of(step.elect)])
            case steps.ReassignStep():
                administrator.reassign(partition_of(step.reassign), step.replicas)
            case _:
                raise AssertionError(step)

    def registration(self, broker_id: int) -> Registration | None:
        """The registration that the broker's current process made."""
        return self.running.cluster.registration(broker_id)

    def command(self, command: ControlCommand, to: BrokerId, ended: Ended) -> None:
        """Send the command in another thread; raises `StoryError` for an unknown address."""
        registered = self.registration(to)
        if registered is None:
            raise StoryError(f"broker {to} is not registered, so nothing tells where it listens")
        session = self.running.session
        caller = Caller(node="harness", clock=session.clock)
        connection = session.transport.connect(registered.address, caller, to)
        if self.running.cluster.recorder is not None:
            self.running.cluster.recorder.write(**command.told(to))
        self._begun.append(
            self.administrators.submit(lambda: ended(connection.command(command).line))
        )

    # Faults and processes

    def begin_fault(self, fault_id: str, fault: Fault, after_ms: int) -> None:
        """The fault is injected, now or so much later; raises `InjectionError`."""
        if after_ms:
            self.later(after_ms, lambda: self.begin_fault(fault_id, fault, 0))
        else:
            self.running.engine.inject(fault_id, fault)

    def heal_fault(self, fault_id: str) -> bool:
        """The fault of that id is healed; false when none was begun."""
        return self._heal(lambda running: running.action.action_id == fault_id)

    def act_on(self, broker_id: BrokerId, step: BrokerStep) -> None:
        """Inject the fault that does it, or heal it; raises `InjectionError`."""
        target = broker(broker_id)
        match step:
            case steps.KillStep():
                self._inject(KillBroker(target=target, restart_after_ms=None), is_held=True)
            case steps.PauseStep():
                self._inject(PauseBroker(target=target, for_ms=1), is_held=True)
            case steps.ResumeStep():
                if not self._end(PauseBroker.kind, broker_id):
                    raise StoryError(f"broker {broker_id} is not paused")
            case steps.RestartStep():
                if not self._end(KillBroker.kind, broker_id):
                    self._inject(KillBroker(target=target, restart_after_ms=0))
            case steps.ExpireStep():
                self._inject(ExpireSession(target=target))

    def _inject(self, fault: Fault, *, is_held: bool = False) -> None:
        """Inject a fault; held, it lasts until a step ends it, or the run."""
        number = len(self.running.engine.running()) + 1
        self.running.engine.inject(f"{fault.kind}-{number}", fault, is_held=is_held)

    def _end(self, kind: str, broker_id: BrokerId) -> bool:
        return self._heal(
            lambda running: (
                (running.action.fault.kind, running.broker_id) == (kind, broker_id)
                and not running.is_over
            )
        )

    def _heal(self, is_meant: Callable[[RunningFault[str]], bool]) -> bool:
        """Heal the fault that is meant; false when there is none."""
        found = next(filter(is_meant, self.running.engine.running()), None)
        if found is not None:
            self.running.engine.heal(found)
        return found is not None


def _changed(client: RoutedClient, step: ChangeStep, to: BrokerId | None) -> str:
    """What the broker answers, or the first that answers at all: `ok`, or why not."""
    view = client.refresh()
    change, asked = change_of(step), view.broker_id if to is None else to
    if asked not in view.addresses:
        raise ClusterError(f"broker {asked} is not registered, so nothing tells where it listens")
    try:
        told = client.change_config(asked, change)
    except RequestUnknownError as unknown:
        raise StepNotOfferedError(str(unknown)) from unknown
    return str(told.get("error_code", "ok"))


def _perform(client: RoutedClient, operation: Operation) -> Answer:
    """The answer; while no leader is known or serves, records are sent under a new name."""
    deadline, pause, attempt = monotonic() + STEP_S, threading.Event(), 1
    tried = operation
    while True:
        answer = client.perform(tried)
        if answer.outcome is not Outcome.DEFINITE_ERROR or monotonic() > deadline:
            return answer
        client.forget(operation.partition)
        pause.wait(POLL_S)
        attempt += 1
        if isinstance(operation, Produce):
            tried = replace(operation, values=tuple(f"{v}/{attempt}" for v in operation.values))
