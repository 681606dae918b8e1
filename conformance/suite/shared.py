"""Several cases on one cluster, each with topics of its own: brokers start once for all of them.

A case is played there when it has steps only, and does nothing to brokers but stop, kill and
restart them. A case that needs a broker as controller, and leaves another one, is the last of these
on its cluster. Its topics get names of its own, and it is judged by the lines about them and by the
lines about no topic. A violation counts. What else is no pass may come of the cases before it: it
decides nothing, and the case is played again on a cluster of its own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import ceil
from pathlib import Path
from time import monotonic

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.run_folder import read_run_folder
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.steps.observation import Observation, is_relative
from fencepost.fault_injection.stories.story import AfterAction, ClientLoad, Story
from fencepost.fault_injection.stories.story_file import (
    as_document,
    awaited_by,
    fault_of,
    story_from_document,
)
from fencepost.spec.trace import TraceEvent
from fencepost.spec.znodes import CONTROLLER, TOPIC_NAME
from fencepost.spec.zookeeper import ZooKeeperError

Judged = tuple[SuiteCase, ScenarioResult, tuple[str, ...]]
"""A case, what came of it, and the topics on its cluster that are not its own."""
SESSION_MAX = 10
"""Cases on one cluster, about: judged at its end, and lost when the harness is killed."""
HARMLESS = frozenset({"proc.kill", "proc.term", "proc.pause", "proc.bounce_fast"})
"""Faults that leave other topics as they are."""
WHOLE = frozenset({"topics", "controller_epoch"})
"""Observations of the whole cluster, which other cases have changed."""
SETTLED = frozenset({Verdict.PASS, Verdict.NOT_OBSERVABLE, Verdict.UNSUPPORTED})


def can_share(case: SuiteCase) -> bool:
    """True when other cases may have run on its cluster, and may run there afterwards."""
    story = case.story
    is_steps = bool(story.steps) and not story.actions and story.profile is ClientLoad.NONE
    return is_steps and "zookeeper" not in story.cluster and all(map(_leaves_no_mark, story.steps))


def _leaves_no_mark(step: steps.StoryStep) -> bool:
    match step:
        case steps.ExpireStep() | steps.DisconnectStep():
            return False
        case steps.WaitForStep():
            return isinstance(awaited_by(step), AfterAction)
        case steps.UntilStep(until=until):
            fixed = {name for name, value in until.items() if not is_relative(value)}
            return not WHOLE & {Observation.parsed(name).name for name in fixed}
        case steps.FaultStep():
            fault = fault_of(step)
            keeps_disk = not isinstance(fault, KillBroker) or fault.wipe == "none"
            return fault.kind in HARMLESS and keeps_disk
        case _:
            return True


def sessions(cases: Sequence[SuiteCase]) -> list[list[SuiteCase]]:
    """The cases by cluster: equal settings together; those that cannot share alone."""
    alone = [[case] for case in cases if not can_share(case)]
    shared = sorted(filter(can_share, cases), key=_settings_key)
    found: list[list[SuiteCase]] = []
    for _, equal in groupby(shared, _settings_key):
        found += _divided(list(equal))
    return found + alone


def _divided(cases: Sequence[SuiteCase]) -> Iterator[list[SuiteCase]]:
    """By the controller that they need; cases that need none are with the first of these."""
    needed = sorted({_controller(case) for case in cases} - {0}) or [0]
    for first in needed:
        fit = [case for case in cases if (_controller(case) or needed[0]) == first]
        moving = [case for case in fit if _moves_controller(case)]
        kept = [case for case in fit if case not in moving]
        last = [case for case in moving if _controller(case)]
        any_left = [case for case in moving if not _controller(case)]
        count = max(len(last), ceil(len(fit) / SESSION_MAX))
        parts = kept, last, any_left
        yield from ([case for part in parts for case in part[i::count]] for i in range(count))


def _controller(case: SuiteCase) -> int:
    """The broker that must be the controller when it begins; 0: any."""
    return int(case.story.cluster.get("first_controller", 0))


def _settings_key(case: SuiteCase) -> tuple[tuple[str, str], ...]:
    """What must be equal on one cluster."""
    usual = ClusterSettings()
    given = {n: v for n, v in case.story.cluster.items() if n != "first_controller"}
    return tuple(sorted((n, str(v)) for n, v in given.items() if v != getattr(usual, n)))


def _moves_controller(case: SuiteCase) -> bool:
    """True when another broker than before may be the controller when it is over."""
    first = _controller(case)
    others = {str(n) for n in range(1, case.brokers + 1) if first and n != first}
    return not {_hurt_by(step) for step in case.story.steps} <= {"", *others}


def _hurt_by(step: steps.StoryStep) -> str:
    """The broker that dies or stands still, by id or role; empty: none."""
    match step:
        case steps.KillStep(kill=target) | steps.PauseStep(pause=target):
            return str(target)
        case steps.FaultStep(target=target):
            return str(target)
        case steps.DeleteZnodeStep(delete_znode=path) if path == CONTROLLER:
            return "controller"
    return ""


def with_own_topics(story: Story, number: int) -> tuple[Story, frozenset[str]]:
    """The story with a number after the names of the topics that it creates, and these names."""
    created = {s.create_topic for s in story.steps if isinstance(s, steps.CreateTopicStep)}
    topics = frozenset(filter(TOPIC_NAME.fullmatch, created - {".", ".."}))
    if not topics:
        return story, frozenset()
    names = "|".join(map(re.escape, sorted(topics, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w.-])({names})(?=/\d|/partitions/|$)")

    def renamed(value: object) -> object:
        if isinstance(value, str):
            return pattern.sub(rf"\1-{number}", value)
        if isinstance(value, dict):
            return {renamed(key): renamed(one) for key, one in value.items()}
        return [renamed(one) for one in value] if isinstance(value, list) else value

    document = as_document(story)
    made = story_from_document(document | {"steps": renamed(document["steps"])})
    return made, frozenset(f"{topic}-{number}" for topic in topics)


@dataclass(slots=True, kw_only=True)
class PlayedCase:
    """A case that was played on a shared cluster, before it is judged."""

    case: SuiteCase
    run: ScenarioRun
    topics: frozenset[str]
    seconds: float = 0.0
    is_decided: bool = False


@dataclass(slots=True, kw_only=True)
class SharedRun:
    """One cluster, and the cases that were played on it."""

    settings: ClusterSettings
    folder: Path
    seed: int | None
    cases: Sequence[SuiteCase]
    reproduce: Callable[[SuiteCase], str]
    on_start: Callable[[SuiteCase], None]
    """Called when a case begins."""
    _played: list[PlayedCase] = field(init=False, default_factory=list)

    @property
    def played(self) -> list[SuiteCase]:
        """The cases that were begun."""
        return [one.case for one in self._played]

    @property
    def undecided(self) -> list[SuiteCase]:
        """Those of them that need a cluster of their own, once `play` is over."""
        return [one.case for one in self._played if not one.is_decided]

    def play(self) -> Iterator[Judged]:
        """The result of each case that is decided.

        At least one is begun; when no broker starts, that is the first one.
        """
        first = max(map(_controller, self.cases))
        story = Story(
            story_id="shared",
            says="Several cases on one cluster.",
            profile=ClientLoad.NONE,
            cluster={**self.cases[0].story.cluster, "first_controller": first},
        )
        scenario = Scenario(story=story, play=_nothing)
        whole = ScenarioRun(
            scenario=scenario,
            settings=self.settings,
            seed=self.seed or 0,
            folder=self.folder,
            told={"cases": [case.case_id for case in self.cases]},
        )
        try:
            with whole.running() as stage:
                self._play_all(stage)
        except (ClusterError, ZooKeeperError, ProcessError) as error:
            whole.record.add(Verdict.ERROR, str(error))
            if not self._played:
                self._begin(1, self.cases[0])
        results = list(self._judged(whole))
        yield from results
        if all(result.verdict in SETTLED for _, result, _ in results):
            whole.remove_data()

    def _play_all(self, stage: RunningCluster) -> None:
        """Case after case, until the cluster is not as it was; one client reads all partitions."""
        for number, case in enumerate(self.cases, 1):
            if self._played and not self._can_begin(case, stage.controller()):
                return
            played, began = self._begin(number, case), monotonic()
            stage = self._play_one(stage.renewed(), played.run)
            played.seconds = monotonic() - began
            if any(one.verdict is not Verdict.UNSUPPORTED for one in played.run.record.problems):
                return

    def _can_begin(self, case: SuiteCase, controller: int | None) -> bool:
        """True beside this controller; without ZooKeeper no case chooses it."""
        chooses = Capability.ZOOKEEPER in self.settings.implementation.capabilities
        return not chooses or _controller(case) in {0, controller}

    def _begin(self, number: int, case: SuiteCase) -> PlayedCase:
        self.on_start(case)
        story, topics = with_own_topics(case.story, number)
        run = ScenarioRun(
            scenario=replace(case.scenario, story=story),
            settings=self.settings,
            seed=story.seed if self.seed is None else self.seed,
            folder=self.folder,
            again=self.reproduce(case),
            unexpected=Verdict.FAIL,
        )
        played = PlayedCase(case=case, run=run, topics=topics)
        self._played.append(played)
        return played

    def _play_one(self, stage: RunningCluster, run: ScenarioRun) -> RunningCluster:
        """The case is over, its faults are healed, and its partitions read to the end."""
        with stage.engine:
            run.perform(stage)
            try:
                stage.engine.heal_all()
            except InjectionError as error:
                run.record.add(Verdict.INCONCLUSIVE, str(error))
            aftermath = run.aftermath(stage)
            if not run.went_otherwise:
                aftermath.await_health()
                # A broker that started anew is registered before it obeys the controller.
                with suppress(ClusterError):
                    stage.await_state(stage.cluster.is_answering, "an answer of each broker")
        aftermath.read_everything()
        run.record.faults = tuple(stage.engine.reports())
        run.record.judge_faults(None, run.scenario.story.floors)
        return stage

    def _judged(self, whole: ScenarioRun) -> Iterator[Judged]:
        events, doubts = read_run_folder(self.folder)
        for played in self._played:
            record = played.run.record
            record.interference = whole.record.interference
            record.excuse()
            for doubt in doubts:
                record.add(Verdict.INCONCLUSIVE, doubt)
            record.problems += [one for one in whole.record.problems if not one.ending]
            others = {topic for one in self._played for topic in one.topics - played.topics}
            result = played.run.judge_events(about_others(events, others))
            played.is_decided = bool(result.verdict in SETTLED or result.violated)
            if played.is_decided:
                result = replace(result, seconds=played.seconds)
                yield played.case, result, tuple(sorted(others))


def about_others(events: Iterable[TraceEvent], foreign: Iterable[str]) -> list[TraceEvent]:
    """The events without those about these topics."""
    topics = frozenset(foreign)
    return [event for event in events if not topics & _topics_of(event)]


def _topics_of(event: TraceEvent) -> frozenset[str]:
    of_path = event.path.split("/") if event.path else []
    return frozenset([*of_path, *([event.topic] if event.topic else [])])


def _nothing(_: RunningCluster) -> None:
    """The cases play."""
