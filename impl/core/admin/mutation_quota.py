"""The mutation quota at the controller: buckets of clients, charged topic by topic (KIP-599).

`MutationQuota` of the specs. Buckets are in memory: a new controller begins with full ones. Each
admission asks what rates the configuration holds: changed ones count at once (KAFKA-10458).
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from fencepost.impl.core.admin.muted_connections import MutedConnections
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.controller.controller import Controller
from fencepost.impl.core.controller.controller_generation import ControllerGeneration
from fencepost.impl.core.rules.configuration.entries import MUTATION_RATE_NAMES
from fencepost.impl.core.rules.quota import Bucket, Client, Entity, Quota, quota_of
from fencepost.impl.core.types.actions import Named, action, taken
from fencepost.impl.core.types.config_messages import (
    DescribeMutationQuotasResponse,
    QuotaMetrics,
)
from fencepost.impl.core.types.effects import RefusalTold
from fencepost.impl.core.types.events import RequestReceived
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.core.types.topic_messages import CountedRequest
from fencepost.spec.config_store import QUOTA_KINDS, ConfigEntity, EntityKind
from fencepost.spec.vocabulary import ErrorCode, RefusalKind

NOT_CONTROLLER = Refusal(
    ErrorCode.NOT_CONTROLLER, "another broker is the controller, which admits mutations"
)
USER_PREFIX = "User:"
"""Of principals; quotas name users without it."""
NOT_READ = Refusal(ErrorCode.BROKER_NOT_AVAILABLE, "the quotas are not read yet")


class Counted(NamedTuple):
    """A request as the quota sees it."""

    event: RequestReceived
    method: str
    client: Client | None
    """None of a broker, which pays nothing: it asks for what all need."""
    api_version: int
    received_ms: int


class MutationQuotas:
    """The buckets of one generation, by what their quotas look at."""

    def __init__(
        self, config: Config, outbox: Outbox, controller: Controller, store: ConfigStore
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._controller = controller
        self._store = store
        self.muted = MutedConnections()
        self._generation: ControllerGeneration | None = None
        self._version: int | None = None
        self._quotas: Mapping[Entity, Quota] = {}
        self._buckets: dict[Entity, Bucket] = {}

    def refuse(self) -> Refusal | None:
        """Why this broker takes no mutations of topics at all now; nothing is charged."""
        if not self._config.has_mutation_quota:
            return None
        if not self._controller.is_active:
            return NOT_CONTROLLER
        return None if self._store.is_read else NOT_READ

    def charges(self, event: RequestReceived, method: str, request: CountedRequest) -> "Charges":
        """What the request will be charged, for the user that its connection proves.

        Where it proves none, for the user that the request names, or else the connection.
        """
        named = "" if event.asker.is_proven else request.user
        user = named or event.asker.principal.removeprefix(USER_PREFIX)
        client = None if event.asker.is_broker else Client(user, request.client_id)
        counted = Counted(event, method, client, request.api_version, self._outbox.now_ms)
        return Charges(self._config, self._outbox, self, counted)

    def free(self, event: RequestReceived) -> "Charges":
        """Of what this broker itself creates when it takes the request."""
        counted = Counted(event, "CreateTopics", None, 0, self._outbox.now_ms)
        return Charges(self._config, self._outbox, self, counted)

    def is_known(self, topic: str) -> bool:
        """The controller has heard of the topic."""
        return topic in self._controller.context.topics

    # Buckets

    def quota(self, client: Client | None) -> tuple[Entity, Quota] | None:
        """The bucket of the client, and the quota that fills it; None: it has none."""
        if client is None or not self._config.has_mutation_quota:
            return None
        self._learn()
        order = self._config.rules.quota_order(client)
        applied = next((one for one in order if one in self._quotas), None)
        if applied is None:
            return None
        return self._config.rules.bucket_of(client, applied), self._quotas[applied]

    def tokens(self, entity: Entity, quota: Quota) -> Fraction:
        """As they are now; a bucket that was not used is full."""
        now_ms = self._outbox.now_ms
        bucket = self._buckets.get(entity)
        if bucket is None:
            return quota.burst
        return self._config.rules.tokens_at(bucket, quota, now_ms)

    def count(self, entity: Entity, tokens: Fraction) -> None:
        """So many are left."""
        self._buckets[entity] = Bucket(tokens, self._outbox.now_ms)

    def on_describe(self, token: int) -> None:
        """The metrics: rate, tokens and throttle time of each used bucket (QUOTA-007)."""
        refusal = self.refuse()
        if refusal is None:
            response = DescribeMutationQuotasResponse(buckets=tuple(self._metrics()))
        else:
            code, message = refusal
            response = DescribeMutationQuotasResponse(error_code=code, message=message)
        self._outbox.reply(token, response)

    def _metrics(self) -> Iterator[QuotaMetrics]:
        for entity in sorted(self._buckets, key=_key):
            # Where it looks at no user, or no client-id, at one without a quota of its own.
            known = self.quota(Client(entity.user or "", entity.client_id or ""))
            if known is None or known[0] != entity:
                continue
            tokens, rate = self.tokens(*known), known[1].rate
            kind, names = _configured(entity)
            yield QuotaMetrics(
                kind=kind,
                names=names,
                rate=str(float(rate)),
                tokens=str(float(tokens)),
                throttle_time_ms=self._config.rules.throttle_ms(tokens, rate),
            )

    def _learn(self) -> None:
        """Buckets are those of the present generation, rates those that the store knows."""
        if self._generation is not self._controller.generation:
            self._generation = self._controller.generation
            self._buckets, self._quotas, self._version = {}, {}, None
        if self._version != self._store.version:
            self._version = self._store.version
            before, self._quotas = self._quotas, self._read_quotas()
            for entity in sorted({*before, *self._quotas}, key=_key):
                if before.get(entity) != self._quotas.get(entity):
                    self.alter_quota(entity, self._quotas.get(entity))

    def _read_quotas(self) -> Mapping[Entity, Quota]:
        found, config = {}, self._config
        for kind in sorted(QUOTA_KINDS):
            for one in self._store.entities(kind):
                entries = self._store.entries(one)
                texts = [entries[name] for name in MUTATION_RATE_NAMES if name in entries]
                rate = _rate(texts[0]) if texts else None
                if rate is not None:
                    samples, window_s = config.quota_window_num, config.quota_window_size_s
                    found[_entity(one)] = quota_of(rate, samples, window_s)
        return found

    @action
    def alter_quota(self, entity: Entity, quota: Quota | None) -> None:
        """The quota counts from now on, or there is none any more (`QuotaPrecedence`)."""
        self._outbox.took(
            taken(
                self.alter_quota,
                user=entity.user,
                client_id=entity.client_id,
                mutation_rate=None if quota is None else str(float(quota.rate)),
                mutation_burst=None if quota is None else str(float(quota.burst)),
            )
        )


class Charges:
    """What one request is charged, and how long its client is to be silent."""

    def __init__(
        self, config: Config, outbox: Outbox, quotas: MutationQuotas, counted: Counted
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._quotas = quotas
        self._counted = counted
        self._free_at_ms = 0
        self._has_counted = False

    def refuse_all(self) -> Refusal | None:
        """Why this broker takes no mutation of topics now; nothing is charged."""
        return None if self._counted.client is None else self._quotas.refuse()

    @property
    def is_counting(self) -> bool:
        """A quota applies to the client."""
        return self._quotas.quota(self._counted.client) is not None

    def is_known(self, topic: str) -> bool:
        """The controller knows the topic: that it is there costs nothing to say."""
        return self.is_counting and self._quotas.is_known(topic)

    def refuse_deletions(self, topics: Sequence[str]) -> Refusal | None:
        """The same for all topics, when they are known and not even the first is admitted.

        So a flood costs ZooKeeper nothing, and the controller little.
        """
        return self._refuse_early() if all(map(self._quotas.is_known, topics)) else None

    def refuse_creations(self, topics: Sequence[str]) -> Refusal | None:
        """As `refuse_deletions`, when none is known; that one is malformed is told later."""
        return None if any(map(self._quotas.is_known, topics)) else self._refuse_early()

    def _refuse_early(self) -> Refusal | None:
        found = self._quotas.quota(self._counted.client)
        if found is None or not self._is_refusable:
            return None
        tokens = self._quotas.tokens(*found)
        if self._config.rules.is_admitting(tokens):
            return None
        return self.refuse_mutation(None, None, found[1], tokens)

    def admit(self, topic: str, partitions: int) -> Refusal | None:
        """So many partitions of the topic are charged, or refused (QUOTA-003)."""
        found = self._quotas.quota(self._counted.client)
        if found is None:
            return None
        entity, quota = found
        tokens = self._quotas.tokens(entity, quota)
        if self._is_refusable and not self._config.rules.is_admitting(tokens):
            return self.refuse_mutation(topic, partitions, quota, tokens)
        self.admit_mutation(topic, partitions, quota, entity)
        return None

    @action
    def admit_mutation(self, topic: str, partitions: int, quota: Quota, entity: Entity) -> None:
        """A client that cannot be refused has to be silent until it owes nothing."""
        left = self._config.rules.charge(self._quotas.tokens(entity, quota), partitions, quota)
        self._quotas.count(entity, left)
        throttle = 0 if self._is_refusable else self._config.rules.throttle_ms(left, quota.rate)
        self._silence(throttle)
        self._tell(self.admit_mutation, topic, partitions, throttle)

    @action
    def refuse_mutation(
        self, topic: str | None, partitions: int | None, quota: Quota, tokens: Fraction
    ) -> Refusal:
        """Nothing is charged, and the client is told how long to wait."""
        throttle = self._config.rules.throttle_ms(tokens, quota.rate)
        self._silence(throttle)
        self._tell(self.refuse_mutation, topic, partitions, throttle)
        message = f"the quota of {float(quota.rate):g} partitions per second is exhausted"
        return Refusal(ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{message}; wait {throttle} ms")

    @action
    def validate_mutation(self, topic: str, partitions: int) -> None:
        """It costs nothing (QUOTA-004)."""
        found = self._quotas.quota(self._counted.client)
        if found is None:
            return
        entity, quota = found
        cost = self._config.rules.validation_cost(partitions)
        if cost:
            left = self._config.rules.charge(self._quotas.tokens(entity, quota), cost, quota)
            self._quotas.count(entity, left)
        self._tell(self.validate_mutation, topic, partitions, None)

    def end(self) -> int:
        """The throttle time of the answer; its connection is muted for as long (QUOTA-010)."""
        event, now_ms = self._counted.event, self._outbox.now_ms
        own_ms = max(self._free_at_ms - now_ms, 0)
        throttle_ms = self._config.rules.larger_throttle(event.request_throttle_ms, own_ms)
        self._quotas.muted.mute(event.connection, now_ms + throttle_ms)
        if self._has_counted:
            self._tell_mute(throttle_ms)
        return throttle_ms

    @property
    def _is_refusable(self) -> bool:
        return self._config.rules.is_refusable(self._counted.method, self._counted.api_version)

    def _silence(self, throttle_ms: int) -> None:
        self._free_at_ms = max(self._free_at_ms, self._outbox.now_ms + throttle_ms)

    def _tell(
        self,
        function: Named,
        topic: str | None,
        partitions: int | None,
        throttle_ms: int | None,
    ) -> None:
        counted = self._counted
        assert counted.client is not None, "it has a quota"
        self._has_counted = True
        self._outbox.took(
            taken(
                function,
                topic=topic,
                user=counted.client.user,
                client_id=counted.client.client_id,
                method=counted.method,
                api_version=counted.api_version,
                partition_count=partitions,
                clock_ms=self._outbox.now_ms,
                throttle_time_ms=throttle_ms,
                received_ms=counted.received_ms,
                connection=counted.event.connection,
                request_number=counted.event.token,
            )
        )

    def _tell_mute(self, throttle_ms: int) -> None:
        counted = self._counted
        assert counted.client is not None, "it has a quota"
        self._outbox.emit(
            RefusalTold(
                refusal=RefusalKind.MUTE_CONNECTION,
                user=counted.client.user,
                client_id=counted.client.client_id,
                throttle_time_ms=throttle_ms,
                clock_ms=self._outbox.now_ms,
                connection=counted.event.connection,
                request_number=counted.event.token,
            )
        )


def _entity(one: ConfigEntity) -> Entity:
    """What a quota of the configuration is for."""
    match one.kind:
        case EntityKind.USER:
            return Entity(one.names[0])
        case EntityKind.CLIENT:
            return Entity(None, one.names[0])
        case _:
            return Entity(*one.names)


def _rate(text: str) -> Fraction | None:
    """The number; None where by hand something else was written."""
    try:
        rate = float(text)
    except ValueError:
        return None
    return Fraction(str(rate)) if 0 <= rate < float("inf") else None


def _configured(entity: Entity) -> tuple[EntityKind, tuple[str, ...]]:
    """As the configuration calls it; the other way of `_entity`."""
    user, client_id = entity
    if user is None:
        return EntityKind.CLIENT, (client_id or "",)
    if client_id is None:
        return EntityKind.USER, (user,)
    return EntityKind.USER_CLIENT, (user, client_id)


def _key(entity: Entity) -> tuple[str, str, bool, bool]:
    """Ascending, the same in every run."""
    user, client_id = entity
    return user or "", client_id or "", user is None, client_id is None
