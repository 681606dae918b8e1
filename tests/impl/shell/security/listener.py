"""A broker's listener with TLS in this process, and calls of it under any identity."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from google.protobuf.message import Message
from grpc import aio

from fencepost.impl.core.rules.security.acls import AclEntry, Authorizer
from fencepost.impl.core.rules.security.token_gate import TokenGate
from fencepost.impl.shell.fault_control import FaultControl
from fencepost.impl.shell.rpc.request_gate import RequestGate
from fencepost.impl.shell.rpc.service import REQUEST_TYPES, RpcServer
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import CHANNEL_OPTIONS, SERVICE
from fencepost.spec.wire.tls import (
    CA_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    TlsIdentity,
    read_identity,
)
from tests.impl.shell.rpc_pair import Inbox

TOPIC = "secret"
SENDER = 1
"""The broker that every request names that names one."""
CALL_S = 3.0
REFUSALS = (
    *("CLUSTER_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"),
    *("DELEGATION_TOKEN_AUTH_DISABLED", "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"),
)
TOKEN_METHODS = frozenset(
    f"{verb}DelegationToken" for verb in ("Create", "Renew", "Expire", "Describe")
)
"""Refused by a listener without a key for tokens."""
PEER_METHODS = frozenset(
    {
        *("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"),
        *("LogsFailed", "IsrChanged", "OffsetForLeaderEpoch"),
    }
)
METHODS = tuple(sorted(REQUEST_TYPES))
_FIELDS = {
    "topic": TOPIC,
    "controller_id": SENDER,
    "broker_id": SENDER,
    "kind": "preferred",
    "values": ["x"],
}


@dataclass(frozen=True, slots=True)
class Listener:
    """Where the broker listens, and what got through to it."""

    port: int
    inbox: Inbox

    def channel(self, own: TlsIdentity | None) -> aio.Channel:
        """A connection under that identity; None: a plain one."""
        address = f"127.0.0.1:{self.port}"
        options = (*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1))
        if own is None:
            return aio.insecure_channel(address, options)
        key, certificate = (own.key, own.certificate) if own.key else (None, None)
        credentials = grpc.ssl_channel_credentials(own.ca, key, certificate)
        return aio.secure_channel(address, credentials, options)


@asynccontextmanager
async def listener(
    folder: Path,
    *,
    entries: Iterable[AclEntry] | None = (),
    super_users: Iterable[str] = (),
    tokens: TokenGate | None = None,
    faults: FaultControl | None = None,
) -> AsyncIterator[Listener]:
    """A listener with the identity in `folder`; with None as `entries` without authorizer."""
    inbox = Inbox()
    authorizer = None if entries is None else Authorizer(entries, super_users)
    gate = RequestGate(read_identity(folder), lambda: authorizer, tokens)
    server = RpcServer(BrokerId(2), "broker-2", LamportClock(), inbox.put, gate)
    if faults:
        server.offer_fault_control(faults)
    port = server.bind("127.0.0.1", 0)
    await server.start()
    try:
        yield Listener(port, inbox)
    finally:
        await server.stop()


def unjudged(folder: Path, ca: Path) -> TlsIdentity:
    """An identity as its files are, valid or not, that trusts the authority in `ca`."""
    certificate, key = (folder / name for name in (CERTIFICATE_FILE, KEY_FILE))
    return TlsIdentity(
        ca=(ca / CA_FILE).read_bytes(), certificate=certificate.read_bytes(), key=key.read_bytes()
    )


def request_of(method: str, *, as_replica: bool = False) -> Message:
    """A request about the topic, of broker 1 if it names one."""
    request: Message = getattr(wire, f"{method}Request")()
    known = request.DESCRIPTOR.fields_by_name
    for name in known.keys() & _FIELDS.keys():
        if known[name].is_repeated:
            getattr(request, name).extend(_FIELDS[name])
        else:
            setattr(request, name, _FIELDS[name])
    if "replica_id" in known:
        is_peer = as_replica or method in PEER_METHODS
        request.replica_id = SENDER if is_peer else -1  # type: ignore[attr-defined]
    if method == "CreateTopics":
        request.topics.add(topic=TOPIC)  # type: ignore[attr-defined]
    if method == "DeleteTopics":
        request.topics.append(TOPIC)  # type: ignore[attr-defined]
    if "entities" in known:
        request.entities.add(kind="topic", names=[TOPIC])  # type: ignore[attr-defined]
    if method == "DescribeConfigs":
        request.kind = "topic"  # type: ignore[attr-defined]
        request.names.append(TOPIC)  # type: ignore[attr-defined]
    if method == "FindCoordinator":
        request.kind = "group"  # type: ignore[attr-defined]
    return request


async def outcome(
    channel: aio.Channel,
    method: str,
    request: Message,
    metadata: tuple[tuple[str, str], ...] = (),
) -> str:
    """The error code of the answer, or the gRPC status without one."""
    call = channel.unary_unary(f"/{SERVICE}/{method}")
    try:
        data: bytes = await call(request.SerializeToString(), timeout=CALL_S, metadata=metadata)
    except aio.AioRpcError as error:
        return str(error.code().name)
    return str(getattr(wire, f"{method}Response").FromString(data).error_code)
