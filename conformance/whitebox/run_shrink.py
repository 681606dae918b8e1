"""Shrinks the story of a run that violated something.

In the simulator where that violates the same, and then seen on real processes once more; where it
is not, or cannot be, on real processes alone.
"""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path

from msgspec import structs

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.networks import require_network
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.run_folder import begun_in, read_folder
from fencepost.conformance.runs.run_settings import settings_of
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.runs.scenario_run import run
from fencepost.conformance.scenarios.find_story import executed_folder, story_at
from fencepost.conformance.whitebox.shrink import (
    ShrunkStory,
    failures,
    failures_in,
    shrink_actions,
)
from fencepost.conformance.whitebox.simulate import load
from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.stories.story import ClientLoad, Story
from fencepost.fault_injection.stories.story_file import as_document
from fencepost.fault_injection.stories.story_record import EXECUTED
from fencepost.spec.replay.recorded_run import ReplayError, read_run

SHRUNK = "shrunk"
"""The kind of `origin` of a story that was made small."""
SIMULATED_RUNS_MAX = 150
AGAIN_MAX = 3
"""How often a run on real processes may fail to violate it again before that is given up."""
REAL_RUNS_MAX = 12
"""Stories that are tried there, each as often as it took to see it again."""
HOSTS = ("busy", "quick")
"""Of the simulator: how fast processes and messages are; the first takes less to simulate."""
SEEDS = 4
TIMINGS_WANTED = 4
"""At so many timings a candidate has to fail, if the whole story does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkRun:
    """The smallest story that still violates one of the properties, on real processes too."""

    story: Story
    violated: tuple[str, ...]
    """What the run of the small story violates, of what the run violated."""
    actions_before: int
    runs: int
    """Of smaller stories, where it was made small."""
    backend: Backend
    """Where it was made small."""
    evidence: Path
    """The folder of a run of the small story on real processes that violates it."""


def shrink_run(ran: Path, *, out: Path, network: str | None = None) -> ShrunkRun:
    """Shrink what a run executed; real runs go below `out`, with the run's network or another.

    In network namespaces, this process must be in a network of its own already. Raises
    `ChoiceError` when the run violates nothing, does not do so again, or has clients or orders that
    no story has.
    """
    folder = executed_folder(ran)
    story = story_at(folder / EXECUTED)
    violated = violations_of(folder)
    if not violated:
        raise ChoiceError(f"{folder} violates nothing: nothing to shrink")
    try:
        read_run(folder)
    except ReplayError as error:
        raise ChoiceError(f"{error}; from a damaged trace nothing is made small") from error
    if story.steps:
        raise ChoiceError(
            f"{folder} is a run of {story.story_id}, which has steps: it cannot be made smaller; "
            "--replay plays it again"
        )
    if story.profile is ClientLoad.NONE:
        raise ChoiceError(
            f"{folder} had clients of its own, which are in no story: without them it violates "
            "nothing; it cannot be made smaller"
        )
    settings = settings_of({"network": network}, begun_in(folder), story.origin)
    require_network(settings, [Scenario(story=story)])
    return shrink_story(story, violated, out=out, settings=settings)


def violations_of(folder: Path) -> frozenset[str]:
    """The names of what a run violates, and of what had not come to hold at its end."""
    return failures_in(read_folder(folder)[0])


def shrink_story(
    story: Story,
    violated: frozenset[str],
    *,
    out: Path,
    settings: ClusterSettings,
) -> ShrunkRun:
    """Shrink a story to what violates one of these properties on real processes.

    The simulator is asked first, since it is fast; but it may violate them for another reason. When
    processes do not follow it to the smallest story, those that it made before are tried.
    """
    tries = RealTries(wanted=violated, settings=settings, out=out)
    simulated = SimulatedTries(level=settings.level, mutant=settings.implementation.broken_rule)
    can_simulate = Capability.SIMULATOR in settings.implementation.capabilities
    if can_simulate and simulated.begin(story, violated):
        tries.wanted = simulated.wanted
        found = ShrunkStory(story=replace(story, actions=()), runs=1)
        if simulated.needs_faults:
            found = shrink_actions(story, simulated.violates, runs_max=SIMULATED_RUNS_MAX)
        for small in (found.story, *found.larger):
            if tries.until_violated(small, AGAIN_MAX):
                return _shrunk(story, small, found.runs, tries, Backend.SIM)
    return _shrink_on_processes(story, violated, tries)


@dataclass(slots=True, kw_only=True)
class SimulatedTries:
    """Plays candidates in virtual time, each at several seeds and paces of the host.

    What fails at one timing only need not fail on processes: their timing is another every time.
    """

    level: int
    mutant: str
    wanted: frozenset[str] = frozenset()
    """What a candidate has to violate one of."""
    timings: tuple[tuple[int, str], ...] = ()
    """Seed and pace, at all of which a candidate has to fail."""
    needs_faults: bool = True
    """False when all of it is violated without any fault."""

    def begin(self, story: Story, violated: frozenset[str]) -> bool:
        """True when the simulator can do all of the story and violates one of these as well.

        What is violated without any fault is left aside, unless there is nothing else.
        """
        kinds = [kind_of(action.fault.kind) for action in story.actions]
        if not all(Backend.SIM in kind.backends for kind in kinds):
            return False
        found: dict[tuple[int, str], frozenset[str]] = {}
        for seed, host in product(range(story.seed, story.seed + SEEDS), HOSTS):
            if failed := violated & self._failures(story, seed, host):
                found[seed, host] = failed
            if len(found) == TIMINGS_WANTED:
                break
        calm = replace(story, actions=())
        unprovoked = _union(self._failures(calm, *timing) for timing in found)
        provoked = {timing: failed - unprovoked for timing, failed in found.items()}
        self.needs_faults = any(provoked.values())
        if not self.needs_faults:
            provoked = found
        self.timings = tuple(timing for timing, failed in provoked.items() if failed)
        self.wanted = _union(provoked.values())
        return bool(found)

    def violates(self, candidate: Story) -> bool:
        """True when it violates one of the properties at all timings."""
        return all(self.wanted & self._failures(candidate, *timing) for timing in self.timings)

    def _failures(self, story: Story, seed: int, host: str) -> frozenset[str]:
        play = load().play_story
        document, mutant = as_document(replace(story, seed=seed)), self.mutant or None
        return failures(lambda: play(document, level=self.level, mutant=mutant, host=host))


@dataclass(slots=True, kw_only=True)
class RealTries:
    """Plays candidates on real processes, below a folder of its own."""

    wanted: frozenset[str]
    """What a candidate has to violate one of."""
    settings: ClusterSettings
    out: Path
    count: int = 0
    evidence: Path | None = None
    """The last run that violated one of the properties; of the others nothing is kept."""
    found: frozenset[str] = frozenset()
    """What that run violated."""

    def until_violated(self, candidate: Story, runs_max: int) -> int:
        """The number of the first run that violates one of the properties; 0 when none does."""
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
        )
        return folder


def _shrink_on_processes(story: Story, violated: frozenset[str], tries: RealTries) -> ShrunkRun:
    """As in the simulator, what is violated without any fault is left aside."""
    calm = replace(story, actions=())
    tries.wanted = violated
    if tries.violates(calm):
        if violated <= tries.found:
            return _shrunk(story, calm, 1, tries, Backend.REAL)
        tries.wanted = violated - tries.found
    needed = tries.until_violated(story, AGAIN_MAX)
    if not needed:
        raise ChoiceError(
            f"{story.story_id} did not violate it again in {AGAIN_MAX} runs: it depends on chance, "
            "and cannot be made smaller"
        )
    found = shrink_actions(
        story, lambda one: tries.until_violated(one, needed) > 0, runs_max=REAL_RUNS_MAX
    )
    return _shrunk(story, found.story, found.runs, tries, Backend.REAL)


def _shrunk(story: Story, small: Story, runs: int, tries: RealTries, backend: Backend) -> ShrunkRun:
    """As a story of its own, which says where it comes from and at which level it fails."""
    level, implementation = tries.settings.level, tries.settings.implementation
    is_broken = bool(implementation.broken_rule)
    fails_at = story.fails_at if is_broken else tuple(sorted({*story.fails_at, level}))
    violated = tuple(sorted(tries.wanted & tries.found))
    origin = {
        "kind": SHRUNK,
        "level": level,
        **implementation.told,
        "network": tries.settings.network,
        "violated": list(violated),
        "of": dict(story.origin),
    }
    assert tries.evidence is not None
    return ShrunkRun(
        story=replace(
            small,
            story_id=f"{story.story_id}_small",
            says=f"What is left of {story.story_id} when it is made small.",
            # What it lasts is no longer what the floor was meant for.
            floors=structs.replace(story.floors, during=0),
            fails_at=fails_at,
            origin=origin,
        ),
        violated=violated,
        actions_before=len(story.actions),
        runs=runs,
        backend=backend,
        evidence=tries.evidence,
    )


def _union(names: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset(chain.from_iterable(names))
