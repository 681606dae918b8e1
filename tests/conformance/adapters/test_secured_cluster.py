"""A local cluster with TLS: what connects to its ZooKeeper, and what does not."""

from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.ci.gate.failures import UsageError
from fencepost.conformance.adapters import local_cluster
from fencepost.conformance.adapters.by_hand import faults
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.verdict import ExitCode
from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.status import four_letter_word
from fencepost.spec.wire.tls import ADMIN, CA_FILE, CREDENTIALS_FILE
from fencepost.spec.wire.tokens import (
    KEY_FILE as TOKEN_KEY_FILE,
    TOKEN_VARIABLE,
    read_token,
)
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


SHOWN = (
    ("acls", "add", "--allow-principal", "User:alice", "--topic", "t", "--operation", "Read"),
    ("acls", "list", "--json"),
    ("configs", "describe", "--json"),
    ("tokens", "describe", "--json"),
    ("topics", "list", "--json"),
    ("cluster", "status", "--json"),
)
"""Commands of which the output is looked through."""


def secrets_in(tls: Path, token: Path) -> dict[str, bytes]:
    """Each by its file: of a key the line that is the same in every form."""
    keys = {str(key): key.read_bytes().splitlines()[2] for key in tls.rglob("key.pem")}
    password = (tls / CREDENTIALS_FILE).read_bytes().strip().partition(b":")[2]
    hmac = read_token(token).hmac
    made = {"password": password, "token": hmac, "token in hex": hmac.hex().encode()}
    return keys | made | {"key of tokens": (tls / TOKEN_KEY_FILE).read_bytes().strip()}


@pytest.mark.long
@pytest.mark.zookeeper
def test_no_command_report_or_file_of_a_secured_cluster_tells_a_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, tls, token = tmp_path / "cluster", tmp_path / "tls", tmp_path / "token"
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    of = ("--cluster", str(folder))
    local_cluster.up(folder, settings=ClusterSettings(brokers=1, tls=tls, authorizer=True))
    try:
        codes = {"create": run(["tokens", "create", str(token), "--json", *of])}
        codes |= {" ".join(words): run([*words, *of]) for words in SHOWN}
    finally:
        local_cluster.down(folder)
    reported = run(["report", str(folder), "--json"])

    told = capfd.readouterr()
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    shown = {"stdout": told.out.encode(), "stderr": told.err.encode(), **files}
    assert codes == dict.fromkeys(codes, 0), told.err
    assert reported == ExitCode.INCOMPLETE, "no run has begun or ended"
    assert read_token(token).token_id in told.out
    assert [name for name in files if name.endswith("report.html")]
    for name, secret in secrets_in(tls, token).items():
        assert len(secret) > 10, name
        assert not [place for place, content in shown.items() if secret in content], name
