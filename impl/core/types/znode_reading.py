"""What znodes say, as they were read: documents that may be malformed, and the live brokers."""

from collections.abc import Callable
from typing import TypeVar

from fencepost.impl.core.types.zookeeper import Children, Znode
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import MalformedZnodeError

Document = TypeVar("Document")
Report = Callable[[MalformedZnodeError], None]


def skip(_error: MalformedZnodeError) -> None:
    """A malformed znode is as good as none."""


def parsed(
    parse: Callable[[str, bytes], Document], znode: Znode, report: Report = skip
) -> Document | None:
    """What the znode says; None when there is none, and of a malformed one, reported (ZK-002)."""
    if znode.stat is None:
        return None
    try:
        return parse(znode.path, znode.data)
    except MalformedZnodeError as error:
        report(error)
        return None


def registered(listed: Children) -> list[BrokerId]:
    """The live brokers, as the children of `/brokers/ids` say, ascending."""
    return sorted(BrokerId(int(name)) for name in listed.names or () if name.isdecimal())
