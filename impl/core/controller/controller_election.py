"""Which broker becomes controller: each stands when there is none, and one multi decides (EL).

A broker that lost learns the winner by the watch that its reading has set (CTL-004).
"""

from dataclasses import dataclass

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller import Controller
from fencepost.impl.core.rules.controller.controller_election import (
    OFFICE_VERSION,
    Candidacy,
    Elected,
    ElectionStep,
    NodeView,
    WatchedReading,
)
from fencepost.impl.core.rules.tables import Writer
from fencepost.impl.core.rules.znode_writes import write
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.effects import RefusalTold
from fencepost.impl.core.types.node_session import NodeSession
from fencepost.impl.core.types.scripts import Outbox, Script, read
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Check, Delete, Znode
from fencepost.spec.vocabulary import (
    NO_BROKER,
    BrokerId,
    ControllerEpoch,
    RefusalKind,
)
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    parse_controller,
    parse_controller_epoch,
)


@dataclass(slots=True)
class ControllerElection:
    """This node's part in the election, and its view of the active controller."""

    _config: Config
    _outbox: Outbox
    _session: NodeSession
    _broker: Broker
    _controller: Controller
    active_controller_id: BrokerId = NO_BROKER
    """As last read in ZooKeeper (CTL-004)."""
    _is_standing: bool = False
    _must_stand_again: bool = False
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
        assert self._broker.is_ready, "it has read its state"
        if self._is_standing:
            self._must_stand_again = True
            return
        self._is_standing = True
        self._outbox.run(self._stand_for_election())

    def _retry(self) -> None:
        self._session.retry_at_ms = self._config.retry_at_ms(self._outbox.now_ms)

    def _stand_for_election(self) -> Script:
        """The holder of `/controller` is known and watched; without one, this node tries."""
        is_watched = WatchedReading.CONTROLLER in self._config.rules.watched
        znodes = yield from read(CONTROLLER, CONTROLLER_EPOCH, watch=is_watched)
        self._is_standing = False
        if self._must_stand_again:
            self._discard()
            self._must_stand_again = False
            self.stand()
            return
        if znodes is None:
            self._retry()
            return
        holder, epoch = znodes
        node = self._node()
        if self._config.rules.holds_controller(node, holder):
            yield from self._hold(holder, epoch)
            return
        brokerid = self._parse_holder(holder)
        step = self._config.rules.election_step(node, brokerid)
        if step is ElectionStep.LEAD_ON:
            return
        self.resign()
        controller_epoch = self._parse_epoch(epoch)
        self.learn_controller(brokerid, controller_epoch)
        if step is ElectionStep.STAND:
            znode = self._config.rules.candidate_znode(self._config.broker_id, self._outbox.now_ms)
            is_foreign = self._config.rules.belongs_to_no_session(holder)
            replaced = _deletion(holder) if is_foreign else None
            yield from self._win(
                Candidacy(
                    holder=znode, replaced=replaced, epoch=epoch, controller_epoch=controller_epoch
                )
            )

    def _discard(self) -> None:
        """What was read says nothing: the session is another one, or something changed since."""
        self._outbox.emit(RefusalTold(refusal=RefusalKind.DISCARD_READING))

    def _node(self) -> NodeView:
        return NodeView(
            broker_id=self._config.broker_id,
            session_id=self._session.session_id,
            is_active=self._controller.is_active,
            controller_id=self.active_controller_id,
        )

    def _hold(self, holder: Znode, epoch: Znode) -> Script:
        """`/controller` is ours: since long, or by an election with a lost reply (H23).

        One that was overwritten by hand goes, for nothing else takes it away (KIP-CTL.4).
        """
        if self._config.rules.is_overwritten(holder):
            self.resign()
            yield from write(self._config.rules.may_write[Writer.CANDIDATE], _deletion(holder))
            self._retry()
            return
        if self._controller.is_active:
            if self._config.rules.epoch_stands(self._controller.generation.epoch_version, epoch):
                return
            self.resign()
        controller_epoch = self._parse_epoch(epoch)
        elected = self._config.rules.elected_by(holder, epoch, controller_epoch)
        if elected is not None:
            self.elect_controller(elected)
            return
        held = Check(path=CONTROLLER, expected_version=OFFICE_VERSION)
        yield from self._win(Candidacy(holder=held, epoch=epoch, controller_epoch=controller_epoch))

    def _win(self, candidacy: Candidacy) -> Script:
        elected, must_retry = yield from self._config.rules.win_controller(
            candidacy,
            self._config.rules.election_operations,
            self._config.rules.elected_of,
            self._config.rules.may_write[Writer.CANDIDATE],
        )
        if not self._config.rules.accepts_election(self._node()):
            return
        if elected is not None:
            self.elect_controller(elected)
        elif must_retry:
            self._retry()

    @action
    def elect_controller(self, elected: Elected) -> None:
        """This node is the controller of the epoch."""
        broker_id = self._config.broker_id
        line = taken(
            self.elect_controller,
            controller_id=broker_id,
            controller_epoch=elected.controller_epoch,
            session_id=self._session.session_id,
        )
        self._outbox.took(line)
        self.learn_controller(broker_id, elected.controller_epoch)
        self._controller.begin_generation(elected)

    @action
    def learn_controller(self, controller_id: BrokerId, controller_epoch: ControllerEpoch) -> None:
        """The active controller is known, and older epochs are refused from now on (CTL-004)."""
        controller_epoch = self._config.rules.learn_epoch(controller_epoch)
        known = (self.active_controller_id, self._broker.controller_epoch)
        self.active_controller_id = controller_id
        self._broker.follow_controller(controller_epoch)
        if (controller_id, self._broker.controller_epoch) != known:
            by, epoch = controller_id, self._broker.controller_epoch
            line = taken(self.learn_controller, controller_id=by, controller_epoch=epoch)
            self._outbox.took(line)

    def _parse_holder(self, holder: Znode) -> BrokerId:
        """-1 when there is no controller, or its znode is unreadable or no session's (CTL-003)."""
        document = parsed(parse_controller, holder, self._outbox.report)
        if document is None or self._config.rules.belongs_to_no_session(holder):
            return NO_BROKER
        return BrokerId(document.brokerid)

    def _parse_epoch(self, epoch: Znode) -> ControllerEpoch:
        """Where ZooKeeper has none that can be read, the largest that this node has heard of."""
        epoch_read = parsed(_epoch_in, epoch, self._outbox.report)
        return self._broker.controller_epoch if epoch_read is None else epoch_read


def _epoch_in(_path: str, data: bytes) -> ControllerEpoch:
    return parse_controller_epoch(data)


def _deletion(holder: Znode) -> Delete:
    """Of `/controller` as it was read."""
    assert holder.stat is not None
    return Delete(path=CONTROLLER, expected_version=holder.stat.version)
