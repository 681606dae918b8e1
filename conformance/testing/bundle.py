"""The folder that a failing test leaves, as far as it is needed to run the same test again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.adapter import UsageError
from fault_injection.schedule import TimedFault, schedule_from_json
from spec.trace import Kind, TraceEvent, read_trace

HARNESS_TRACE = "trace-harness.ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A run that is to be run again."""

    folder: Path
    test: str
    """Its node id."""
    seed: int
    level: int
    command: str | None
    """How brokers were started; None: the reference."""
    zookeeper: str | None
    """Which ZooKeeper it had; None: the single server."""
    faults: Mapping[str, TimedFault] = field(default_factory=dict)
    """By `fault_id`: when each was injected, and at which brokers."""


def read_bundle(folder: Path) -> Recorded:
    """What was run in `folder`; raises `UsageError` with one sentence."""
    path = folder / HARNESS_TRACE
    if not path.is_file():
        raise UsageError(f"{folder} is no run of a test: it holds no {HARNESS_TRACE}")
    events = read_trace(path).events
    begun, ended = _detail(folder, events, "RunStarted"), _detail(folder, events, "RunEnded")
    test = begun.get("test")
    if not isinstance(test, str):
        again = begun.get("reproduce") or "the command that made it"
        raise UsageError(f"{folder} is no run of a test; run it again with: {again}")
    try:
        return Recorded(
            folder=folder,
            test=test,
            seed=int(begun["seed"]),
            level=int(begun["level"]),
            command=begun.get("command"),
            zookeeper=begun.get("zookeeper"),
            faults=_faults(ended.get("executed")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a run of a test: {error}") from error


def _faults(executed: object) -> dict[str, TimedFault]:
    if executed is None:
        return {}
    schedule = schedule_from_json(json.dumps(executed))
    return {timed.fault_id: timed for timed in schedule.faults}


def _detail(folder: Path, events: list[TraceEvent], action: str) -> dict[str, Any]:
    """What `RunStarted` or `RunEnded` tells; a run that was killed has no end and no faults."""
    found = [event for event in events if event.kind is Kind.RUN and event.action == action]
    try:
        told = json.loads(found[0].detail or "{}") if found else {}
    except json.JSONDecodeError as error:
        raise UsageError(f"{folder / HARNESS_TRACE} cannot be read: {error}") from error
    return told if isinstance(told, dict) else {}
