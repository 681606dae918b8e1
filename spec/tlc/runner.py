"""Runs TLC: in Javas that stay for a call, with budgets of time and memory; verdicts are compared.

TLC's state directory, the modules it reads and what it unpacks live in one temporary directory per
Java, so that runs may overlap and nothing is left behind. What was found before is not run again.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import TypeVar

from fencepost.spec.tlc.cache import verdict_cache as cache
from fencepost.spec.tlc.compare import ModelResult, compare
from fencepost.spec.tlc.config import ModelConfig
from fencepost.spec.tlc.counterexample import Counterexample
from fencepost.spec.tlc.java.dialect import dialect_of
from fencepost.spec.tlc.java.installation import EXPECTED_ERRORS, Tlc, find_tlc
from fencepost.spec.tlc.java.machine import Machine
from fencepost.spec.tlc.java.machines import Machines, given_or_own
from fencepost.spec.tlc.java.output import (
    FINISHED,
    PROGRESS,
    UNKNOWN_NAME,
    UNNAMED,
    VIOLATIONS,
    MessageReader,
    TlcFinding,
    TlcMessage,
    conclude,
    read_counts,
)
from fencepost.spec.tlc.java.process import side_by_side
from fencepost.spec.tlc.models import Model, ModelVerdict
from fencepost.spec.tlc.modules import modules_read
from fencepost.spec.tlc.possible import unreached
from fencepost.spec.tlc.simulation import taken_in, with_own_names

LONG_RUN_STATES = 12_000
"""From here on an optimising compiler pays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the check of one model has come."""

    model: str
    generated: int
    distinct: int
    queued: int
    is_done: bool = False
    is_cached: bool = False


OnProgress = Callable[[Progress], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlcOptions:
    """What every run of a call has in common."""

    use_cache: bool = True
    time_budget_s: float | None = None
    """In place of the rows' own."""
    heap_mb: int | None = None
    """In place of the rows' own."""
    tlc_options: tuple[str, ...] = ()
    """More for TLC; such runs are never cached."""

    def applied_to(self, model: Model) -> Model:
        """The row with the budgets that are asked for."""
        return replace(
            model,
            budget_s=self.time_budget_s or model.budget_s,
            heap_mb=self.heap_mb or model.heap_mb,
        )


def check_models(
    models: Iterable[Model],
    *,
    workers: int = 2,
    on_progress: OnProgress | None = None,
    options: TlcOptions | None = None,
) -> tuple[ModelResult, ...]:
    """Check models side by side, `workers` at a time, longest first; results in given order."""
    with Machines() as machines:
        check = _Check(machines, options or TlcOptions(), on_progress)
        return check.side_by_side(tuple(models), check.result_of, workers)


def findings(
    models: Iterable[Model],
    *,
    workers: int = 2,
    on_progress: OnProgress | None = None,
    options: TlcOptions | None = None,
) -> tuple[TlcFinding, ...]:
    """As `check_models`, compared with nothing."""
    with Machines() as machines:
        check = _Check(machines, options or TlcOptions(), on_progress)
        return check.side_by_side(tuple(models), check.finding_of, workers)


def check_model(
    model: Model,
    *,
    on_progress: OnProgress | None = None,
    options: TlcOptions | None = None,
    machines: Machines | None = None,
) -> ModelResult:
    """Run TLC on one model, at most for its budget, and compare the finding with the row.

    A call that checks several models one after another gives `machines` to each.
    """
    with given_or_own(machines) as used:
        return _Check(used, options or TlcOptions(), on_progress).result_of(model)


@dataclass(slots=True)
class _Check:
    """One call: what its runs share."""

    machines: Machines
    options: TlcOptions
    on_progress: OnProgress | None = None
    tlc: Tlc | None = field(default=None)

    def side_by_side(
        self, models: tuple[Model, ...], task: Callable[[Model], T], workers: int
    ) -> tuple[T, ...]:
        """What `task` says of each, the longest first."""
        order = sorted(models, key=lambda model: -model.budget_s)
        told = side_by_side(
            [partial(task, model) for model in order], workers=workers, stop=self.machines.stop
        )
        by_name = {model.name: one for model, one in zip(order, told, strict=True)}
        return tuple(by_name[model.name] for model in models)

    def finding_of(self, model: Model) -> TlcFinding:
        return self.watched(self.options.applied_to(model))[0]

    def result_of(self, model: Model) -> ModelResult:
        model = self.options.applied_to(model)
        started = time.monotonic()
        finding, cached = self.watched(model)
        if finding.counterexample is not None and self.walks_otherwise(finding.counterexample):
            model = replace(model, counterexample_states=len(finding.counterexample.states))
        return compare(model, finding, seconds=time.monotonic() - started, cached=cached)

    def walks_otherwise(self, counterexample: Counterexample) -> bool:
        """Whether the length of a liveness counterexample says nothing with this TLC."""
        if self.tlc is None or counterexample.back_to is None:
            return False
        return not dialect_of(self.tlc.jar).walks_as_2_15

    def watched(self, model: Model) -> tuple[TlcFinding, bool]:
        """As `find`, between two reports of progress."""
        self.report(Progress(model=model.name, generated=0, distinct=0, queued=0))
        finding, cached = self.find(model)
        self.report(
            Progress(
                model=model.name,
                generated=finding.counts.generated,
                distinct=finding.counts.distinct,
                queued=finding.counts.queued,
                is_done=True,
                is_cached=cached,
            )
        )
        return finding, cached

    def find(self, model: Model) -> tuple[TlcFinding, bool]:
        """The finding, and whether it was known before."""
        try:
            asked = model.tlc_config()
            config = asked.render()
            self.tlc = tlc = self.tlc or find_tlc()
            dialect_of(tlc.jar)
            if (known := self.recall(model)) is not None:
                return known, True
        except EXPECTED_ERRORS as error:
            return TlcFinding(verdict=ModelVerdict.ERROR, error=str(error)), False
        states = model.distinct_states if model.simulation is None else model.simulation.states
        is_short = states < LONG_RUN_STATES
        with self.machines.one(tlc, heap_mb=model.heap_mb, is_short=is_short) as machine:
            run = _Run(model, machine, self)
            run.prepare(config)
            finding = run.perform(tlc, self.options.tlc_options)
        finding = _placed(model, asked, _named(model, finding))
        if self.uses_cache:
            cache.keep(_key(model, config, tlc.jar), finding)
        return finding, False

    @property
    def uses_cache(self) -> bool:
        return self.options.use_cache and not self.options.tlc_options

    def recall(self, model: Model) -> TlcFinding | None:
        if not self.uses_cache or self.tlc is None:
            return None
        config = model.tlc_config().render()
        return cache.find(_key(model, config, self.tlc.jar))

    def report(self, progress: Progress) -> None:
        if self.on_progress is not None and not self.machines.stop.requested.is_set():
            self.on_progress(progress)


