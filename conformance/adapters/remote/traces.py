"""The traces of brokers that an adapter tells, added to the run's folder while it runs."""

from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from fencepost.conformance.adapters.implementation import Site
from fencepost.conformance.adapters.remote.adapter import Adapter
from fencepost.conformance.adapters.remote.channels import AdapterError
from fencepost.conformance.adapters.remote.messages import TraceRead, TraceReadCall
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.spec.trace import TraceEvent, encode

POLL_S = 0.1


class TraceReader:
    """Asks for lines until it is closed, and then for what is left."""

    def __init__(self, adapter: Adapter, site: Site) -> None:
        self._adapter = adapter
        self._folder: Path = site.folder
        self._run_id = site.run_id
        self._nodes = frozenset(map(broker_name, site.broker_ids))
        self._cursor = 0
        self._is_over = Event()
        self._thread = Thread(target=self._follow, name="traces", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Every line is in the folder; raises `AdapterError`."""
        self._is_over.set()
        self._thread.join()
        while self._read():
            pass

    def _follow(self) -> None:
        with suppress(AdapterError):  # the next call of the run raises the same
            while not self._is_over.wait(POLL_S):
                self._read()

    def _read(self) -> bool:
        """True when there were lines."""
        found = self._adapter.require(TraceReadCall(cursor=self._cursor), TraceRead)
        lines: dict[str, list[bytes]] = defaultdict(list)
        for event in found.events:
            self._require_own(event)
            lines[event.node].append(encode(event))
        for node, added in lines.items():
            with (self._folder / f"trace-{node}.ndjson").open("ab", buffering=0) as file:
                file.write(b"".join(added))
        if found.events and found.cursor <= self._cursor:
            raise self._adapter.fail(
                f"the adapter answered trace_read with {len(found.events)} events and the cursor "
                f"{found.cursor}; expected was one beyond {self._cursor}"
            )
        self._cursor = found.cursor
        return bool(found.events)

    def _require_own(self, event: TraceEvent) -> None:
        if event.run_id == self._run_id and event.node in self._nodes:
            return
        raise self._adapter.fail(
            f"the adapter answered trace_read with an event of {event.node!r} in run "
            f"{event.run_id!r}; expected were {', '.join(sorted(self._nodes))} in run "
            f"{self._run_id!r}"
        )
