"""Writes of the harness: a partition's state as it is, under a new version, and in the trace."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fencepost.conformance.adapters.znode_dialect import ZnodeDialect
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.zookeeper.client import (
    BadVersionError,
    NoZnodeError,
    ZnodeContent,
    ZooKeeperClient,
)
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.znodes import TopicPartition, leader_and_isr_path

WRITE = "WriteLeaderAndIsr"
BAD_VERSION = "BAD_VERSION"
WRITES_MAX = 10
"""As often a state may change between our reading and our writing, which are two round trips."""


def rewrite_state(
    znodes: ZooKeeperClient,
    recorder: TraceWriter | None,
    partition: TopicPartition,
    dialect: ZnodeDialect,
) -> int | None:
    """Write the state of the partition again as it is: its new version; None without a state.

    After a concurrent write, the state is read anew. Raises `InjectionError` when that happened
    `WRITES_MAX` times.
    """
    path = dialect.state_path(partition)
    for _ in range(WRITES_MAX):
        try:
            found = znodes.read(path)
        except NoZnodeError:
            return None
        told = dialect.parse_state(path, found.data).document()
        traced = _traced(recorder, partition, found, znodes.session_id, told)
        with traced as written, suppress(BadVersionError):
            written.append(znodes.rewrite(path, found))
        if written:
            return written[0].znode_version
    raise InjectionError(f"another session always wrote {path} first, {WRITES_MAX} times")


@contextmanager
def _traced(
    recorder: TraceWriter | None,
    partition: TopicPartition,
    found: ZnodeContent,
    session_id: int,
    told: bytes,
) -> Iterator[list[ZnodeContent]]:
    """The write of `found` is in the trace as brokers' are; without a recorder it is nowhere.

    What is written is put into the list; nothing, when a concurrent write came first.
    A write that raises stays an invocation without a completion.
    """
    written: list[ZnodeContent] = []
    if recorder is None:
        yield written
        return
    fields: dict[str, Any] = {
        "topic": partition.topic,
        "partition": partition.partition,
        "expected_version": found.znode_version,
        "session_id": session_id,
        "path": leader_and_isr_path(partition),
        "data": told.decode(),
    }
    began = recorder.write(Kind.INVOKE, WRITE, op_id=found.mzxid, **fields)
    yield written
    ending: dict[str, Any] = {"outcome": Outcome.DEFINITE_ERROR, "error_code": BAD_VERSION}
    if written:
        done = written[0]
        ending = {"outcome": Outcome.OK, "znode_version": done.znode_version, "zxid": done.mzxid}
    recorder.write(
        Kind.COMPLETE, WRITE, op_id=began.op_id, inv_ns=began.mono_ns, **ending, **fields
    )
