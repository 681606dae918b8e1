"""The folder of a run on processes: what the harness traces there, and what all traces say."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Implementation, RunSite
from fencepost.conformance.checks.completeness import trace_health
from fencepost.conformance.checks.incarnations import Lives, lives_in, named
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.fault_injection.zookeeper.transaction_log import Transaction, to_trace_events
from fencepost.spec.trace import (
    HARNESS_TRACE,
    TRACE_VERSION,
    Kind,
    LamportClock,
    TraceEvent,
    encode_all,
    read_trace,
)

ZOOKEEPER_TRACE = "trace-zookeeper.ndjson"


@contextmanager
def traced_run(
    folder: Path,
    run_id: str,
    *,
    begun: Mapping[str, object],
    ending: Callable[[], Mapping[str, object]],
    min_insync_replicas: int | None = None,
) -> Iterator[TraceWriter]:
    """The harness's own trace: `begun` goes into `RunStarted`, `ending()` into `RunEnded`.

    `min_insync_replicas` is None for brokers that do not take that setting.
    """
    clock = LamportClock()
    with TraceWriter(folder, run_id=run_id, node="harness", clock=clock) as harness:
        what = {"trace_version": TRACE_VERSION, "backend": "real", **begun}
        harness.write(
            Kind.RUN,
            "RunStarted",
            detail=json.dumps(what),
            min_insync_replicas=min_insync_replicas,
        )
        try:
            yield harness
        finally:
            harness.write(Kind.RUN, "RunEnded", detail=json.dumps(ending()))


def write_transactions(
    folder: Path, run_id: str, transactions: Iterable[Transaction] | None
) -> list[TraceEvent]:
    """Write what ZooKeeper logged of this run; no trace when that could not be read."""
    if transactions is None:
        return []
    events = list(to_trace_events(transactions, run_id))
    (folder / ZOOKEEPER_TRACE).write_bytes(b"".join(encode_all(events)))
    return events


def write_observed(
    implementation: Implementation, site: RunSite, transactions: Iterable[Transaction] | None
) -> None:
    """Write the history of the state, and a trace for each node that writes none itself.

    Without `transactions` of a ZooKeeper, the implementation may tell others. Raises
    `ClusterError` when what it left cannot be read.
    """
    if transactions is None:
        transactions = implementation.history(site)
    else:
        transactions = map(implementation.in_words, transactions)
    history = write_transactions(site.folder, site.run_id, transactions)
    of_brokers = list(implementation.observed(site, history))
    names_its_own = implementation.names_incarnations
    lives = {} if names_its_own else lives_in(history, of_brokers, _since_wall_ns())
    for node, lines in groupby(named(of_brokers, lives), lambda event: event.node):
        (site.folder / f"trace-{node}.ndjson").write_bytes(b"".join(encode_all(lines)))
    name_incarnations(site.folder, lives)


def name_incarnations(folder: Path, lives: Lives) -> None:
    """Clients' traces say which incarnation of a partition each answer is about."""
    for path in folder.glob("trace-client-*.ndjson") if lives else ():
        path.write_bytes(b"".join(encode_all(named(read_trace(path).events, lives))))


def _since_wall_ns() -> int:
    """What the clock of `mono_ns` shows less than that of `wall_ns`."""
    return time.monotonic_ns() - time.time_ns()


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


def read_run_folder(folder: Path) -> tuple[list[TraceEvent], list[str]]:
    """All events of a run, and why they may not be all that happened, one sentence each."""
    events, doubts = read_folder(folder)
    return events, [*doubts, *trace_health(events).doubts]


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
