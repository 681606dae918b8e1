"""Counterexamples of the specs on real processes: with the hazard, and with its repair.

A counterexample is made twice, move by move (`spec/pacing.py`), on brokers of their own under one
real ZooKeeper: once where the hazard is, where the checks must find what the specs say, and once
with the protocol as it should be, where they must find nothing.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from types import MappingProxyType

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.checks.completeness import trace_health
from fencepost.conformance.checks.registry import CHECKS, run_checks
from fencepost.conformance.checks.unclean_elections import UNCLEAN_ONLY_IF_ISR_DEAD, judge_elections
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.runs.liveness_state import LivenessState, owed
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.simulate import REFERENCE_TARGET, Progress, load
from fencepost.conformance.whitebox.stepped_cluster import SteppedProcesses
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.pacing import PacingError
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer
from fencepost.fault_injection.zookeeper.transaction_log import (
    Transaction,
    read_transactions,
    to_trace_events,
)
from fencepost.spec.pacing import MoveList, read_moves, write_moves
from fencepost.spec.trace import TRACE_VERSION, Kind, LamportClock, encode
from fencepost.spec.vocabulary import Invariant
from fencepost.spec.zookeeper import ZooKeeperError

MOVES_FILE = "moves.ndjson"
KINDS = ("hazard", "repaired")
DECIDED = (Verdict.PASS, Verdict.FAIL)

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
        if self.repaired.found:
            return Verdict.FAIL
        if self.hazard.problem or self.repaired.problem:
            return Verdict.INCONCLUSIVE
        if not is_visible(self.violates):
            return Verdict.NOT_OBSERVABLE
        if not shows(self.violates, self.repaired.decided):
            return Verdict.VACUOUS
        return Verdict.PASS if shows(self.violates, self.hazard.found) else Verdict.FAIL

    @property
    def message(self) -> str:
        """What is to be said of it, in one sentence."""
        if self.repaired.found:
            return f"violated without the hazard: {', '.join(self.repaired.found)}"
        if problem := self.hazard.problem or self.repaired.problem:
            return problem
        if not is_visible(self.violates):
            return f"no check of a trace judges {self.violates}"
        if not shows(self.violates, self.repaired.decided):
            return f"without the hazard nothing showed whether {self.violates} holds"
        if not shows(self.violates, self.hazard.found):
            found = ", ".join(self.hazard.found) or "nothing"
            return f"{self.violates} was to be seen, and {found} was"
        place, _, _ = self.repaired.refused.partition(": ")
        return f"the repair refuses {place}" if place else ""


def run_verdict(run: SteppedRun) -> Verdict:
    """What one run alone is worth: a violation is one, expected or not."""
    if run.found:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if run.problem else Verdict.PASS


def shows(violates: str, found: Sequence[str]) -> bool:
    """Is one of the checks among `found` that see what a violation of the property leads to?"""
    wanted = {invariant.value for invariant in SHOWN_BY.get(violates, ())}
    return bool({violates, *wanted} & set(found))


def is_visible(violates: str) -> bool:
    """True of a property when a check can see its violation."""
    known = {*(invariant.value for invariant in CHECKS), *SHOWN_BY, UNCLEAN_ONLY_IF_ISR_DEAD}
    return violates in known


def select(names: Sequence[str], target: str = REFERENCE_TARGET) -> list[dict[str, str]]:
    """The counterexamples of these rows or schedules; raises `ChoiceError` for an unknown one."""
    simulator = load(target)
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
    target: str = REFERENCE_TARGET,
    jobs: int = 2,
    on_progress: Progress | None = None,
) -> tuple[SteppedPair, ...]:
    """Lead processes along the counterexamples, several at a time; each has a folder below `out`.

    Raises `ChoiceError` before anything starts, and `ZooKeeperError` when ZooKeeper does not start.
    """
    wanted = select(names, target)
    lists = [lists_of(one["schedule"], target) for one in wanted]
    results: list[SteppedPair] = []
    with stepped_site(out) as site, _workers(jobs) as pool:
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


def follow_file(path: Path, *, out: Path) -> tuple[MoveList, SteppedRun]:
    """Lead processes by a file of moves, as a run before has left it.

    Raises `MoveError`, and `ZooKeeperError` when ZooKeeper does not start.
    """
    listed = read_moves(path)
    with stepped_site(out) as site:
        return listed, site.run(listed, out / listed.name)


def lists_of(name: str, target: str = REFERENCE_TARGET) -> tuple[MoveList, MoveList]:
    """With the hazard, and repaired; raises `ChoiceError` for what cannot run on processes."""
    moves = load(target).moves
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

    supervisor: Supervisor
    server: ZooKeeperServer

    def run(self, listed: MoveList, folder: Path) -> SteppedRun:
        """All moves were made, or as many as could be, on processes of their own."""
        folder.mkdir(parents=True)
        write_moves(folder / MOVES_FILE, listed)
        return _Run(site=self, listed=listed, folder=folder).play()


@contextmanager
def stepped_site(out: Path) -> Iterator[SteppedSite]:
    """A ZooKeeper for all runs; raises `ZooKeeperError`."""
    folders = Folders(root=out)
    with Supervisor(folders.processes, f"stepped-{secrets.token_hex(4)}") as supervisor:
        server = ZooKeeperServer(supervisor, folders.zookeeper)
        server.start()
        try:
            yield SteppedSite(supervisor=supervisor, server=server)
        finally:
            server.stop()


@dataclass(slots=True, kw_only=True)
class _Run:
    """One list of moves while it is made."""

    site: SteppedSite
    listed: MoveList
    folder: Path
    made: int = 0
    problem: str = ""
    published: LivenessState | None = None
    """What ZooKeeper held after the last move of a run."""
    running: Sequence[int] = ()
    run_id: str = field(init=False)

    def __post_init__(self) -> None:
        kind = self.listed.mutant or f"level-{self.listed.level}"
        self.run_id = f"{self.listed.name}-{kind}-{secrets.token_hex(4)}"

    def play(self) -> SteppedRun:
        started = monotonic()
        clock = LamportClock()
        with TraceWriter(self.folder, run_id=self.run_id, node="harness", clock=clock) as harness:
            harness.write(Kind.RUN, "RunStarted", detail=json.dumps(self._description()))
            try:
                self._make_all()
            except (PacingError, ProcessError, ZooKeeperError) as error:
                self.problem = f"{self._place()}: {error}"
            harness.write(Kind.RUN, "RunEnded", detail=json.dumps({"problem": self.problem}))
        self._write_transactions()
        events, doubts = read_folder(self.folder)
        results = run_checks(events)
        found = [r.invariant.value for r in results if r.violations]
        decided = [r.invariant.value for r in results if r.verdict in DECIDED]
        elections, needless = judge_elections(events)
        found += [UNCLEAN_ONLY_IF_ISR_DEAD] if needless else []
        decided += [UNCLEAN_ONLY_IF_ISR_DEAD] if elections else []
        if self.published is not None:
            found += owed(self.published, events, self.running)
        problems = [self.problem, *doubts, *trace_health(events).doubts]
        return SteppedRun(
            level=self.listed.level,
            mutant=self.listed.mutant,
            moves=len(self.listed.moves),
            made=self.made,
            steps=self.listed.taken,
            refused=self.listed.refused,
            found=tuple(found),
            decided=tuple(decided),
            problem=next(filter(None, problems), ""),
            seconds=round(monotonic() - started, 2),
            folder=str(self.folder),
        )

    def _description(self) -> dict[str, object]:
        return {
            "trace_version": TRACE_VERSION,
            "backend": "real",
            "level": self.listed.level,
            "brokers": len(self.listed.brokers) + len(self.listed.controllers),
            "scenario": self.listed.name,
            "mutant": self.listed.mutant or None,
            "reproduce": self._reproduce(),
        }

    def _reproduce(self) -> str:
        if self.listed.is_free:
            return f"fencepost chaos --moves {MOVES_FILE}"
        return f"fencepost chaos --from-counterexample {self.listed.name}"

    @property
    def _chroot(self) -> str:
        return f"/{self.run_id}"

    def _make_all(self) -> None:
        server = self.site.server.address
        with ZooKeeperClient(server) as client:
            client.create_path(self._chroot)
        processes = SteppedProcesses(
            self.listed,
            folder=self.folder,
            run_id=self.run_id,
            supervisor=self.site.supervisor,
            zookeeper=f"{server}{self._chroot}",
        )
        with processes:
            for move in self.listed.moves:
                processes.make(move)
                self.made += 1
            if self.listed.settles:
                self.published, self.running = processes.liveness_state(), processes.running

    def _place(self) -> str:
        """Where the run is, for people."""
        step = self.listed.moves[self.made].step if self.made < len(self.listed.moves) else 0
        if step == 0:
            return "on the way to the first state"
        if step > len(self.listed.steps):
            return "after the last step"
        return f"at step {step}, {self.listed.steps[step - 1]}"

    def _write_transactions(self) -> None:
        """Write what ZooKeeper logged of this run, which has a chroot of its own."""
        own = [
            replace(one, path=one.path and one.path.removeprefix(self._chroot))
            for one in read_transactions(self.site.server.data_dir)
            if _is_of(one, f"{self._chroot}/")
        ]
        with (self.folder / "trace-zookeeper.ndjson").open("wb") as file:
            file.writelines(map(encode, to_trace_events(own, self.run_id)))


def _is_of(transaction: Transaction, prefix: str) -> bool:
    return transaction.path is None or transaction.path.startswith(prefix)
