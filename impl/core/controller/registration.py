"""How a broker joins: it registers, reads its state in ZooKeeper, then stands for election.

Scripts of V3 E. Registration comes before reading, so that no change between the two goes unnoticed
(H26).
"""

from collections.abc import Generator

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.broker.startup import Startup
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_election import ControllerElection
from fencepost.impl.core.rules.controller.controller_election import WatchedReading
from fencepost.impl.core.rules.tables import Writer
from fencepost.impl.core.rules.znode_writes import write
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.effects import ReportWaiting
from fencepost.impl.core.types.node_session import NO_SESSION, NodeSession
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read
from fencepost.impl.core.types.zookeeper import Written
from fencepost.spec.vocabulary import BrokerEpoch, SessionId
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    BrokerDocument,
    broker_path,
    document_bytes,
)


class BrokerRegistration:
    """This broker's session and its znode below `/brokers/ids`."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        session: NodeSession,
        broker: Broker,
        election: ControllerElection,
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._session = session
        self._broker = broker
        self._election = election
        self._startup = Startup(config, outbox, broker)
        self._is_joining = False

    @property
    def is_registered(self) -> bool:
        """True when the znode of this broker is this session's."""
        return self._session.is_registered

    def on_session_established(self, session_id: SessionId) -> None:
        """A new session: nothing of the old one is left, register anew."""
        self._session.begin(session_id)
        self._is_joining = False
        self._election.forget_session()
        self._join()

    def on_session_lost(self) -> None:
        """The broker is not controller any more; its replicas go on: zombies are fenced."""
        self._session.end()
        self._election.resign()

    def on_watch(self, path: str) -> None:
        """The registration of the broker changed, or a znode of the controller."""
        if path in (CONTROLLER, CONTROLLER_EPOCH):
            self._election.stand()
        else:
            self._join()

    def tick(self) -> None:
        """What failed with the connection is tried again."""
        retry_at_ms = self._session.retry_at_ms
        if retry_at_ms is None or self._outbox.now_ms < retry_at_ms:
            return
        self._session.retry_at_ms = None
        if self._is_member():
            self._election.stand()
        else:
            self._join()

    def _is_member(self) -> bool:
        return self._session.is_registered and self._broker.is_ready

    def _retry(self) -> None:
        self._session.retry_at_ms = self._config.retry_at_ms(self._outbox.now_ms)

    def _join(self) -> None:
        has_session = self._session.session_id != NO_SESSION
        if has_session and not self._is_joining and not self._is_member():
            self._is_joining = True
            self._outbox.run(self._register_and_read())

    def _register_and_read(self) -> Script:
        self._is_joining = yield from self.register_broker(self._session.session_id)
        if not self._is_joining:
            return
        if not self._broker.is_ready:
            self._broker.is_ready = yield from self._startup.run()
        self._is_joining = False
        if self._broker.is_ready:
            self._election.stand()
        else:
            self._retry()

    @action
    def register_broker(self, session_id: SessionId) -> Generator[Ask, Answer, bool]:
        """The registration is this session's; an older one is waited out (START-005)."""
        assert session_id != NO_SESSION, "a registration goes with its session"
        path = broker_path(self._config.broker_id)
        is_watched = WatchedReading.OWN_REGISTRATION in self._config.rules.watched
        znodes = yield from read(path, watch=is_watched)
        if znodes is None:
            self._retry()
            return False
        stat = znodes[0].stat
        if stat is not None and stat.ephemeral_owner != session_id:
            self._outbox.emit(ReportWaiting(path=path, session_id=stat.ephemeral_owner))
            return False
        zxid = stat.czxid if stat is not None else None
        if zxid is None:
            document = BrokerDocument(
                host=self._config.host,
                port=self._config.port,
                inter_broker_protocol=self._config.inter_broker_protocol,
            )
            data = document_bytes(document)
            may_write = self._config.rules.may_write[Writer.BROKER]
            result = yield from write(may_write, self._config.rules.registration_znode(path, data))
            if not isinstance(result, Written):
                self._retry()
                return False
            zxid = result.zxid
        self._session.is_registered = True
        self._broker.replicas.broker_epoch = BrokerEpoch(zxid)
        self._outbox.took(taken(self.register_broker, session_id=session_id, zxid=zxid))
        return True
