"""One chaos test from the start of its cluster to the message that it fails with."""

import re
import secrets
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.conformance.adapters.capabilities import UnsupportedFaultError
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.networks import possible
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios.drawn import draw_for
from fencepost.conformance.testing.bundle import RecordedTest
from fencepost.conformance.testing.faults import Faults
from fencepost.conformance.testing.marker import ChaosMark
from fencepost.conformance.testing.quiet import DisturbedError, QuietSpan
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.engine.progress import FaultReport
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.stories.story import Story
from fencepost.spec.zookeeper import ZooKeeperError

NAME_LENGTH_MAX = 60
SHOWN_MAX = 3
"""Violated checks that a message tells."""

MEANING = {
    Verdict.PASS: "of the cluster, not of the test",
    Verdict.VACUOUS: "it ran and showed nothing, which is no pass",
    Verdict.INCONCLUSIVE: "it was not decided, which is no pass",
    Verdict.ERROR: "the harness failed, not the cluster",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What is to be run, and where."""

    test: str
    """The node id."""
    name: str
    sentence: str
    seed: int
    settings: ClusterSettings
    mark: ChaosMark
    out: Path
    """The folder of all bundles."""
    again: str = ""
    """The command that runs the same again, without the name of the bundle."""
    recorded: RecordedTest | None = None


@dataclass(slots=True, kw_only=True)
class ChaosRun:
    """A test's cluster, faults and quiet, between `start` and either `end` or `abandon`."""

    tested: Tested
    folder: Path = field(init=False)
    cluster: RunningCluster = field(init=False)
    faults: Faults = field(init=False)
    quiet: QuietSpan = field(init=False)
    _run: ScenarioRun = field(init=False)
    _stack: ExitStack = field(init=False, default_factory=ExitStack)

    def __post_init__(self) -> None:
        tested = self.tested
        name = re.sub(r"[^\w.-]+", "-", tested.name).strip("-")[:NAME_LENGTH_MAX]
        self.folder = tested.out / f"{name}-{secrets.token_hex(3)}"
        possible(tested.mark.kinds, tested.settings.network)
        scenario = Scenario(
            story=Story(story_id=name, says=tested.sentence),
            play=_nothing,
            has_links=tested.mark.links,
        )
        self._run = ScenarioRun(
            scenario=scenario,
            settings=tested.settings,
            seed=tested.seed,
            folder=self.folder,
            again=f"{tested.again} {shown(self.folder)}",
            told={"test": tested.test},
        )

    def start(self) -> None:
        """The cluster runs and clients are served.

        Raises `ClusterError`, `ZooKeeperError` or `ProcessError`; then nothing runs.
        """
        stage = self._stack.enter_context(self._run.running())
        recorded = self.tested.recorded
        self.cluster = stage
        self.faults = Faults(
            stage=stage,
            network=self.tested.settings.network,
            drawn=self._draw(stage),
            recorded=recorded.faults if recorded else {},
        )
        self.quiet = QuietSpan(stage=stage, record=self._run.record)

    def end(self, error: BaseException | None) -> ScenarioResult:
        """All is healed, read and judged, and nothing runs; `error` is what the test raised."""
        record = self._run.record
        if isinstance(error, UnsupportedFaultError):
            record.add(Verdict.UNSUPPORTED, str(error))
        elif isinstance(error, InjectionError):
            record.add(Verdict.INCONCLUSIVE, f"the faults could not be played: {error}")
        if error is None and self.faults.drawn is not None and not self.faults.has_run_drawn:
            record.add(Verdict.VACUOUS, "the drawn faults were not run; call faults.run()")
        try:
            self._stack.close()
        except (ClusterError, ZooKeeperError, ProcessError) as trouble:
            record.add(Verdict.ERROR, str(trouble))
        return self._run.judge()

    def abandon(self, error: BaseException | None = None) -> None:
        """All is undone and nothing runs, at once and unjudged; nothing happens after `end`."""
        error = error or InterruptedError("the test was not run")
        self._stack.__exit__(type(error), error, error.__traceback__)

    def _draw(self, stage: RunningCluster) -> Story | None:
        mark = self.tested.mark
        if not mark.kinds:
            return None
        return draw_for(
            stage.cluster.settings,
            mark.kinds,
            seed=self.tested.seed,
            duration_ms=int(mark.budget_s * 1000),
        )


def is_own(error: BaseException | None) -> bool:
    """True for what the verdict of the run tells better than a traceback does."""
    return isinstance(error, InjectionError | DisturbedError)


def message_of(result: ScenarioResult, folder: Path) -> str:
    """Why the test fails, where its bundle is and how it is run again; one fact per line."""
    verdict = result.verdict
    told = "; ".join(map(_fault, result.faults)) or "none"
    first, *others = _reasons(result) or [result.why or "the checks found nothing"]
    meaning = f" ({MEANING[verdict]})" if verdict in MEANING else ""
    lines = [
        f"{verdict}{meaning}: {first}",
        *others,
        f"faults: {told}",
        *(f"the host: {sentence}" for sentence in result.interference[:SHOWN_MAX]),
        f"seed {result.seed}, level {result.level}, {result.acknowledged} requests acknowledged",
        f"bundle: {shown(folder)}",
        f"again: {result.reproduce}",
    ]
    return "\n".join(lines)


def shown(folder: Path) -> str:
    """The folder as a person types it: relative when it is below the current one."""
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


def _reasons(result: ScenarioResult) -> list[str]:
    """The first violation of each check, then what else the run is worth less for."""
    violated = [check for check in result.checks if check.violations]
    told = [f"{check.invariant}: {check.violations[0].message}" for check in violated[:SHOWN_MAX]]
    count = sum(len(check.violations) + check.omitted_violations for check in violated)
    if count > len(told):
        told.append(f"{count - len(told)} more violations are in the traces")
    told += [problem.sentence for problem in result.problems]
    return told


def _fault(report: FaultReport) -> str:
    where = "" if report.broker_id is None else f" at broker {report.broker_id}"
    return f"{report.action.action_id} {report.action.fault.kind}{where} {report.phase}"


def _nothing(_: RunningCluster) -> None:
    """The test plays."""
