"""A broker as a process with all of security on: what strangers cannot do, and what is not told."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc
import msgspec
import pytest
from grpc import aio
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import OPEN_ACL_UNSAFE

from fencepost.fault_injection.network.certificates import CertificateAuthority, write_secret
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer
from fencepost.impl.client import Admin, ClientError, ClientOptions, Producer
from fencepost.spec.config_store import (
    CONFIG_CHANGES,
    Acl,
    ConfigChangesDocument,
    ConfigEntity,
    EntityKind,
    config_bytes,
)
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import CHANNEL_OPTIONS, SERVICE
from fencepost.spec.wire.tls import KEY_FILE, read_identity
from fencepost.spec.wire.tokens import HeldToken, token_document
from tests.impl.shell.test_node import Registry, arguments, eventually, running

CHROOT, LARGE_CHROOT = "/secured", "/large"
EMPTY_VALUES = 1 << 24
"""Of one Produce, of 32 MB: decoded they take more than 500 MB."""
GROWTH_MB_MAX = 200
"""By which a broker grows that takes the bytes of it from a connection."""
TOKEN_KEY = b"the key of the brokers, by which tokens are genuine"
CREDENTIALS = "fencepost:the password of the brokers"
ANSWERS = {one.name for one in ErrorCode} - {"REQUEST_TIMED_OUT"}
"""Of a broker; any other code says that none came in time."""
TRY_MS = 2_000
"""A refusal that may pass is tried again for so long."""
TOPIC_ACLS = ConfigEntity(EntityKind.ACL, ("literal", "topic", "t"))
ALICE_WRITES = Acl("ALLOW", "WRITE", "*", "User:alice").text


@contextmanager
def session(server: ZooKeeperServer, credentials: str = "") -> Iterator[KazooClient]:
    """A session of its own, with these credentials."""
    client = KazooClient(hosts=server.address)
    client.start()
    if credentials:
        client.add_auth("digest", credentials)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def assert_kept_out(client: KazooClient) -> None:
    """None of the writes below is done in this session, for want of the credentials."""
    controller, broker = f"{CHROOT}/controller", f"{CHROOT}/brokers/ids/1"
    writes: dict[str, Callable[[], object]] = {
        "register a broker": lambda: client.create(f"{CHROOT}/brokers/ids/9", b"{}"),
        "change a registration": lambda: client.set(broker, b"{}"),
        "end a registration": lambda: client.delete(broker),
        "depose the controller": lambda: client.delete(controller),
        "raise the controller epoch": lambda: client.set(f"{CHROOT}/controller_epoch", b"99"),
        "create a topic": lambda: client.create(f"{CHROOT}/brokers/topics/x", b"{}"),
        "write beside": lambda: client.create(f"{CHROOT}/other", b""),
        "open it to all": lambda: client.set_acls(CHROOT, OPEN_ACL_UNSAFE),
    }
    for name, write in writes.items():
        try:
            write()
        except NoAuthError:
            continue
        except Exception as error:
            raise AssertionError(name) from error
        raise AssertionError(f"not refused: {name}")


def allow_alice(server: ZooKeeperServer) -> None:
    """An ACL is written, as the brokers write it."""
    changes = ConfigChangesDocument(changes=[[TOPIC_ACLS.path]])
    with session(server, CREDENTIALS) as owner:
        owner.create(CHROOT + TOPIC_ACLS.path, config_bytes({ALICE_WRITES: ""}), makepath=True)
        owner.create(CHROOT + CONFIG_CHANGES, msgspec.json.encode(changes), makepath=True)


async def create_topic(address: str, tls: Path) -> None:
    async with Admin(address, options=ClientOptions(tls=tls)) as admin:
        await admin.create_topic("t")


async def make_token(address: str, tls: Path) -> HeldToken:
    async with Admin(address, options=ClientOptions(tls=tls)) as admin:
        made = await admin.tokens.create(["User:admin"])
        assert await admin.tokens.renew(made.held.token_id) <= made.max_ms
        (described,) = await admin.tokens.describe()
    assert (described.token_id, described.owner) == (made.held.token_id, "User:alice")
    return made.held


async def expire_token(address: str, tls: Path, token_id: str) -> None:
    async with Admin(address, options=ClientOptions(tls=tls)) as admin:
        await admin.tokens.expire(token_id)


async def produce(address: str, tls: Path, token: Path | None = None) -> str:
    """The error code; empty when the record was taken."""
    options = ClientOptions(tls=tls, token=token, delivery_timeout_ms=TRY_MS, api_timeout_ms=TRY_MS)
    try:
        async with Producer(address, idempotent=False, options=options) as producer:
            await producer.send("t", "v")
    except ClientError as error:
        return error.error_code
    return ""


def token_from_start_to_end(address: str, identities: dict[str, Path]) -> tuple[HeldToken, str]:
    """Alice's token, with which bob has produced, and why he does so no more when it is over."""
    alice, bob = identities["alice"], identities["bob"]
    held, file = asyncio.run(make_token(address, alice)), bob / "token"
    write_secret(file, token_document(held))
    eventually(lambda: asyncio.run(produce(address, bob, file)) == "" or None)
    asyncio.run(expire_token(address, alice, held.token_id))

    def answered() -> str | None:
        """What the broker says once it no longer takes records; silence is no answer."""
        said = asyncio.run(produce(address, bob, file))
        return said if said in ANSWERS else None

    return held, eventually(answered)


