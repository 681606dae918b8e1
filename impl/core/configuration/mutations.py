"""Changes of the configuration, as the controller makes them (FWD-001 to 005).

A node makes one change after the other (`ReadConfig` and `ApplyMutation` of `Forwarding`). A write
that ZooKeeper has refused has changed nothing, and is decided again on what stands then; one with a
lost reply is not repeated: its asker is told that it may have happened.
"""

from collections import deque
from collections.abc import Generator, Mapping
from functools import partial

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.configuration.forwarding import Forwarding
from fencepost.impl.core.configuration.stored_tokens import stored_tokens
from fencepost.impl.core.controller.fenced_writes import WriteFence, write_fenced
from fencepost.impl.core.rules.configuration.asked_change import (
    AskedChange,
    ChangeRequest,
    ChangeResponse,
    TokenRemoval,
    made,
    refused,
)
from fencepost.impl.core.rules.configuration.mutation import Mutation
from fencepost.impl.core.rules.security.token_changes import refuse_asker
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import (
    ConfigEntry,
    CreateDelegationTokenRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    EntityConfig,
    TokenDescription,
    TokenRequest,
)
from fencepost.impl.core.types.refusals import NO_CONNECTION, NOT_CONTROLLER, REPLY_LOST, Refusal
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read
from fencepost.impl.core.types.zookeeper import Rejected, Written, ZkError, Znode
from fencepost.spec.config_store import CONFIG_CHANGES
from fencepost.spec.vocabulary import ErrorCode

TRIES_MAX = 8
"""Against writers that change the configuration at the same time."""
NOT_READ = Refusal(ErrorCode.BROKER_NOT_AVAILABLE, "the configuration is not read yet")


