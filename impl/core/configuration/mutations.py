"""Requests for changes of the configuration: made here, forwarded, or refused (FWD-001 to 005).

A node makes one change after the other (`ReadConfig` and `ApplyMutation` of `Forwarding`). A write
that ZooKeeper has refused has changed nothing, and is decided again on what stands then; one with a
lost reply is not repeated, and neither is a forwarded request without an answer: their asker is
told that it may have happened.
"""

from collections import deque
from collections.abc import Generator, Mapping

from msgspec.structs import replace

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.controller.controller import Controller
from fencepost.impl.core.controller.controller_election import ControllerElection
from fencepost.impl.core.controller.controller_generation import ControllerGeneration
from fencepost.impl.core.rules.configuration.asked_change import (
    AskedChange,
    ChangeRequest,
    ChangeResponse,
    made,
    refused,
)
from fencepost.impl.core.rules.configuration.mutation import Mutation
from fencepost.impl.core.rules.configuration.redirection import (
    ForwardedNumbers,
    RedirectingNode,
    Redirection,
)
from fencepost.impl.core.rules.security.token_changes import refuse_asker, token_in
from fencepost.impl.core.rules.tables import Writer
from fencepost.impl.core.rules.znode_writes import write
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
from fencepost.impl.core.types.refusals import NO_CONNECTION, REPLY_LOST, Refusal
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION, RequestHeader
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read
from fencepost.impl.core.types.zookeeper import Rejected, Written, ZkError
from fencepost.spec.config_store import CONFIG_CHANGES, EntityKind
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, ErrorCode

TRIES_MAX = 8
"""Against writers that change the configuration at the same time."""
NOT_READ = Refusal(ErrorCode.BROKER_NOT_AVAILABLE, "the configuration is not read yet")
NOT_CONTROLLER = Refusal(ErrorCode.NOT_CONTROLLER, "another broker is the controller")


