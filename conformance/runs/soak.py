"""Chaos for an hour: round after round on fresh clusters, with bounded disk and memory.

Each round has its own seed. One that passes leaves a line in `soak.ndjson` and nothing else; one
that does not keeps its folder, up to `BUNDLES_MAX` of them. `soak.json` says what was asked for, so
that a soak that was interrupted, or killed, can be resumed where it stopped.
"""

import fcntl
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Protocol

import msgspec

from fencepost.conformance.adapters.choices import PROXY
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.run_settings import settings_of
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import run
from fencepost.conformance.scenarios.find_story import find_story
from fencepost.conformance.verdict import Verdict, worst

PLAN = "soak.json"
ROUNDS = "soak.ndjson"
BUNDLES_MAX = 20
"""So many rounds that did not pass keep their traces; later ones only their line."""
MB = 1 << 20
_STATUS = Path("/proc/self/status")


class SoakPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a soak was asked for; `soak.json`."""

    duration_s: float
    seed: int
    """Of the first round; each round has the next one."""
    level: int
    stories: tuple[str, ...]
    """Names and files, played in turn."""
    zookeeper: str
    command: str = ""
    """How a broker is started; empty for the reference."""
    broken_rule: str = msgspec.field(default="", name="mutant")
    """The rule that every broker breaks on purpose; empty for none."""
    network: str = PROXY

    @property
    def settings(self) -> ClusterSettings:
        """Of the cluster of every round; raises `ChoiceError`."""
        return settings_of(msgspec.to_builtins(self))


class SoakRound(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of one round: a line of `soak.ndjson`."""

    number: int
    """From 1 on."""
    scenario: str
    seed: int
    verdict: Verdict
    why: str = ""
    seconds: float
    faults: int
    acknowledged: int
    events: int
    operations: int
    unsettled: int
    noise: tuple[str, ...] = ()
    memory_mb: int = 0
    """Of the harness, at the end of the round."""
    bundle: str = ""
    """The folder with its traces; empty when it passed, or when there were too many."""
    reproduce: str


@dataclass(slots=True, kw_only=True)
class Totals:
    """All rounds so far; bounded, however many there were."""

    rounds: int = 0
    seconds: float = 0.0
    faults: int = 0
    acknowledged: int = 0
    operations: int = 0
    unsettled: int = 0
    noisy: int = 0
    memory_mb: int = 0
    """The most that the harness held at the end of a round."""
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    """By story."""
    findings: list[SoakRound] = field(default_factory=list)
    """Rounds that did not pass, the first `BUNDLES_MAX`."""
    is_interrupted: bool = False

    @property
    def verdict(self) -> Verdict:
        """The worst of all rounds; `NOT_RUN` before the first has ended."""
        return worst(self.verdicts)

    @property
    def told(self) -> Counter[Verdict]:
        """How many of each verdict are among the findings."""
        return Counter(one.verdict for one in self.findings)

    def add(self, round_: SoakRound) -> None:
        """One more round has ended."""
        self.rounds += 1
        self.seconds += round_.seconds
        self.faults += round_.faults
        self.acknowledged += round_.acknowledged
        self.operations += round_.operations
        self.unsettled += round_.unsettled
        self.noisy += bool(round_.noise)
        self.memory_mb = max(self.memory_mb, round_.memory_mb)
        self.verdicts[round_.verdict] += 1
        if round_.verdict is Verdict.PASS:
            self.passed[round_.scenario] += 1
        elif len(self.findings) < BUNDLES_MAX:
            self.findings.append(round_)


class Watcher(Protocol):
    """Shows how a soak goes on."""

    def begin(self, number: int, scenario: str, seed: int, totals: Totals) -> None:
        """A round begins."""

    def end(self, round_: SoakRound, totals: Totals) -> None:
        """A round has ended."""


