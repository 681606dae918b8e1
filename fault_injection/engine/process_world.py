"""Real processes as the engine knows them."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from fencepost.fault_injection.engine.progress import EVIDENCE_MS, RunningFault
from fencepost.fault_injection.faults.fault_json import as_json
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.targets import ClusterView
from fencepost.fault_injection.injectors.dispatch import injector_for
from fencepost.fault_injection.injectors.injection import FaultTarget, ResolvedFault
from fencepost.fault_injection.injectors.injector import InjectionError, Injector
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.trace_tail import NoTraces, Traces
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.spec.zookeeper import ZooKeeperError

TROUBLE = (InjectionError, ProcessError, ZooKeeperError)


class UndoLedger(Protocol):
    """As `fencepost.fault_injection.processes.ledger.Ledger`."""

    def open(self, kind: str, **fields: str | int | bool) -> int:
        """Announce what is about to be done; its entry number."""

    def close(self, entry: int) -> None:
        """Record that it is undone."""


@dataclass(slots=True, kw_only=True)
class ProcessWorld:
    """A cluster of processes, the ledger of what is done to it, and where phases are recorded."""

    target: FaultTarget
    ledger: UndoLedger
    on_phase: Callable[[dict[str, Any]], None]
    """Takes the fields of a trace line."""
    now_ns: Callable[[], int] = time.monotonic_ns
    make_injector: Callable[[ResolvedFault[Any]], Injector[str]] = injector_for
    traces: Traces = field(default_factory=NoTraces)
    backend: Backend = field(init=False, default=Backend.REAL)
    trouble: tuple[type[Exception], ...] = field(init=False, default=TROUBLE)
    look_ms: int = field(init=False, default=0)
    """The driver decides: it looks at all faults at once."""
    is_seen_at_once: bool = field(init=False, default=False)
    is_undone_at_once: bool = field(init=False, default=False)
    _entries: dict[str, int] = field(init=False, default_factory=dict)
    """Of faults that are not undone, in the ledger."""

    def view(self) -> ClusterView:
        """As the cluster shows them."""
        return self.target.state.view()

    def is_there(self, broker_id: int | None) -> bool:
        """True when it is registered: the dead cannot be hurt."""
        return broker_id is not None and self.target.registration(broker_id) is not None

    def injector(self, running: RunningFault[str]) -> Injector[str]:
        """The injector of the catalogue; the fault is in the ledger."""
        action = running.action
        victim_id = {} if running.broker_id is None else {"broker_id": running.broker_id}
        self._entries[action.action_id] = self.ledger.open(
            "fault", fault_id=action.action_id, fault=action.fault.kind, **victim_id
        )
        resolved = ResolvedFault(
            fault_id=action.action_id,
            fault=action.fault,
            target=self.target,
            victim_id=running.broker_id,
            receiver_id=running.receiver_id,
            on_broker=lambda broker_id: self.on_phase(running.broker_line(broker_id)),
        )
        return self.make_injector(resolved)

    def close(self, running: RunningFault[str]) -> None:
        """The ledger says so."""
        self.ledger.close(self._entries.pop(running.action.action_id))

    def margin_ms(self, action: StoryAction) -> int:
        """None for what depends on luck."""
        return EVIDENCE_MS if action.must_take_effect else 0

    def is_credited(self, running: RunningFault[str], _: str | None) -> bool:
        """True when it was seen, and ended by what it was to last until."""
        return running.evidence is not None and not running.is_overdue

    def record(self, running: RunningFault[str], proof: str | None, why: str) -> None:
        """One line, with the parameters of the fault and what there is to say."""
        if running.is_overdue and running.is_over:
            why = f"what it lasts until did not come in {running.action.deadline_ms} ms"
        fault, says = running.action.fault, "; ".join(filter(None, (why, proof)))
        explained = {"parameters": as_json(fault), "says": says} if says else as_json(fault)
        self.on_phase(running.phase_line(json.dumps(explained)))
