"""A canary for any implementation: the trace of a good run is falsified; the checks must see it.

Where no rule can be broken on purpose, nothing but a known falsehood tells checks that look from
checks that look away. What clients were told is all that it needs, and every target has that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.runs.judgement import REQUIRED
from fencepost.conformance.runs.run_folder import read_run_folder
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome

FINAL = "client-final"
"""The client that reads every partition in full at the end of a run."""
FALSE = "nobody/0/0"
"""A record that no client has written."""

Falsify = Callable[[Sequence[TraceEvent]], list[TraceEvent] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Falsehood:
    """What became of one falsehood."""

    name: str
    run: str
    """The folder of the run that was falsified."""
    seen_by: tuple[str, ...]
    """The checks that are violated by it, ascending; none: it was not seen."""


def overwrite_one(events: Sequence[TraceEvent]) -> list[TraceEvent] | None:
    """The final read shows another record where one was acknowledged."""
    for produced in reversed(_acknowledged(events)):
        for event in events:
            if _is_final_read_of(event, produced):
                values = list(event.values or ())
                values[(produced.offset or 0) - (event.offset or 0)] = FALSE
                other = msgspec.structs.replace(event, values=tuple(values))
                return [other if one is event else one for one in events]
    return None


def acknowledge_twice(events: Sequence[TraceEvent]) -> list[TraceEvent] | None:
    """A record is told to be where another one is."""
    found = _acknowledged(events)
    for produced in reversed(found):
        others = [one for one in found if one.partition == produced.partition]
        if produced.offset and len(others) > 1:
            moved = msgspec.structs.replace(produced, offset=produced.offset - 1)
            return [moved if one is produced else one for one in events]
    return None


FALSEHOODS: dict[str, Falsify] = {
    "an overwritten record": overwrite_one,
    "two records at one offset": acknowledge_twice,
}


def falsified(folder: Path, dialect: TraceDialect = SPEC) -> list[Falsehood]:
    """Each falsehood, told of the first good run below `folder`; none without such a run."""
    for run in sorted(path for path in folder.glob("*") if path.is_dir()):
        events, doubts = read_run_folder(run)
        told = {name: falsify(events) for name, falsify in FALSEHOODS.items()}
        if doubts or None in told.values() or _seen(events, dialect):
            continue
        return [
            Falsehood(name=name, run=run.name, seen_by=_seen(false or [], dialect))
            for name, false in told.items()
        ]
    return []


def _seen(events: Sequence[TraceEvent], dialect: TraceDialect) -> tuple[str, ...]:
    checks = run_checks(events, dialect)
    return tuple(
        sorted(c.invariant.value for c in checks if c.violations and c.invariant in REQUIRED)
    )


def _acknowledged(events: Sequence[TraceEvent]) -> list[TraceEvent]:
    """What every in-sync replica has, as clients were told, in the order of its offsets."""
    found = [
        event
        for event in events
        if event.kind is Kind.COMPLETE
        and event.action == "Produce"
        and (event.outcome, event.acks) == (Outcome.OK, -1)
        and event.offset is not None
    ]
    return sorted(found, key=lambda event: (event.topic or "", event.partition or 0, event.offset))


def _is_final_read_of(event: TraceEvent, produced: TraceEvent) -> bool:
    is_final = event.node == FINAL and event.kind is Kind.COMPLETE and event.action == "Fetch"
    where = (event.topic, event.partition) == (produced.topic, produced.partition)
    if not (is_final and where) or not event.values or event.offset is None:
        return False
    return event.offset <= (produced.offset or 0) < event.offset + len(event.values)
