"""A cluster with TLS: what connects to its ZooKeeper, and that nothing of it tells a secret."""

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kazoo.security import make_digest_acl_credential

from fencepost.ci.cli import run
from fencepost.ci.commands.chaos import leave_files, new_head
from fencepost.ci.gate.failures import UsageError
from fencepost.conformance.adapters import local_cluster
from fencepost.conformance.adapters.by_hand import faults
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.scenarios import find
from fencepost.conformance.scenarios.step_play import play_steps
from fencepost.conformance.testing.run import message_of
from fencepost.conformance.verdict import ExitCode, Verdict
from fencepost.fault_injection.engine.rpc_rules import get_session
from fencepost.fault_injection.injectors.injection import ControlAddress
from fencepost.fault_injection.network.certificates import CertificateAuthority, write_secret
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.status import four_letter_word
from fencepost.spec.wire.tls import ADMIN, CA_FILE, CREDENTIALS_FILE, IDENTITY_VARIABLE
from fencepost.spec.wire.tokens import (
    KEY_FILE as TOKEN_KEY_FILE,
    TOKEN_VARIABLE,
    HeldToken,
    read_token,
    token_document,
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


DIGEST = "digest of the password"
ACLS = "/zookeeper/data/"
"""ZooKeeper keeps ACLs in its own files, and in an ACL the digest."""


def secrets_in(tls: Path, token: Path) -> dict[str, bytes]:
    """Each by its file: of a key the line that is the same in every form."""
    keys = {str(key): key.read_bytes().splitlines()[2] for key in tls.rglob("key.pem")}
    user, _, password = (tls / CREDENTIALS_FILE).read_text().strip().partition(":")
    token_key = bytes.fromhex((tls / TOKEN_KEY_FILE).read_text())
    of_tokens = in_forms("token", read_token(token).hmac) | in_forms("key of tokens", token_key)
    digest = make_digest_acl_credential(user, password).encode()
    return keys | {"password": password.encode(), DIGEST: digest} | of_tokens


def in_forms(name: str, secret: bytes) -> dict[str, bytes]:
    """As it is, and as text; under names that tell the form."""
    text = b64encode(secret).rstrip(b"=")
    return {name: secret, f"{name} in hex": secret.hex().encode(), f"{name} in base64": text}


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
    secrets = secrets_in(tls, token)
    assert min(map(len, secrets.values())) > 10
    assert leaks(secrets, shown) == []


def leaks(secrets: Mapping[str, bytes], shown: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """Which secret is told where."""
    return [
        (name, place)
        for name, secret in secrets.items()
        for place, content in shown.items()
        if secret in content and not (name == DIGEST and ACLS in place)
    ]


LOSS = "truncation_loss"
"""At level 0 it loses a record."""
LEFT = {
    "verdict.json",
    "stages.json",
    "junit.xml",
    "results.tap",
    "report.html",
    "aggregates.json",
    "badge.svg",
    "summary.md",
    "trace-zookeeper.ndjson",
    "broker-1.log",
    "zookeeper.log",
}
"""Some of the files of a failed run; its folder is the bundle that another person is sent."""


@dataclass(slots=True, kw_only=True)
class SecuredLoss:
    """A record is lost by brokers with TLS, after a user of them has had a token."""

    token: Path
    codes: list[int] = field(default_factory=list)
    """How the commands of the user ended."""
    processes: dict[str, bytes] = field(default_factory=dict)
    """Command line and environment of each process, while they run."""
    sessions: dict[str, bytes] = field(default_factory=dict)
    """The passwords of the brokers' sessions at ZooKeeper."""

    def play(self, stage: RunningCluster) -> None:
        """The token is made and used, then the story goes as ever."""
        addresses = stage.cluster.addresses()
        for one in addresses:
            password = get_session(ControlAddress(one, stage.cluster.identity)).password
            self.sessions |= in_forms(f"session of {one}", password)
        of = ("--bootstrap-server", ",".join(addresses))
        self.codes.append(run(["tokens", "create", str(self.token), *of]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(TOKEN_VARIABLE, str(self.token))
            eventually(lambda: run(["topics", "list", *of]) == 0 or None)
        self.look()
        play_steps(find(LOSS).story, stage, _unmet)
        self.look()

    def look(self) -> None:
        """At every process of this machine that may be looked at."""
        for process in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                with suppress(OSError):  # it has ended, or is another user's
                    self.processes[f"{process / name}"] = (process / name).read_bytes()


def _unmet(sentence: str, _since: float) -> None:
    raise AssertionError(sentence)


def read_all(folder: Path) -> dict[str, bytes]:
    """Every file below it, and of tables, which are compressed, the rows."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    tables = [path for path in files if path.suffix == ".parquet"]
    found = {str(path): path.read_bytes() for path in files}
    return found | {f"rows of {one}": rows_of(one) for one in tables}


def rows_of(table: Path) -> bytes:
    return str(pq.ParquetFile(table).read().to_pylist()).encode()


@pytest.mark.long
@pytest.mark.zookeeper
def test_a_secured_run_that_fails_leaves_no_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tls, out = tmp_path / "tls", tmp_path / "run"
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv(IDENTITY_VARIABLE, str(tls / ADMIN))
    settings = ClusterSettings(level=0, tls=tls, authorizer=True)
    local_cluster.make_identities(tls, settings.broker_ids)
    loss = SecuredLoss(token=tmp_path / "token")
    head = new_head(settings, 0, out, "fencepost chaos")
    scenario = replace(find(LOSS), play=loss.play)
    (result,) = run_all([scenario], settings=settings, seed=0, out=out)
    leave_files(head, [result], out / "summary.md")
    said = message_of(result, out)

    files, told = read_all(out), capfd.readouterr()
    shown = files | loss.processes | {"said": said.encode()}
    shown |= {"stdout": told.out.encode(), "stderr": told.err.encode()}
    secrets = secrets_in(tls, loss.token) | loss.sessions
    assert (result.verdict, loss.codes) == (Verdict.FAIL, [0]), said
    assert {Path(name).name for name in files} >= LEFT
    assert [name for name in files if name.startswith("rows of ")]
    assert sum(str(out).encode() in content for content in loss.processes.values()) > 3
    assert len(loss.sessions) == settings.brokers * len(in_forms("", b""))
    assert min(map(len, secrets.values())) > 10
    assert leaks(secrets, shown) == []


def test_a_secret_that_is_told_is_found(tmp_path: Path) -> None:
    tls, token, out = tmp_path / "tls", tmp_path / "token", tmp_path / "run"
    local_cluster.make_identities(tls, [1])
    write_secret(token, token_document(HeldToken(token_id="id", hmac=bytes(range(128, 192)))))  # noqa: S106
    secrets = secrets_in(tls, token)
    out.mkdir()
    texts = {name: secret.decode() for name, secret in secrets.items() if secret.isascii()}
    pq.write_table(pa.table({"detail": list(texts.values())}), out / "table.parquet")
    (out / "trace.ndjson").write_bytes(b"\n".join(secrets.values()))

    found = leaks(secrets, read_all(out))

    keys = {str(path) for path in tls.rglob("key.pem")}
    assert len(keys) == 4
    of_tokens = {"token in hex", "token in base64", "key of tokens in hex"}
    assert keys | of_tokens | {"password"} <= {*texts}
    assert sorted(name for name, place in found if place.endswith(".ndjson")) == sorted(secrets)
    assert sorted(name for name, place in found if place.startswith("rows of ")) == sorted(texts)
