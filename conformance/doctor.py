"""What a doctor asks of an implementation, step by step: each with what was seen and what to do.

The first step that fails ends it: what comes after it would fail for the same reason.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shlex import quote

from fencepost.conformance.adapters.cluster import START_DEADLINE_S, ClusterUnderTest
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.adapters.remote.channels import AdapterError
from fencepost.conformance.adapters.remote.probe import OK, UNSUPPORTED, probe
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse, zookeeper_for
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.transport import ClusterUnreachableError
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios import find
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.spec.znodes import TopicPartition
from fencepost.spec.zookeeper import ZooKeeperError

RUN_ID = "doctor"
TOPIC = "doctor"
PARTITION = TopicPartition(TOPIC, 0)
RECORD = "doctor/1/1"
QUIET = "quiet"
"""The story of the last step."""
REPLICAS_MAX = 3
TROUBLE = (
    ClusterError,
    ZooKeeperError,
    ProcessError,
    AdapterError,
    InjectionError,
    ClusterUnreachableError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One step."""

    step: str
    is_well: bool
    seen: str
    do: str = ""
    """What to do, of one that is not well."""


class UnwellError(Exception):
    """A step has seen what should not be; the message says what."""


@dataclass(slots=True, kw_only=True)
class Patient:
    """The cluster that is examined, as far as it has come up."""

    settings: ClusterSettings
    folder: Path
    parts: ExitStack
    zookeeper: ZooKeeperInUse = field(default_factory=lambda: ZooKeeperInUse(address=""))
    supervisor: Supervisor = field(init=False)
    _cluster: ClusterUnderTest | None = field(init=False, default=None)
    _client: RoutedClient | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.supervisor = self.parts.enter_context(
            Supervisor(Folders(root=self.folder).processes, RUN_ID)
        )

    @property
    def implementation(self) -> Implementation:
        """What is examined."""
        return self.settings.implementation

    @property
    def cluster(self) -> ClusterUnderTest:
        """Opened when it is asked for first; stopped at the end."""
        if self._cluster is None:
            self._cluster = ClusterUnderTest(
                self.settings,
                folder=self.folder,
                run_id=RUN_ID,
                supervisor=self.supervisor,
                zookeeper=self.zookeeper,
            )
            self.parts.callback(self._cluster.close)
        return self._cluster

    @property
    def client(self) -> RoutedClient:
        """One client of it."""
        if self._client is None:
            self._client = RoutedClient(
                self.cluster.addresses, transport=self.cluster.transport, node="doctor"
            )
        return self._client

    def awaits(self, holds: Callable[[], bool], what: str, *, may_end: bool = False) -> None:
        """Wait until it holds; raises `ClusterError`."""
        self.cluster.await_state(holds, START_DEADLINE_S, what, may_end=may_end)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorStep:
    """What is asked, how, and what to do when the answer is bad."""

    name: str
    ask: Callable[[Patient], str]
    """Returns what was seen; raises `UnwellError` or one of `TROUBLE`."""
    do: str
    adapter_do: str = ""
    """The same where no ZooKeeper has the state; empty: as it is."""


NEXT_VERB = "fencepost conform probe -t TARGET says which verb the adapter lacks next"


def _answers_verbs(patient: Patient) -> str:
    found = probe(patient.implementation)
    if not found.is_well:
        wrong = {verb: said for verb, said in found.answers.items() if said != OK}
        verb, said = next(iter(wrong.items()))
        raise UnwellError(f"{verb}: {said}")
    declared = ", ".join(sorted(patient.implementation.capabilities)) or "nothing"
    lacks = [verb for verb, said in found.answers.items() if said == UNSUPPORTED]
    answered = f"{len(found.answers) - len(lacks)} of {len(found.answers)} verbs answered; "
    lacking = f"it lacks {', '.join(lacks)}; " if lacks else ""
    declares = f"{patient.implementation.name} declares {declared}"
    return f"{answered}{lacking}{declares}" if found.answers else declares


def _has_zookeeper(patient: Patient) -> str:
    if Capability.ZOOKEEPER not in patient.implementation.capabilities:
        return "it needs none: its state is elsewhere"
    patient.zookeeper = patient.parts.enter_context(
        zookeeper_for(RUN_ID, supervisor=patient.supervisor, folder=patient.folder)
    )
    return f"a server answers at {patient.zookeeper.address}"


def _registers(patient: Patient) -> str:
    cluster = patient.cluster
    patient.parts.callback(cluster.stop)
    for node_id in cluster.nodes:
        cluster.restart(node_id)
    ids = list(patient.settings.broker_ids)
    patient.awaits(lambda: cluster.state.live_brokers() == ids, "a registration of each broker")
    patient.awaits(
        lambda: all(cluster.registration(one) for one in ids), "an address of each broker"
    )
    told = (f"{one} at {address}" for one, address in zip(ids, cluster.addresses(), strict=True))
    return f"brokers {', '.join(told)}"


def _elects(patient: Patient) -> str:
    state = patient.cluster.state
    patient.awaits(lambda: state.controller() is not None, "a controller")
    epoch = state.controller_epoch()
    return f"controller {state.controller()}" + ("" if epoch is None else f", epoch {epoch}")


def _answers_metadata(patient: Patient) -> str:
    cluster = patient.cluster
    patient.awaits(cluster.is_answering, "an answer of each broker to a request for metadata")
    view = patient.client.refresh()
    return f"all answer; the brokers that they name: {sorted(view.addresses)}"


