"""A listener is not talked into an old version of TLS or a weak cipher (SEC-002)."""

import asyncio
from ssl import TLSVersion

import pytest

from fencepost.fault_injection.network.certificates import CertificateAuthority
from tests.impl.shell.rpc_pair import asynchronous
from tests.impl.shell.security.hellos import HANGS_UP, refusals, speaks
from tests.impl.shell.security.listener import listener


@asynchronous
async def test_old_versions_and_weak_ciphers_are_refused(authority: CertificateAuthority) -> None:
    async with listener(authority.folder / "broker-2") as to:
        old, weak = await asyncio.to_thread(refusals, ("127.0.0.1", to.port))

    # gRPC tells its own log why it hangs up, and the peer nothing.
    assert (old, weak) == ({HANGS_UP}, {HANGS_UP})


@pytest.mark.parametrize("version", [TLSVersion.TLSv1_2, TLSVersion.TLSv1_3])
def test_versions_of_today_are_spoken(authority: CertificateAuthority, version: TLSVersion) -> None:
    async def play() -> bool:
        async with listener(authority.folder / "broker-2") as to:
            endpoint, alice = ("127.0.0.1", to.port), authority.folder / "alice"
            return await asyncio.to_thread(speaks, endpoint, alice, version)

    assert asyncio.run(play())
