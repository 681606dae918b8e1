"""Counterexamples of the specs on real processes: with the hazard, and with its repair.

A counterexample is made twice, move by move (`spec/pacing.py`), on brokers of their own under one
real ZooKeeper: once where the hazard is, where the checks must find what the specs say, and once
with the protocol as it should be, where they must find nothing.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from types import MappingProxyType

from fencepost.conformance.adapters.capabilities import refusal
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse, zookeeper_for
from fencepost.conformance.checks.registry import CHECKS, run_checks
from fencepost.conformance.checks.unclean_elections import UNCLEAN_ONLY_IF_ISR_DEAD, judge_elections
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.runs.run_folder import read_run_folder, traced_run, write_transactions
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.simulate import Progress, load
from fencepost.conformance.whitebox.stepped_cluster import SteppedProcesses
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.pacing import PacingError
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.spec.pacing import MoveList, read_moves, write_moves
from fencepost.spec.vocabulary import Invariant
from fencepost.spec.zookeeper import ZooKeeperError

MOVES_FILE = "moves.ndjson"
KINDS = ("hazard", "repaired")
DECIDED = (Verdict.PASS, Verdict.FAIL)
NEEDED = frozenset({Capability.PROCESSES, Capability.ZOOKEEPER, Capability.STEPPED_RUNS})
"""What an implementation must declare to make moves."""
NEEDED_TO_FOLLOW = NEEDED | {Capability.SIMULATOR}
"""And to make those of a counterexample: its simulator records them."""

SHOWN_BY: Mapping[str, frozenset[Invariant]] = MappingProxyType(
    {
        "CommittedDurable": frozenset(
            {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE, Invariant.LOG_MATCHING}
        ),
        "VersionAgreement": frozenset({Invariant.LINEARIZABLE_ZNODE}),
        "QuorumSuperset": frozenset({Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE}),
        "StaleControllerHarmless": frozenset({Invariant.ONE_CONTROLLER_PER_EPOCH}),
        "CommandReflectsZk": frozenset({Invariant.LINEARIZABLE_ZNODE}),
        "FollowersMatchLeader": frozenset({Invariant.LOG_MATCHING}),
        "HighWatermarkInLog": frozenset({Invariant.HIGH_WATERMARK_MONOTONIC}),
    }
)
"""Property of the specs -> the checks that see in a trace what its violation leads to.

A property that is a check's too is seen by that one besides.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedRun:
    """One list of moves, made on processes."""

    level: int
    mutant: str
    moves: int
    made: int
    """How many moves were made, each with what the list says of it."""
    steps: int
    """How many steps of the counterexample the moves take."""
    refused: str
    """At which step the protocol left the counterexample, and how; empty when it did not."""
    found: tuple[str, ...]
    """The invariants that the checks found broken; of a run, also what did not come to hold."""
    decided: tuple[str, ...]
    """The invariants that the checks had something to decide about."""
    problem: str
    """Why the run says nothing; empty when it does."""
    seconds: float
    folder: str
    is_supported: bool = True
    """False when the implementation does not declare what the run needs."""

    @property
    def verdict(self) -> Verdict:
        """What it alone is worth: a violation is one, expected or not."""
        if not self.is_supported:
            return Verdict.UNSUPPORTED
        if self.found:
            return Verdict.FAIL
        return Verdict.INCONCLUSIVE if self.problem else Verdict.PASS


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedPair:
    """One counterexample, with the hazard and without."""

    name: str
    row: str
    violates: str
    of: int
    """The steps of the counterexample."""
    hazard: SteppedRun
    repaired: SteppedRun

    @property
    def verdict(self) -> Verdict:
        """`PASS` when the violation came where it must, and nowhere else."""
        return self._judged[0]

    @property
    def message(self) -> str:
        """What is to be said of it, in one sentence."""
        return self._judged[1]

    @property
    def _judged(self) -> tuple[Verdict, str]:
        problem = self.hazard.problem or self.repaired.problem
        if not (self.hazard.is_supported and self.repaired.is_supported):
            return Verdict.UNSUPPORTED, problem
        if self.repaired.found:
            found = ", ".join(self.repaired.found)
            return Verdict.FAIL, f"violated without the hazard: {found}"
        if problem:
            return Verdict.INCONCLUSIVE, problem
        if not is_visible(self.violates):
            return Verdict.NOT_OBSERVABLE, f"no check of a trace judges {self.violates}"
        if not shows(self.violates, self.repaired.decided):
            undecided = f"without the hazard nothing showed whether {self.violates} holds"
            return Verdict.VACUOUS, undecided
        if not shows(self.violates, self.hazard.found):
            found = ", ".join(self.hazard.found) or "nothing"
            return Verdict.FAIL, f"{self.violates} was to be seen, and {found} was"
        place, _, _ = self.repaired.refused.partition(": ")
        return Verdict.PASS, f"the repair refuses {place}" if place else ""


