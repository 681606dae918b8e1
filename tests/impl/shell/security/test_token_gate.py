"""Calls that show a delegation token: for whom they are made, and which are refused."""

import asyncio
from pathlib import Path

import pytest

from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.impl.core.rules.security.access import ProvenCaller
from fencepost.impl.core.rules.security.acls import (
    AclEntry,
    Operation,
    Pattern,
    Permission,
    ResourceType,
)
from fencepost.impl.core.rules.security.token_gate import TokenGate
from fencepost.impl.core.rules.security.tokens import DelegationToken, TakenProofs, token_hmac
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import CreateDelegationTokenResponse
from fencepost.impl.shell.rpc.request_gate import USER_BYTES_MAX, RequestGate
from fencepost.spec.vocabulary import BrokerId, ErrorCode
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import RECEIVER_KEY
from fencepost.spec.wire.tls import read_identity
from fencepost.spec.wire.tokens import (
    TOKEN_KEY,
    HeldToken,
    SignedCall,
    TokenFileError,
    prove,
    read_token,
    read_token_key,
    token_document,
)
from tests.impl.shell.rpc_pair import asynchronous
from tests.impl.shell.security.listener import listener, outcome, request_of

KEY, NOW_MS = b"the key of the brokers", 1_000_000
OVER_MS = NOW_MS + 10
ALICE, OF_BROKER, UNKNOWN = "t1", "t2", "?"
"""Tokens of user alice, of one that is called as broker 1 is, and of none."""
DESCRIBE = request_of("ListOffsets").SerializeToString()


def gate(now_ms: int = NOW_MS, *, is_read: bool = True) -> TokenGate:
    """The gate of a broker that knows two tokens."""
    tokens = {
        token_id: DelegationToken(
            token_id=token_id,
            owner=owner,
            renewers=frozenset(),
            issued_ms=0,
            expires_ms=OVER_MS,
            max_ms=OVER_MS,
        )
        for token_id, owner in ((ALICE, "User:alice"), (OF_BROKER, "User:broker-1"))
    }
    return TokenGate(
        key=KEY,
        known=tokens.get,
        is_read=lambda: is_read,
        now_ms=lambda: now_ms,
        proofs=TakenProofs(0),
    )


def shown(
    method: str, body: bytes, *, token_id: str = ALICE, key: bytes = KEY, nonce: str = "1"
) -> tuple[tuple[str, str], ...]:
    """Metadata with the proof of one call."""
    held = HeldToken(token_id=token_id, hmac=token_hmac(token_id, key))
    proof = prove(held, SignedCall(method, "", body), stamp_ms=NOW_MS, nonce=nonce)
    return ((TOKEN_KEY, proof.text),)


@asynchronous
async def test_a_holder_is_taken_for_the_owner_once(authority: CertificateAuthority) -> None:
    async with listener(authority.folder / "broker-2", entries=None, tokens=gate()) as to:
        channel = to.channel(read_identity(authority.folder / "bob"))
        proof = shown("ListOffsets", DESCRIBE)
        call = channel.unary_unary("/fencepost.Replication/ListOffsets")
        waiting = call(DESCRIBE, metadata=proof)
        (event,) = await to.inbox.hold(1)
        waiting.cancel()
        request = request_of("ListOffsets")
        replayed = await outcome(channel, "ListOffsets", request, proof)
        elsewhere = await outcome(channel, "Produce", request_of("Produce"), proof)
        for_another = (*shown("ListOffsets", DESCRIBE, nonce="2"), (RECEIVER_KEY, "2"))
        redirected = await outcome(channel, "ListOffsets", request, for_another)
        await channel.close()

    assert getattr(event, "asker", None) == Asker("User:alice", is_proven=True)
    assert {replayed, elsewhere, redirected} == {"SASL_AUTHENTICATION_FAILED"}
    assert len(to.inbox.events) == 1


