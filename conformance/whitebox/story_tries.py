"""Plays candidates for a small schedule: in the simulator, or on real processes."""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path

from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import EMBEDDED
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.runs.scenario_run import run
from fencepost.conformance.whitebox.mutants import breaking
from fencepost.conformance.whitebox.shrink import failures, failures_in
from fencepost.conformance.whitebox.simulate import REFERENCE_TARGET, load
from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.stories.story import Story
from fencepost.fault_injection.stories.story_file import as_document

HOSTS = ("busy", "quick")
"""Of the simulator: how fast processes and messages are; the first takes less to simulate."""
SEEDS = 4
SETTINGS_WANTED = 4
"""In so many settings a candidate has to fail, if the whole story does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One timing of a simulated run."""

    seed: int
    host: str


@dataclass(slots=True, kw_only=True)
class SimulatedTries:
    """Plays candidates in virtual time, each in several settings.

    What fails at one timing only need not fail on processes: their timing is another every time.
    """

    level: int
    mutant: str
    wanted: frozenset[str] = frozenset()
    """What a candidate has to violate one of."""
    settings: tuple[Setting, ...] = ()
    needs_faults: bool = True
    """False when all of it is violated without any fault."""

    def begin(self, story: Story, violated: frozenset[str]) -> bool:
        """True when the simulator can do all of the story and violates one of these as well.

        What is violated without any fault is left aside, unless there is nothing else.
        """
        kinds = [kind_of(action.fault.kind) for action in story.actions]
        if not all(Backend.SIM in kind.backends for kind in kinds):
            return False
        seeds = range(story.seed, story.seed + SEEDS)
        found: dict[Setting, frozenset[str]] = {}
        for seed, host in product(seeds, HOSTS):
            setting = Setting(seed=seed, host=host)
            if failed := violated & self._failures(story, setting):
                found[setting] = failed
            if len(found) == SETTINGS_WANTED:
                break
        calm = replace(story, actions=())
        unprovoked = _union(self._failures(calm, setting) for setting in found)
        provoked = {setting: failed - unprovoked for setting, failed in found.items()}
        self.needs_faults = any(provoked.values())
        if not self.needs_faults:
            provoked = found
        self.settings = tuple(setting for setting, failed in provoked.items() if failed)
        self.wanted = _union(provoked.values())
        return bool(found)

    def violates(self, candidate: Story) -> bool:
        """True when it violates one of the properties in all settings."""
        return all(
            not self.wanted.isdisjoint(self._failures(candidate, setting))
            for setting in self.settings
        )

    def _failures(self, story: Story, setting: Setting) -> frozenset[str]:
        play = load(REFERENCE_TARGET).play_story
        document = as_document(replace(story, seed=setting.seed))
        mutant, host = self.mutant or None, setting.host
        return failures(lambda: play(document, level=self.level, mutant=mutant, host=host))


@dataclass(slots=True, kw_only=True)
class RealTries:
    """Plays candidates on real processes, below a folder of its own."""

    wanted: frozenset[str]
    """What a candidate has to violate one of."""
    settings: ClusterSettings
    out: Path
    zookeeper: str = EMBEDDED
    count: int = 0
    evidence: Path | None = None
    """The last run that violated one of the properties; of the others nothing is kept."""
    found: frozenset[str] = frozenset()
    """What that run violated."""

    def is_violated_within(self, runs_max: int, candidate: Story) -> bool:
        """True when one of so many runs violates one of the properties."""
        return self.until_violated(candidate, runs_max) > 0

    def until_violated(self, candidate: Story, runs_max: int) -> int:
        """The number of the first run that does; 0 when none of them does."""
        runs = range(1, runs_max + 1)
        return next((number for number in runs if self.violates(candidate)), 0)

    def violates(self, candidate: Story) -> bool:
        """True when a run of it violates one of the properties."""
        folder = self.play(candidate)
        found = violations_of(folder)
        is_violated = not self.wanted.isdisjoint(found)
        needless = self.evidence if is_violated else folder
        if needless is not None:
            shutil.rmtree(needless)
        if is_violated:
            self.evidence, self.found = folder, found
        return is_violated

    def play(self, candidate: Story) -> Path:
        """The folder of a run of it."""
        self.count += 1
        folder = self.out / f"try-{self.count}"
        run(
            Scenario(story=candidate),
            settings=self.settings,
            seed=candidate.seed,
            folder=folder,
            zookeeper=self.zookeeper,
        )
        return folder


def _union(names: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset(chain.from_iterable(names))


def violations_of(folder: Path) -> frozenset[str]:
    """The names of what a run violates, and of what had not come to hold at its end."""
    return failures_in(read_folder(folder)[0])


def settings_of_run(story: Story, begun: Mapping[str, object]) -> ClusterSettings:
    """Of the cluster of a run, by its story and by what its `RunStarted` tells."""
    usual = ClusterSettings()
    rule = str(story.origin.get("mutant", ""))
    implementation = breaking(rule) if rule else implementation_of(begun.get("command"))
    return ClusterSettings(
        implementation=implementation,
        level=int(story.origin.get("level", usual.level)),
        network=str(story.origin.get("network", usual.network)),
    )
