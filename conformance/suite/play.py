"""Plays the cases of a run on its targets, and writes down what came of each as it comes."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import starmap
from pathlib import Path
from shlex import quote
from time import monotonic

from fencepost.conformance.adapters.capabilities import refusal
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.catalogue.requirements import CATALOGUE
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.runs.run_settings import settings_of
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.suite.case import SuiteCase, folder_name
from fencepost.conformance.suite.confirmation import Try, confirming, settled
from fencepost.conformance.suite.judgement import requirement_verdicts
from fencepost.conformance.suite.library import ROOM, requirements
from fencepost.conformance.suite.records import (
    SCHEMA,
    CaseEnd,
    CaseStart,
    CaseTry,
    Footer,
    Header,
    RequirementRecord,
    ResultWriter,
    SuiteRun,
    TargetRecord,
    appending,
    counts_of,
    read_run,
    write_manifest,
)
from fencepost.conformance.suite.sentences import sentence_of
from fencepost.conformance.suite.shared import SharedRun, about_others, sessions
from fencepost.conformance.verdict import Verdict
from fencepost.spec.versions import version_of

REFERENCE = "reference"
"""The target that comes with Fencepost."""

ERRORS_MAX = 3
"""After so many errors in a row a target is given up, and what is left of it is `NOT_RUN`."""

Progress = Callable[[int, int, str], None]
IsKnown = Callable[[str, str], bool]
"""True for a target and a case that is known not to pass there."""


def settings_of_targets(targets: Sequence[str]) -> dict[str, ClusterSettings]:
    """What the cases are played on, by target; raises `ChoiceError`."""
    return {one: settings_of({} if one == REFERENCE else {"command": one}) for one in targets}


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlan:
    """Which cases are played on which targets."""

    targets: tuple[str, ...]
    cases: tuple[SuiteCase, ...]
    profile: str = ""
    select: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    seed: int | None = None
    confirm: int = 0
    """How often a case that waited in vain is played again."""
    max_fail: int = 0
    """After so many unknown failures nothing more is begun; 0: everything is played."""

    def __post_init__(self) -> None:
        if twice := [one for one in self.targets if self.targets.count(one) > 1]:
            raise ChoiceError(f"target {twice[0]} is given twice; give each once")

    @property
    def command(self) -> str:
        """What runs the same again."""
        words = ["fencepost conform run"]
        words += [f"-t {quote(target)}" for target in self.targets]
        words += [f"--profile {self.profile}"] if self.profile else []
        words += [f"--select {quote(one)}" for one in self.select]
        words += [f"--skip {quote(one)}" for one in self.skip]
        words += [f"--seed {self.seed}"] if self.seed is not None else []
        words += [f"--confirm {self.confirm}"] if self.confirm else []
        words += [f"--max-fail {self.max_fail}"] if self.max_fail else []
        return " ".join(words)

    def header(self) -> Header:
        """The first line of the results."""
        return Header(
            schema=SCHEMA,
            version=version_of("fencepost"),
            catalogue=catalogue_digest(),
            targets=self.targets,
            profile=self.profile,
            select=self.select,
            skip=self.skip,
            seed=self.seed,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=self.command,
            cases=tuple(case.case_id for case in self.cases),
            confirm=self.confirm,
        )


def play(
    plan: SuitePlan,
    settings: Mapping[str, ClusterSettings],
    folder: Path,
    on_progress: Progress | None = None,
    is_known: IsKnown = lambda _target, _case: False,
) -> None:
    """Play everything that has no end yet; `settings` are those of each target.

    The results are in `folder`, which `begin` has begun. What is known not to pass would end a
    cluster that others share, and be played again: it gets one of its own at once.
    """
    started = monotonic()
    with appending(folder) as results:
        player = _Player(
            plan=plan, folder=folder, results=results, on_progress=on_progress, is_known=is_known
        )
        for target in plan.targets:
            if not player.is_over:
                player.play_target(target, settings[target])
        verdicts = read_run(folder).verdicts
        if Verdict.NOT_RUN not in verdicts:
            seconds = round(monotonic() - started, 1)
            results.write(Footer(counts=counts_of(verdicts), seconds=seconds))
            write_manifest(folder)


def begin(plan: SuitePlan, folder: Path) -> None:
    """Write the header of a new run."""
    with appending(folder) as results:
        results.write(plan.header())


def play_anew(plan: SuitePlan, settings: Mapping[str, ClusterSettings], folder: Path) -> SuiteRun:
    """Play everything in a folder that is not there yet; returns the results."""
    folder.mkdir(parents=True)
    begin(plan, folder)
    play(plan, settings, folder)
    return read_run(folder)


@dataclass(slots=True, kw_only=True)
class _Player:
    """Plays case after case."""

    plan: SuitePlan
    folder: Path
    results: ResultWriter
    on_progress: Progress | None
    is_known: IsKnown
    _done: int = field(init=False, default=0)
    _failed: int = field(init=False, default=0)

    @property
    def is_over(self) -> bool:
        """True when so many cases have failed that the rest is left for another time."""
        return 0 < self.plan.max_fail <= self._failed

    def play_target(self, target: str, settings: ClusterSettings) -> None:
        """Every case that has no end yet, several on one cluster where they allow it."""
        run = read_run(self.folder)
        if target not in {one.target for one in run.targets}:
            self.results.write(TargetRecord.of(target, settings.implementation))
        left = [case for case in self.plan.cases if run.end_of(target, case.case_id) is None]
        self._done += len(self.plan.cases) - len(left)
        known = [case for case in left if self.is_known(target, case.case_id)]
        others = [case for case in left if case not in known]
        errors = 0
        for session in [*sessions(others), *([case] for case in known)]:
            for verdict in self._play_session(target, settings, session):
                errors = errors + 1 if verdict is Verdict.ERROR else 0
                self._failed += verdict is Verdict.FAIL and session[0] not in known
                if errors == ERRORS_MAX or self.is_over:
                    return

    def _play_session(
        self, target: str, settings: ClusterSettings, cases: Sequence[SuiteCase]
    ) -> Iterator[Verdict]:
        """Together, as long as the cluster lasts; what is not decided then, each for itself."""
        left = [case for case in cases if not refusal(settings.implementation, case.needs)]
        alone = [case for case in cases if case not in left]
        while len(left) > 1:
            shared = SharedRun(
                settings=settings,
                folder=free_folder(self.folder / folder_name(target) / "shared"),
                seed=self.plan.seed,
                cases=left,
                reproduce=partial(again, target, seed=self.plan.seed),
                on_start=partial(self._start, target),
            )
            for case, result, others in shared.play():
                yield self._tell(target, case, result, shared.folder, others)
            left = [case for case in left if case not in shared.played]
            alone += shared.undecided
        for case in [*left, *alone]:
            yield self._play(target, settings, case)

    def _start(self, target: str, case: SuiteCase) -> None:
        self._advance(f"{target} {case.case_id}")
        self.results.write(CaseStart(target=target, case=case.case_id))

    def _play(self, target: str, settings: ClusterSettings, case: SuiteCase) -> Verdict:
        """On a cluster of its own, and on a new one for each try."""
        tries = list(confirming(self._tries(target, settings, case), self.plan.confirm))
        result, place = settled(tries)
        return self._tell(target, case, result, place, tries=tries)

    def _tries(self, target: str, settings: ClusterSettings, case: SuiteCase) -> Iterator[Try]:
        """Play the case again and again."""
        while True:
            self._start(target, case)
            place = free_folder(self.folder / folder_name(target) / case.folder_name)
            run = ScenarioRun(
                scenario=case.scenario,
                settings=settings,
                seed=case.story.seed if self.plan.seed is None else self.plan.seed,
                folder=place,
                again=again(target, case, seed=self.plan.seed),
                told={"case": case.case_id},
                unexpected=Verdict.FAIL,
            )
            yield run.play(), place

    def _tell(
        self,
        target: str,
        case: SuiteCase,
        result: ScenarioResult,
        place: Path,
        others: tuple[str, ...] = (),
        tries: Sequence[Try] = (),
    ) -> Verdict:
        """Write what came of the case, and return its verdict."""
        told = result.why
        if result.violated:
            told = sentence_of(result, about_others(read_folder(place)[0], others))
        for one in requirement_verdicts(result, requirements()):
            self.results.write(
                RequirementRecord(
                    target=target,
                    case=case.case_id,
                    requirement=one.requirement,
                    verdict=one.verdict,
                    premise_count=one.premise_count,
                    message=one.message,
                )
            )
        self.results.write(
            CaseEnd(
                target=target,
                case=case.case_id,
                verdict=result.verdict,
                message=told,
                others=others,
                violated=tuple(sorted(result.violated)),
                seconds=round(result.seconds, 1),
                events=result.events,
                folder=self._below(place),
                again=result.reproduce,
                tries=tuple(starmap(self._try, tries)) if len(tries) > 1 else (),
            )
        )
        self._done += 1
        self._advance(f"{target} {case.case_id}")
        return result.verdict

    def _try(self, result: ScenarioResult, place: Path) -> CaseTry:
        return CaseTry(
            verdict=result.verdict,
            message=result.why,
            folder=self._below(place),
            seconds=round(result.seconds, 1),
        )

    def _below(self, place: Path) -> str:
        """The folder as the records name it; empty when nothing was played there."""
        return str(place.relative_to(self.folder)) if place.is_dir() else ""

    def _advance(self, text: str) -> None:
        if self.on_progress:
            self.on_progress(self._done, len(self.plan.cases) * len(self.plan.targets), text)


def again(target: str, case: SuiteCase, *, seed: int | None) -> str:
    """The command that runs one case again."""
    told = f"fencepost conform run -t {quote(target)} --select {quote(case.case_id)}"
    return told if seed is None else f"{told} --seed {seed}"


def free_folder(wanted: Path) -> Path:
    """The folder, or the next one beside it: what was cut off stays as it is."""
    number, found = 1, wanted
    while found.exists():
        number += 1
        found = wanted.with_name(f"{wanted.name}.{number}")
    return found


def catalogue_digest() -> str:
    """A digest of all files that say what is demanded, and how it is looked at."""
    files = [*CATALOGUE.glob("*.yaml"), *ROOM.glob("cases/*/*.yaml"), ROOM / "suite.toml"]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