@asynchronous
async def test_what_is_no_valid_proof_gets_nothing_through(
    authority: CertificateAuthority,
) -> None:
    request, name = request_of("ListOffsets"), "ListOffsets"
    cases = {
        "foreign key": (gate(), shown(name, DESCRIBE, key=b"x"), "SASL_AUTHENTICATION_FAILED"),
        "unknown": (gate(), shown(name, DESCRIBE, token_id=UNKNOWN), "SASL_AUTHENTICATION_FAILED"),
        "no proof": (gate(), ((TOKEN_KEY, "t1 1 1"),), "SASL_AUTHENTICATION_FAILED"),
        "over": (gate(OVER_MS), shown(name, DESCRIBE), "DELEGATION_TOKEN_EXPIRED"),
        "not read": (gate(is_read=False), shown(name, DESCRIBE), "BROKER_NOT_AVAILABLE"),
        "no key": (None, shown(name, DESCRIBE), "DELEGATION_TOKEN_AUTH_DISABLED"),
    }
    for case, (tokens, metadata, expected) in cases.items():
        async with listener(authority.folder / "broker-2", entries=None, tokens=tokens) as to:
            channel = to.channel(read_identity(authority.folder / "bob"))

            assert await outcome(channel, name, request, metadata) == expected, case
            assert to.inbox.events == []
            await channel.close()


@asynchronous
async def test_a_holder_is_no_broker_and_makes_no_token(authority: CertificateAuthority) -> None:
    async with listener(authority.folder / "broker-2", entries=None, tokens=gate()) as to:
        channel = to.channel(read_identity(authority.folder / "broker-1"))
        codes = {}
        for method in ("LeaderAndIsr", "CreateDelegationToken", "DescribeDelegationToken"):
            request = request_of(method)
            proof = shown(method, request.SerializeToString(), token_id=OF_BROKER, nonce=method)
            codes[method] = await outcome(channel, method, request, proof)
        await channel.close()

    assert codes == {
        "LeaderAndIsr": "CLUSTER_AUTHORIZATION_FAILED",
        "CreateDelegationToken": "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
        "DescribeDelegationToken": "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    }
    assert to.inbox.events == []


@asynchronous
async def test_a_large_produce_of_a_holder_is_judged_as_one_of_the_owner(
    authority: CertificateAuthority,
) -> None:
    request = wire.ProduceRequest(topic="t", values=["v" * USER_BYTES_MAX])
    body = request.SerializeToString()
    of_bob = AclEntry(
        *(ResourceType.TOPIC, Pattern.LITERAL, "t"),
        *(Permission.ALLOW, Operation.WRITE, "User:bob"),
    )
    of_alice = of_bob._replace(principal="User:alice")
    folder, proof = authority.folder, shown("Produce", body)
    async with listener(folder / "broker-2", entries=[of_bob], tokens=gate()) as to:
        channel = to.channel(read_identity(folder / "bob"))
        of_owner = await outcome(channel, "Produce", request, proof)
        again = await outcome(channel, "Produce", request, proof)
        await channel.close()
        assert to.inbox.events == []
    async with listener(folder / "broker-2", entries=[of_alice], tokens=gate()) as to:
        channel = to.channel(read_identity(folder / "bob"))
        without = await outcome(channel, "Produce", request)
        waiting = asyncio.create_task(outcome(channel, "Produce", request, proof))
        (event,) = await to.inbox.hold(1)
        waiting.cancel()
        await channel.close()

    assert of_owner == without == "TOPIC_AUTHORIZATION_FAILED"
    assert again == "SASL_AUTHENTICATION_FAILED"
    assert getattr(event, "asker", None) == Asker("User:alice", is_proven=True)


def test_the_secret_is_told_to_the_user_that_asked_and_to_no_broker(
    authority: CertificateAuthority,
) -> None:
    judged = RequestGate(read_identity(authority.folder / "broker-2"), tokens=gate())
    made = CreateDelegationTokenResponse(token_id=ALICE)
    refused = CreateDelegationTokenResponse(error_code=ErrorCode.NOT_CONTROLLER)

    to_user = judged.shown(made, ProvenCaller(name="alice"))
    to_broker = judged.shown(made, ProvenCaller(name="broker-3", broker_id=BrokerId(3)))

    assert getattr(to_user, "hmac", b"") == token_hmac(ALICE, KEY)
    assert to_broker == made
    assert judged.shown(refused, ProvenCaller(name="alice")) == refused
    assert wire.CreateDelegationTokenResponse(hmac=token_hmac(ALICE, KEY)).hmac


def test_files_of_tokens_and_keys_are_judged(tmp_path: Path) -> None:
    held = HeldToken(token_id=ALICE, hmac=b"secret")
    good, short = tmp_path / "good", tmp_path / "short"
    good.write_bytes(token_document(held))
    short.write_bytes(b"x")

    assert read_token(good) == held
    assert "secret" not in repr(held)
    for read in (read_token, read_token_key):
        for path in (short, tmp_path / "none"):
            with pytest.raises(TokenFileError, match=path.name):
                read(path)
