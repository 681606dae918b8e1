"""Runs TLC: a child process per model, a time budget, and a verdict that is compared.

TLC's state directory, the modules it reads and what it unpacks live in one temporary directory per
run, so that runs may overlap and nothing is left behind.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Timer

from spec.tlc.counterexample import Counterexample
from spec.tlc.jar import JarNotFoundError, find_jar
from spec.tlc.models import Model, ModelError, Tier, Verdict
from spec.tlc.output import (
    PROGRESS,
    UNNAMED,
    Finding,
    Message,
    MessageReader,
    conclude,
    read_counts,
)

HEAP = "-Xmx1g"
"""Fingerprints and queue go to disk beyond it; two runs fit beside everything else."""

SHORT_RUN = "-XX:TieredStopAtLevel=1"
"""A model of a second or two ends before an optimising compiler would have paid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the check of one model has come."""

    model: str
    generated: int
    distinct: int
    queued: int


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """What was found, and whether it is what `models.toml` says."""

    model: str
    verdict: Verdict
    violated: str | None
    states_in_counterexample: int | None
    distinct: int
    generated: int
    seconds: float
    agrees: bool
    why: str
    """One sentence: what was found, and how it differs from what was expected."""
    counterexample: Counterexample | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Ends the running children of one call, and keeps others from starting."""

    requested: Event = field(default_factory=Event)
    _children: set[subprocess.Popen[str]] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def request(self) -> None:
        """End what runs."""
        self.requested.set()
        with self._lock:
            for child in self._children:
                child.kill()

    @contextmanager
    def watching(self, child: subprocess.Popen[str]) -> Iterator[None]:
        """Within, `request` kills `child`; at the end it is dead and waited for."""
        with self._lock:
            self._children.add(child)
        if self.requested.is_set():
            child.kill()
        try:
            yield
        finally:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
            with self._lock:
                self._children.discard(child)


def check_models(
    models: Iterable[Model], *, workers: int = 2, on_progress: OnProgress | None = None
) -> tuple[ModelResult, ...]:
    """Check models side by side, `workers` at a time, longest first; results in given order."""
    chosen = tuple(models)
    stop = Stop()
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        longest_first = sorted(chosen, key=lambda model: -model.budget_s)
        running = {
            model.name: pool.submit(check_model, model, on_progress=on_progress, stop=stop)
            for model in longest_first
        }
        try:
            return tuple(running[model.name].result() for model in chosen)
        except BaseException:
            stop.request()
            pool.shutdown(cancel_futures=True)
            raise


def check_model(
    model: Model,
    *,
    on_progress: OnProgress | None = None,
    java: Path | None = None,
    stop: Stop | None = None,
) -> ModelResult:
    """Run TLC on one model, at most for its budget, and compare the finding with the row."""
    started = time.monotonic()
    try:
        config = model.tlc_config().render()
        command = (java or _java(), find_jar(), model.tier)
    except (ModelError, JarNotFoundError, _java_error()) as error:
        finding = Finding(verdict=Verdict.ERROR, error=str(error))
    else:
        with tempfile.TemporaryDirectory(prefix="tlc-", ignore_cleanup_errors=True) as directory:
            run = _Run(model, Path(directory), on_progress, stop or Stop())
            finding = run.perform(_command(run.prepare(config), *command))
        finding = _named(model, finding)
    return _result(model, finding, time.monotonic() - started)


def _java() -> Path:
    from spec.java import find_java

    return find_java().executable


def _java_error() -> type[Exception]:
    from spec.java import JavaNotFoundError

    return JavaNotFoundError


