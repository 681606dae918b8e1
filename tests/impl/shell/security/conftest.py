"""Certificates for the tests of this folder."""

from datetime import timedelta
from pathlib import Path

import pytest

from fencepost.fault_injection.network.certificates import LOOPBACK, CertificateAuthority


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    """An authority with two brokers, and with users of several names."""
    made = CertificateAuthority(tmp_path_factory.mktemp("tls") / "certificates")
    for broker_id in (1, 2, 3):
        made.add_broker(broker_id)
    for name in ("admin", "alice", "bob", "mallory"):
        made.add_user(name)
    made.add("expired", hosts=LOOPBACK, valid=timedelta(days=-1))
    made.add("broker-1", hosts=("broker-1", *LOOPBACK), valid=timedelta(days=-1), below="old")
    return made


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of another authority, with certificates of the same names."""
    made = CertificateAuthority(tmp_path_factory.mktemp("tls") / "strangers")
    for name in ("admin", "broker-1", "broker-2"):
        made.add(name, hosts=(name, *LOOPBACK))
    return made.folder
