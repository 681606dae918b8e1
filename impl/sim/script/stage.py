"""The stage: one simulated cluster after the other, and what the verbs of a scenario work on.

What a verb may be given is said beside its function in `verbs.py`; this module knows the cluster,
its clients and rules, and how words become brokers, partitions and requests.
"""

from collections.abc import Callable, Sequence

from fencepost.fault_injection.faults.targets import FaultError, parse_target
from fencepost.impl.core.types.effects import ActionTaken, Effect, ReadZnodes, Send, WriteZnodes
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import SimulatedRun, run_details
from fencepost.impl.sim.injectors.driver import SimulatedFaultDriver
from fencepost.impl.sim.script.client import ScriptClient
from fencepost.impl.sim.script.language import Command
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.network import RequestRule, method_of
from fencepost.impl.sim.world.process import Process
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, BrokerId
from fencepost.spec.znodes import TOPIC_NAME, TopicPartition

Judge = Callable[[Sequence[TraceEvent]], Sequence[str]]
"""The lines that `check` prints about a trace; the checks are not this room's."""

ANY_BROKER = -1
"""Any sender, any receiver of a `RequestRule`."""
METHODS = ("LeaderAndIsr", "StopReplica", "Fetch", "OffsetForLeaderEpoch", "Produce", "ListOffsets")


def unjudged(_: Sequence[TraceEvent]) -> Sequence[str]:
    """The judge where the output of a scenario is not read."""
    return ()


class Stage:
    """What the commands of one scenario act upon."""

    def __init__(
        self, name: str, judge: Judge, *, move_recorder: Callable[[], MoveRecorder] | None = None
    ) -> None:
        """With a `move_recorder`, each cluster has one that it makes."""
        self.name = name
        self._move_recorder = move_recorder
        self.noted: list[tuple[RunOptions, MoveRecorder]] = []
        """One per cluster that has a move recorder."""
        self.judge = judge
        self.traces: list[Sequence[TraceEvent]] = []
        """One per cluster."""
        self._simulated: SimulatedRun | None = None
        self.client: ScriptClient
        self.rules: list[RequestRule] = []
        """Of the network, that verbs have made and not lifted."""
        self.killed: set[BrokerId] = set()
        """By a verb, and not started since: no fault brings them back."""
        self.is_read = False
        self.faults = 0
        """How many the injector was given."""

    def start(self, options: RunOptions) -> None:
        """Start a new cluster in place of the one before."""
        move_recorder = self._move_recorder() if self._move_recorder is not None else None
        if move_recorder is not None:
            self.noted.append((options, move_recorder))
        cluster = VirtualCluster(options, f"{self.name}-{len(self.traces) + 1}", move_recorder)
        self.traces.append(cluster.recorder.events)
        self.begin(SimulatedRun(cluster, run_details(options, self.name)))

    def begin(self, simulated: SimulatedRun) -> None:
        """Let the commands act upon this run, of which nothing has been played."""
        self._simulated = simulated
        self.rules, self.killed = [], set()
        self.client = ScriptClient(self.cluster)
        self.is_read = False
        self.faults = 0

    @property
    def simulated(self) -> SimulatedRun:
        """The run of the cluster that plays; raises `ValueError` before the first `cluster`."""
        if self._simulated is None:
            raise ValueError("there is no cluster yet; begin with the verb cluster")
        return self._simulated

    @property
    def cluster(self) -> VirtualCluster:
        """The one that plays; raises `ValueError` before the first `cluster`."""
        return self.simulated.cluster

    @property
    def injector(self) -> SimulatedFaultDriver:
        """Of the faults of this run."""
        return self.simulated.injector

    def start_broker(self, broker_id: BrokerId) -> None:
        """A dead broker starts anew on its disk."""
        self.killed.discard(broker_id)
        self.cluster.start(broker_id)

    @property
    def now_ms(self) -> int:
        """Virtual time since the cluster was started."""
        return self.cluster.scheduler.now_ms

    def run(self, for_ms: int, is_done: Callable[[], bool] = lambda: False) -> bool:
        """Let virtual time pass; returns whether it is done."""
        return self.cluster.scheduler.run_until(self.now_ms + for_ms, is_done)

    # Words

    def broker(self, command: Command, option: str = "broker") -> BrokerId:
        """The broker that an option names, by number or by role; raises `ScriptError`."""
        text = command.options.get(option)
        if text is None:
            raise command.error(f"{command.verb} needs {option}=, a number or a role")
        try:
            found = parse_target(text).resolve(self.cluster.view())
        except FaultError as error:
            raise command.error(str(error)) from error
        if found not in self.cluster.disks:
            raise command.error(f"no broker is {option}={text} now")
        return BrokerId(found)

    def process(self, command: Command, *, alive: bool = True) -> Process:
        """The process of `broker=`; raises `ScriptError` when it is dead and must not be."""
        process = self.cluster.processes[self.broker(command)]
        if alive and not process.is_alive:
            raise command.error(f"broker {process.broker_id} is dead")
        return process

    def rules_for(self, command: Command) -> list[RequestRule]:
        """The active rules that `method=`, `from=` and `to=` describe; all of them without."""
        wanted = self.rule(command, "")
        return [
            rule
            for rule in self.rules
            if wanted.method in ("", rule.method)
            and wanted.sender in (ANY_BROKER, rule.sender)
            and wanted.receiver in (ANY_BROKER, rule.receiver)
        ]

    def rule(self, command: Command, verb: str) -> RequestRule:
        """What the options say of requests; raises `ScriptError`."""
        options = command.options
        method = options.get("method", "")
        if method and method not in METHODS:
            raise command.error(f"method={method} is none; write one of {', '.join(METHODS)}")
        return RequestRule(
            method=method,
            sender=self.broker(command, "from") if "from" in options else ANY_BROKER,
            receiver=self.broker(command, "to") if "to" in options else ANY_BROKER,
            topic=options.get("topic", ""),
            verb=verb,
            count=number(command, "count", 0),
        )

    def lift(self, rules: Sequence[RequestRule]) -> None:
        """These rules are no longer."""
        for rule in rules:
            self.rules.remove(rule)
            self.cluster.network.rules.remove(rule)


