"""The delegation tokens of a story's client: each step is one request, traced as a change or read.

A token is called by the principal for which it was made last.
"""

from collections.abc import Callable
from typing import NamedTuple

from fencepost.fault_injection.stories.steps.config_step import (
    CreateTokenStep,
    DescribeTokenStep,
    ExpireTokenStep,
    RenewTokenStep,
    TokenStep,
)
from fencepost.fault_injection.stories.steps.story_cluster import Ended
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.workload.config_operations import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    answered_token,
    asked_of_token,
    asked_token,
)
from fencepost.fault_injection.workload.operations import Fields
from fencepost.impl.core.types.asker import asker_of
from fencepost.impl.core.types.config_messages import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.core.types.request_header import RequestHeader
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.spec.vocabulary import BrokerId


class _Asked(NamedTuple):
    """A request, and what the invocation tells of it."""

    request: Request
    fields: Fields
    action: str = ALTER_CONFIGS


class TokenClient:
    """Asks as its client does over a connection that proves the name."""

    def __init__(self, client: SimulatedClient, granted: Callable[[Response | None], str]) -> None:
        """`granted` tells in one line how a request ended."""
        self._client = client
        self._granted = granted
        self._asker = asker_of(client.name)._replace(is_proven=True)
        self._made: dict[str, str] = {}
        """Principal -> the token that was made last for it."""

    def ask(self, step: TokenStep, to: BrokerId, ended: Ended) -> None:
        """Send the request of the step; raises `StoryError` where no token was made for it."""
        asked = self._asked(step, to)
        line, inv_ns = self._client.invoke(asked.action, asked.fields)

        def hear(response: Response | None) -> None:
            told = answered_token(asked.action, asked.fields, response)
            self._client.complete(line, inv_ns, told)
            if isinstance(step, CreateTokenStep) and isinstance(
                response, CreateDelegationTokenResponse
            ):
                self._made[step.create_token] = response.token_id
            printed = " ".join(told.get("values", ())) or "no token"
            is_told = isinstance(step, DescribeTokenStep) and self._granted(response) == "ok"
            ended(printed if is_told else self._granted(response))

        self._client.ask(to, asked.request, hear, self._asker)

    def _asked(self, step: TokenStep, to: BrokerId) -> _Asked:
        header = RequestHeader(principal=step.claims)
        match step:
            case CreateTokenStep(create_token=renewer, life_ms=life_ms):
                request: Request = CreateDelegationTokenRequest(
                    header=header, renewers=(renewer,), max_lifetime_ms=life_ms
                )
                return _Asked(request, asked_token(self._asker.principal))
            case RenewTokenStep(renew_token=renewer, life_ms=life_ms):
                token_id = self._token_of(renewer)
                request = RenewDelegationTokenRequest(
                    header=header, token_id=token_id, renew_ms=life_ms
                )
                return _Asked(request, asked_of_token(token_id))
            case ExpireTokenStep(expire_token=renewer, life_ms=life_ms):
                token_id = self._token_of(renewer)
                request = ExpireDelegationTokenRequest(
                    header=header, token_id=token_id, after_ms=life_ms or -1
                )
                return _Asked(request, asked_of_token(token_id, is_to_go=not life_ms))
            case DescribeTokenStep(describe_token=renewer):
                fields = asked_of_token(self._token_of(renewer)) | {"broker_id": int(to)}
                return _Asked(DescribeDelegationTokenRequest(), fields, DESCRIBE_CONFIGS)
            case _:
                raise AssertionError(step)

    def _token_of(self, renewer: str) -> str:
        if renewer not in self._made:
            raise StoryError(f"no token was made for {renewer}; create_token comes first")
        return self._made[renewer]
