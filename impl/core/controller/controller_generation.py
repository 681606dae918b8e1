"""The controller's office as one node sees it: in which term it holds it, and under which epoch."""

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.zookeeper import Check
from fencepost.spec.vocabulary import (
    NO_CONTROLLER_EPOCH,
    ControllerEpoch,
    ProtocolLevel,
    ZnodeVersion,
)
from fencepost.spec.znodes import CONTROLLER, CONTROLLER_EPOCH

FIRST_VERSION = ZnodeVersion(0)
"""Of `/controller`, which nobody rewrites; of any znode at its creation."""


class Office:
    """A script remembers `term` before it waits: when it differs afterwards, the script is over."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.is_active = False
        self.term = 0
        """Counts this node's elections and resignations."""
        self.controller_epoch = NO_CONTROLLER_EPOCH
        self.epoch_version = FIRST_VERSION
        """Of `/controller_epoch`, as this node raised it."""

    def begin(self, controller_epoch: ControllerEpoch, epoch_version: ZnodeVersion) -> None:
        """The node holds the office."""
        self.is_active = True
        self.term += 1
        self.controller_epoch = controller_epoch
        self.epoch_version = epoch_version

    def end(self) -> None:
        """The node does not hold it any more."""
        self.is_active = False
        self.term += 1

    def fence(self) -> tuple[Check, ...]:
        """What makes a deposed controller's write fail (ZK-005); the second check is H8."""
        if self._config.level < ProtocolLevel.CONTROLLER_EPOCH:
            return ()
        office = Check(path=CONTROLLER, expected_version=FIRST_VERSION)
        if self._config.mutant == "no_controller_epoch_check":
            return (office,)
        epoch = Check(path=CONTROLLER_EPOCH, expected_version=self.epoch_version)
        if self._config.mutant == "no_controller_znode_check":
            return (epoch,)
        return (epoch, office)
