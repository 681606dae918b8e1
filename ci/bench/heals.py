"""How long faults took to be healed: `python -m fencepost.ci.bench.heals RUN`.

`RUN` is a folder with traces of chaos runs. A fault heals from the moment when it is undone until
its target is seen to be well again: a killed broker has started and registered by then. Beside the
longest stands how much of it went by before a new process of the broker could write its first line:
that much is Python and its imports, on whatever else the machine has to do.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from fencepost.ci.screens.console import complain, show_table
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.spec.trace import Kind, Phase, TraceEvent

TARGET_S = 2.0
STARTED = "NodeStarted"
ENDED = (Phase.HEALED, Phase.INEFFECTIVE, Phase.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Healing:
    """One fault."""

    kind: str
    phase: Phase
    """How it ended."""
    was_active: bool
    seconds: float
    starting_s: float | None
    """How much of it until a new process of the broker ran; None when none was started."""


def healings(events: Sequence[TraceEvent]) -> list[Healing]:
    """Of each fault of one run that was injected."""
    starts = [event for event in events if event.action == STARTED]
    begun: dict[str, int] = {}
    active: set[str] = set()
    found: list[Healing] = []
    faults = (event for event in events if event.kind is Kind.FAULT and event.fault_id)
    for event in sorted(faults, key=lambda event: event.mono_ns):
        fault_id = event.fault_id or ""
        if event.phase is Phase.ACTIVE:
            active.add(fault_id)
        elif event.phase is Phase.HEALING:
            begun[fault_id] = event.mono_ns
        elif event.phase in ENDED and fault_id in begun:
            found.append(
                Healing(
                    kind=event.fault or "",
                    phase=event.phase,
                    was_active=fault_id in active,
                    seconds=(event.mono_ns - begun[fault_id]) / 1e9,
                    starting_s=_starting_s(starts, event, begun[fault_id]),
                )
            )
    return found


def _starting_s(starts: Iterable[TraceEvent], ended: TraceEvent, begun_ns: int) -> float | None:
    node = f"broker-{ended.broker_id}"
    times = [e.mono_ns for e in starts if e.node == node and begun_ns < e.mono_ns <= ended.mono_ns]
    return (max(times) - begun_ns) / 1e9 if times else None


def _start_of_longest(found: Iterable[Healing]) -> str:
    starting_s = max(found, key=lambda one: one.seconds).starting_s
    return "-" if starting_s is None else f"{starting_s:.2f}"


def rows(found: Sequence[Healing]) -> list[tuple[str, int, int, int, str, str, str]]:
    """By kind: how many, how many had an effect and healed, and how long that took."""
    kinds = sorted({one.kind for one in found})
    each = {kind: [one for one in found if one.kind == kind] for kind in kinds}
    return [
        (
            kind,
            len(of_kind),
            sum(one.was_active for one in of_kind),
            sum(one.phase is not Phase.FAILED for one in of_kind),
            f"{median(one.seconds for one in of_kind):.2f}",
            f"{max(one.seconds for one in of_kind):.2f}",
            _start_of_longest(of_kind),
        )
        for kind, of_kind in each.items()
    ]


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 when a fault took longer than the target, or was not healed.

    3 when not every line could be read.
    """
    if len(arguments) != 1:
        complain("name one run folder: python -m fencepost.ci.bench.heals RUN")
        return 4
    traces = sorted(Path(arguments[0]).rglob("trace-harness.ndjson"))
    found, doubts = [], []
    for path in traces:
        events, unread = read_folder(path.parent)
        found += healings(events)
        doubts += [f"{path.parent}: {doubt}" for doubt in unread]
    for doubt in doubts:
        complain(f"{doubt}; what it told is not among these")
    if not found:
        complain(f"{arguments[0]} holds no trace of a fault")
        return 4
    show_table(
        f"healing, target {TARGET_S:g} s",
        ("kind", "faults", "effective", "healed", "median, s", "longest, s", "its start, s"),
        rows(found),
    )
    late = any(one.seconds > TARGET_S or one.phase is Phase.FAILED for one in found)
    return 1 if late else 3 if doubts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