def shows(violates: str, found: Sequence[str]) -> bool:
    """Is one of the checks among `found` that see what a violation of the property leads to?"""
    wanted = {invariant.value for invariant in SHOWN_BY.get(violates, ())}
    return bool({violates, *wanted} & set(found))


def is_visible(violates: str) -> bool:
    """True of a property when a check can see its violation."""
    known = {*(invariant.value for invariant in CHECKS), *SHOWN_BY, UNCLEAN_ONLY_IF_ISR_DEAD}
    return violates in known


def select(names: Sequence[str]) -> list[dict[str, str]]:
    """The counterexamples of these rows or schedules; raises `ChoiceError` for an unknown one."""
    simulator = load()
    known = simulator.schedules()
    if "all" in names:
        return known
    found = []
    for name in dict.fromkeys(names):
        named = [one for one in known if name in (one["schedule"], one["row"])]
        if not named:
            try:
                why = simulator.why_not_stepped(name)
            except ValueError as error:
                raise ChoiceError(str(error)) from error
            if why:
                raise ChoiceError(f"no moves are kept for {name}: {why}")
            named = [{"schedule": name, "row": name}]
        found.extend(named)
    return found


def follow(
    names: Sequence[str],
    *,
    out: Path,
    implementation: Implementation = REFERENCE,
    jobs: int = 2,
    on_progress: Progress | None = None,
) -> tuple[SteppedPair, ...]:
    """Lead processes along the counterexamples, several at a time; each has a folder below `out`.

    An implementation that does not declare stepped runs is `UNSUPPORTED`, and not started.

    Raises `ChoiceError` before anything starts, and `ZooKeeperError` when ZooKeeper does not start.
    """
    wanted = select(names)
    lists = [lists_of(one["schedule"]) for one in wanted]
    results: list[SteppedPair] = []
    with stepped_site(out, implementation, NEEDED_TO_FOLLOW) as site, _workers(jobs) as pool:
        runs = [
            [
                pool.submit(site.run, listed, out / one["schedule"] / kind)
                for kind, listed in zip(KINDS, pair, strict=True)
            ]
            for one, pair in zip(wanted, lists, strict=True)
        ]
        for one, (listed, _), (hazard, repaired) in zip(wanted, lists, runs, strict=True):
            if on_progress:
                on_progress(len(results), len(wanted), one["schedule"])
            results.append(
                SteppedPair(
                    name=one["schedule"],
                    row=one["row"],
                    violates=listed.violates,
                    of=len(listed.steps),
                    hazard=hazard.result(),
                    repaired=repaired.result(),
                )
            )
    return tuple(results)


def follow_file(
    path: Path, *, out: Path, implementation: Implementation = REFERENCE
) -> tuple[MoveList, SteppedRun]:
    """Lead processes by a file of moves, as a run before has left it.

    Raises `MoveError`, and `ZooKeeperError` when ZooKeeper does not start.
    """
    listed = read_moves(path)
    with stepped_site(out, implementation) as site:
        return listed, site.run(listed, out / listed.name)


def lists_of(name: str) -> tuple[MoveList, MoveList]:
    """With the hazard, and repaired; raises `ChoiceError` for what cannot run on processes."""
    moves = load().moves
    try:
        return moves(name, is_repaired=False), moves(name, is_repaired=True)
    except ValueError as error:
        raise ChoiceError(str(error)) from error


