"""The TLS of ZooKeeper's own port: versions of today with ciphers of today, and nothing below."""

from pathlib import Path
from ssl import TLSVersion

import pytest

from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.secured import SecuredZooKeeperServer
from tests.impl.shell.security.hellos import (
    NO_COMMON_CIPHER,
    NO_SUCH_VERSION,
    refusals,
    speaks,
)


@pytest.mark.zookeeper
def test_old_versions_and_weak_ciphers_are_refused(tmp_path: Path, supervisor: Supervisor) -> None:
    authority = CertificateAuthority(tmp_path / "tls")
    alice = authority.add_user("alice")
    identity = authority.add_zookeeper()
    server = SecuredZooKeeperServer(supervisor, tmp_path / "zookeeper", identity)
    server.start()

    old, weak = refusals(server.endpoint)

    assert (old, weak) == ({NO_SUCH_VERSION}, {NO_COMMON_CIPHER})
    assert speaks(server.endpoint, alice, TLSVersion.TLSv1_2)
    assert speaks(server.endpoint, alice, TLSVersion.TLSv1_3)
