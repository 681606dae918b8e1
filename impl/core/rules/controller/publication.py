"""How decisions get into ZooKeeper, and what a result says of them (ZK-004, ZK-006, FAIL-006)."""

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from fencepost.impl.core.rules.controller.leadership import PartitionFacts
from fencepost.impl.core.types.zookeeper import (
    Create,
    Rejected,
    WriteOp,
    WriteResult,
    Written,
    ZkError,
)
from fencepost.spec.vocabulary import ZnodeVersion
from fencepost.spec.znodes import LeaderAndIsr, leader_and_isr_path

Ops = tuple[WriteOp, ...]


OPS_MAX = 250
BYTES_MAX = 256 * 1024


class MultiLimits(Struct, frozen=True, kw_only=True):
    """The largest multi; a single larger write goes alone (ZK-007)."""

    ops_max: int = OPS_MAX
    """The fence not counted."""
    bytes_max: int = BYTES_MAX
    """Paths and data; ZooKeeper hangs up beyond `jute.maxbuffer`, 1 MiB by default."""


LIMITS = MultiLimits()


class AfterReading(Enum):
    """What follows when the state of a partition has been read anew."""

    PUBLISH = "ZooKeeper holds the decision, though the reply was lost: it is published, and told"
    TELL = "the state is told, unless another decision is made on it"
    DECIDE_ONLY = "the state is not told"


def after_reading(left_undecided: LeaderAndIsr | None, read: LeaderAndIsr | None) -> AfterReading:
    """A decision of which the reply was lost holds if ZooKeeper holds it (ZK-006)."""
    holds = left_undecided is not None and left_undecided == read
    return AfterReading.PUBLISH if holds else AfterReading.TELL


def first_state_operations(facts: PartitionFacts, state: LeaderAndIsr) -> Ops:
    """A first state is created, and never replaces another one (H9)."""
    path = leader_and_isr_path(facts.key)
    creation = Create(path=path, data=state.document())
    folder = Create(path=path.rpartition("/")[0], data=b"")
    return (creation,) if facts.has_folder else (folder, creation)


def published_as(_op: WriteOp, result: WriteResult) -> tuple[ZnodeVersion, int | None] | None:
    """The version and the transaction of a state that surely is in ZooKeeper (FAIL-006)."""
    return (result.versions[-1], result.zxid) if isinstance(result, Written) else None


EndedPlaces = list[tuple[int, WriteResult]]
"""Places of writes in their multi, and what became of them."""


def sort_out_refusal(writes: Sequence[Ops], refusal: Rejected) -> tuple[EndedPlaces, list[int]]:
    """The write that was refused, and the places of those that are to be written again.

    ZooKeeper stops at the first operation that fails: the other writes are undone (H7d).
    """
    ended: EndedPlaces = []
    again = []
    begin = 0
    for place, ops in enumerate(writes):
        errors = refusal.errors[begin : begin + len(ops)]
        begin += len(ops)
        if all(error is ZkError.ROLLED_BACK for error in errors):
            again.append(place)
        else:
            ended.append((place, Rejected(errors=errors)))
    assert ended, f"refused for no reason: {refusal}"
    return ended, again
