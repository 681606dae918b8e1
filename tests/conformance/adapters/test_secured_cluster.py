"""A local cluster with TLS: what connects to its ZooKeeper, and what does not."""

from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.ci.gate.failures import UsageError
from fencepost.conformance.adapters import local_cluster
from fencepost.conformance.adapters.by_hand import faults
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.status import four_letter_word
from fencepost.spec.wire.tls import ADMIN, CA_FILE
from fencepost.spec.wire.tokens import TOKEN_VARIABLE, read_token
from fencepost.spec.zookeeper import ZooKeeperAddress, ZooKeeperError
from tests.impl.shell.test_node import eventually

ROOT = Path(__file__).resolve().parents[3]
REFUSED_S = 1.0
ANSWER_S = 10.0


def told(address: str, identity: Path) -> str:
    """What ZooKeeper says of itself to that identity; empty when it hangs up."""
    (endpoint,) = ZooKeeperAddress.parse(address).endpoints
    try:
        return four_letter_word(endpoint, "conf", ANSWER_S, identity)
    except OSError:
        return ""


def use_a_token(folder: Path, file: Path) -> list[int]:
    """Exit codes of the commands of a token's life; it counts after its making, and not at last."""
    of = ["--cluster", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        codes = [run(["tokens", "create", str(file), "--renewer", "bob", *of])]
        token_id = read_token(file).token_id
        codes.append(run(["tokens", "renew", token_id, "--seconds", "600", *of]))
        codes.append(run(["tokens", "describe", "--owner", ADMIN, *of]))
        patch.setenv(TOKEN_VARIABLE, str(file))
        eventually(lambda: run(["topics", "list", *of]) == 0 or None)
        codes.append(run(["tokens", "expire", token_id, *of]))
        patch.delenv(TOKEN_VARIABLE)
        codes.append(run(["tokens", "expire", token_id, *of]))
        patch.setenv(TOKEN_VARIABLE, str(file))
        eventually(lambda: run(["topics", "list", *of]) == UsageError.exit_code or None)
    return codes


@pytest.mark.long
@pytest.mark.zookeeper
def test_zookeeper_of_a_cluster_with_tls_takes_its_own_certificates_alone(tmp_path: Path) -> None:
    folder, tls = tmp_path / "cluster", tmp_path / "cluster" / "tls"
    stranger = CertificateAuthority(tmp_path / "strangers").add_user(ADMIN)
    up = local_cluster.up(folder, settings=ClusterSettings(brokers=1, tls=tls))
    (stranger / CA_FILE).write_bytes((tls / ADMIN / CA_FILE).read_bytes())
    try:
        seen = local_cluster.status(folder)
        to_admin, to_stranger = (told(up.zookeeper, one) for one in (tls / ADMIN, stranger))
        with pytest.raises(ZooKeeperError, match="does not ask for TLS"):
            ZooKeeperClient(up.zookeeper, deadline_s=REFUSED_S).connect()
        with ZooKeeperClient(up.zookeeper, tls=tls / ADMIN) as client:
            registrations = client.children("/brokers/ids")
            with pytest.raises(ZooKeeperError, match="NoAuthError"):
                client.create("/brokers/ids/9", b"{}")
        codes = use_a_token(folder, tmp_path / "token")
    finally:
        local_cluster.down(folder)

    assert [broker.broker_id for broker in seen.brokers if broker.address] == [1]
    assert registrations == ["1"]
    assert "secureClientPort" in to_admin
    assert "clientPort=-1" in to_admin
    assert to_stranger == ""
    # The holder of a token ends none, the owner does.
    assert codes == [0, 0, 0, UsageError.exit_code, 0]


@pytest.mark.long
@pytest.mark.zookeeper
def test_faults_by_hand_hurt_brokers_that_speak_tls_alone(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    local_cluster.up(folder, settings=ClusterSettings(brokers=2, tls=folder / "tls"))
    try:
        _, standing = faults.pause(folder, "1")
        _, going_on = faults.resume(folder, "1")
        expired_id, expired = faults.expire(folder, "1")
        killed_id, killed = faults.kill(folder, "2")
        left = {one.broker_id for one in local_cluster.status(folder).brokers if one.pid}
    finally:
        local_cluster.down(folder)

    assert expired_id == 1
    assert "ended" in expired
    assert "in state T" in standing
    assert going_on
    assert (killed_id, left) == (2, {1})
    assert "killed" in killed
