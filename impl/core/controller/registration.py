"""How a broker joins: register, read its state, learn who is controller, stand if there is none.

Scripts of V3 E and EL. Registration comes before reading, so that no change between the two goes
unnoticed (H26).
"""

from collections.abc import Generator

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.broker.startup import Startup
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller import Controller
from fencepost.impl.core.controller.controller_generation import FIRST_VERSION
from fencepost.impl.core.types.effects import ActionTaken, ReportMalformed, ReportWaiting
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read, write
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
    Action,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ProtocolLevel,
    SessionId,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    BrokerDocument,
    ControllerDocument,
    MalformedZnodeError,
    broker_path,
    document_bytes,
    parse_controller,
    parse_controller_epoch,
)

NO_SESSION = SessionId(0)


class Membership:
    """This node's session, registration and view of the active controller."""

    def __init__(
        self, config: Config, outbox: Outbox, broker: Broker, controller: Controller
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._broker = broker
        self._controller = controller
        self._startup = Startup(config, outbox, broker)
        self.session_id = NO_SESSION
        self.is_registered = False
        self.active_controller_id = NO_BROKER
        """As last read in ZooKeeper (CTL-004)."""
        self._is_joining = False
        self._is_standing = False
        self._must_stand_again = False
        """True when a watch fired while its znodes were being read."""
        self._again_ms: int | None = None

    def on_session_established(self, session_id: SessionId) -> None:
        """A new session: nothing of the old one is left, register anew."""
        self.session_id = session_id
        self.is_registered = False
        self._is_joining = False
        self._is_standing = False
        self._must_stand_again = False
        self._join()

    def on_session_lost(self) -> None:
        """No session, no office. Replicas go on as they are: the protocol fences zombies."""
        self.session_id = NO_SESSION
        self.is_registered = False
        self._controller.resign_controller()

    def on_watch(self, path: str) -> None:
        """A znode of the membership changed."""
        if path in (CONTROLLER, CONTROLLER_EPOCH):
            self._stand()
        elif path == broker_path(self._config.broker_id):
            self._join()

    def tick(self) -> None:
        """What failed with the connection is tried again."""
        if self._again_ms is None or self._outbox.now_ms < self._again_ms:
            return
        self._again_ms = None
        if not self.session_id:
            return
        if self.is_registered and self._broker.is_ready:
            self._stand()
        else:
            self._join()

    def _again(self) -> None:
        self._again_ms = self._outbox.now_ms + self._config.retry_ms

    # Registration and start (V3 E)

    def _join(self) -> None:
        is_member = self.is_registered and self._broker.is_ready
        if not self._is_joining and not is_member:
            self._is_joining = True
            self._outbox.run(self._register_and_read())

    def _register_and_read(self) -> Script:
        session_id = self.session_id
        if not self.is_registered:
            registered = yield from self._register(session_id)
            if self.session_id != session_id:
                return
            self._is_joining = registered
            if not registered:
                return
        if not self._broker.is_ready:
            ready = yield from self._startup.run()
            if self.session_id != session_id:
                return
            self._broker.is_ready = ready
        self._is_joining = False
        if self._broker.is_ready:
            self._stand()
        else:
            self._again()

    def _register(self, session_id: SessionId) -> Generator[Ask, Answer, bool]:
        """The registration is this session's; an older one is waited out (START-005)."""
        path = broker_path(self._config.broker_id)
        is_blind = self._config.mutant == "registration_not_watched"
        znodes = yield from read(path, watch=not is_blind)
        if self.session_id != session_id:
            return False
        if znodes is None:
            self._again()
            return False
        stat = znodes[0].stat
        if stat is not None and stat.ephemeral_owner != session_id:
            self._outbox.emit(ReportWaiting(path=path, session_id=stat.ephemeral_owner))
            return False
        zxid = stat.czxid if stat is not None else None
        if zxid is None:
            document = BrokerDocument(host=self._config.host, port=self._config.port)
            data = document_bytes(document)
            result = yield from write(Create(path=path, data=data, ephemeral=True))
            if self.session_id != session_id:
                return False
            if not isinstance(result, Written):
                self._again()
                return False
            zxid = result.zxid
        self.register_broker(zxid)
        return True

    def register_broker(self, zxid: int) -> None:
        """This broker is one of the live ones; `zxid` is its broker epoch (BEP-001)."""
        self.is_registered = True
        self._broker.broker_epoch = BrokerEpoch(zxid)
        self._outbox.took(
            ActionTaken(action=Action.REGISTER_BROKER, session_id=self.session_id, zxid=zxid)
        )

    # Election, as EL tells it

    def _stand(self) -> None:
        if not self.is_registered or not self._broker.is_ready:
            return
        if self._is_standing:
            self._must_stand_again = True
            return
        self._is_standing = True
        self._outbox.run(self._stand_for_election())

    def _stand_for_election(self) -> Script:
        """Whoever holds `/controller` is known and watched; if nobody does, this node tries."""
        session_id = self.session_id
        is_blind = self._config.mutant == "controller_not_watched"
        znodes = yield from read(CONTROLLER, CONTROLLER_EPOCH, watch=not is_blind)
        if self.session_id != session_id:
            return
        self._is_standing = False
        if self._must_stand_again:
            self._must_stand_again = False
            self._stand()
            return
        if znodes is None:
            self._again()
            return
        holder, epoch = znodes
        is_mine = holder.stat is not None and holder.stat.ephemeral_owner == session_id
        if self._config.mutant == "forget_own_controller_znode":
            is_mine = is_mine and self._controller.is_active
        if is_mine:
            yield from self._hold_office(session_id, holder, epoch)
            return
        if self._config.mutant == "resign_on_expiry_only" and self._controller.is_active:
            return
        self._controller.resign_controller()
        brokerid = self._parse_holder(holder)
        is_new_here = self.active_controller_id == NO_BROKER
        if self._config.mutant == "stand_after_another_only" and is_new_here:
            self.learn_controller(brokerid, self._parse_epoch(epoch))
            return
        self.learn_controller(brokerid, self._parse_epoch(epoch))
        if brokerid == NO_BROKER:
            yield from self._try_to_win(session_id, epoch)

    def _hold_office(self, session_id: SessionId, holder: Znode, epoch: Znode) -> Script:
        """`/controller` is ours: since long, or by an election whose reply was lost (H23).

        If the epoch was written after that election, somebody else did: it is raised once more, so
        that no epoch has two controllers.
        """
        assert holder.stat is not None
        version = epoch.stat.version if epoch.stat else FIRST_VERSION
        is_fenced = self._config.level >= ProtocolLevel.CONTROLLER_EPOCH
        if self._controller.is_active:
            if not is_fenced or self._controller.epoch_version == version:
                return
            self._controller.resign_controller()
        if not is_fenced:
            self.elect_controller(NO_CONTROLLER_EPOCH, FIRST_VERSION, holder.stat.czxid)
        elif epoch.stat is not None and epoch.stat.mzxid == holder.stat.czxid:
            self.elect_controller(self._parse_epoch(epoch), version, holder.stat.czxid)
        else:
            yield from self._win(
                session_id, epoch, Check(path=CONTROLLER, expected_version=FIRST_VERSION)
            )

    def _try_to_win(self, session_id: SessionId, epoch: Znode) -> Script:
        """Create `/controller` and raise the epoch in one multi (CTL-005, H21).

        Whoever loses is told by the watch that the reading has set.
        """
        document = ControllerDocument(
            brokerid=self._config.broker_id, timestamp=str(self._outbox.now_ms)
        )
        lasts = self._config.mutant == "persistent_controller_znode"
        office = Create(path=CONTROLLER, data=document_bytes(document), ephemeral=not lasts)
        yield from self._win(session_id, epoch, office)

    def _win(self, session_id: SessionId, epoch: Znode, office: Create | Check) -> Script:
        if self._config.mutant == "two_step_controller_election":
            yield from self._win_in_two_steps(session_id, office)
            return
        controller_epoch = ControllerEpoch(self._parse_epoch(epoch) + 1)
        if self._config.mutant == "controller_epoch_not_raised":
            controller_epoch = self._parse_epoch(epoch)
        result = yield from write(*self._election(office, epoch, controller_epoch))
        if self.session_id != session_id:
            return
        if self._controller.is_active:
            return
        if isinstance(result, Written):
            if self._config.level < ProtocolLevel.CONTROLLER_EPOCH:
                self.elect_controller(NO_CONTROLLER_EPOCH, FIRST_VERSION, result.zxid)
            else:
                self.elect_controller(controller_epoch, result.versions[-1], result.zxid)
            return
        if self._config.mutant == "loser_takes_office" and isinstance(result, Rejected):
            self.elect_controller(controller_epoch, FIRST_VERSION, zxid=0)
            return
        self._again()

    def _win_in_two_steps(self, session_id: SessionId, office: Create | Check) -> Script:
        """A mutant's wrong way: the office first, the epoch, whatever it is by then, later."""
        created = yield from write(office)
        znodes = (yield from read(CONTROLLER_EPOCH)) if isinstance(created, Written) else None
        if znodes is None:
            self._again()
            return
        controller_epoch = ControllerEpoch(self._parse_epoch(znodes[0]) + 1)
        data = str(controller_epoch).encode()
        raised: WriteOp = Create(path=CONTROLLER_EPOCH, data=data)
        if znodes[0].stat is not None:
            raised = SetData(path=CONTROLLER_EPOCH, data=data, expected_version=ANY_VERSION)
        result = yield from write(raised)
        if isinstance(result, Written) and self.session_id == session_id:
            self.elect_controller(controller_epoch, result.versions[-1], result.zxid)

    def _election(
        self, office: Create | Check, epoch: Znode, controller_epoch: ControllerEpoch
    ) -> tuple[WriteOp, ...]:
        if self._config.level < ProtocolLevel.CONTROLLER_EPOCH:
            return (office,)
        data = str(controller_epoch).encode()
        if epoch.stat is None:
            return (office, Create(path=CONTROLLER_EPOCH, data=data))
        raised = SetData(path=CONTROLLER_EPOCH, data=data, expected_version=epoch.stat.version)
        return (office, raised)

    def elect_controller(
        self, controller_epoch: ControllerEpoch, epoch_version: ZnodeVersion, zxid: int
    ) -> None:
        """This node is the controller of `controller_epoch`, since transaction `zxid`."""
        self._outbox.took(
            ActionTaken(
                action=Action.ELECT_CONTROLLER,
                controller_id=self._config.broker_id,
                controller_epoch=controller_epoch,
                session_id=self.session_id,
            )
        )
        self.learn_controller(self._config.broker_id, controller_epoch)
        self._controller.take_office(controller_epoch, epoch_version, zxid)

    def learn_controller(self, controller_id: BrokerId, controller_epoch: ControllerEpoch) -> None:
        """The active controller is known, and older epochs are refused from now on (CTL-004)."""
        if self._config.level < ProtocolLevel.CONTROLLER_EPOCH:
            controller_epoch = NO_CONTROLLER_EPOCH
        known = (self.active_controller_id, self._broker.controller_epoch)
        self.active_controller_id = controller_id
        self._broker.follow_controller(controller_epoch)
        if (controller_id, self._broker.controller_epoch) == known:
            return
        self._outbox.took(
            ActionTaken(
                action=Action.LEARN_CONTROLLER,
                controller_id=controller_id,
                controller_epoch=self._broker.controller_epoch,
            )
        )

    def _parse_holder(self, holder: Znode) -> BrokerId:
        """-1 when nobody holds the office, or the znode is unreadable (CTL-003)."""
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
