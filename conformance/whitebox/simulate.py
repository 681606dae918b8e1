"""Runs the simulator of an implementation over many seeds and judges every trace.

The simulator is reached by name: `python:<module>` is imported when it is needed, and must offer
`simulate(seed, *, level, mutant) -> list[TraceEvent]` and `mutants() -> list[dict]`.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Any, cast

from fencepost.conformance.adapters.command_line import LEVELS
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.checks.completeness import trace_health
from fencepost.conformance.checks.ordering import order
from fencepost.conformance.checks.registry import CHECKS, is_promised, judge, run_checks
from fencepost.conformance.runs.run_end import BadEnding, run_end
from fencepost.conformance.verdict import CheckResult, Verdict, Violation, worst
from fencepost.conformance.whitebox.coverage import ActionCoverage, Pair, coverage_of, covered
from fencepost.conformance.whitebox.simulator import Simulator
from fencepost.conformance.worker_pool import Spread, in_order
from fencepost.spec.trace import TraceEvent, encode_all
from fencepost.spec.vocabulary import NEWEST_LEVEL, Ending, Invariant, Liveness, ProtocolLevel

REFERENCE_TARGET = "python:fencepost.impl.sim.adapter"
SCHEME = "python:"
CHUNK = 5
"""Seeds that a worker takes at a time."""
SOUGHT_MAX = 20
"""More seeds than this are needed by a mutant of which the record names none that shows it."""
TRACES_MAX = 3
"""So many violating seeds have their traces written."""
DOUBTS_MAX = 3
ENOUGH_SEEDS = 50
"""From here on a check without a premise makes the whole vacuous."""

Progress = Callable[[int, int, str], None]
"""Called with what is done, what there is to do, and what happens now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is simulated."""

    level: int
    mutant: str | None = None
    target: str = REFERENCE_TARGET
    upgrade_from: int | None = None
    """The level at which the run begins; None: all of it is of one level."""

    def require_known(self) -> None:
        """Raise `ChoiceError` when there is no such simulator, level or mutant."""
        if self.level not in LEVELS:
            raise ChoiceError(f"level {self.level} is none; choose one of {LEVELS}")
        first = self.upgrade_from
        if first is not None and not ProtocolLevel.LEADER_EPOCH <= first < self.level:
            raise ChoiceError(
                f"no upgrade leads from level {first} to level {self.level}; "
                f"begin at level {ProtocolLevel.LEADER_EPOCH:d} or above it, and below the last"
            )
        simulator = load(self.target)
        records = [*simulator.mutants(), *simulator.suite_mutants()]
        known = [str(record["mutant"]) for record in records]
        if self.mutant is not None and self.mutant not in known:
            raise ChoiceError(f"unknown mutant {self.mutant!r}; fencepost mutants list names all")

    def expected(self) -> tuple[str, ...]:
        """The checks that should see the mutant; none when there is no mutant."""
        records = load(self.target).mutants() if self.mutant else []
        found = [record["caught_by"] for record in records if record["mutant"] == self.mutant]
        return tuple(sorted({str(name) for names in found for name in names}))

    def simulate(self, seed: int) -> list[TraceEvent]:
        """The trace that belongs to `seed`."""
        simulator, level, mutant = load(self.target), self.level, self.mutant
        if self.upgrade_from is None:
            return simulator.simulate(seed, level=level, mutant=mutant)
        return simulator.simulate_upgrade(
            seed, level=level, upgrade_from=self.upgrade_from, mutant=mutant
        )

    def reproduce(self, seed: int) -> str:
        """The command that runs one seed again."""
        upgrade = "" if self.upgrade_from is None else f" --upgrade-from {self.upgrade_from}"
        suffix = f" --mutant {self.mutant}" if self.mutant else ""
        return f"fencepost simulate --seed {seed} --level {self.level}{upgrade}{suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOptions:
    """What is seldom asked for."""

    target: str = REFERENCE_TARGET
    upgrade_from: int | None = None
    """As of a `Subject`."""
    out: Path | None = None
    """Where the traces of the first violating seeds are written."""
    spread: Spread = in_order
    """How seeds get to processes; another way of spreading gives the same result."""
    is_share: bool = False
    """Other machines run other seeds: a check that is idle in these shows no hole."""


DEFAULT_OPTIONS = SimulationOptions()


class SeedsInterrupted(KeyboardInterrupt):
    """The person, or the machine, wants an end; what was judged before is whole."""

    def __init__(self, result: "SimulationResult", left: int) -> None:
        super().__init__()
        self.result = result
        self.left = left
        """How many seeds were not judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """What one seed gave."""

    seed: int
    verdict: Verdict
    events: int = 0
    premises: dict[Invariant, int] = field(default_factory=dict)
    covered: frozenset[Pair] = frozenset()
    violations: tuple[Violation, ...] = ()
    omitted_violations: int = 0
    bad_endings: tuple[BadEnding, ...] = ()
    """What its run tells of its end."""
    unhealed: frozenset[Liveness] = frozenset()
    """The liveness properties that do not hold at its end."""
    doubts: tuple[str, ...] = ()
    error: str | None = None
    """The simulator failed; says how."""
    reproduce: str = ""

    @property
    def violated(self) -> frozenset[Invariant | Liveness | Ending]:
        """The invariants that do not hold in its trace, and what does not at its end, by name.

        Where it did not converge, the liveness says so.
        """
        endings = {bad.invariant for bad in self.bad_endings} - {Ending.CONVERGED}
        return self.unhealed | endings | {violation.invariant for violation in self.violations}

    @property
    def failures(self) -> tuple[Violation | BadEnding, ...]:
        """What does not hold in its trace, then at its end."""
        return (*self.violations, *self.bad_endings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """What a range of seeds gave."""

    level: int
    mutant: str | None
    seeds: int
    """How many were run."""
    verdicts: dict[Verdict, int]
    premises: dict[Invariant, int]
    """How often each check had something to decide, over all seeds."""
    failing: tuple[SeedResult, ...]
    """The seeds with violations or errors, ascending."""
    events: int
    seconds: float
    coverage: ActionCoverage = field(default_factory=lambda: coverage_of(()))
    """Which actions occurred, and while which faults were about."""
    doubts: tuple[str, ...] = ()
    """Why single seeds were inconclusive, a few of them."""
    traces: tuple[str, ...] = ()
    """Folders with the traces of the first violating seeds."""
    expected: tuple[str, ...] = ()
    """The checks of which at least one should see the mutant."""
    is_share: bool = False
    """Other machines run other seeds."""
    upgrade_from: int | None = None
    """The level at which the runs began; None: all of them is of one level."""

    @property
    def catch(self) -> SeedResult | None:
        """The first seed in which a check that should see the mutant does."""
        right = (result for result in self.failing if result.violated & set(self.expected))
        return next(right, None)

    @property
    def idle(self) -> tuple[Invariant, ...]:
        """The checks that had nothing to decide, although the level has it."""
        idle = (invariant for invariant, count in self.premises.items() if not count)
        return tuple(invariant for invariant in idle if is_promised(invariant, self.level))

    @property
    def vacuous(self) -> tuple[Invariant, ...]:
        """Those of the idle checks that show a hole: few seeds owe nothing."""
        return self.idle if self.seeds >= ENOUGH_SEEDS and not self.is_share else ()

    @property
    def verdict(self) -> Verdict:
        """The worst of the seeds; `VACUOUS` when enough of them left a check idle."""
        idle = Verdict.VACUOUS if self.vacuous else Verdict.PASS
        return worst((*self.verdicts, idle)) if self.seeds else Verdict.NOT_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantResult:
    """Whether the checks catch one deliberately wrong rule."""

    mutant: str
    rule: str
    requirement: str
    expected: tuple[str, ...]
    """At least one of these invariants must be violated."""
    seeds: int
    """How many seeds it took, or were tried in vain; 0 when a counterexample was replayed."""
    seed: int | None = None
    """The one that caught it."""
    caught_by: tuple[str, ...] = ()
    """All invariants that the first catching seed violates."""
    message: str = ""
    reproduce: str = ""
    family: str = ""
    """Of which part of the protocol its rule is; empty when the simulator does not tell."""

    @property
    def is_caught(self) -> bool:
        """True when a check that should see it does."""
        return bool(set(self.caught_by) & set(self.expected))

    @property
    def was_sought(self) -> bool:
        """True when many seeds were needed: its record names none that shows it any more."""
        return self.is_caught and self.seeds > SOUGHT_MAX


def load(target: str = REFERENCE_TARGET) -> Simulator:
    """The simulator of that name; raises `ChoiceError`."""
    module_name = target.removeprefix(SCHEME)
    if not target.startswith(SCHEME) or not module_name:
        raise ChoiceError(f"unknown simulator {target!r}; write {SCHEME}<module>")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ChoiceError(f"the simulator {target} cannot be imported: {error}") from error
    if not callable(getattr(module, "simulate", None)):
        raise ChoiceError(f"the module {module_name} is no simulator: it has no simulate()")
    return cast(Simulator, module)


def run_seeds(
    seeds: Iterable[int],
    *,
    level: int,
    mutant: str | None = None,
    jobs: int = 2,
    on_progress: Progress | None = None,
    options: SimulationOptions = DEFAULT_OPTIONS,
) -> SimulationResult:
    """Simulate and judge every seed, over `jobs` processes; the result does not depend on them.

    Raises `ChoiceError` for an unknown level, mutant or simulator; an interruption becomes
    `SeedsInterrupted`.
    """
    started = monotonic()
    wanted = sorted(seeds)
    subject = Subject(
        target=options.target, level=level, mutant=mutant, upgrade_from=options.upgrade_from
    )
    subject.require_known()
    results: list[SeedResult] = []
    judge = partial(judge_seed, subject)

    def summed_up(*, is_share: bool) -> SimulationResult:
        traces = _write_failing(subject, results, options.out) if options.out else ()
        found = _summary(subject, results, seconds=monotonic() - started, traces=tuple(traces))
        return replace(found, is_share=is_share)

    try:
        with closing(options.spread(judge, wanted, jobs=jobs, chunk=CHUNK)) as judged:
            for result in judged:
                results.append(result)
                if on_progress:
                    on_progress(len(results), len(wanted), f"seed {result.seed}")
    except KeyboardInterrupt as error:
        left = len(wanted) - len(results)
        raise SeedsInterrupted(summed_up(is_share=True), left) from error
    return summed_up(is_share=options.is_share)


def hunt_mutants(
    seeds_max: int,
    *,
    level: int = NEWEST_LEVEL,
    target: str = REFERENCE_TARGET,
    jobs: int = 2,
    on_progress: Progress | None = None,
    choose: Callable[[Sequence[dict[str, Any]]], Sequence[dict[str, Any]]] = tuple,
) -> tuple[MutantResult, ...]:
    """The kill table: each mutant is tried on seeds until a right check sees it.

    First on the one that its record knows, then from 0 on. Where some seeds do not show it, the
    others are spread over all jobs: one long hunt would be waited for by all the rest. `choose`
    takes some of all records.
    """
    mutants = choose(load(target).mutants())
    first = partial(_hunt, seeds_max=min(seeds_max, SOUGHT_MAX), level=level, target=target)
    results: list[MutantResult] = []
    with closing(in_order(first, mutants, jobs=jobs, chunk=1)) as hunted:
        for result in hunted:
            results.append(result)
            if on_progress:
                on_progress(len(results), len(mutants), result.mutant)
    again = partial(_hunt, seeds_max=seeds_max, level=level, target=target, jobs=jobs)
    return tuple(
        again(record, seen=result.seeds)
        if 0 < result.seeds < seeds_max and not result.is_caught
        else result
        for record, result in zip(mutants, results, strict=True)
    )


def judge_seed(subject: Subject, seed: int) -> SeedResult:
    """Simulate one seed and run all checks; a failing simulator is an `ERROR` of this seed."""
    reproduce = subject.reproduce(seed)
    try:
        events = subject.simulate(seed)
    except Exception as error:  # whatever a simulator does, the other seeds go on
        message = f"{type(error).__name__}: {error}"
        return SeedResult(seed=seed, verdict=Verdict.ERROR, error=message, reproduce=reproduce)
    checks = run_checks(events)
    end = run_end(events)
    health = trace_health(events)
    return SeedResult(
        seed=seed,
        verdict=worst((_verdict(checks), health.verdict, end.verdict)),
        events=len(events),
        premises={check.invariant: check.premise_count for check in checks},
        covered=covered(events),
        violations=tuple(v for check in checks for v in check.violations),
        omitted_violations=sum(check.omitted_violations for check in checks),
        bad_endings=end.bad,
        unhealed=end.unhealed,
        doubts=(*health.doubts, *end.doubts, *(d for check in checks for d in check.doubts)),
        reproduce=reproduce,
    )


def write_trace(folder: Path, events: Sequence[TraceEvent]) -> None:
    """The events are in `folder`, one file per node and incarnation as in a real run."""
    folder.mkdir(parents=True, exist_ok=True)
    for (node, incarnation), lines in groupby(order(events), key=_file_of):
        name = f"{node}-{incarnation}" if node.startswith("broker-") else node
        with (folder / f"trace-{name}.ndjson").open("wb") as file:
            file.writelines(encode_all(lines))


def _hunt(
    record: dict[str, Any],
    *,
    seeds_max: int,
    level: int,
    target: str,
    jobs: int = 1,
    seen: int = 0,
) -> MutantResult:
    """`seen`: so many of the seeds have not shown it."""
    if record.get("shows"):
        return _replay(record, target)
    expected = set(record["caught_by"])
    level = record.get("hunted_at") or max(level, record.get("level", level))
    first = record.get("upgrade_from")
    subject = Subject(target=target, level=level, mutant=record["mutant"], upgrade_from=first)
    seeds = list(dict.fromkeys([record.get("seed", 0), *range(seeds_max)]))
    judge = partial(judge_seed, subject)
    with closing(in_order(judge, seeds[seen:], jobs=jobs, chunk=CHUNK)) as judged:
        catch = next((result for result in judged if result.violated & expected), None)
    return MutantResult(
        mutant=record["mutant"],
        rule=record["rule"],
        requirement=record["requirement"],
        expected=tuple(sorted(expected)),
        seeds=seeds.index(catch.seed) + 1 if catch else len(seeds),
        seed=catch.seed if catch else None,
        caught_by=tuple(sorted(catch.violated)) if catch else (),
        message=_first_expected(catch, expected) if catch else "",
        reproduce=catch.reproduce if catch else "",
        family=record.get("family", ""),
    )


def _replay(record: dict[str, Any], target: str) -> MutantResult:
    """The counterexample of the specs, step by step; it catches the mutant only as a whole."""
    done = load(target).replay(record["mutant"], judge)
    is_whole = not done["mismatch"] and done["steps"] == done["of"]
    seen = {check.invariant.value for check in run_checks(done["events"]) if check.violations}
    caught_by = sorted({*done["violated"], *seen}) if is_whole else []
    told = f"The counterexample of {done['name']}, replayed in {done['steps']} steps"
    return MutantResult(
        mutant=record["mutant"],
        rule=record["rule"],
        requirement=record["requirement"],
        expected=(record["shows"],),
        seeds=0,
        caught_by=tuple(caught_by),
        message=f"{told}, violates {record['shows']}."
        if is_whole
        else f"{told}: {done['mismatch']}",
        reproduce=f"fencepost simulate --steps {record['mutant']}",
        family=record.get("family", ""),
    )


def _first_expected(catch: SeedResult, expected: set[str]) -> str:
    told = [failure.message for failure in catch.failures if failure.invariant in expected]
    owed = sorted(catch.unhealed & expected)
    return [*told, *(f"After the last fault {name} did not come to hold." for name in owed)][0]


def _verdict(checks: Sequence[CheckResult]) -> Verdict:
    """A check that was idle in one seed may work in another: that is judged over all of them."""
    said = [check.verdict for check in checks if check.verdict is not Verdict.VACUOUS]
    return worst((Verdict.PASS, *said))


def _summary(
    subject: Subject, results: Sequence[SeedResult], *, seconds: float, traces: tuple[str, ...]
) -> SimulationResult:
    premises: Counter[Invariant] = Counter()
    for result in results:
        premises.update(result.premises)
    doubts = dict.fromkeys(f"seed {r.seed}: {doubt}" for r in results for doubt in r.doubts)
    return SimulationResult(
        level=subject.level,
        mutant=subject.mutant,
        seeds=len(results),
        verdicts=dict(sorted(Counter(result.verdict for result in results).items())),
        premises={invariant: premises[invariant] for invariant in CHECKS},
        failing=tuple(result for result in results if result.failures or result.error),
        coverage=coverage_of([result.covered for result in results]),
        events=sum(result.events for result in results),
        seconds=seconds,
        doubts=tuple(doubts)[:DOUBTS_MAX],
        traces=traces,
        expected=subject.expected(),
        upgrade_from=subject.upgrade_from,
    )


def _write_failing(subject: Subject, results: Sequence[SeedResult], out: Path) -> Iterator[str]:
    """A seed gives the same trace again, so that workers need not send traces around."""
    for result in [result for result in results if result.failures][:TRACES_MAX]:
        suffix = f"-{subject.mutant}" if subject.mutant else ""
        first = "" if subject.upgrade_from is None else f"{subject.upgrade_from}-to-"
        name = f"seed-{result.seed}-level-{first}{subject.level}{suffix}"
        write_trace(out / name, subject.simulate(result.seed))
        yield name


def _file_of(event: TraceEvent) -> tuple[str, int]:
    return event.node, event.incarnation
