"""What a chaos scenario is, and what it plays on."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic_ns

from fencepost.conformance.adapters.capabilities import as_offered, asked_by, needed
from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.clients.workload import Floor, Workload
from fencepost.conformance.runs.host_interference import HostInterference
from fencepost.conformance.runs.indefinite_outcomes import IndefiniteOutcomes
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.verdict import CheckResult, Verdict
from fencepost.fault_injection.engine.progress import FaultReport
from fencepost.fault_injection.faults.catalogue import needs_links, needs_proxy, needs_relay
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.faults.zookeeper_faults import HurtServer
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.stories.steps.story_step import FaultStep
from fencepost.fault_injection.stories.story import Floors, Story
from fencepost.fault_injection.stories.story_file import fault_of
from fencepost.spec.vocabulary import Ending, Invariant, ProtocolLevel

ALL_LEVELS = tuple(ProtocolLevel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A story on real processes, played by its steps and actions, or by a function."""

    story: Story
    play: Callable[[RunningCluster], None] | None = None
    """What is done instead of what the story says; None: that."""
    draw: Callable[[ClusterSettings, int], Story] | None = None
    """The story that a cluster and a seed make of it; None: it is the same every time."""
    has_links: bool = False
    """True when connections are to go through the proxy whatever the actions are."""
    again: str = ""
    """The option of `fencepost chaos` that runs it; empty: its name."""

    def on(self, settings: ClusterSettings, seed: int) -> "Scenario":
        """With the story that it has on this cluster, and faults in the form that it can have."""
        story = self.story if self.draw is None else self.draw(settings, seed)
        actions = (
            replace(one, fault=as_offered(settings.implementation, one.fault))
            for one in story.actions
        )
        return replace(self, story=replace(story, actions=tuple(actions)))

    @property
    def name(self) -> str:
        """By which it is chosen; the folder of its run has it, too."""
        return self.story.story_id

    @property
    def sentence(self) -> str:
        """What it shows."""
        return self.story.says or "Faults from a story file."

    @property
    def network(self) -> str:
        """What it ran on, where it comes from a run; else the usual."""
        return str(self.story.origin.get("network", ClusterSettings().network))

    @property
    def needs(self) -> frozenset[Capability]:
        """What an implementation must declare to play it."""
        return needed(asked_by(self.story))

    @property
    def needs_links(self) -> bool:
        """True when it hurts connections: all of them go through the proxy then."""
        return self.has_links or needs_links(self.kinds)

    def leads_connections(self, implementation: Implementation) -> bool:
        """True when all connections go through the proxy: it hurts them, or requests on them."""
        on_links = implementation.wire_protocol is WireProtocol.KAFKA
        return self.needs_links or (
            on_links and any(isinstance(f, RpcFault) for f in self._faults())
        )

    @property
    def needs_proxy(self) -> str:
        """Why network namespaces cannot do what it does to connections; empty: they can."""
        return next(
            (f"{one.kind}: {why}" for one in self._faults() if (why := needs_proxy(one))), ""
        )

    @property
    def needs_relay(self) -> bool:
        """True when in network namespaces packets must be kept for later."""
        return needs_relay(self.kinds)

    @property
    def needs_ensemble(self) -> bool:
        """True when it hurts servers of ZooKeeper: it runs on an ensemble of our own only."""
        return HurtServer.kind in self.kinds

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of faults that it does, each once; a story that a seed draws has none yet."""
        return tuple(dict.fromkeys(fault.kind for fault in self._faults()))

    def _faults(self) -> list[Fault]:
        steps = (fault_of(step) for step in self.story.steps if isinstance(step, FaultStep))
        return [*(action.fault for action in self.story.actions), *steps]

    def level_refusal(self, level: int, levels: Iterable[int] = ALL_LEVELS) -> str:
        """Why it is not played at this level of `levels`; empty: it is.

        An implementation that has not the level by this number may have what it brings.
        """
        first = self.story.from_level
        is_below = level < first and first in levels
        return f"it is about what level {first} brings" if is_below else ""

    def expected(self, level: int, levels: Iterable[int] = ALL_LEVELS) -> Verdict:
        """What the reference gives, or another implementation with these levels."""
        if self.level_refusal(level, levels):
            return Verdict.UNSUPPORTED
        return Verdict.FAIL if level in self.story.fails_at else Verdict.PASS


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a run is worth less for, besides its checks."""

    verdict: Verdict
    sentence: str
    waited_ns: tuple[int, int] | None = None
    """From when to when something was waited for that did not come; None: nothing was."""
    ending: Ending | None = None
    """What does not hold at the end of the run therefore."""
    unseen: frozenset[Invariant] = frozenset()
    """The checks that this run could not decide."""
    is_late: bool = False
    """A wait used all of its time: what did not come may come in another run."""

    def beside(self, interference: HostInterference) -> "Problem":
        """The problem beside interference: undecided instead of failed; a broken rule stays."""
        excuse = interference.beside(*self.waited_ns) if self.waited_ns else ""
        if not excuse or self.verdict is not Verdict.FAIL:
            return self
        return replace(
            self, verdict=Verdict.INCONCLUSIVE, sentence=f"{self.sentence}; but {excuse}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResult:
    """How one scenario ended."""

    name: str
    sentence: str
    requirements: tuple[str, ...]
    level: int
    seed: int
    run_id: str
    verdict: Verdict
    expected: Verdict
    checks: tuple[CheckResult, ...] = ()
    faults: tuple[FaultReport, ...] = ()
    floors: tuple[Floor, ...] = ()
    problems: tuple[Problem, ...] = ()
    indefinite_outcomes: IndefiniteOutcomes = field(default_factory=IndefiniteOutcomes)
    """What became of the operations without an answer."""
    interference: tuple[str, ...] = ()
    """What the host did meanwhile, one sentence each."""
    events: int = 0
    acknowledged: int = 0
    seconds: float = 0.0
    folder: str = ""
    """Below the folder of all scenarios."""
    reproduce: str = ""
    earlier: str = ""
    """How the run before this one ended, when that decided nothing: verdict, folder and reason."""
    known: str = ""
    """Why the target is known to end so, by a file of expectations; empty: it is not."""

    @property
    def violated(self) -> frozenset[str]:
        """The names of the violated checks."""
        return frozenset(check.invariant.value for check in self.checks if check.violations)

    @property
    def is_expected(self) -> bool:
        """True when the verdict is the one that the scenario names for this level."""
        return self.verdict is self.expected

    @property
    def is_late(self) -> bool:
        """True when it failed by waits in vain alone: no check is violated, no answer is wrong."""
        failed = [one.is_late for one in self.problems if one.verdict is Verdict.FAIL]
        is_failed = self.verdict is Verdict.FAIL and not self.violated
        return is_failed and bool(failed) and all(failed)

    @property
    def why(self) -> str:
        """The first thing that keeps it from passing; empty for a pass."""
        if self.verdict is Verdict.PASS:
            return ""
        violations = [violation for check in self.checks for violation in check.violations]
        if violations and self.verdict is Verdict.FAIL:
            return f"{violations[0].invariant}: {violations[0].message}"
        decisive = [one.sentence for one in self.problems if one.verdict is self.verdict]
        unseen = frozenset[Invariant]().union(*(one.unseen for one in self.problems))
        decided = (check for check in self.checks if check.invariant not in unseen)
        doubts = [doubt for check in decided for doubt in check.doubts]
        return next(iter([*decisive, *doubts, *(one.sentence for one in self.problems)]), "")


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """What is gathered while a scenario runs."""

    problems: list[Problem] = field(default_factory=list)
    interference: HostInterference = field(default_factory=HostInterference)
    faults: tuple[FaultReport, ...] = ()
    floors: tuple[Floor, ...] = ()
    executed: Story | None = None
    unhealed: set[str] = field(default_factory=set)
    """The liveness properties of the specs that did not come to hold."""

    @property
    def ending(self) -> dict[str, object]:
        """What `RunEnded` tells of what should hold then; what the host may have caused is fine."""
        failed = [one.ending for one in self.problems if one.verdict is Verdict.FAIL]
        return {
            "converged": Ending.CONVERGED not in failed,
            "final_read": Ending.FINAL_READ not in failed,
            "demands_met": Ending.DEMANDS not in failed,
            "unhealed": sorted(self.unhealed) if any(failed) else [],
        }

    def add(self, verdict: Verdict, sentence: str) -> None:
        """The run is worth at most `verdict`."""
        self.problems.append(Problem(verdict=verdict, sentence=sentence))

    def add_missed(self, sentence: str, since: float | None, ending: Ending) -> None:
        """Something did not come in the time that it had, from `since` (monotonic s) until now.

        Without `since` it is known that it never will, and nothing excuses that.
        """
        waited_ns = None if since is None else (round(since * 1e9), monotonic_ns())
        self.problems.append(
            Problem(
                verdict=Verdict.FAIL,
                sentence=sentence,
                waited_ns=waited_ns,
                ending=ending,
                is_late=since is not None and ending is not Ending.DEMANDS,
            )
        )

    def add_unexpected(
        self, verdict: Verdict, sentence: str, since: float, *, is_late: bool
    ) -> None:
        """A step of the story, which began at `since` (monotonic s), ended in another way."""
        waited_ns = (round(since * 1e9), monotonic_ns())
        self.problems.append(
            Problem(verdict=verdict, sentence=sentence, waited_ns=waited_ns, is_late=is_late)
        )

    def excuse(self) -> None:
        """What may be the fault of the host decides nothing."""
        self.problems = [problem.beside(self.interference) for problem in self.problems]

    def judge_faults(self, workload: Workload | None, wanted: Floors) -> None:
        """A fault without effect, or outside of a working run, shows nothing."""
        for report in self.faults:
            if report.action.must_take_effect and not report.is_effective:
                fault = f"{report.action.action_id} ({report.action.fault.kind})"
                why = f": {report.error}" if report.error else ""
                self.add(Verdict.VACUOUS, f"{fault} ended {report.phase}{why}")
        self.floors = _floors(self.faults, workload, wanted.each) if workload else ()
        acknowledged = _while_faults(self.faults, workload) if workload else wanted.during
        if acknowledged < wanted.during:
            self.add(
                Verdict.VACUOUS,
                f"{acknowledged} requests were acknowledged while faults were about; "
                f"the story wants {wanted.during}",
            )
        for floor in self.floors:
            if not floor.is_met:
                self.add(Verdict.VACUOUS, floor.sentence)

    def judge_outcomes(self, outcomes: IndefiniteOutcomes) -> None:
        """Too many operations with an unknown outcome prove little."""
        if not outcomes.is_enough:
            self.add(Verdict.INCONCLUSIVE, outcomes.sentence)


def _while_faults(faults: Sequence[FaultReport], workload: Workload) -> int:
    """What was acknowledged from the first injection to the last healing."""
    done = [(r.injected_ns, r.healed_ns) for r in faults if r.injected_ns and r.healed_ns]
    if not done:
        return 0
    first_ns, last_ns = min(start for start, _ in done), max(end for _, end in done)
    return workload.floor("", first_ns, last_ns).during


def _floors(
    faults: Sequence[FaultReport], workload: Workload, during_min: int
) -> tuple[Floor, ...]:
    return tuple(
        workload.floor(
            report.action.action_id, report.injected_ns, report.healed_ns, during_min=during_min
        )
        for report in faults
        if report.is_effective and report.injected_ns is not None and report.healed_ns is not None
    )
