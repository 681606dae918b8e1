"""How a node becomes controller, keeps being one, and fences its writes (EL, CTL, ZK-005)."""

from collections.abc import Callable, Generator
from enum import Enum

from msgspec import Struct

from fencepost.impl.core.rules.tables import Permissions
from fencepost.impl.core.rules.znode_writes import write
from fencepost.impl.core.types.node_session import NO_SESSION
from fencepost.impl.core.types.scripts import Answer, Ask
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Delete,
    SetData,
    WriteOp,
    WriteResult,
    Written,
    Znode,
)
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    NO_CONTROLLER_EPOCH,
    BrokerId,
    ControllerEpoch,
    SessionId,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    ControllerDocument,
    controller_term_path,
    document_bytes,
)

FIRST_VERSION = ZnodeVersion(0)
"""Of any znode at its creation, whoever made it."""
OFFICE_VERSION = ZnodeVersion(1)
"""Of `/controller`, which its election writes twice, and nothing after it (H24c)."""


class WatchedReading(Enum):
    """What a node reads, and must hear of when it changes."""

    OWN_REGISTRATION = "the znode of this broker, which may be of an older session (START-005)"
    CONTROLLER = "`/controller` and `/controller_epoch` (CTL-004)"
    LIVE_BROKERS_AT_FAIL_OVER = "the live brokers, by a new controller (CTL-010)"


WATCHED = frozenset(WatchedReading)
"""The readings that set a watch."""


class ElectionStep(Enum):
    """What a node does that has read `/controller` and does not hold it."""

    LEAD_ON = "it goes on as controller"
    FOLLOW = "it resigns, and knows the controller"
    STAND = "it resigns, and tries to become controller"


class Elected(Struct, frozen=True, kw_only=True):
    """An election that was won."""

    controller_epoch: ControllerEpoch
    epoch_version: ZnodeVersion
    """Of `/controller_epoch`."""
    zxid: int
    """The node is controller since this transaction."""


class Candidacy(Struct, frozen=True, kw_only=True):
    """What a node writes to become controller, or to stay it under another epoch."""

    holder: Create | Check
    """Of `/controller`."""
    replaced: Delete | None = None
    """Of a `/controller` that belongs to no session (KIP-CTL.3)."""
    epoch: Znode
    """`/controller_epoch` as it was read."""
    controller_epoch: ControllerEpoch
    """What that said."""

    @property
    def next_epoch(self) -> ControllerEpoch:
        """Of the controller that is elected now; none that there was, whatever is written.

        An election leaves an epoch that is larger than its version; people may write a smaller one,
        and no epoch before was larger than the version of that (H24d).
        """
        writes = self.epoch.stat.version if self.epoch.stat is not None else 0
        return ControllerEpoch(max(self.controller_epoch, writes) + 1)


Operations = Callable[[Candidacy], tuple[WriteOp, ...]]
"""Of a candidacy, the multi that decides the election."""
Result = Callable[[Candidacy, WriteResult], Elected | None]
"""Of a candidacy, and of what became of the multi."""
Election = Generator[Ask, Answer, tuple[Elected | None, bool]]
"""A script that ends with the election if it was won, and whether to try again if not."""


class NodeView(Struct, frozen=True, kw_only=True):
    """What a node knows of itself and of the controller when it reads `/controller`."""

    broker_id: BrokerId
    session_id: SessionId
    is_active: bool
    """True while it is controller, as far as it knows."""
    controller_id: BrokerId
    """As it knew before."""


def holds_controller(node: NodeView, holder: Znode) -> bool:
    """`/controller` is this session's, also when the reply to its creation was lost (H23)."""
    return holder.stat is not None and holder.stat.ephemeral_owner == node.session_id


def election_step(_node: NodeView, holder: BrokerId) -> ElectionStep:
    """A node that has no controller to follow stands (CTL-003); no other one is active (CTL-008).

    `holder` is the broker that `/controller` names.
    """
    return ElectionStep.STAND if holder == NO_BROKER else ElectionStep.FOLLOW


def belongs_to_no_session(holder: Znode) -> bool:
    """A persistent `/controller` was written by hand: no session will ever take it away."""
    return holder.stat is not None and holder.stat.ephemeral_owner == NO_SESSION


def is_overwritten(holder: Znode) -> bool:
    """`/controller` was written by hand since its creation: the fence refuses its owner."""
    assert holder.stat is not None
    return holder.stat.version != OFFICE_VERSION


def registration_znode(path: str, data: bytes) -> Create:
    """The registration of a broker goes with its session (BEP-001)."""
    return Create(path=path, data=data, ephemeral=True)


def candidate_znode(broker_id: BrokerId, now_ms: int) -> Create:
    """`/controller` goes with the session of its holder (CTL-001)."""
    document = ControllerDocument(brokerid=broker_id, timestamp=str(now_ms))
    return Create(path=CONTROLLER, data=document_bytes(document), ephemeral=True)


def accepts_election(node: NodeView) -> bool:
    """An election that ends while the node is controller by another one is no news."""
    return not node.is_active


def win_controller(
    candidacy: Candidacy, operations: Operations, elected_of: Result, may_write: Permissions
) -> Election:
    """One multi decides: one node succeeds (CTL-002, CTL-005)."""
    elected = elected_of(candidacy, (yield from write(may_write, *operations(candidacy))))
    return elected, elected is None


