"""An adapter as an implementation under test: `cmd:PROGRAM ARGUMENTS` or `tcp:HOST:PORT`.

A program is run, or a connection opened, once to say hello when it is chosen, and again for each
cluster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import UNSET

from fencepost.conformance.adapters.choices import ATTACHED
from fencepost.conformance.adapters.implementation import (
    Capability,
    ClusterParts,
    Implementation,
    Site,
)
from fencepost.conformance.adapters.remote.adapter import Adapter
from fencepost.conformance.adapters.remote.channels import AdapterError, open_channel
from fencepost.conformance.adapters.remote.cluster import (
    ObservedState,
    RemoteBrokers,
    StateInZooKeeper,
)
from fencepost.conformance.adapters.remote.messages import (
    ClusterCreateCall,
    Done,
    HelloAnswer,
    ProbeCall,
    Unsupported,
)
from fencepost.conformance.adapters.remote.traces import TraceReader
from fencepost.conformance.adapters.remote.transport import RemoteTransport
from fencepost.conformance.checks.observations import (
    OF_BROKERS,
    OF_CLIENTS,
    Fidelity,
    Observable,
)
from fencepost.conformance.checks.ordering import broker_of
from fencepost.conformance.checks.trace_dialect import SPEC, UNTOLD_WRITES
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.spec.trace import TraceEvent
from fencepost.spec.zookeeper import ZooKeeperError

DECLARED = {
    "processes": Capability.PROCESSES,
    "zookeeper": Capability.ZOOKEEPER,
    "links": Capability.LINKS,
    "unclean_leader_election": Capability.UNCLEAN_ELECTIONS,
    "min_insync_replicas": Capability.MIN_INSYNC_REPLICAS,
    "trace": Capability.LIVE_TRACE,
    "control": Capability.CONTROL,
    "controlled_shutdown": Capability.CONTROLLED_SHUTDOWN,
}
"""What `hello` names, and what it stands for."""
TELL_WRITES = (Observable.ELECTIONS, Observable.ISR_CHANGES)
"""Of these kinds are the lines in which brokers write LeaderAndISR."""
UNKNOWN_FEATURE = "a feature that does not exist"


@dataclass(frozen=True, kw_only=True)
class Remote(Implementation):
    """What an adapter puts under test, as it said when it was greeted."""

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster behind a new run of the adapter.

        Raises `AdapterError` and `ZooKeeperError`.
        """
        has_zookeeper = Capability.ZOOKEEPER in self.capabilities
        takes_least = Capability.MIN_INSYNC_REPLICAS in self.capabilities
        adapter = Adapter(open_channel(self.chosen_as, site.supervisor))
        call = ClusterCreateCall(
            run_id=site.run_id,
            folder=str(site.folder.absolute()),
            broker_ids=site.broker_ids,
            level=site.level,
            zookeeper=site.zookeeper if has_zookeeper else None,
            session_timeout_ms=site.session_timeout_ms,
            replica_lag_ms=site.replica_lag_ms,
            unclean_leader_election=site.unclean_leader_election,
            min_insync_replicas=site.min_insync_replicas if takes_least else UNSET,
        )
        try:
            adapter.require(call, Done)
            znodes = site.znodes(self.znode_dialect) if has_zookeeper else None
        except (AdapterError, ZooKeeperError):
            adapter.close()
            raise
        has_trace = Capability.LIVE_TRACE in self.capabilities
        return ClusterParts(
            lifecycle=RemoteBrokers(adapter, site, self.capabilities),
            state=StateInZooKeeper(znodes) if znodes else ObservedState(adapter),
            transport=RemoteTransport(adapter, TraceReader(adapter, site) if has_trace else None),
            znodes=znodes,
        )

    @property
    def told(self) -> Mapping[str, object]:
        """What the trace's `RunStarted` says of it."""
        return {**super().told, "dialect": self.trace_dialect.name}

    def contradictions(self, events: Sequence[TraceEvent], /) -> list[str]:
        """A promise of traces that no broker kept."""
        promised = sorted(kind for kind in self.observes if kind in OF_BROKERS)
        if not promised or any(broker_of(event) is not None for event in events):
            return []
        return [f"{self.name} observes {', '.join(promised)}, and no broker wrote a trace"]


@cache
def greet(target: str) -> Remote:
    """The implementation behind the adapter; raises `ChoiceError` and `AdapterError`."""
    try:
        with TemporaryDirectory() as folder, Supervisor(Path(folder), "hello") as supervisor:
            adapter = Adapter(open_channel(target, supervisor))
            try:
                _require_honest(adapter)
            finally:
                adapter.close()
        return _remote(target, adapter.greeting)
    except AdapterError as error:
        raise AdapterError(f"{target} cannot be put under test: {error}") from error


def _require_honest(adapter: Adapter) -> None:
    answer = adapter.ask(ProbeCall(feature=UNKNOWN_FEATURE), Done)
    if not isinstance(answer, Unsupported):
        raise AdapterError(
            f"the adapter was asked for {UNKNOWN_FEATURE!r} and did not answer unsupported"
        )


def _remote(target: str, hello: HelloAnswer) -> Remote:
    if target.startswith(ATTACHED) and Capability.PROCESSES in hello.capabilities:
        raise AdapterError(
            "it declares processes, and signals reach only what the harness has started; "
            "leave that out, or have the adapter started by cmd:"
        )
    observes = {Observable(kind): fidelity for kind, fidelity in hello.observes.items()}
    capabilities = {DECLARED[name] for name in hello.capabilities}
    if Capability.ZOOKEEPER in capabilities:
        observes[Observable.STATE_WRITES] = Fidelity.EXACT
        capabilities |= {Capability.INCARNATIONS, Capability.PROMPT_DELETION}
    tells_writes = all(observes.get(kind) is Fidelity.EXACT for kind in TELL_WRITES)
    return Remote(
        chosen_as=target,
        trace_dialect=SPEC if tells_writes else UNTOLD_WRITES,
        name=f"{hello.name} {hello.version}".rstrip(),
        levels=hello.levels,
        capabilities=frozenset(capabilities),
        observes={**OF_CLIENTS, **observes},
    )
