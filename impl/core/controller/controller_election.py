"""Which broker becomes controller: each stands when there is none, and one multi decides (EL).

A broker that lost learns the winner by the watch that its reading has set (CTL-004).
"""

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller import Controller
from fencepost.impl.core.controller.controller_actions import elect_controller, learn_controller
from fencepost.impl.core.controller.controller_generation import FIRST_VERSION
from fencepost.impl.core.types.effects import ReportMalformed
from fencepost.impl.core.types.node_session import NodeSession
from fencepost.impl.core.types.scripts import Outbox, Script, read, write
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Rejected,
    SetData,
    WriteOp,
    Written,
    Znode,
)
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    NO_CONTROLLER_EPOCH,
    BrokerId,
    ControllerEpoch,
    ProtocolLevel,
    SessionId,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    ControllerDocument,
    MalformedZnodeError,
    document_bytes,
    parse_controller,
    parse_controller_epoch,
)


class ControllerElection:
    """This node's part in the election, and its view of the active controller."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        session: NodeSession,
        broker: Broker,
        controller: Controller,
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._session = session
        self._broker = broker
        self._controller = controller
        self.active_controller_id = NO_BROKER
        """As last read in ZooKeeper (CTL-004)."""
        self._is_standing = False
        self._must_stand_again = False
        """True when a watch fired while its znodes were being read."""

    def forget_session(self) -> None:
        """What was asked under an older session counts no more."""
        self._is_standing = False
        self._must_stand_again = False

    def resign(self) -> None:
        """This node is not controller any more."""
        self._controller.resign()

    def stand(self) -> None:
        """A registered broker that has read its state will be a candidate if there is need."""
        if not self._session.is_registered or not self._broker.is_ready:
            return
        if self._is_standing:
            self._must_stand_again = True
            return
        self._is_standing = True
        self._outbox.run(self._stand_for_election())

    def _retry(self) -> None:
        self._session.retry_at_ms = self._outbox.now_ms + self._config.retry_ms

    def _stand_for_election(self) -> Script:
        """The holder of `/controller` is known and watched; without one, this node tries."""
        session_id = self._session.session_id
        is_blind = self._config.mutant == "controller_not_watched"
        znodes = yield from read(CONTROLLER, CONTROLLER_EPOCH, watch=not is_blind)
        if self._session.session_id != session_id:
            return
        self._is_standing = False
        if self._must_stand_again:
            self._must_stand_again = False
            self.stand()
            return
        if znodes is None:
            self._retry()
            return
        holder, epoch = znodes
        is_mine = holder.stat is not None and holder.stat.ephemeral_owner == session_id
        if self._config.mutant == "forget_own_controller_znode":
            is_mine = is_mine and self._controller.is_active
        if is_mine:
            yield from self._hold(session_id, holder, epoch)
            return
        if self._config.mutant == "resign_on_expiry_only" and self._controller.is_active:
            return
        self.resign()
        brokerid = self._parse_holder(holder)
        is_new_here = self.active_controller_id == NO_BROKER
        self._learn(brokerid, self._parse_epoch(epoch))
        if self._config.mutant == "stand_after_another_only" and is_new_here:
            return
        if brokerid == NO_BROKER:
            yield from self._try_to_win(session_id, epoch)

    def _hold(self, session_id: SessionId, holder: Znode, epoch: Znode) -> Script:
        """`/controller` is ours: since long, or by an election whose reply was lost (H23).

        An epoch that was written after that election is another node's: it is raised once more, so
        that no epoch has two controllers.
        """
        assert holder.stat is not None
        version = epoch.stat.version if epoch.stat else FIRST_VERSION
        is_fenced = self._config.level >= ProtocolLevel.CONTROLLER_EPOCH
        if self._controller.is_active:
            if not is_fenced or self._controller.generation.epoch_version == version:
                return
            self.resign()
        if not is_fenced:
            self._become_controller(NO_CONTROLLER_EPOCH, FIRST_VERSION, holder.stat.czxid)
        elif epoch.stat is not None and epoch.stat.mzxid == holder.stat.czxid:
            self._become_controller(self._parse_epoch(epoch), version, holder.stat.czxid)
        else:
            yield from self._win(
                session_id, epoch, Check(path=CONTROLLER, expected_version=FIRST_VERSION)
            )

    def _try_to_win(self, session_id: SessionId, epoch: Znode) -> Script:
        """Create `/controller` and raise the epoch in one multi (CTL-005, H21)."""
        document = ControllerDocument(
            brokerid=self._config.broker_id, timestamp=str(self._outbox.now_ms)
        )
        lasts = self._config.mutant == "persistent_controller_znode"
        holder = Create(path=CONTROLLER, data=document_bytes(document), ephemeral=not lasts)
        yield from self._win(session_id, epoch, holder)

    def _win(self, session_id: SessionId, epoch: Znode, holder: Create | Check) -> Script:
        if self._config.mutant == "two_step_controller_election":
            yield from self._win_in_two_steps(session_id, holder)
            return
        controller_epoch = ControllerEpoch(self._parse_epoch(epoch) + 1)
        if self._config.mutant == "controller_epoch_not_raised":
            controller_epoch = self._parse_epoch(epoch)
        result = yield from write(*self._operations(holder, epoch, controller_epoch))
        if self._session.session_id != session_id:
            return
        if self._controller.is_active:
            return
        if isinstance(result, Written):
            if self._config.level < ProtocolLevel.CONTROLLER_EPOCH:
                self._become_controller(NO_CONTROLLER_EPOCH, FIRST_VERSION, result.zxid)
            else:
                self._become_controller(controller_epoch, result.versions[-1], result.zxid)
            return
        if self._config.mutant == "loser_takes_office" and isinstance(result, Rejected):
            self._become_controller(controller_epoch, FIRST_VERSION, zxid=0)
            return
        self._retry()

    def _win_in_two_steps(self, session_id: SessionId, holder: Create | Check) -> Script:
        """A mutant's wrong way: the znode first, the epoch, whatever it is by then, later."""
        created = yield from write(holder)
        znodes = (yield from read(CONTROLLER_EPOCH)) if isinstance(created, Written) else None
        if znodes is None:
            self._retry()
            return
        controller_epoch = ControllerEpoch(self._parse_epoch(znodes[0]) + 1)
        data = str(controller_epoch).encode()
        raised: WriteOp = Create(path=CONTROLLER_EPOCH, data=data)
        if znodes[0].stat is not None:
            raised = SetData(path=CONTROLLER_EPOCH, data=data, expected_version=ANY_VERSION)
        result = yield from write(raised)
        if isinstance(result, Written) and self._session.session_id == session_id:
            self._become_controller(controller_epoch, result.versions[-1], result.zxid)

    def _operations(
        self, holder: Create | Check, epoch: Znode, controller_epoch: ControllerEpoch
    ) -> tuple[WriteOp, ...]:
        if self._config.level < ProtocolLevel.CONTROLLER_EPOCH:
            return (holder,)
        data = str(controller_epoch).encode()
        if epoch.stat is None:
            return (holder, Create(path=CONTROLLER_EPOCH, data=data))
        raised = SetData(path=CONTROLLER_EPOCH, data=data, expected_version=epoch.stat.version)
        return (holder, raised)

    def _become_controller(
        self, controller_epoch: ControllerEpoch, epoch_version: ZnodeVersion, zxid: int
    ) -> None:
        """This node is the controller of `controller_epoch`, since transaction `zxid`."""
        broker_id, session_id = self._config.broker_id, self._session.session_id
        self._outbox.took(elect_controller(broker_id, controller_epoch, session_id))
        self._learn(broker_id, controller_epoch)
        self._controller.begin_generation(controller_epoch, epoch_version, zxid)

    def _learn(self, controller_id: BrokerId, controller_epoch: ControllerEpoch) -> None:
        """The active controller is known, and older epochs are refused from now on (CTL-004)."""
        if self._config.level < ProtocolLevel.CONTROLLER_EPOCH:
            controller_epoch = NO_CONTROLLER_EPOCH
        known = (self.active_controller_id, self._broker.controller_epoch)
        self.active_controller_id = controller_id
        self._broker.follow_controller(controller_epoch)
        if (controller_id, self._broker.controller_epoch) != known:
            self._outbox.took(learn_controller(controller_id, self._broker.controller_epoch))

    def _parse_holder(self, holder: Znode) -> BrokerId:
        """-1 when there is no controller, or its znode is unreadable (CTL-003)."""
        if holder.stat is None:
            return NO_BROKER
        try:
            return BrokerId(parse_controller(holder.path, holder.data).brokerid)
        except MalformedZnodeError as error:
            self._outbox.emit(ReportMalformed(path=holder.path, reason=str(error)))
            return NO_BROKER

    def _parse_epoch(self, epoch: Znode) -> ControllerEpoch:
        if epoch.stat is None:
            return NO_CONTROLLER_EPOCH
        try:
            return parse_controller_epoch(epoch.data)
        except MalformedZnodeError as error:
            self._outbox.emit(ReportMalformed(path=epoch.path, reason=str(error)))
            return self._broker.controller_epoch
