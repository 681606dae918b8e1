"""Brokers as processes of a supervisor: the `BrokerLifecycle` of every command line."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import Site
from fencepost.fault_injection.network.wiring import BrokerPlace, broker_name
from fencepost.fault_injection.processes.managed_process import ManagedProcess
from fencepost.spec.zookeeper import ZooKeeperAddress


class BrokerProcesses:
    """One process per broker, each with its own data folder at the site."""

    def __init__(
        self,
        site: Site,
        command_of: Callable[[int, BrokerPlace], Sequence[str]],
        *,
        prepared: Sequence[str] = (),
    ) -> None:
        """`command_of` gives a broker's command line at its place.

        `prepared` are the words with which a command can load ahead of its start; empty: it cannot.
        """
        self._site = site
        self._command_of = command_of
        self._prepared = prepared

    def start(self, broker_id: int) -> None:
        """Start the broker; of several ZooKeeper servers, each broker tries another one first."""
        wiring = self._site.wiring
        place = BrokerPlace(zookeeper=self._site.zookeeper)
        if wiring:
            place = wiring.place_of(broker_id)
        address = ZooKeeperAddress.parse(place.zookeeper).beginning_at(broker_id)
        command = self._command_of(broker_id, replace(place, zookeeper=str(address)))
        process = self._site.supervisor.start(
            broker_name(broker_id), list(command), namespace=place.namespace
        )
        if wiring:
            wiring.started(broker_id, process.pid)

    def prepare(self, broker_id: int) -> None:
        """The next process loads and waits for `start`, if the implementation can do that."""
        if self._prepared:
            wiring = self._site.wiring
            network = wiring.network_of(broker_id) if wiring else None
            name = broker_name(broker_id)
            self._site.supervisor.prepare(name, list(self._prepared), namespace=network)

    def is_ready(self, broker_id: int) -> bool:
        """False while a prepared process is still loading what it needs."""
        return self._site.supervisor.is_ready(broker_name(broker_id))

    def started(self, broker_id: int) -> ManagedProcess | None:
        """The broker's last process; None when it was never started."""
        return self._site.supervisor.processes.get(broker_name(broker_id))

    def data_folder(self, broker_id: int) -> Path:
        """Where the broker keeps its logs."""
        return Folders(root=self._site.folder).data(broker_id)