class Mutations:
    """The changes that this node makes, and those that it has asked the controller for."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        broker: Broker,
        election: ControllerElection,
        controller: Controller,
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._broker = broker
        self._election = election
        self._controller = controller
        self._waiting: deque[Script] = deque()
        self._is_writing = False
        self._forwarded: dict[int, int] = {}
        """Number of a request to the controller -> token of the one that it forwards."""
        self._taken: tuple[ControllerGeneration, ForwardedNumbers] | None = None

    def on_request(
        self, token: int, request: ChangeRequest, asker: Asker, wall_ms: int = 0
    ) -> None:
        """The change is made, asked of the controller, or refused; the answer tells."""
        refusal = refuse_asker(asker) if isinstance(request, TokenRequest) else None
        if refusal is not None:
            self._refuse(token, request, refusal)
            return
        generation = self._controller.generation
        controller_id = self._election.active_controller_id
        is_elsewhere = controller_id not in (NO_BROKER, self._config.broker_id)
        node = RedirectingNode(
            is_controller=not generation.is_over(), knows_controller=is_elsewhere
        )
        principal = self._config.rules.principal_of(request.header, asker)
        match self._config.rules.redirect(request.header, node):
            case Redirection.FORWARD:
                self.forward_request(token, request, principal, controller_id)
            case Redirection.NOT_CONTROLLER:
                self._refuse(token, request, NOT_CONTROLLER)
            case Redirection.HERE:
                refusal = self._refusal(request.header)
                if refusal is not None:
                    self._refuse(token, request, refusal)
                    return
                fenced = generation if node.is_controller else None
                asked = self._asked(request, principal, wall_ms)
                self._waiting.append(self._make(token, asked, fenced))
                self._begin_next()

    def _asked(self, request: ChangeRequest, principal: str, wall_ms: int) -> AskedChange:
        new_token_id = ""
        if isinstance(request, CreateDelegationTokenRequest):
            number = self._outbox.new_id()
            new_token_id = f"{self._config.broker_id}-{self._broker.broker_epoch}-{number}"
        return AskedChange(
            request=request, principal=principal, now_ms=wall_ms, new_token_id=new_token_id
        )

    # Forwarded

    @action
    def forward_request(
        self, token: int, request: ChangeRequest, principal: str, to: BrokerId
    ) -> None:
        """The controller is asked for the same, in the new version, for the same principal."""
        header = request.header
        named = self._config.rules.forwarded_for(principal, self._config.broker_id)
        sent = replace(
            header, api_version=CONTROLLER_VERSION, principal=named, forwards=header.forwards + 1
        )
        if not header.forwards:
            sent = replace(
                sent,
                forwarder=self._config.broker_id,
                broker_epoch=self._broker.broker_epoch,
                number=self._outbox.new_id(),
                controller_epoch=self._broker.controller_epoch,
            )
        line = taken(
            self.forward_request, peer=to, principal=named, forwarded_request=sent.request_id
        )
        self._outbox.took(line)
        asked = replace(request, header=sent)
        request_id = self._outbox.send(to, asked, self._config.request_timeout_ms)
        self._forwarded[request_id] = token

    def on_answer(self, request_id: int, response: ChangeResponse) -> None:
        """The asker hears what the controller has said; from another one, this node looks anew."""
        token = self._forwarded.pop(request_id, None)
        if token is not None:
            self._outbox.reply(token, response)
        if response.error_code is ErrorCode.NOT_CONTROLLER:
            self._election.stand()

    def on_failure(self, request_id: int, request: ChangeRequest) -> None:
        """The asker hears that it may have happened."""
        token = self._forwarded.pop(request_id, None)
        if token is not None:
            code = self._config.rules.forward_without_answer
            self._refuse(token, request, Refusal(code, "the controller did not answer"))

    # Made here

    def _refusal(self, header: RequestHeader) -> Refusal | None:
        """Why a forwarded request is not done: it is for another controller, or was done."""
        generation = self._controller.generation
        if not header.forwards or generation.is_over():
            return None
        if header.controller_epoch != generation.controller_epoch:
            return NOT_CONTROLLER
        if self._taken is None or self._taken[0] is not generation:
            self._taken = generation, ForwardedNumbers()
        is_new = self._config.rules.takes_forwarded(self._taken[1], header)
        return None if is_new else REPLY_LOST

    def _begin_next(self) -> None:
        if self._waiting and not self._is_writing:
            self._is_writing = True
            self._outbox.run(self._waiting.popleft())

    def _make(
        self, token: int, asked: AskedChange, generation: ControllerGeneration | None
    ) -> Script:
        """One change after the other: the next one begins when this one is answered."""
        if generation is not None and generation.is_over():
            response = refused(asked.request, NOT_CONTROLLER)
        else:
            response = yield from self._try(asked, generation)
        self._outbox.reply(token, response)
        self._is_writing = False
        self._begin_next()

    def _try(
        self, asked: AskedChange, generation: ControllerGeneration | None
    ) -> Generator[Ask, Answer, ChangeResponse]:
        """What is answered; without a generation the change is made without a fence."""
        request = asked.request
        fence = generation.fence() if generation is not None else ()
        writer = Writer.CONTROLLER if generation is not None else Writer.ADMINISTRATOR
        for _ in range(TRIES_MAX):
            found = yield from read(*asked.paths)
            if generation is not None and generation.is_over():
                return refused(request, NOT_CONTROLLER)
            if found is None:
                return refused(request, NO_CONNECTION)
            znodes = {znode.path: znode for znode in found}
            decision = asked.decide(znodes, self._config.rules.config_operation)
            mutation, stat = decision.mutation, znodes[CONFIG_CHANGES].stat
            if not mutation.ops:
                return made(decision, stat.version if stat is not None else -1)
            may_write = self._config.rules.may_write[writer]
            result = yield from write(may_write, *fence, *mutation.ops)
            match result:
                case Written(zxid=zxid, versions=versions):
                    self.apply_mutation(request, mutation, asked.principal, zxid)
                    return made(decision, versions[-1])
                case Rejected(errors=errors) if _has_failed(errors[: len(fence)]):
                    assert generation is not None, "the fence is its"
                    generation.resign_controller()
                    return refused(request, NOT_CONTROLLER)
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
        self, request: ChangeRequest, mutation: Mutation, principal: str, zxid: int
    ) -> None:
        """ZooKeeper holds the change: one line per entity, with the principal that asked for it."""
        for change in mutation.written:
            line = taken(
                self.apply_mutation,
                path=change.entity.path,
                principal=principal,
                forwarded_request=request.header.request_id,
                values=tuple(f"{one.name}={one.value}" for one in change.changes),
                zxid=zxid,
            )
            self._outbox.took(line)

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
        found = [
            token_in(one.names[0], self._configs.entries(one))
            for one in self._configs.entities(EntityKind.TOKEN)
        ]
        described = tuple(
            TokenDescription(
                token_id=one.token_id,
                owner=one.owner,
                renewers=tuple(sorted(one.renewers)),
                issued_ms=one.issued_ms,
                expires_ms=one.expires_ms,
                max_ms=one.max_ms,
            )
            for one in found
            if one is not None and (not request.owners or one.owner in request.owners)
        )
        self._outbox.reply(token, DescribeDelegationTokenResponse(tokens=described))


def _listed(entries: Mapping[str, str]) -> tuple[ConfigEntry, ...]:
    return tuple(ConfigEntry(name=name, value=value) for name, value in sorted(entries.items()))


def _has_failed(errors: tuple[ZkError, ...]) -> bool:
    """One of these operations is why the multi was refused."""
    return any(one not in (ZkError.ROLLED_BACK, ZkError.SESSION_EXPIRED) for one in errors)