def assert_refused(address: str, tls: Path, error_code: str) -> None:
    """Records are refused like this, once an answer comes in time, and none was taken before."""

    def refused() -> str | None:
        answer = asyncio.run(produce(address, tls))
        return answer if answer in {"", error_code} else None

    assert eventually(refused) == error_code


async def send_at_once(address: str, tls: Path, values: Sequence[str]) -> str:
    """How a broker answers one Produce of all these values to topic t."""
    own, request = read_identity(tls), wire.ProduceRequest(topic="t", values=values, acks=1)
    credentials = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
    async with aio.secure_channel(address, credentials, CHANNEL_OPTIONS) as channel:
        call = channel.unary_unary(f"/{SERVICE}/Produce")
        answer: bytes = await call(request.SerializeToString(), timeout=60)
    return str(wire.ProduceResponse.FromString(answer).error_code)


def memory_peak_mb(pid: int) -> float:
    """The most that the process has had in memory so far."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    (peak,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1000


def secrets_of(authority: CertificateAuthority) -> dict[str, bytes]:
    """Each key by its file, as the line of it that is the same in every form."""
    keys = sorted(authority.folder.rglob(KEY_FILE))
    found = {str(key): key.read_bytes().splitlines()[2] for key in keys}
    return found | {"password": CREDENTIALS.partition(":")[2].encode()}


def told(*folders: Path) -> Iterator[tuple[str, bytes]]:
    """Every file that the run has left there."""
    for folder in folders:
        yield from ((str(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file())


def secured(folder: Path) -> tuple[CertificateAuthority, dict[str, Path], tuple[str, ...]]:
    """Identities of users by name, and the flags of broker 1."""
    authority = CertificateAuthority(folder / "tls")
    identities = {name: authority.add_user(name) for name in ("admin", "alice", "bob")}
    credentials, token_key = (folder / "tls" / name for name in ("credentials", "token-key"))
    write_secret(credentials, f"{CREDENTIALS}\n".encode())
    write_secret(token_key, TOKEN_KEY)
    flags = {
        "--tls": authority.add_broker(1),
        "--super-user": "admin",
        "--token-key": token_key,
        "--zookeeper-credentials": credentials,
    }
    given = [text for name, value in flags.items() for text in (name, str(value))]
    return authority, identities, ("--authorizer", *given)


@pytest.mark.zookeeper
def test_a_large_produce_without_permission_takes_no_more_memory_than_its_bytes(
    tmp_path: Path, zookeeper_server: ZooKeeperServer
) -> None:
    _, identities, flags = secured(tmp_path)
    where = f"{zookeeper_server.address}{LARGE_CHROOT}"
    with (
        ZooKeeperClient(zookeeper_server.address) as client,
        running(*arguments(tmp_path / "run", where, *flags)) as broker,
    ):
        address = eventually(Registry(client, LARGE_CHROOT).address)
        asyncio.run(create_topic(address, identities["admin"]))
        before_mb = memory_peak_mb(broker.pid)
        refused = asyncio.run(send_at_once(address, identities["bob"], [""] * EMPTY_VALUES))
        growth_mb = memory_peak_mb(broker.pid) - before_mb
        large = ["v" * 1024] * 4096
        taken = eventually(
            lambda: asyncio.run(send_at_once(address, identities["admin"], large)) == "NONE" or None
        )

    assert refused == "TOPIC_AUTHORIZATION_FAILED"
    assert growth_mb < GROWTH_MB_MAX
    assert taken


@pytest.mark.zookeeper
def test_a_secured_broker_keeps_strangers_out_and_tells_no_secret(
    tmp_path: Path, zookeeper_server: ZooKeeperServer
) -> None:
    authority, identities, flags = secured(tmp_path)
    where = f"{zookeeper_server.address}{CHROOT}"
    with ZooKeeperClient(zookeeper_server.address) as client:
        client.create_path(CHROOT)  # open to all, as an administrator may have made it
    with running(*arguments(tmp_path / "run", where, *flags)) as broker:
        with ZooKeeperClient(zookeeper_server.address) as client:
            address = eventually(Registry(client, CHROOT).address)
        asyncio.run(create_topic(address, identities["admin"]))
        # Metadata show no topic to alice; a try that ends before its answer says nothing.
        assert_refused(address, identities["alice"], "UNKNOWN_TOPIC_OR_PARTITION")
        for stranger in ("", "fencepost:another"):
            with session(zookeeper_server, stranger) as client:
                assert_kept_out(client)
        allow_alice(zookeeper_server)
        eventually(lambda: asyncio.run(produce(address, identities["alice"])) == "" or None)
        held, over = token_from_start_to_end(address, identities)
        process = Path(f"/proc/{broker.pid}")
        shown = [("cmdline", (process / "cmdline").read_bytes())]
        shown.append(("environ", (process / "environ").read_bytes()))
        broker.send_signal(signal.SIGTERM)
        shown.append(("stderr", broker.communicate(timeout=60)[1].encode()))

    assert over == "SASL_AUTHENTICATION_FAILED"
    shown += told(tmp_path / "run", zookeeper_server.directory, zookeeper_server.process.log.parent)
    assert len(shown) > 6
    secrets = secrets_of(authority) | {"key of tokens": TOKEN_KEY, "token": held.hmac}
    secrets["token in hex"] = held.hmac.hex().encode()
    for name, secret in secrets.items():
        assert len(secret) > 10, name
        assert not [place for place, content in shown if secret in content], name
