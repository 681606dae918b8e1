"""What administrators ask for below `/admin`, as the controller reads it (V3 D.7, F, H)."""

from collections.abc import Generator
from dataclasses import dataclass

from fencepost.impl.core.types.scripts import Answer, Ask, list_children, read
from fencepost.impl.core.types.znode_reading import Report
from fencepost.impl.core.types.zookeeper import Check, Delete, Znode
from fencepost.spec.vocabulary import BrokerId, ElectionKind, ZnodeVersion
from fencepost.spec.znodes import (
    LEADER_ELECTION,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    REQUEST_PATHS,
    MalformedZnodeError,
    TopicPartition,
    parse_election,
    parse_replicas,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRequest:
    """One request about one partition, as it was read."""

    path: str
    version: ZnodeVersion
    replicas: tuple[BrokerId, ...] = ()
    """Where the partition is to be, of a request to add or to reassign it."""
    election: ElectionKind | None = None

    def check(self) -> Check:
        """The request is still what was read (H33b)."""
        return Check(path=self.path, expected_version=self.version)

    def end(self) -> Delete:
        """The request goes, if it is still what was read."""
        return Delete(path=self.path, expected_version=self.version)


Requests = dict[str, PartitionRequest]
"""Kind, one of `REQUEST_PATHS` -> the request."""


def read_requests(
    report: Report, *, watch: bool = True
) -> Generator[Ask, Answer, dict[TopicPartition, Requests] | None]:
    """All requests by partition, with watches on what may come; None when the connection was lost.

    A malformed one is reported and left alone (ZK-002).
    """
    kinds = yield from list_children(*REQUEST_PATHS, watch=watch)
    if kinds is None:
        return None
    folders = [(kind.path, name) for kind in kinds for name in kind.names or ()]
    if not folders:
        return {}
    paths = (f"{kind}/{topic}" for kind, topic in folders)
    listed = yield from list_children(*paths, watch=watch)
    if listed is None:
        return None
    places = [
        (kind, TopicPartition(topic, int(name)))
        for (kind, topic), children in zip(folders, listed, strict=True)
        for name in children.names or ()
        if name.isdecimal()
    ]
    znodes = yield from read(
        *(f"{kind}/{key.topic}/{key.partition}" for kind, key in places), watch=watch
    )
    if znodes is None:
        return None
    found: dict[TopicPartition, Requests] = {}
    for (kind, key), znode in zip(places, znodes, strict=True):
        request = _parse(kind, znode, report)
        if request is not None:
            found.setdefault(key, {})[kind] = request
    return found


def _parse(kind: str, znode: Znode, report: Report) -> PartitionRequest | None:
    if znode.stat is None:
        return None
    replicas: tuple[BrokerId, ...] = ()
    election = None
    try:
        if kind in (PARTITIONS_ADD, PARTITIONS_REASSIGNED):
            replicas = parse_replicas(znode.path, znode.data)
        elif kind == LEADER_ELECTION:
            election = parse_election(znode.path, znode.data)
    except MalformedZnodeError as error:
        report(error)
        return None
    return PartitionRequest(
        path=znode.path, version=znode.stat.version, replicas=replicas, election=election
    )
