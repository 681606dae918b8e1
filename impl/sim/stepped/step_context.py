"""What the steps on a stepped cluster share: finding messages in flight, and waiting."""

from collections.abc import Callable

from fencepost.impl.sim.stepped.broker import SteppedBroker
from fencepost.impl.sim.stepped.cluster import (
    FetchAnswer,
    HeldCommand,
    SteppedWorld,
    is_membership,
)
from fencepost.impl.sim.stepped.observed_state import fetch, message
from fencepost.impl.sim.stepped.schedule import SpecStep
from fencepost.impl.sim.stepped.spec_state import Abstract
from fencepost.spec.znodes import CONTROLLER, CONTROLLER_EPOCH

TRIES_MAX = 12
"""Releases that one action of the specs may take on the core."""


class ImpossibleStepError(Exception):
    """The core cannot take the action here; says why in one sentence."""


class StepContext:
    """One cluster, and where the core is known to differ from the specs by now."""

    def __init__(self, cluster: SteppedWorld) -> None:
        self.cluster = cluster
        self.never_sent: list[Abstract] = []
        """Messages of the specs that the core did not send: no broker can get them."""
        self.is_deferred: set[int] = set()
        """Controllers that decide before they send: what the specs are about to send is void."""
        self.is_hidden: set[int] = set()
        """Controllers that have already decided, which the specs do later."""

    def broker(self, step: SpecStep) -> SteppedBroker:
        """The broker, or controller, that acts."""
        return self.cluster.nodes[step.actor]

    def answer(self, wanted: Abstract) -> FetchAnswer:
        """The answer in flight that equals the one of the spec."""
        found = next((a for a in self.cluster.answers if fetch(a) == wanted), None)
        if found is None:
            raise ImpossibleStepError(f"no such answer is in flight: {wanted}")
        return found

    def command(self, wanted: Abstract) -> HeldCommand:
        """The command in flight that equals the one of the spec."""
        sent = (c for c in self.cluster.commands if c.is_sent and message(c) == wanted)
        found = next(sent, None)
        if found is None:
            why = "the core did not tell it" if wanted in self.never_sent else "it is not in flight"
            raise ImpossibleStepError(f"no command {wanted}: {why}")
        return found


def release_controller(broker: SteppedBroker) -> bool:
    """Deliver something about the controller; false when nothing is held."""
    return broker.release_watch(CONTROLLER, CONTROLLER_EPOCH) or broker.release(is_membership)


def repeat(release: Callable[[], bool]) -> None:
    """Release until nothing is left; raises `ImpossibleStepError` when there is no end."""
    for _ in range(TRIES_MAX):
        if not release():
            return
    raise ImpossibleStepError("the core asks without end")
