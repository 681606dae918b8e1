"""What the procedures of one controller generation work with."""

from dataclasses import dataclass

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_channel import ControllerChannel
from fencepost.impl.core.controller.controller_context import ControllerContext
from fencepost.impl.core.controller.controller_generation import ControllerGeneration
from fencepost.impl.core.controller.fenced_writes import FencedWrites
from fencepost.impl.core.types.effects import ReportMalformed
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.znodes import MalformedZnodeError


@dataclass(frozen=True, slots=True)
class ControllerResources:
    """What is known, the one writer, and the way to the brokers; new in each generation."""

    config: Config
    outbox: Outbox
    generation: ControllerGeneration
    context: ControllerContext
    writes: FencedWrites
    channel: ControllerChannel

    @classmethod
    def of(
        cls, config: Config, outbox: Outbox, generation: ControllerGeneration
    ) -> "ControllerResources":
        """Nothing is known yet, nothing is under way."""
        return cls(
            config,
            outbox,
            generation,
            ControllerContext(),
            FencedWrites(config, outbox, generation),
            ControllerChannel(config, outbox),
        )

    def report(self, error: MalformedZnodeError | None) -> None:
        """The operator hears of a malformed znode (ZK-002)."""
        if error is not None:
            self.outbox.emit(ReportMalformed(path=error.path, reason=str(error)))