@dataclass(frozen=True, slots=True)
class _Run:
    model: Model
    machine: Machine
    check: _Check

    def prepare(self, config: str) -> None:
        directory = self.machine.folder
        for module in modules_read(self.model.module_path):
            shutil.copyfile(module, directory / module.name)
        for name, text in self.model.mutated.texts.items():
            (directory / name).write_text(text)
        (directory / f"{self.model.mutated.root}.cfg").write_text(config)

    def perform(self, tlc: Tlc, options: tuple[str, ...]) -> TlcFinding:
        simulation = self.model.simulation
        asked = (*(simulation.options if simulation else ()), *options)
        arguments = tlc.arguments(self.model.mutated.root, asked)
        messages = list(self.listen(self.machine.run(arguments, self.model.budget_s)))
        stopped = self.check.machines.stop.requested.is_set()
        ended_by_us = self.machine.time_is_up.is_set() or stopped
        if ended_by_us:
            messages = told_whole(messages)
        finding = self.as_modelled(conclude(messages, timed_out=ended_by_us), messages)
        was_killed = self.machine.child.returncode == -SIGKILL and not ended_by_us
        if finding.verdict is ModelVerdict.ERROR:
            self.machine.is_spent = True
        if finding.is_out_of_memory or (was_killed and finding.verdict is ModelVerdict.ERROR):
            return replace(finding, error=self.memory_sentence(finding, was_killed=was_killed))
        return finding

    def as_modelled(self, finding: TlcFinding, messages: list[TlcMessage]) -> TlcFinding:
        """Without the module on top, and with what it told."""
        printed = [message.text for message in messages if message.code == 0]
        if finding.verdict is ModelVerdict.HOLDS and (
            missing := unreached(printed, self.model.reaches)
        ):
            verdict = ModelVerdict.NOT_REACHED
            return replace(finding, verdict=verdict, violated=", ".join(missing))
        if (simulation := self.model.simulation) is None:
            return finding
        module, behaviour = self.model.module_path, finding.counterexample
        return replace(
            finding,
            counterexample=behaviour and with_own_names(behaviour, module),
            taken=taken_in(printed, simulation, module),
        )

    def memory_sentence(self, finding: TlcFinding, *, was_killed: bool) -> str:
        found = f"after {finding.counts.distinct:,} distinct states"
        if was_killed:
            return (
                f"model {self.model.name}: TLC was killed {found}, as a machine without memory "
                "does it; check fewer models at once, or lower heap_mb of its row or --heap"
            )
        return (
            f"model {self.model.name}: TLC ran out of memory {found} with a heap of "
            f"{self.model.heap_mb} MiB; raise heap_mb of its row or --heap, or lower its bounds"
        )

    def listen(self, lines: Iterator[str]) -> Iterator[TlcMessage]:
        reader = MessageReader()
        for line in lines:
            for message in reader.feed(line):
                self.report(message)
                yield message

    def report(self, message: TlcMessage) -> None:
        if message.code != PROGRESS or (counts := read_counts(message.text)) is None:
            return
        self.check.report(
            Progress(
                model=self.model.name,
                generated=counts.generated,
                distinct=counts.distinct,
                queued=counts.queued,
            )
        )


def told_whole(messages: list[TlcMessage]) -> list[TlcMessage]:
    """Without the violation that TLC was about to tell when it was ended: its states are cut."""
    if any(message.code == FINISHED for message in messages):
        return messages
    return [message for message in messages if message.code not in VIOLATIONS]


def _key(model: Model, config: str, jar: Path) -> str:
    asked = "" if model.simulation is None else " ".join(model.simulation.options)
    wanted = " ".join(model.reaches)
    return cache.key_of(model.module_path, config + asked + wanted, jar, model.mutated.paths)


def _placed(model: Model, config: ModelConfig, finding: TlcFinding) -> TlcFinding:
    """TLC does not say where a configuration names what the module lacks."""
    if (unknown := UNKNOWN_NAME.match(finding.error)) is None:
        return finding
    place = config.places.get(unknown[1], f"models.toml, model {model.name}")
    return replace(finding, error=f"{place}: {finding.error}")


def _named(model: Model, finding: TlcFinding) -> TlcFinding:
    """TLC does not name a violated temporal property, nor one that is another module's `Spec`.

    A row that expects one checks it alone.
    """
    if finding.violated in UNNAMED and model.invariant is not None:
        return replace(finding, violated=model.invariant)
    return finding