def _leads(patient: Patient) -> str:
    replicas = patient.settings.broker_ids[:REPLICAS_MAX]
    patient.cluster.create_topic(TOPIC, [replicas])
    state = patient.cluster.state.state_of(PARTITION)
    assert state is not None, "create_topic has waited for it"
    isr = ",".join(map(str, sorted(state.isr)))
    return f"{PARTITION} is led by {state.leader} in leader epoch {state.leader_epoch}, ISR {isr}"


def _serves(patient: Patient) -> str:
    client = patient.client
    answers: list[str] = []

    def is_acknowledged() -> bool:
        client.refresh()
        answer = client.fetch(PARTITION, 0, max_wait_ms=0)
        answers.append("ok" if answer.is_ok else str(answer.error_code))
        return answer.is_ok

    patient.awaits(is_acknowledged, f"a leader that serves {PARTITION}")
    produced = client.produce(PARTITION, [RECORD])
    if not produced.is_ok:
        raise UnwellError(f"a produce with acks=all was answered {produced.error_code}")
    read = client.fetch(PARTITION, produced.offset or 0)
    if list(read.values) != [RECORD]:
        raise UnwellError(
            f"{RECORD} was acknowledged at offset {produced.offset}, and a fetch from there gave "
            f"{list(read.values)}"
        )
    return f"a record was acknowledged at offset {produced.offset}, and read"


def _fails_over(patient: Patient) -> str:
    state, cluster = patient.cluster.state, patient.cluster
    leader = state.leader_of(PARTITION)
    if leader is None or len(patient.settings.broker_ids) == 1:
        return "there is one broker alone"
    cluster.process(leader).kill()
    patient.awaits(
        lambda: state.leader_of(PARTITION) not in (None, leader), "another leader", may_end=True
    )
    second = state.leader_of(PARTITION)
    found: list[str] = []

    def is_there() -> bool:
        patient.client.refresh()
        found[:] = patient.client.fetch(PARTITION, 0, max_wait_ms=0).values
        return bool(found)

    patient.awaits(is_there, f"a record at the next leader {second}", may_end=True)
    if found[0] != RECORD:
        raise UnwellError(f"broker {second} leads, and {RECORD} is not there but {found[0]}")
    return f"broker {leader} was killed; broker {second} leads, and has the record"


def _trace_is_valid(settings: ClusterSettings, folder: Path) -> str:
    """Play the story in which nothing goes wrong, and judge it as any run."""
    run = ScenarioRun(scenario=find(QUIET), settings=settings, seed=0, folder=folder)
    result = run.play()
    if result.verdict is not Verdict.PASS:
        violated = ", ".join(sorted(result.violated))
        why = f"violated: {violated}" if violated else ""
        problems = "; ".join(problem.sentence for problem in result.problems)
        raise UnwellError(f"{result.verdict}: {'; '.join(filter(None, (why, problems)))}")
    judged = sum(check.premise_count > 0 for check in result.checks)
    return (
        f"{result.events} lines, {result.acknowledged} requests acknowledged; {judged} checks had "
        "something to judge, and none is violated"
    )


STEPS = (
    DoctorStep(
        name="is it what it says?",
        ask=_answers_verbs,
        do="fencepost conform probe -t TARGET shows every verb; docs/adapter_tutorial.md has them",
    ),
    DoctorStep(
        name="is there a ZooKeeper?",
        ask=_has_zookeeper,
        do="see that Java 17 or newer starts, or set JAVA_HOME",
    ),
    DoctorStep(
        name="registers?",
        ask=_registers,
        do="each broker has to create /brokers/ids/ID, ephemeral, with its host and port; its log "
        "is in the folder below",
        adapter_do=NEXT_VERB,
    ),
    DoctorStep(
        name="elects?",
        ask=_elects,
        do="the first broker has to create /controller, ephemeral, with its id (CTL-001)",
        adapter_do="metadata of the adapter has to name a controller",
    ),
    DoctorStep(
        name="answers metadata?",
        ask=_answers_metadata,
        do="every broker has to name brokers and leaders to a client that asks",
    ),
    DoctorStep(
        name="leads?",
        ask=_leads,
        do="the controller has to write leader and ISR of a new partition, and tell its replicas",
    ),
    DoctorStep(
        name="serves?",
        ask=_serves,
        do="a produce with acks=all is answered when the ISR has it, and a fetch has it then",
    ),
    DoctorStep(
        name="fails over?",
        ask=_fails_over,
        do="when a session ends the controller has to elect another member of the ISR",
    ),
)
FIRST = STEPS[0]
LAST = "is the trace valid?"
LAST_DO = (
    "spec/docs/trace.md has the line; the run is in the folder below, and "
    "fencepost check --trace FOLDER says which step the specs do not allow"
)


def examine(settings: ClusterSettings, folder: Path) -> Iterator[Finding]:
    """Each step as it ends, up to the first that is not well; what was started has ended then."""
    with ExitStack() as parts:
        patient = Patient(settings=settings, folder=folder / "steps", parts=parts)
        for step in STEPS:
            has_zookeeper = Capability.ZOOKEEPER in settings.implementation.capabilities
            do = step.do if has_zookeeper else step.adapter_do or step.do
            found = _taken(step.name, partial(step.ask, patient), do, settings)
            yield found
            if not found.is_well:
                return
    quiet = folder / QUIET
    yield _taken(LAST, partial(_trace_is_valid, settings, quiet), LAST_DO, settings)


def _taken(name: str, ask: Callable[[], str], do: str, settings: ClusterSettings) -> Finding:
    try:
        return Finding(step=name, is_well=True, seen=ask())
    except (UnwellError, *TROUBLE) as error:
        implementation = settings.implementation
        target = implementation.target or implementation.name
        return Finding(
            step=name, is_well=False, seen=str(error), do=do.replace("TARGET", quote(target))
        )
