"""Deliberately wrong rules on real processes: along a schedule that shows each, and by chance.

A directed schedule is made twice, with the mutant and without: the checks must find something, and
then nothing. A random run is a dense one of the simulator, or some variations of scenarios, which
processes repeat; or it is a chaos scenario that a number draws, and its brokers run freely.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.checks.unclean_elections import judge_elections
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import run as run_scenario
from fencepost.conformance.scenarios import SCENARIOS, find
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.mutants import breaking
from fencepost.conformance.whitebox.simulate import load
from fencepost.conformance.whitebox.stepped import SHOWN_BY, lists_of, stepped_site
from fencepost.spec.pacing import MoveList
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NEWEST_LEVEL, Liveness
from fencepost.spec.zookeeper import ZooKeeperError

LEVEL = NEWEST_LEVEL
DENSE = "dense"
"""The random runs that processes repeat (`impl/sim/draw/drawn_run.py`)."""
VARIATIONS = "variations"
"""Other such runs: stories of exact steps, changed (`impl/sim/draw/story_mutations.py`)."""
REPETITIONS_MAX = 3
"""So often processes repeat a part of one run."""
LATE = "in time"
"""What is violated when the cluster is not well in the time that it has."""
DECK = tuple(name for name, one in SCENARIOS.items() if not one.needs_ensemble)
"""What a random run is drawn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directed:
    """One mutant along its schedule."""

    mutant: str
    schedule: str
    found: tuple[str, ...]
    """What the checks found broken with the mutant, and what did not come to hold."""
    named: tuple[str, ...]
    """Those of them that the mutant's record names, or that show what it names."""
    without: tuple[str, ...]
    """What they found on the same schedule without the mutant; it must be nothing."""
    moves: int
    seconds: float
    """Of both runs."""
    problem: str = ""
    """Why it could not be played to its end; empty when it could."""

    @property
    def is_killed(self) -> bool:
        """With the mutant something is violated, and without it nothing is."""
        return bool(self.found) and not self.without and not self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One random run of a mutant."""

    mutant: str
    number: int
    """From 1 on."""
    scenario: str
    found: tuple[str, ...] = ()
    seconds: float = 0.0
    problem: str = ""
    repetitions: int = 0
    """How often processes repeated what the simulator had found."""


def wanted(mutant: str) -> frozenset[str]:
    """The checks and properties that must see the mutant; raises `ChoiceError` for an unknown."""
    record = _records().get(mutant)
    if record is None:
        raise ChoiceError(f"unknown mutant {mutant!r}; fencepost mutants list names all")
    names = {*record["caught_by"], record["shows"]} - {""}
    shown = {one.value for name in names for one in SHOWN_BY.get(name, ())}
    return frozenset(names | shown)


def run_directed(mutant: str, schedule: str, *, out: Path) -> Directed:
    """Lead processes along a schedule, with the mutant and without; traces are below `out`.

    Raises `ChoiceError` for a schedule that there is not, or that no processes can make.
    """
    pair = lists_of(schedule)
    if pair[0].mutant != mutant:
        raise ChoiceError(f"{schedule} shows {pair[0].mutant or 'no mutant'}, not {mutant}")
    started = monotonic()
    with stepped_site(out) as site:
        bad, good = (
            site.run(listed, out / kind)
            for kind, listed in zip(("mutant", "repaired"), pair, strict=True)
        )
    return Directed(
        mutant=mutant,
        schedule=schedule,
        found=bad.found,
        named=_named(mutant, bad.found),
        without=good.found,
        moves=bad.moves,
        seconds=_since(started),
        problem=bad.problem or good.problem,
    )


def play(mutant: str, scenario: str, *, out: Path, seed: int = 0) -> Directed:
    """Play a chaos scenario with the mutant and without, in the new folder `out`."""
    started = monotonic()
    bad, good = (
        _play(name, scenario, seed, out / kind)
        for kind, name in (("mutant", mutant), ("repaired", ""))
    )
    return Directed(
        mutant=mutant,
        schedule=scenario,
        found=violated(bad),
        named=_named(mutant, violated(bad)),
        without=violated(good),
        moves=0,
        seconds=_since(started),
        problem="" if good.verdict is Verdict.PASS else good.why,
    )


def run_drawn(mutant: str, number: int, *, out: Path) -> Drawn:
    """Processes repeat a dense random run of the simulator, in the new folder `out`.

    The run ends after the round of faults in which the simulator finds something. One in which it
    finds nothing is not repeated: the processes would make the same moves. One that they cannot
    repeat to its end finds nothing.
    """
    started = monotonic()
    run = Drawn(mutant=mutant, number=number, scenario=DENSE)
    try:
        simulate = load().moves_of_number
        listed, events = simulate(number, level=LEVEL, mutant=mutant, is_enough=is_violated)
    except ValueError as error:
        return replace(run, seconds=_since(started), problem=str(error))
    if _is_wrong(events):
        run = replace(run, repetitions=1, **_repeated(lambda: listed, out))
    return replace(run, seconds=_since(started))


def _repeated(moves: Callable[[], MoveList], out: Path) -> dict[str, Any]:
    """What processes `found` that made these moves, below the new folder, or their `problem`."""
    try:
        with stepped_site(out) as site:
            run = site.run(moves(), out / "mutant")
    except (ValueError, ZooKeeperError) as error:
        return {"problem": str(error)}
    return {"problem": run.problem, "found": () if run.problem else run.found}


def run_varied(
    mutant: str, number: int, scenarios: Mapping[str, str], *, skips_own: bool, out: Path
) -> Drawn:
    """Processes repeat what the simulator finds in variations of scenarios (name -> text).

    Traces are below the new folder `out`. With `skips_own` without the scenarios that were written
    for the mutant. What the processes cannot repeat to its end finds nothing.
    """
    started = monotonic()
    run = Drawn(mutant=mutant, number=number, scenario=VARIATIONS)
    simulate = load().variations
    for told, moves, events in simulate(scenarios, number, mutant=mutant, skips_own=skips_own):
        if _is_wrong(events):
            run = replace(run, scenario=told, **_repeated(moves, out / f"{run.repetitions + 1}"))
            run = replace(run, repetitions=run.repetitions + 1)
        if run.found or run.repetitions == REPETITIONS_MAX:
            break
    return replace(run, seconds=_since(started))


def is_violated(events: Sequence[TraceEvent]) -> bool:
    """What happened so far is enough for a check to find something."""
    if any(check.violations for check in run_checks(events)):
        return True
    return bool(judge_elections(events)[1])


def _is_wrong(events: Sequence[TraceEvent]) -> bool:
    return is_violated(events) or bool(run_end(events).unhealed)


def draw(number: int, deck: Sequence[str] = DECK) -> str:
    """The scenario of the random run of that number, which is its seed too."""
    return Random(f"run {number}").choice(deck)


def play_drawn(mutant: str, number: int, *, out: Path) -> Drawn:
    """The random run of that number on brokers that break the rule, in the new folder `out`."""
    scenario = draw(number)
    started = monotonic()
    result = _play(mutant, scenario, number, out)
    found = violated(result)
    return Drawn(
        mutant=mutant,
        number=number,
        scenario=scenario,
        found=found,
        seconds=_since(started),
        problem="" if found or result.verdict is Verdict.PASS else result.why,
    )


def _named(mutant: str, found: Sequence[str]) -> tuple[str, ...]:
    """What did not come in time is named where the record names a property of liveness.

    A scenario demands it while its fault lasts; when that is over, the property may hold again.
    """
    names = wanted(mutant)
    shown = names | ({LATE} if names & {*Liveness} else set())
    return tuple(sorted(shown.intersection(found)))


def _since(started: float) -> float:
    return round(monotonic() - started, 1)


def violated(result: ScenarioResult) -> tuple[str, ...]:
    """The violated checks, and whether something did not come in its time on a host at rest."""
    is_late = any(problem.verdict is Verdict.FAIL for problem in result.problems)
    return tuple(sorted(result.violated | ({LATE} if is_late else set())))


def _play(mutant: str, scenario: str, seed: int, out: Path) -> ScenarioResult:
    settings = ClusterSettings(implementation=breaking(mutant), level=LEVEL)
    return run_scenario(find(scenario), settings=settings, seed=seed, folder=out)


def _records() -> Mapping[str, Mapping[str, Any]]:
    return {str(record["mutant"]): record for record in load().mutants()}
