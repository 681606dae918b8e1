"""Brokers and clients that meet over TLS, and what they say when they do not trust each other."""

from datetime import timedelta
from pathlib import Path

import pytest

from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.impl.client import Admin, ClientError, ClientOptions
from fencepost.impl.shell.rpc.request_gate import RequestGate
from fencepost.impl.shell.rpc.service import RpcClient, RpcServer
from fencepost.spec.wire.tls import TlsError, TlsIdentity, read_broker_identity, read_identity
from tests.impl.shell.rpc_pair import (
    RECEIVER,
    Pair,
    answered,
    asynchronous,
    command,
    failed,
    listen,
)
from tests.impl.shell.security.listener import listener


async def meet(sender: TlsIdentity, receiver: TlsIdentity) -> tuple[object, object]:
    """What became of a command of broker 1 to broker 2, and what it would be if all is well."""
    both = Pair()
    gate = RequestGate(receiver)
    both.server = RpcServer(RECEIVER, "broker-2", both.clocks[1], both.received.put, gate)
    both.received.server = both.server
    both.client = RpcClient(
        "broker-1", both.clocks[0], both.addresses, both.look_up, both.sent.put, sender
    )
    both.port = await listen(both.server)
    try:
        send = both.send(command("t"), timeout_ms=10_000)
        (event,) = await both.sent.hold(1)
    finally:
        await both.client.close()
        await both.server.stop()
    return event, answered(send) if event != failed(send) else failed(send)


@asynchronous
async def test_brokers_with_their_certificates_meet(authority: CertificateAuthority) -> None:
    one, two = (read_identity(authority.folder / f"broker-{number}") for number in (1, 2))

    event, wanted = await meet(one, two)

    assert event == wanted
    assert type(event).__name__ == "ResponseReceived"


@asynchronous
async def test_a_broker_does_not_take_another_for_the_one_it_means(
    authority: CertificateAuthority,
) -> None:
    one, three = (read_identity(authority.folder / f"broker-{number}") for number in (1, 3))

    event, _ = await meet(one, three)

    assert type(event).__name__ == "RequestFailed"


@asynchronous
async def test_a_user_with_a_brokers_address_is_not_taken_for_it(
    authority: CertificateAuthority,
) -> None:
    one, alice = (read_identity(authority.folder / name) for name in ("broker-1", "alice"))

    event, _ = await meet(one, alice)

    assert type(event).__name__ == "RequestFailed"


async def complaint(port: int, tls: Path | None) -> str:
    """What a client says that asks for the metadata."""
    options = ClientOptions(bootstrap_timeout_ms=0, tls=tls)
    with pytest.raises(ClientError) as raised:
        async with Admin(f"127.0.0.1:{port}", options=options) as admin:
            await admin.describe_cluster()
    return str(raised.value)


@asynchronous
async def test_a_client_says_in_one_sentence_why_there_is_no_trust(
    authority: CertificateAuthority, strangers: Path
) -> None:
    folder = authority.folder
    async with listener(folder / "broker-2") as to:
        wrong_ca = await complaint(to.port, strangers / "admin")
        plain = await complaint(to.port, None)
    async with listener(folder / "alice") as to:
        not_a_broker = await complaint(to.port, folder / "bob")

    assert "its certificate was not signed by the CA of our ca.pem" in wrong_ca
    assert "it hangs up at once: does it take TLS only?" in plain
    assert "its certificate" in not_a_broker
    assert not any("\n" in text for text in (wrong_ca, plain, not_a_broker))


def test_an_identity_that_cannot_be_used_is_told_before_it_is(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    folder, broken = authority.folder, tmp_path / "broken"
    broken.mkdir()
    for name in ("ca.pem", "certificate.pem"):
        (broken / name).write_bytes((folder / "alice" / name).read_bytes())
    unwhole = said(broken)
    (broken / "key.pem").write_bytes((folder / "bob" / "key.pem").read_bytes())
    other_key = said(broken)
    (broken / "ca.pem").write_text("no certificate")
    authority.add("early", valid=timedelta(days=-3))

    assert "cannot read" in unwhole
    assert "is not the key of" in other_key
    assert "is no certificate in PEM form" in said(broken)
    assert "expired on" in said(folder / "early")
    with pytest.raises(TlsError, match="names broker-1 instead of broker-2"):
        read_broker_identity(folder / "broker-1", 2)


def said(folder: Path) -> str:
    with pytest.raises(TlsError) as raised:
        read_identity(folder)
    return str(raised.value)


def test_a_key_is_read_by_its_owner_alone_and_never_shown(authority: CertificateAuthority) -> None:
    keys = sorted(authority.folder.rglob("key.pem"))
    identity = read_identity(authority.folder / "alice")

    assert keys
    assert {key.stat().st_mode & 0o777 for key in keys} == {0o600}
    assert "PRIVATE" not in repr(identity)
