"""One generation of this node as controller: its epoch, its end, and what it works with."""

from dataclasses import dataclass

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_channel import ControllerChannel
from fencepost.impl.core.controller.controller_context import ControllerContext
from fencepost.impl.core.controller.fenced_writes import FencedWrites
from fencepost.impl.core.rules.controller.controller_election import FIRST_VERSION
from fencepost.impl.core.rules.tables import Writer
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.core.types.zookeeper import Check
from fencepost.spec.vocabulary import (
    NO_CONTROLLER_EPOCH,
    ControllerEpoch,
    ZnodeVersion,
)
from fencepost.spec.znodes import MalformedZnodeError


class ControllerGeneration:
    """From an election to the next resignation; every election begins another one.

    A script that has waited for ZooKeeper stops when its generation `is_over`.
    """

    writer = Writer.CONTROLLER

    def __init__(
        self, config: Config, outbox: Outbox, epoch: ControllerEpoch, epoch_version: ZnodeVersion
    ) -> None:
        self._config = config
        self._outbox = outbox
        self.is_active = True
        self.controller_epoch = epoch
        self.epoch_version = epoch_version
        """Of `/controller_epoch`, as this node raised it."""

    @classmethod
    def never_elected(cls, config: Config, outbox: Outbox) -> "ControllerGeneration":
        """The generation of a node that has not been controller yet: it is over."""
        generation = cls(config, outbox, NO_CONTROLLER_EPOCH, FIRST_VERSION)
        generation.end()
        return generation

    def is_over(self) -> bool:
        """True after the resignation: a script that has waited asks this before it goes on."""
        return not self.is_active

    def end(self) -> None:
        """Another generation begins."""
        self.is_active = False

    @action
    def resign_controller(self) -> None:
        """The generation is over: no script and no command of it has effect any more (CTL-008)."""
        if self.is_over():
            return
        self.end()
        broker_id, epoch = self._config.broker_id, self.controller_epoch
        self._outbox.took(
            taken(self.resign_controller, controller_id=broker_id, controller_epoch=epoch)
        )

    def fence(self) -> tuple[Check, ...]:
        """What makes a deposed controller's write fail."""
        return self._config.rules.controller_fence(self.controller_epoch, self.epoch_version)


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
            ControllerContext(bounced_members=config.rules.bounced_members),
            FencedWrites(config, outbox, generation),
            ControllerChannel(config, outbox),
        )

    def report(self, error: MalformedZnodeError | None) -> None:
        """The operator hears of a malformed znode (ZK-002)."""
        if error is not None:
            self.outbox.report(error)
