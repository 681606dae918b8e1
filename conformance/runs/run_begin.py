"""What the trace of a recorded run says of its own begin."""

import json
from pathlib import Path
from typing import Any

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.spec.trace import Kind, read_trace

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