def key_of(command: Command, text: str) -> TopicPartition:
    """`t/0` as a partition; raises `ScriptError`."""
    topic, _, partition = text.rpartition("/")
    if not TOPIC_NAME.fullmatch(topic) or not partition.isdecimal():
        raise command.error(f"{text!r} is no partition; write <topic>/<number>")
    return TopicPartition(topic, int(partition))


def number(command: Command, option: str, default: int) -> int:
    """A whole number; raises `ScriptError`."""
    text = command.options.get(option)
    if text is None:
        return default
    if not text.removeprefix("-").isdecimal():
        raise command.error(f"{option}={text} is no whole number")
    return int(text)


def point(command: Command, text: str) -> Callable[[Effect], bool]:
    """Whether an effect is at the named point of the protocol; raises `ScriptError`.

    `PublishDecision` and every other action; `send(Fetch)`; `write(/controller)` and
    `read(leaderAndISR)`: of a znode with this in its path.
    """
    name, _, rest = text.partition("(")
    about = rest.removesuffix(")")
    if name == "send" and about in METHODS:
        return lambda effect: isinstance(effect, Send) and method_of(effect.request) == about
    if name == "write" and about:
        return lambda effect: isinstance(effect, WriteZnodes) and writes(effect, about)
    if name == "read" and about:
        return lambda effect: isinstance(effect, ReadZnodes) and reads(effect, about)
    if text in {*Action}:
        return lambda effect: isinstance(effect, ActionTaken) and effect.action == text
    raise command.error(
        f"at={text} is no point; write an action, send(<method>), write(<part of a path>) or "
        "read(<part of a path>)"
    )


def writes(ask: WriteZnodes, path: str) -> bool:
    """True when one of the writes is to a znode with `path` in its path."""
    return any(path in op.path for op in ask.ops)


def reads(ask: ReadZnodes, path: str) -> bool:
    """True when one of the znodes that are read has `path` in its own."""
    return any(path in asked for asked in ask.paths)