@dataclass(slots=True, kw_only=True)
class Soak:
    """A soak in its folder; made by `begin` or `resume`."""

    plan: SoakPlan
    folder: Path
    totals: Totals = field(default_factory=Totals)
    now: Callable[[], float] = monotonic

    def run(self, watcher: Watcher) -> Totals:
        """Rounds until the time is over, the last one to its end; Ctrl-C ends all of it early.

        The time of all sittings counts. A soak that has used its time runs nothing. Raises
        `ChoiceError` when another process is at work on it.
        """
        started, before = self.now(), self.totals.seconds
        with _alone(self.folder):
            _cut_torn_line(self.folder / ROUNDS)
            try:
                while before + self.now() - started < self.plan.duration_s:
                    self._round(watcher)
            except KeyboardInterrupt:
                self.totals.is_interrupted = True
        return self.totals

    def _round(self, watcher: Watcher) -> None:
        number = self.totals.rounds + 1
        scenario = self.plan.stories[(number - 1) % len(self.plan.stories)]
        seed = self.plan.seed + number - 1
        folder = self.folder / f"round-{number:05d}"
        shutil.rmtree(folder, ignore_errors=True)  # of a sitting that was killed
        watcher.begin(number, scenario, seed, self.totals)
        try:
            result = run(
                find_story(scenario),
                settings=self.plan.settings,
                seed=seed,
                folder=folder,
            )
        except KeyboardInterrupt:
            shutil.rmtree(folder, ignore_errors=True)  # unjudged: it will be played again
            raise
        round_ = self._kept(number, result, folder)
        with (self.folder / ROUNDS).open("ab") as file:
            file.write(msgspec.json.encode(round_) + b"\n")
        self.totals.add(round_)
        watcher.end(round_, self.totals)

    def _kept(self, number: int, result: ScenarioResult, folder: Path) -> SoakRound:
        """The line of a round; a folder without a finding is removed."""
        is_finding = result.verdict is not Verdict.PASS
        keeps = is_finding and len(self.totals.findings) < BUNDLES_MAX
        if not keeps:
            shutil.rmtree(folder, ignore_errors=True)
        return SoakRound(
            number=number,
            scenario=result.name,
            seed=result.seed,
            verdict=result.verdict,
            why=" ".join(result.why.split()),
            seconds=round(result.seconds, 3),
            faults=len(result.faults),
            acknowledged=result.acknowledged,
            events=result.events,
            operations=result.indefinite_outcomes.operations,
            unsettled=result.indefinite_outcomes.unsettled,
            noise=result.interference,
            memory_mb=memory_mb(),
            bundle=folder.name if keeps else "",
            reproduce=result.reproduce,
        )


def begin(plan: SoakPlan, folder: Path) -> Soak:
    """A new soak in an empty folder."""
    (folder / PLAN).write_bytes(msgspec.json.format(msgspec.json.encode(plan)) + b"\n")
    return Soak(plan=plan, folder=folder)


def resume(folder: Path, duration_s: float | None = None) -> Soak:
    """The soak of `folder` after its last whole round, for another duration if one is given.

    Raises `ChoiceError` when there is none, or when its files are damaged.
    """
    soak = read_soak(folder)
    if duration_s is not None:
        soak.plan = msgspec.structs.replace(soak.plan, duration_s=duration_s)
    begin(soak.plan, folder)
    return soak


def read_soak(folder: Path) -> Soak:
    """What `folder` holds of a soak so far: its plan and all whole rounds; raises as `resume`."""
    try:
        plan = msgspec.json.decode((folder / PLAN).read_bytes(), type=SoakPlan)
    except OSError as error:
        raise ChoiceError(f"{folder} holds no soak: {PLAN} cannot be read") from error
    except msgspec.MsgspecError as error:
        raise ChoiceError(f"{folder / PLAN} is damaged: {error}") from error
    soak = Soak(plan=plan, folder=folder)
    for round_ in _rounds(folder / ROUNDS):
        soak.totals.add(round_)
    return soak


def _rounds(path: Path) -> list[SoakRound]:
    """The whole lines; a last one without an end is being written, or was cut off."""
    text = path.read_bytes() if path.exists() else b""
    whole, _, _ = text.rpartition(b"\n")
    try:
        return [msgspec.json.decode(line, type=SoakRound) for line in whole.splitlines()]
    except msgspec.MsgspecError as error:
        raise ChoiceError(f"{path} is damaged: {error}") from error


def _cut_torn_line(path: Path) -> None:
    """What a sitting that was killed wrote last is whole, or gone."""
    text = path.read_bytes() if path.exists() else b""
    whole, end, torn = text.rpartition(b"\n")
    if torn:
        path.write_bytes(whole + end)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the soak against other processes; a killed process releases the lock."""
    with (folder / PLAN).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ChoiceError(
                f"{folder} is at work in another process; wait for its end"
            ) from error
        yield


def memory_mb() -> int:
    """What this process holds in memory now; 0 where the kernel does not tell."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(found[0]) * 1024 // MB if found else 0
