"""Calls of FaultControl at a listener with TLS: the administrator makes them, and no other."""

from pathlib import Path

import grpc
import pytest
from grpc import aio

from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.impl.shell.rpc.service import FAULT_CONTROL_SERVICE
from fencepost.spec.wire.tls import TlsIdentity, read_identity
from tests.impl.shell.rpc_pair import asynchronous
from tests.impl.shell.security.listener import CALL_S, Listener, listener, unjudged
from tests.impl.shell.test_fault_control import Bench

DENIED = {"PERMISSION_DENIED"}
UNREADABLE = b"\xff"
LIKE_ADMIN = ("Admin", "admin ", "User:admin", "*")


async def outcomes(
    to: Listener, own: TlsIdentity | None, bench: Bench, more: bytes = b""
) -> set[str]:
    """The gRPC statuses of all calls, with `more` after each request; OK where one was answered."""
    channel, found = to.channel(own), set()
    for method, (_, kind) in bench.control.methods().items():
        call = channel.unary_unary(f"/{FAULT_CONTROL_SERVICE}/{method}")
        try:
            await call(kind().SerializeToString() + more, timeout=CALL_S)
            found.add(grpc.StatusCode.OK.name)
        except aio.AioRpcError as error:
            found.add(error.code().name)
    await channel.close()
    return found


@pytest.mark.parametrize("name", ["alice", "broker-1", "broker-2", *LIKE_ADMIN])
@asynchronous
async def test_no_other_user_and_no_broker_hurts_a_broker_with_tls(
    authority: CertificateAuthority, tmp_path: Path, name: str
) -> None:
    bench, own = Bench(tmp_path), read_identity(authority.add_user(name))
    async with listener(authority.folder / "broker-2", faults=bench.control) as to:
        found = await outcomes(to, own, bench)
        unread = await outcomes(to, own, bench, UNREADABLE)
    bench.storage.close()

    assert found == unread == DENIED
    assert bench.forgotten == []


@asynchronous
async def test_none_does_without_a_certificate_of_the_authority(
    authority: CertificateAuthority, strangers: Path, tmp_path: Path
) -> None:
    bench, folder = Bench(tmp_path), authority.folder / "broker-2"
    async with listener(folder, faults=bench.control) as to:
        found = [
            await outcomes(to, own, bench) for own in (None, unjudged(strangers / "admin", folder))
        ]
    bench.storage.close()

    assert found == [{"UNAVAILABLE"}, {"UNAVAILABLE"}]
    assert bench.forgotten == []


@asynchronous
async def test_the_administrator_does(authority: CertificateAuthority, tmp_path: Path) -> None:
    bench, own = Bench(tmp_path), read_identity(authority.folder / "admin")
    async with listener(authority.folder / "broker-2", faults=bench.control) as to:
        found = await outcomes(to, own, bench)
    bench.storage.close()

    assert found == {"OK"}
    assert bench.forgotten == [2**62]
