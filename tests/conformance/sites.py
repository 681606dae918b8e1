"""A site for tests that only look at what would be started there."""

from pathlib import Path

from fencepost.conformance.adapters.implementation import Site
from fencepost.fault_injection.processes.supervisor import Supervisor


def site_at(folder: Path, supervisor: Supervisor) -> Site:
    return Site(
        folder=folder,
        run_id="r",
        broker_ids=(1, 2, 3),
        level=2,
        session_timeout_ms=1500,
        replica_lag_ms=1500,
        supervisor=supervisor,
        zookeeper="127.0.0.1:2181",
    )