# Level 0: `/controller` alone


def never(_holder: Znode) -> bool:
    """What people write into `/controller` is taken as it stands."""
    return False


def take_znode(candidacy: Candidacy) -> tuple[WriteOp, ...]:
    """Create `/controller`."""
    return (candidacy.holder,)


def elected_without_epoch(_candidacy: Candidacy, result: WriteResult) -> Elected | None:
    """The node that created `/controller` is elected."""
    return without_epoch(result.zxid) if isinstance(result, Written) else None


def without_epoch(zxid: int) -> Elected:
    """Elected under no epoch."""
    return Elected(controller_epoch=NO_CONTROLLER_EPOCH, epoch_version=FIRST_VERSION, zxid=zxid)


def elected_by_znode(
    holder: Znode, _epoch: Znode, _controller_epoch: ControllerEpoch
) -> Elected | None:
    """A node that holds `/controller` was elected when it was created."""
    assert holder.stat is not None
    return without_epoch(holder.stat.czxid)


def epoch_stands(_epoch_version: ZnodeVersion, _epoch: Znode) -> bool:
    """Without epochs a controller stays it as long as it holds `/controller`."""
    return True


def learn_no_epoch(_controller_epoch: ControllerEpoch) -> ControllerEpoch:
    """Whatever `/controller_epoch` says, no command is refused for it."""
    return NO_CONTROLLER_EPOCH


def no_fence(_controller_epoch: ControllerEpoch, _epoch_version: ZnodeVersion) -> tuple[Check, ...]:
    """Writes of a deposed controller take effect if the versions stand."""
    return ()


# Level 1: the epoch is raised in the same multi


def take_znode_and_raise_epoch(candidacy: Candidacy) -> tuple[WriteOp, ...]:
    """Create `/controller`, raise the epoch and begin the term in one multi (CTL-005, H21).

    A `/controller` of no session is deleted first, by its version: a create alone would fail. The
    new one is written once more, so that its version is none that a creation by hand has (H24c).
    """
    return *taken_office(candidacy), *raised_epoch(candidacy)


def taken_office(candidacy: Candidacy) -> tuple[WriteOp, ...]:
    """What the election does to `/controller`."""
    holder = candidacy.holder
    if isinstance(holder, Check):
        return (holder,)
    removal = () if candidacy.replaced is None else (candidacy.replaced,)
    again = SetData(path=holder.path, data=holder.data, expected_version=FIRST_VERSION)
    return *removal, holder, again


def raised_epoch(candidacy: Candidacy) -> tuple[WriteOp, WriteOp]:
    """The next epoch, and the znode of the term, which only its election ever makes (H8d)."""
    path = controller_term_path(candidacy.next_epoch)
    term = Create(path=path, data=b"", ephemeral=True)
    return raise_epoch(candidacy.epoch, candidacy.next_epoch), term


def raise_epoch(epoch: Znode, controller_epoch: ControllerEpoch) -> WriteOp:
    """The epoch is written if it stands as it was read."""
    data = str(controller_epoch).encode()
    if epoch.stat is None:
        return Create(path=CONTROLLER_EPOCH, data=data)
    return SetData(path=CONTROLLER_EPOCH, data=data, expected_version=epoch.stat.version)


def elected_under_next_epoch(candidacy: Candidacy, result: WriteResult) -> Elected | None:
    """The node that raised the epoch in its multi is elected under it."""
    if not isinstance(result, Written):
        return None
    return Elected(
        controller_epoch=candidacy.next_epoch, epoch_version=result.versions[-2], zxid=result.zxid
    )


def elected_by_multi(
    holder: Znode, epoch: Znode, controller_epoch: ControllerEpoch
) -> Elected | None:
    """The election of which the reply was lost (H23); None when the epoch was written after it.

    Such an epoch is another node's: it is raised once more, so that no epoch has two controllers.
    """
    assert holder.stat is not None
    if epoch.stat is None or epoch.stat.mzxid != holder.stat.czxid:
        return None
    return Elected(
        controller_epoch=controller_epoch,
        epoch_version=epoch.stat.version,
        zxid=holder.stat.czxid,
    )


def epoch_is_ours(epoch_version: ZnodeVersion, epoch: Znode) -> bool:
    """The epoch is what this controller raised; one that was deleted is not."""
    return epoch.stat is not None and epoch.stat.version == epoch_version


def learn_epoch(controller_epoch: ControllerEpoch) -> ControllerEpoch:
    """Commands of older epochs than that in ZooKeeper are refused (CTL-006)."""
    return controller_epoch


def controller_fence(
    controller_epoch: ControllerEpoch, epoch_version: ZnodeVersion
) -> tuple[Check, ...]:
    """What makes a deposed controller's write fail (ZK-005): of a successor, a person, its session.

    The second is H8. People can give `/controller` any version; the znode of the term is there as
    long as the session of its election lives, and no longer (H8d).
    """
    return (
        Check(path=CONTROLLER_EPOCH, expected_version=epoch_version),
        Check(path=CONTROLLER, expected_version=OFFICE_VERSION),
        Check(path=controller_term_path(controller_epoch), expected_version=ANY_VERSION),
    )