@contextmanager
def _workers(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that begin nothing more once this is left."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedSite:
    """What all runs share."""

    implementation: Implementation
    zookeeper: ZooKeeperInUse
    refused: str = ""
    """Why the implementation makes no moves; empty when it does."""

    def run(self, listed: MoveList, folder: Path) -> SteppedRun:
        """Make all moves, or as many as can be, on processes of their own, in a new folder."""
        folder.mkdir(parents=True)
        write_moves(folder / MOVES_FILE, listed)
        run = _Run(site=self, listed=listed, folder=folder)
        if self.refused:
            run.problem = self.refused
            return replace(run.judged(), is_supported=False)
        run.play()
        return run.judged()


@contextmanager
def stepped_site(
    out: Path,
    implementation: Implementation = REFERENCE,
    needs: frozenset[Capability] = NEEDED,
) -> Iterator[SteppedSite]:
    """A ZooKeeper for all runs, unless they are refused; raises `ZooKeeperError`."""
    if why := refusal(implementation, needs):
        nowhere = ZooKeeperInUse(address="")
        yield SteppedSite(implementation=implementation, zookeeper=nowhere, refused=why)
        return
    run_id = f"stepped-{secrets.token_hex(4)}"
    with (
        Supervisor(Folders(root=out).processes, run_id) as supervisor,
        zookeeper_for(run_id, supervisor=supervisor, folder=out) as zookeeper,
    ):
        yield SteppedSite(implementation=implementation, zookeeper=zookeeper)


@dataclass(slots=True, kw_only=True)
class _Run:
    """One list of moves while it is made."""

    site: SteppedSite
    listed: MoveList
    folder: Path
    made: int = 0
    problem: str = ""
    unhealed: tuple[str, ...] = ()
    """What had not come to hold after the last move of a run."""
    run_id: str = field(init=False)
    _started: float = field(init=False, default_factory=monotonic)

    def __post_init__(self) -> None:
        kind = self.listed.mutant or f"level-{self.listed.level}"
        self.run_id = f"{self.listed.name}-{kind}-{secrets.token_hex(4)}"

    def play(self) -> None:
        """Trace the run, its moves, and what ZooKeeper logged of it."""
        with traced_run(
            self.folder,
            self.run_id,
            begun=self._description(),
            ending=self._ending,
            min_insync_replicas=self.listed.flags.get("min-insync-replicas", 1),
        ):
            try:
                with self.site.zookeeper.shared(self.run_id) as zookeeper:
                    try:
                        self._make_all(zookeeper.address)
                    finally:
                        write_transactions(self.folder, self.run_id, zookeeper.transactions())
            except (PacingError, ProcessError, ZooKeeperError) as error:
                self.problem = f"{self._place()}: {error}"

    def judged(self) -> SteppedRun:
        """What the traces in the folder are worth."""
        events, doubts = read_run_folder(self.folder)
        results = run_checks(events)
        found = [r.invariant.value for r in results if r.violations]
        decided = [r.invariant.value for r in results if r.verdict in DECIDED]
        elections, needless = judge_elections(events)
        found += [UNCLEAN_ONLY_IF_ISR_DEAD] if needless else []
        decided += [UNCLEAN_ONLY_IF_ISR_DEAD] if elections else []
        return SteppedRun(
            level=self.listed.level,
            mutant=self.listed.mutant,
            moves=len(self.listed.moves),
            made=self.made,
            steps=self.listed.taken,
            refused=self.listed.refused,
            found=(*found, *sorted(run_end(events).unhealed)),
            decided=tuple(decided),
            problem=next(filter(None, [self.problem, *doubts]), ""),
            seconds=round(monotonic() - self._started, 2),
            folder=str(self.folder),
        )

    def _description(self) -> dict[str, object]:
        return {
            "level": self.listed.level,
            "brokers": len(self.listed.brokers) + len(self.listed.controllers),
            "scenario": self.listed.name,
            "reproduce": self._reproduce(),
            **replace(self.site.implementation, broken_rule=self.listed.mutant).told,
        }

    def _reproduce(self) -> str:
        if self.listed.is_free:
            return f"fencepost chaos --moves {MOVES_FILE}"
        return f"fencepost chaos --from-counterexample {self.listed.name}"

    def _ending(self) -> dict[str, object]:
        return {"problem": self.problem, "unhealed": self.unhealed}

    def _make_all(self, zookeeper: str) -> None:
        with (
            Supervisor(Folders(root=self.folder).processes, self.run_id) as supervisor,
            SteppedProcesses(
                self.listed,
                self.site.implementation,
                folder=self.folder,
                run_id=self.run_id,
                supervisor=supervisor,
                zookeeper=zookeeper,
            ) as processes,
        ):
            for move in self.listed.moves:
                processes.make(move)
                self.made += 1
            if self.listed.settles:
                self.unhealed = processes.owed()

    def _place(self) -> str:
        """Where the run is, for people."""
        step = self.listed.moves[self.made].step if self.made < len(self.listed.moves) else 0
        if step == 0:
            return "on the way to the first state"
        if step > len(self.listed.steps):
            return "after the last step"
        return f"at step {step}, {self.listed.steps[step - 1]}"
