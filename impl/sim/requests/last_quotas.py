"""What clients under a mutation quota ask of a healed cluster: what is charged, told and refused.

The user, its topics and their quota are new, so that nothing that the run left behind decides the
answers. Each request has a connection of its own: a muted one would wait until nothing is owed.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import (
    AlterClientQuotasRequest,
    DescribeMutationQuotasRequest,
    DescribeMutationQuotasResponse,
    EntityChange,
    EntryChange,
    EntryOperation,
    QuotaMetrics,
)
from fencepost.impl.core.types.messages import (
    CreatePartitionsRequest,
    RemovePartitionsRequest,
    Request,
    Response,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicsRequest,
    DeleteTopicRequest,
    DeleteTopicsRequest,
    ThrottledResponse,
)
from fencepost.impl.sim.injectors.driver import SimulatedFaultDriver
from fencepost.impl.sim.requests.asking import After, AskingClient, Step, Until, results
from fencepost.impl.sim.requests.by_hand import write_config_by_hand
from fencepost.impl.sim.requests.quota_workload import CREATE, DELETE, GROW, RATE_NAME
from fencepost.impl.sim.world.cluster import QUOTA_WINDOWS, VirtualCluster
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import BrokerId, ErrorCode, ProtocolLevel

NAME = "client-last-quota"
USER, CLIENT_ID = "last", "program"
BOTH = ConfigEntity(EntityKind.USER_CLIENT, (USER, CLIENT_ID))
ANY_USER = ConfigEntity(EntityKind.USER, ("",))
PROGRAM = ConfigEntity(EntityKind.CLIENT, (CLIENT_ID,))
ALONE = ConfigEntity(EntityKind.USER, (USER,))
NAMELESS = ConfigEntity(EntityKind.USER, ("ANONYMOUS",))
OTHER = ConfigEntity(EntityKind.CLIENT, ("other",))
"""Has a quota that is none of mutations."""
BYTES_NAME = "producer_byte_rate"
RATE = 1
"""Partitions per second; the burst is what comes in all windows."""
BURST = RATE * QUOTA_WINDOWS
OVER = 2
"""So many partitions more than the burst."""
OK, LATER = ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED
EXISTS, UNKNOWN = ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
ELSEWHERE = ErrorCode.NOT_CONTROLLER
FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH = (f"{NAME}-{number}" for number in range(1, 8))
_WHO: Mapping[str, Any] = {"user": USER, "client_id": CLIENT_ID}
_CREATES: Mapping[str, Any] = {**_WHO, "api_version": CREATE[True]}
_DELETES: Mapping[str, Any] = {**_WHO, "api_version": DELETE[True]}
_GROWS: Mapping[str, Any] = {**_WHO, "api_version": GROW[True]}


class LastQuotas(AskingClient):
    """Spends more than the burst, and asks on."""

    def __init__(self, cluster: VirtualCluster, driver: SimulatedFaultDriver) -> None:
        super().__init__(cluster, NAME, driver)
        self._connections = 0
        self._to = BrokerId(0)
        self._spent_ms = 0
        """When the burst was asked for."""

    def script(self) -> Step:
        """All requests in turn."""
        yield self.rest()
        elected = self.cluster.controller()
        if elected is None:
            self.wrong.append("a cluster at rest has no controller")
            return
        self._to = elected.broker_id
        yield from self._set(OTHER, {BYTES_NAME: "1"})
        yield from self._set(BOTH, {RATE_NAME: f"{RATE}"})
        yield from self._others_take_nothing()
        yield from self._burst_is_spent()
        yield from self._brokers_pay_nothing()
        yield from self._what_costs_nothing_is_done()
        yield from self._old_versions_are_served()
        yield from self._bucket_of_the_user_counts()
        yield from self._nobody_is_the_connection()
        yield from self._proven_name_counts()
        yield from self._all_is_taken_away()
        yield from self._client_alone_counts()

    def _others_take_nothing(self) -> Step:
        """The controller alone admits, and tells (QUOTA-009); others take what costs nothing."""
        other = self._other()
        if other is None:
            return
        for request, code in (
            (_creation(FIRST), ELSEWHERE),
            (_batch(FIRST), ELSEWHERE),
            (DeleteTopicRequest(topic=FIRST), ELSEWHERE),
            (DeleteTopicsRequest(topics=(FIRST,)), ELSEWHERE),
            (DescribeMutationQuotasRequest(), ELSEWHERE),
            (RemovePartitionsRequest(topic=FIRST, partitions=(0,)), UNKNOWN),
        ):
            yield from self.expect(request, code, to=other)

    def _burst_is_spent(self) -> Step:
        """And more than that once; then what is new is refused, and told when not."""
        self._spent_ms = self._now_ms
        yield from self._owes(_creation(FIRST, BURST + OVER), (OK,), 0)
        yield Until("the topic", lambda: self._is_known(FIRST))
        for request, codes in (
            (_creation(SECOND), (LATER,)),
            (_batch(SECOND, THIRD), (LATER, LATER)),
            (_batch(FIRST, SECOND), (EXISTS, LATER)),
            (DeleteTopicRequest(topic=FIRST, **_DELETES), (LATER,)),
            (DeleteTopicsRequest(topics=(FIRST,), **_DELETES), (LATER,)),
            (CreatePartitionsRequest(topic=FIRST, partition_count=9, **_GROWS), (LATER,)),
        ):
            yield from self._owes(request, codes, OVER)

    def _brokers_pay_nothing(self) -> Step:
        """They ask for what all need: no debt counts, not even that of a user that they name."""
        broker_id = self._other()
        if broker_id is None:
            return
        caller = self._connection()._replace(peer=broker_id)
        yield from self.expect(_creation(SEVENTH), OK, to=self._to, caller=caller)

    def _what_costs_nothing_is_done(self) -> Step:
        """What is there or is not, and what is only tried (QUOTA-004)."""
        for request, codes in (
            (_creation(FIRST), (EXISTS,)),
            (_creation(SECOND, is_tried=True), (OK,)),
            (_batch(SECOND, THIRD, is_tried=True), (OK, OK)),
            (DeleteTopicRequest(topic=SECOND, **_DELETES), (UNKNOWN,)),
            (DeleteTopicsRequest(topics=(SECOND,), **_DELETES), (UNKNOWN,)),
        ):
            yield from self._owes(request, codes, 0)
        tried = CreatePartitionsRequest(
            topic=FIRST, partition_count=9, validate_only=True, **_GROWS
        )
        yield from self._owes(tried, (OK,), 0)
        yield from self._is_told(BOTH, OVER)

    def _old_versions_are_served(self) -> Step:
        """They have no word for a refusal, and their connection waits (QUOTA-003)."""
        old = CreateTopicRequest(
            topic=SECOND,
            partition_count=1,
            replication_factor=1,
            api_version=CREATE[False],
            **_WHO,
        )
        yield from self._owes(old, (OK,), OVER + 1)
        yield from self._is_told(BOTH, OVER + 1)

    def _bucket_of_the_user_counts(self) -> Step:
        """When nothing is set for both together any more: its bucket is another one."""
        yield from self._set(ALONE, {RATE_NAME: f"{RATE}"})
        yield from self._owes(_creation(THIRD), (LATER,), OVER + 1)
        yield from self._set(BOTH, {})
        yield from self._owes(_creation(THIRD), (OK,), 0)
        yield from self._is_told(ALONE, 1 - BURST)
        yield from self._is_told(BOTH, None)

    def _nobody_is_the_connection(self) -> Step:
        """Where a request names no user, its connection does."""
        connection = self._connection()
        request = CreateTopicRequest(topic=FOURTH, api_version=CREATE[True])
        yield from self.expect(request, OK, to=self._to, caller=connection)
        yield from self._has_a_bucket(connection)

    def _proven_name_counts(self) -> Step:
        """Where the connection proves a user, no request pays as another one (QUOTA-001)."""
        connection = self._connection()._replace(is_proven=True)
        yield from self.expect(_creation(FIFTH), OK, to=self._to, caller=connection)
        yield from self._has_a_bucket(connection)

    def _all_is_taken_away(self) -> Step:
        """What is owed after the first topic is refused for the others."""
        yield After((OVER + 1) * 1000)
        topics = (FIRST, SECOND, THIRD)
        request = DeleteTopicsRequest(topics=topics, **_DELETES)
        yield from self._owes(request, (OK, LATER, LATER), None)

    def _client_alone_counts(self) -> Step:
        """Where its user has no quota, its program's bucket is that of all such users."""
        for entity in (ALONE, ANY_USER):
            yield from self._set(entity, {})
        for entity in (PROGRAM, NAMELESS):
            yield from self._set(entity, {RATE_NAME: f"{RATE}"})
        yield from self._owes(_creation(SIXTH, BURST + OVER), (OK,), 0)
        yield from self._owes(_creation(f"{SIXTH}-more"), (LATER,), None)
        told = yield self._to, DescribeMutationQuotasRequest()
        if _bucket(told, PROGRAM) is None or _bucket(told, ALONE) is not None:
            self.wrong.append(f"the buckets of {PROGRAM} and {ALONE} are told wrongly")

    # What they are made of

    def _owes(self, request: Request, codes: tuple[ErrorCode, ...], over: int | None) -> Step:
        """Over a new connection; the answer tells how long so many partitions take."""
        told = yield self._to, request, self._connection()
        throttle_ms = told.throttle_time_ms if isinstance(told, ThrottledResponse) else -1
        name = type(request).__name__
        if results(told) != [*codes]:
            wrong = f"{', '.join(results(told))} in place of {', '.join(codes)}"
            self.wrong.append(f"under a quota, {name}: {wrong}")
        if over is not None and not self._least(over) * 1000 <= throttle_ms * RATE <= over * 1000:
            self.wrong.append(f"{name}, over by {over} partitions, is told {throttle_ms} ms")

    def _least(self, over: int) -> Fraction:
        """What is left of so much at least, for the time that has passed."""
        return max(over - Fraction(RATE * (self._now_ms - self._spent_ms), 1000), Fraction(0))

    def _has_a_bucket(self, connection: Asker) -> Step:
        """The controller tells one of the user that the connection is."""
        told = yield self._to, DescribeMutationQuotasRequest()
        name = connection.principal.removeprefix("User:")
        if _bucket(told, ConfigEntity(EntityKind.USER, (name,))) is None:
            self.wrong.append(f"no bucket of {name} is told")

    def _is_told(self, entity: ConfigEntity, over: int | None) -> Step:
        """The controller tells by how much the bucket is over its burst; or of none."""
        told = yield self._to, DescribeMutationQuotasRequest()
        found = _bucket(told, entity)
        if found is None or over is None:
            if (found is None) != (over is None):
                self.wrong.append(f"the bucket of {entity} is told as {found}")
            return
        owed, throttle_ms = -Fraction(found.tokens), found.throttle_time_ms
        given = Fraction(RATE * (self._now_ms - self._spent_ms), 1000)
        is_near = owed <= over and (owed >= over - given or owed == -BURST)
        if found.rate != f"{float(RATE)}" or not is_near:
            self.wrong.append(f"the bucket of {entity} is over by {over}, and told as {found}")
        if throttle_ms != max(ceil(owed * 1000 / RATE), 0):
            self.wrong.append(f"the bucket of {entity} has {found.tokens}: wait {throttle_ms} ms")

    def _set(self, entity: ConfigEntity, entries: Mapping[str, str]) -> Step:
        """The quota is this, and the controller has read it."""
        is_by_hand = self.cluster.options.level < ProtocolLevel.CONTROLLER_MUTATIONS
        asked = self._by_hand(entity, entries) if is_by_hand else self._ask_for(entity, entries)
        yield from self.drops(entity, () if entries else (RATE_NAME,), asked)
        version = self.config_version
        store = self.cluster.processes[self._to].node.configs
        yield Until("the quota", lambda: store.version >= version)

    def _by_hand(self, entity: ConfigEntity, entries: Mapping[str, str]) -> Step:
        write_config_by_hand(self.cluster, entity, entries)
        yield After(0)

    def _ask_for(self, entity: ConfigEntity, entries: Mapping[str, str]) -> Step:
        operation = EntryOperation.SET if entries else EntryOperation.DELETE
        changes = tuple(
            EntryChange(operation=operation, name=name, value=value)
            for name, value in (entries or {RATE_NAME: ""}).items()
        )
        changed = EntityChange(kind=entity.kind, names=entity.names, changes=changes)
        yield from self.expect(AlterClientQuotasRequest(entities=(changed,)), OK, to=self._to)

    def _is_known(self, topic: str) -> bool:
        return topic in self.cluster.processes[self._to].node.controller.context.topics

    def _other(self) -> BrokerId | None:
        """One that is not the controller; None where there is no other."""
        return next((one for one in sorted(self.cluster.disks) if one != self._to), None)

    def _connection(self) -> Asker:
        self._connections += 1
        return Asker(f"User:{NAME}-{self._connections}")

    @property
    def _now_ms(self) -> int:
        return self.cluster.scheduler.now_ms


def _creation(topic: str, partitions: int = 1, *, is_tried: bool = False) -> CreateTopicRequest:
    return CreateTopicRequest(
        topic=topic, partition_count=partitions, validate_only=is_tried, **_CREATES
    )


def _batch(*topics: str, is_tried: bool = False) -> CreateTopicsRequest:
    some = tuple(map(_creation, topics))
    return CreateTopicsRequest(topics=some, validate_only=is_tried, **_CREATES)


def _bucket(told: Response | None, entity: ConfigEntity) -> QuotaMetrics | None:
    """What is told of the bucket."""
    buckets = told.buckets if isinstance(told, DescribeMutationQuotasResponse) else ()
    return next((one for one in buckets if (one.kind, one.names) == entity), None)
