"""The way of a request that the controller alone does: done here, forwarded, or refused (FWD).

What is forwarded has a name, which the controller that it is for takes once. Without an answer its
asker is told that it may have happened: nothing is sent again (FWD-003, FWD-004).
"""

from collections.abc import Callable, Generator, Mapping
from typing import NamedTuple, get_args

from msgspec.structs import replace

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller import Controller
from fencepost.impl.core.controller.controller_election import ControllerElection
from fencepost.impl.core.controller.controller_generation import ControllerGeneration
from fencepost.impl.core.controller.fenced_writes import NoFence, WriteFence, write_fenced
from fencepost.impl.core.rules.configuration import asked_change
from fencepost.impl.core.rules.configuration.asked_change import ChangeRequest, ChangeResponse
from fencepost.impl.core.rules.configuration.redirection import (
    ForwardedNumbers,
    RedirectingNode,
    Redirection,
)
from fencepost.impl.core.rules.tables import Permissions, Writer
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.messages import Response, TopicRequest, TopicResponse
from fencepost.impl.core.types.refusals import NOT_CONTROLLER, REPLY_LOST, Refusal
from fencepost.impl.core.types.request_header import RedirectedRequest, RequestHeader
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox
from fencepost.impl.core.types.zookeeper import WriteOp, WriteResult
from fencepost.spec.vocabulary import NO_BROKER, BrokerId

WrittenRequest = ChangeRequest | TopicRequest
WrittenResponse = ChangeResponse | TopicResponse
"""What is asked for, and answered, in ZooKeeper."""
Respond = Callable[[Response], None]


class Mandate(NamedTuple):
    """That this node does what was asked, and behind which fence."""

    fence: WriteFence = NoFence()
    principal: str | None = None
    """For which it is done; None where no line tells."""
    request_id: str | None = None
    """Of a request that another broker has forwarded."""
    method: str | None = None
    """The request that this broker makes of its own accord what was asked for; None: its client."""

    @property
    def told(self) -> Mapping[str, str | None]:
        """What lines of the trace tell of it."""
        return {
            "principal": self.principal,
            "forwarded_request": self.request_id,
            "method": self.method,
        }

    def write(
        self, may_write: Mapping[Writer, Permissions], *ops: WriteOp
    ) -> Generator[Ask, Answer, WriteResult | None]:
        """One multi behind the fence; None when this node may not write any more."""
        return (yield from write_fenced(may_write, self.fence, *ops))


RESPONSES: Mapping[str, type[TopicResponse]] = {
    kind.__name__.removesuffix("Response"): kind for kind in get_args(TopicResponse)
}
"""To requests about topics, by their names without the suffix."""
BY_ANY_BROKER = Mandate()
"""Of topics and partitions below level 5: any broker writes what is asked."""


def refused(request: WrittenRequest, refusal: Refusal) -> WrittenResponse:
    """The answer that nothing was done."""
    if isinstance(request, RedirectedRequest):
        return asked_change.refused(request, refusal)
    error_code, message = refusal
    answer = RESPONSES[type(request).__name__.removesuffix("Request")]
    return answer(error_code=error_code, message=message)


class Forwarding:
    """Requests of this node's askers, and those that it has asked the controller for."""

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
        self._forwarded: dict[int, Respond] = {}
        """Number of a request to the controller -> what hears its answer."""
        self._taken: tuple[ControllerGeneration, ForwardedNumbers] | None = None

    def admit(
        self,
        request: WrittenRequest,
        asker: Asker,
        respond: Respond,
        method: str | None = None,
    ) -> Mandate | None:
        """That it is done here; None: `respond` hears that it is refused, or what became of it.

        Lines tell the `method` for which this broker wants it of its own accord.
        """
        if not (isinstance(request, RedirectedRequest) or self._is_of_controller(request.header)):
            return BY_ANY_BROKER
        generation = self._controller.generation
        controller_id = self._election.active_controller_id
        is_elsewhere = controller_id not in (NO_BROKER, self._config.broker_id)
        node = RedirectingNode(
            is_controller=not generation.is_over(), knows_controller=is_elsewhere
        )
        principal = self._config.rules.principal_of(request.header, asker)
        way = self._config.rules.redirect(request.header, node)
        if way is Redirection.FORWARD:
            self.forward_request(request, principal, controller_id, respond, method)
            return None
        is_here = way is Redirection.HERE
        refusal = self._refusal(request.header) if is_here else NOT_CONTROLLER
        if refusal is not None:
            respond(refused(request, refusal))
            return None
        fence = generation if node.is_controller else NoFence()
        return Mandate(fence, principal, request.header.request_id, method)

    def _is_of_controller(self, header: RequestHeader) -> bool:
        """Of a request about topics; what is forwarded is for a controller below level 5, too."""
        return self._config.rules.topics_at_controller or header.forwards > 0

    # Forwarded

    @action
    def forward_request(
        self,
        request: WrittenRequest,
        principal: str,
        to: BrokerId,
        respond: Respond,
        method: str | None,
    ) -> None:
        """The controller is asked for the same, for the same principal."""
        header = request.header
        named = self._config.rules.forwarded_for(principal, self._config.broker_id)
        sent = replace(header, principal=named, forwards=header.forwards + 1)
        if not header.forwards:
            sent = replace(
                sent,
                forwarder=self._config.broker_id,
                broker_epoch=self._broker.broker_epoch,
                number=self._outbox.new_id(),
                controller_epoch=self._broker.controller_epoch,
            )
        line = taken(
            self.forward_request,
            peer=to,
            principal=named,
            forwarded_request=sent.request_id,
            method=method,
        )
        self._outbox.took(line)
        asked = replace(request, header=sent)
        request_id = self._outbox.send(to, asked, self._config.request_timeout_ms)
        self._forwarded[request_id] = respond

    def on_answer(self, request_id: int, response: Response) -> None:
        """The asker hears what the controller has said.

        Of another controller than the one that was asked a watch tells, and nothing else (CTL-004).
        """
        self._forwarded.pop(request_id)(response)

    def on_failure(self, request_id: int, request: WrittenRequest) -> None:
        """The asker hears that it may have happened."""
        code = self._config.rules.forward_without_answer
        refusal = Refusal(code, "the controller did not answer")
        self._forwarded.pop(request_id)(refused(request, refusal))

    # Done here

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
