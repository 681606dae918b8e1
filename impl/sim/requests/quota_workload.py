"""Clients that create, grow and delete topics under quotas that change, each over its connection.

They are named by user and client-id, a few of each, so that several share a bucket. Some come in
versions that have no word for a refusal, and none waits as long as it is told.
"""

from collections.abc import Iterator

from fencepost.impl.core.types.config_messages import (
    AlterClientQuotasRequest,
    EntityChange,
    EntryChange,
)
from fencepost.impl.core.types.messages import CreatePartitionsRequest, Request
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicsRequest,
    DeleteTopicRequest,
    DeleteTopicsRequest,
)
from fencepost.impl.sim.requests.by_hand import write_config_by_hand
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.config_store import (
    ConfigEntity,
    EntityKind,
)
from fencepost.spec.vocabulary import BrokerId, ProtocolLevel
from fencepost.spec.znodes import CONTROLLER, MalformedZnodeError, parse_controller

CLIENTS = 4
USERS = ("ann", "bob")
CLIENT_IDS = ("x", "y")
ENTITIES = (
    ConfigEntity(EntityKind.USER, ("",)),
    ConfigEntity(EntityKind.CLIENT, ("x",)),
    ConfigEntity(EntityKind.USER, ("ann",)),
    ConfigEntity(EntityKind.USER_CLIENT, ("ann", "")),
    ConfigEntity(EntityKind.USER_CLIENT, ("bob", "x")),
)
RATES = ("0.5", "1", "2.5", "4")
RATE_NAME = "controller_mutation_rate"
SET_MS = (400, 2_500)
"""Between two changes of a quota."""
BETWEEN_MS = (20, 400)
IDLE_MS = (2_500, 5_000)
"""In this time more tokens come than a bucket holds."""
IDLES = 0.05
WRONG_BROKERS = 0.1
"""Share of the requests to a broker that may not be the controller."""
CREATE, DELETE, GROW = (5, 6), (4, 5), (2, 3)
"""The last version without a word for a refusal, and the first with one, of each request."""
TOPICS_MAX = 8
"""Of one client at one time."""
PARTITIONS = (1, 1, 2, 3, 6)


def start_quota_clients(cluster: VirtualCluster) -> list[SimulatedClient]:
    """Those of the run; none where the options have no quota."""
    if not cluster.options.mutation_quota:
        return []
    setter = QuotaSetter(cluster, "client-quotas")
    setter.set_all()
    names = [f"client-quota-{number + 1}" for number in range(CLIENTS)]
    clients = [MutatingClient(cluster, name) for name in names]
    for client in clients:
        client.go_on_later()
    return [setter, *clients]


class QuotaSetter(SimulatedClient):
    """Sets quotas as the configs command does, until it is stopped."""

    def set_all(self) -> None:
        """Any user has a quota, and one client-id; others follow, and some change."""
        for entity in ENTITIES[:2]:
            self._set(entity, self.random.choice(RATES))
        self._later()

    def _later(self) -> None:
        self.cluster.scheduler.after_ms(self.random.randint(*SET_MS), self._change)

    def _change(self) -> None:
        if self.is_stopped:
            return
        self._set(self.random.choice(ENTITIES), self.random.choice(RATES))
        self._later()

    def _set(self, entity: ConfigEntity, rate: str) -> None:
        if self.cluster.options.level >= ProtocolLevel.CONTROLLER_MUTATIONS:
            self._ask_for(entity, rate)
        else:
            write_config_by_hand(self.cluster, entity, {RATE_NAME: rate})

    def _ask_for(self, entity: ConfigEntity, rate: str) -> None:
        """The controller alone writes the configuration."""
        change = EntityChange(
            kind=entity.kind,
            names=entity.names,
            changes=(EntryChange(name=RATE_NAME, value=rate),),
        )
        request = AlterClientQuotasRequest(entities=(change,))
        self.ask(self.any_broker(), request, lambda _: None)


class MutatingClient(SimulatedClient):
    """Creates, grows and deletes topics of its own, one request after the other."""

    def __init__(self, cluster: VirtualCluster, name: str) -> None:
        super().__init__(cluster, name)
        self._user = self.random.choice(USERS)
        self._client_id = self.random.choice(CLIENT_IDS)
        self._begun = 0

    def go_on_later(self) -> None:
        """Ask for the next thing after a while."""
        between_ms = IDLE_MS if self.random.random() < IDLES else BETWEEN_MS
        self.cluster.scheduler.after_ms(self.random.randint(*between_ms), self._go_on)

    def _go_on(self) -> None:
        if not self.is_stopped:
            self.ask(self._broker(), self._request(), lambda _: self.go_on_later())

    def _broker(self) -> BrokerId:
        """Mostly the controller that ZooKeeper names."""
        znode = self.cluster.zookeeper.peek(CONTROLLER)
        if znode.stat is None or self.random.random() < WRONG_BROKERS:
            return self.any_broker()
        try:
            return BrokerId(parse_controller(CONTROLLER, znode.data).brokerid)
        except MalformedZnodeError:
            return self.any_broker()

    def _topics(self) -> list[str]:
        """Its own that there are."""
        found = {key.topic for key in self.cluster.assignments()}
        return sorted(one for one in found if one.startswith(f"{self.name}-"))

    def _request(self) -> Request:
        there, draw = self._topics(), self.random.random()
        is_new = self.random.choice((False, True, True))
        if len(there) >= TOPICS_MAX or (there and draw < 0.3):
            return self._deletion(there, DELETE[is_new])
        if there and draw < 0.4:
            return CreatePartitionsRequest(
                topic=self.random.choice(there),
                partition_count=self.random.randint(2, 4),
                validate_only=self.random.random() < 0.3,
                user=self._user,
                client_id=self._client_id,
                api_version=GROW[is_new],
            )
        return self._creation(CREATE[is_new], is_validated=draw < 0.5)

    def _deletion(self, there: list[str], version: int) -> Request:
        if self.random.random() < 0.5:
            return DeleteTopicsRequest(
                topics=tuple(there),
                user=self._user,
                client_id=self._client_id,
                api_version=version,
            )
        return DeleteTopicRequest(
            topic=self.random.choice(there),
            user=self._user,
            client_id=self._client_id,
            api_version=version,
        )

    def _creation(self, version: int, *, is_validated: bool) -> Request:
        some = tuple(self._new_topics(version, is_validated=is_validated))
        if len(some) == 1:
            return some[0]
        return CreateTopicsRequest(
            topics=some,
            validate_only=is_validated,
            user=self._user,
            client_id=self._client_id,
            api_version=version,
        )

    def _new_topics(self, version: int, *, is_validated: bool) -> Iterator[CreateTopicRequest]:
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self._begun += 1
            yield CreateTopicRequest(
                topic=f"{self.name}-{self._begun}",
                partition_count=self.random.choice(PARTITIONS),
                replication_factor=1,
                validate_only=is_validated,
                user=self._user,
                client_id=self._client_id,
                api_version=version,
            )
