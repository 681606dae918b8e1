"""Three brokers as processes for the tests of the client."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from fencepost.conformance.adapters.local_cluster import ClusterStatus
from tests import local_cluster


@dataclass(frozen=True)
class Running:
    """The cluster while the tests run."""

    status: ClusterStatus

    @property
    def servers(self) -> str:
        """Where its brokers listen."""
        return ",".join(broker.address for broker in self.status.brokers if broker.address)

    @contextmanager
    def paused(self, broker_id: int) -> Iterator[None]:
        """The broker stands still."""
        (pid,) = [b.pid for b in self.status.brokers if b.broker_id == broker_id and b.pid]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with local_cluster.running(tmp_path_factory.mktemp("cluster")) as status:
        yield Running(status)