def _command(module: Path, java: Path, jar: Path, tier: Tier) -> list[str]:
    """Liveness is judged at the end, once: in between TLC would judge when a clock says so."""
    directory = module.parent
    return [
        str(java),
        HEAP,
        "-XX:+UseSerialGC",
        *([SHORT_RUN] if tier is Tier.QUICK else []),
        f"-Djava.io.tmpdir={directory}",
        "-cp",
        str(jar),
        "tlc2.TLC",
        "-tool",
        "-deadlock",
        *("-workers", "1"),
        *("-lncheck", "final"),
        *("-metadir", str(directory / "states")),
        *("-config", f"{module.stem}.cfg"),
        module.name,
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    model: Model
    directory: Path
    on_progress: OnProgress | None
    stop: Stop

    def prepare(self, config: str) -> Path:
        for module in sorted(self.model.directory.glob("*.tla")):
            shutil.copyfile(module, self.directory / module.name)
        root = self.directory / self.model.module_path.name
        root.with_suffix(".cfg").write_text(config)
        return root

    def perform(self, command: list[str]) -> Finding:
        child = subprocess.Popen(
            command,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        time_is_up = Event()
        timer = Timer(self.model.budget_s, _end, (child, time_is_up))
        timer.daemon = True
        with self.stop.watching(child):
            timer.start()
            try:
                messages = list(self.listen(child))
                child.wait()
            finally:
                timer.cancel()
        return conclude(messages, timed_out=time_is_up.is_set() or self.stop.requested.is_set())

    def listen(self, child: subprocess.Popen[str]) -> Iterator[Message]:
        assert child.stdout is not None
        reader = MessageReader()
        for line in child.stdout:
            for message in reader.feed(line):
                self.report(message)
                yield message

    def report(self, message: Message) -> None:
        if self.on_progress is None or message.code != PROGRESS:
            return
        if counts := read_counts(message.text):
            self.on_progress(
                Progress(
                    model=self.model.name,
                    generated=counts.generated,
                    distinct=counts.distinct,
                    queued=counts.queued,
                )
            )


def _end(child: subprocess.Popen[str], time_is_up: Event) -> None:
    time_is_up.set()
    child.kill()


def _named(model: Model, finding: Finding) -> Finding:
    """TLC does not name a violated temporal property, nor one that is another module's `Spec`.

    A row that expects one checks it alone.
    """
    if finding.violated in UNNAMED and model.invariant is not None:
        return replace(finding, violated=model.invariant)
    return finding


def _result(model: Model, finding: Finding, seconds: float) -> ModelResult:
    length = len(finding.counterexample.states) if finding.counterexample else None
    difference = _difference(model, finding, length)
    return ModelResult(
        model=model.name,
        verdict=finding.verdict,
        violated=finding.violated,
        states_in_counterexample=length,
        distinct=finding.counts.distinct,
        generated=finding.counts.generated,
        seconds=seconds,
        agrees=not difference,
        why=difference or _as_expected(model),
        counterexample=finding.counterexample,
    )


def _as_expected(model: Model) -> str:
    if model.expected is Verdict.HOLDS:
        return f"holds in all {model.distinct_states:,} states, as expected"
    return f"violates {model.invariant} in {model.counterexample_states} states, as expected"


def _difference(model: Model, finding: Finding, length: int | None) -> str:
    """What is not as the row says, as one sentence; empty when everything is."""
    if finding.verdict is Verdict.ERROR:
        return finding.error
    if finding.verdict is Verdict.NOT_EXHAUSTED:
        return (
            f"not exhausted after {model.budget_s:g} s: {finding.counts.distinct:,} states seen, "
            f"{finding.counts.queued:,} waiting"
        )
    if finding.verdict is not model.expected or finding.violated != model.invariant:
        return f"{_found(finding)}, but should have {_wanted(model)}"
    if length != model.counterexample_states:
        return (
            f"violates {model.invariant} in {length} states, "
            f"but the shortest way took {model.counterexample_states}"
        )
    if finding.counts.distinct != model.distinct_states:
        return (
            f"has {finding.counts.distinct:,} distinct states, "
            f"but models.toml says {model.distinct_states:,}"
        )
    return ""


def _found(finding: Finding) -> str:
    return f"violates {finding.violated}" if finding.violated else "held"


def _wanted(model: Model) -> str:
    return f"violated {model.invariant}" if model.invariant else "held"
