"""What the traces in the folder of a run say."""

import json
from pathlib import Path
from typing import Any

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.spec.trace import Kind, TraceEvent, read_trace

HARNESS_TRACE = "trace-harness.ndjson"


def begun_in(folder: Path) -> dict[str, Any]:
    """What `RunStarted` tells; empty without it. Raises `ChoiceError` when it cannot be read."""
    path = folder / HARNESS_TRACE
    events = read_trace(path).events if path.is_file() else []
    found = [event for event in events if event.kind is Kind.RUN and event.action == "RunStarted"]
    try:
        told = json.loads(found[0].detail or "{}") if found else {}
    except json.JSONDecodeError as error:
        raise ChoiceError(f"{path} cannot be read: {error}") from error
    return told if isinstance(told, dict) else {}


def read_folder(folder: Path, nodes: str = "*") -> tuple[list[TraceEvent], list[str]]:
    """All events of the nodes so named, and what could not be read of their traces."""
    events: list[TraceEvent] = []
    doubts: list[str] = []
    for path in sorted(folder.glob(f"trace-{nodes}.ndjson")):
        try:
            found = read_trace(path)
        except OSError as error:
            doubts.append(f"{path.name} cannot be read: {error.strerror}")
            continue
        events.extend(found.events)
        if found.foreign_lines:
            count = len(found.foreign_lines)
            lines = "1 line that is no event" if count == 1 else f"{count} lines that are no events"
            doubts.append(f"{path.name} has {lines}")
    return events, doubts