class Mutations:
    """The changes that this node makes."""

    def __init__(
        self, config: Config, outbox: Outbox, broker: Broker, forwarding: Forwarding
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._broker = broker
        self._forwarding = forwarding
        self._waiting: deque[Script] = deque()
        self._is_writing = False

    def on_request(
        self, token: int, request: ChangeRequest, asker: Asker, wall_ms: int = 0
    ) -> None:
        """The change is made, asked of the controller, or refused; the answer tells."""
        refusal = refuse_asker(asker) if isinstance(request, TokenRequest) else None
        if refusal is not None:
            self._refuse(token, request, refusal)
            return
        mandate = self._forwarding.admit(request, asker, partial(self._outbox.reply, token))
        if mandate is not None:
            asked = self._asked(request, mandate.principal or "", wall_ms)
            self._waiting.append(self._make(token, asked, mandate.fence))
            self._begin_next()

    def _asked(self, request: ChangeRequest, principal: str, wall_ms: int) -> AskedChange:
        new_token_id = ""
        if isinstance(request, CreateDelegationTokenRequest):
            number = self._outbox.new_id()
            new_token_id = f"{self._config.broker_id}-{self._broker.broker_epoch}-{number}"
        return AskedChange(
            request=request, principal=principal, now_ms=wall_ms, new_token_id=new_token_id
        )

    # Made here

    def _begin_next(self) -> None:
        if self._waiting and not self._is_writing:
            self._is_writing = True
            self._outbox.run(self._waiting.popleft())

    def _make(self, token: int, asked: AskedChange, fence: WriteFence) -> Script:
        """One change after the other: the next one begins when this one is answered."""
        response = yield from self._try(asked, fence)
        self._outbox.reply(token, response)
        self._is_writing = False
        self._begin_next()

    def _try(self, asked: AskedChange, fence: WriteFence) -> Generator[Ask, Answer, ChangeResponse]:
        """What is answered."""
        request, may_write = asked.request, self._config.rules.may_write
        for _ in range(TRIES_MAX):
            found = yield from read(*asked.paths)
            if fence.is_over():
                return refused(request, NOT_CONTROLLER)
            if found is None:
                return refused(request, NO_CONNECTION)
            znodes = {znode.path: znode for znode in found}
            decision = asked.decide(znodes, self._config.rules.config_operation)
            mutation, stat = decision.mutation, znodes[CONFIG_CHANGES].stat
            if not mutation.ops:
                return made(decision, stat.version if stat is not None else -1)
            match (yield from write_fenced(may_write, fence, *mutation.ops)):
                case None:
                    return refused(request, NOT_CONTROLLER)
                case Written(zxid=zxid, versions=versions):
                    name = request.header.request_id
                    self.apply_mutation(mutation, zxid, asked.principal, forwarded_request=name)
                    return made(decision, versions[-1])
                case Rejected(error=ZkError.SESSION_EXPIRED):
                    return refused(request, NO_CONNECTION)
                case Rejected():
                    continue
                case _:
                    return refused(request, REPLY_LOST)
        reason = f"the configuration changed {TRIES_MAX} times meanwhile"
        return refused(request, Refusal(ErrorCode.BROKER_NOT_AVAILABLE, reason))

    @action
    def apply_mutation(
        self,
        mutation: Mutation,
        zxid: int,
        principal: str,
        *,
        forwarded_request: str | None = None,
        clock_ms: int | None = None,
    ) -> None:
        """ZooKeeper holds the change: one line per entity, with the principal that asked for it."""
        for change in mutation.written:
            line = taken(
                self.apply_mutation,
                path=change.entity.path,
                principal=principal,
                forwarded_request=forwarded_request,
                values=tuple(f"{one.name}={one.value}" for one in change.changes),
                zxid=zxid,
                clock_ms=clock_ms,
            )
            self._outbox.took(line)

    # Of the controller's own accord

    def remove_token(self, token_id: str, wall_ms: int, fence: WriteFence) -> None:
        """The token goes if it is over as it stands; what fails is for the next look."""
        removal = TokenRemoval(token_id=token_id, now_ms=wall_ms)
        self._waiting.append(self._remove(removal, fence))
        self._begin_next()

    def _remove(self, removal: TokenRemoval, fence: WriteFence) -> Script:
        yield from self._try_to_remove(removal, fence)
        self._is_writing = False
        self._begin_next()

    def _try_to_remove(
        self, removal: TokenRemoval, fence: WriteFence
    ) -> Generator[Ask, Answer, None]:
        found = yield from read(*removal.paths)
        if found is None:
            return
        mutation = self._removal(removal, found)
        result = yield from write_fenced(self._config.rules.may_write, fence, *mutation.ops)
        if isinstance(result, Written):
            own = f"User:broker-{self._config.broker_id}"
            self.apply_mutation(mutation, result.zxid, own, clock_ms=removal.now_ms)

    def _removal(self, removal: TokenRemoval, found: tuple[Znode, ...]) -> Mutation:
        rules, znodes = self._config.rules, {znode.path: znode for znode in found}
        return removal.decide(znodes, rules.tokens_to_remove, rules.config_operation)

    def _refuse(self, token: int, request: ChangeRequest, refusal: Refusal) -> None:
        self._outbox.reply(token, refused(request, refusal))


class ConfigReads:
    """What any broker answers from what it has read."""

    def __init__(self, config: Config, outbox: Outbox, configs: ConfigStore) -> None:
        self._config = config
        self._outbox = outbox
        self._configs = configs

    def on_describe_configs(self, token: int, request: DescribeConfigsRequest) -> None:
        """The entities that are asked for; a broker that has not read them yet says so."""
        self._configs.begin()
        if not self._configs.is_read:
            code, message = NOT_READ
            self._outbox.reply(token, DescribeConfigsResponse(error_code=code, message=message))
            return
        found = self._configs.entities(request.kind)
        wanted = [one for one in found if request.names in ((), one.names)]
        response = DescribeConfigsResponse(
            broker_id=self._config.broker_id,
            config_version=self._configs.version,
            entities=tuple(
                EntityConfig(
                    kind=one.kind, names=one.names, entries=_listed(self._configs.entries(one))
                )
                for one in wanted
            ),
        )
        self._outbox.reply(token, response)

    def on_describe_tokens(
        self, token: int, request: DescribeDelegationTokenRequest, asker: Asker
    ) -> None:
        """The tokens of these owners; the listener shows of them what the asker may see."""
        self._configs.begin()
        refusal = refuse_asker(asker) or (None if self._configs.is_read else NOT_READ)
        if refusal is not None:
            code, message = refusal
            response = DescribeDelegationTokenResponse(error_code=code, message=message)
            self._outbox.reply(token, response)
            return
        described = tuple(
            TokenDescription(
                token_id=one.token_id,
                owner=one.owner,
                renewers=tuple(sorted(one.renewers)),
                issued_ms=one.issued_ms,
                expires_ms=one.expires_ms,
                max_ms=one.max_ms,
            )
            for one in stored_tokens(self._configs)
            if not request.owners or one.owner in request.owners
        )
        self._outbox.reply(token, DescribeDelegationTokenResponse(tokens=described))


def _listed(entries: Mapping[str, str]) -> tuple[ConfigEntry, ...]:
    return tuple(ConfigEntry(name=name, value=value) for name, value in sorted(entries.items()))
