"""The TLS of ZooKeeper's own port: versions of today with ciphers of today, and nothing below."""

from pathlib import Path
from ssl import TLSVersion

import pytest
from kazoo.client import KazooClient
from kazoo.security import READ_ACL_UNSAFE, make_digest_acl

from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.secured import SecuredZooKeeperServer
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer
from tests.impl.shell.security.hellos import (
    NO_COMMON_CIPHER,
    NO_SUCH_VERSION,
    refusals,
    speaks,
)

OWNER = "owner", "the password of the owner"
PATIENCE_S = 30.0
PIPELINED = 60
"""Pairs of changes that each session sends before it hears of the first one."""


@pytest.mark.zookeeper
def test_log_does_not_tell_by_which_credentials_znodes_may_be_written(
    supervisor: Supervisor,
) -> None:
    server = ZooKeeperServer(supervisor, supervisor.directory / "zookeeper")
    server.start()
    acl = [make_digest_acl(*OWNER, all=True), *READ_ACL_UNSAFE]
    clients = [KazooClient(hosts=server.address) for _ in range(3)]
    for client in clients:
        client.start()
        client.add_auth("digest", ":".join(OWNER))

    changes = [
        change
        for number in range(PIPELINED)
        for place, client in enumerate(clients)
        for change in (
            client.set_acls_async("/", acl),
            client.create_async(f"/{place}-{number}", acl=acl),
        )
    ]
    for change in changes:
        change.get(timeout=PATIENCE_S)
    for client in clients:
        client.stop()
        client.close()

    assert server.process.log_tail() == ""


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
