"""What all brokers of one cluster have in common."""

from dataclasses import dataclass
from pathlib import Path

from fencepost.conformance.adapters.choices import EMBEDDED, PROXY
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.fault_injection.faults.process_faults import RollBrokers
from fencepost.fault_injection.stories.steps.story_step import FaultStep
from fencepost.fault_injection.stories.story import Story
from fencepost.fault_injection.stories.story_file import fault_of
from fencepost.spec.vocabulary import NEWEST_LEVEL, ProtocolLevel

NEWEST = -1
"""As a level: the newest one that the implementation has, of those that the gate plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """One cluster of an implementation; times in milliseconds."""

    implementation: Implementation = REFERENCE
    brokers: int = 3
    level: int = NEWEST
    judged_level: int | None = None
    """The level by which writes are judged; None: that which each broker speaks."""
    session_timeout_ms: int = 1500
    replica_lag_ms: int = 1500
    unclean_leader_election: bool = False
    min_insync_replicas: int = 1
    """So many must be in the ISR when a leader appends for acks=all."""
    first_controller: int = 0
    """The broker that starts first and is elected; 0: any."""
    network: str = PROXY
    """What all members share."""
    zookeeper: str = EMBEDDED
    """One of the harness's own, or the address of one that runs."""
    extra: tuple[str, ...] = ()
    """More flags for every broker."""
    tls: Path | None = None
    """A folder with an identity per broker and one of the administrator; None: no TLS."""
    authorizer: bool = False
    """With TLS: users but the administrator need permissions."""

    def __post_init__(self) -> None:
        levels = self.implementation.levels
        if self.level == NEWEST:
            object.__setattr__(self, "level", min(max(levels), NEWEST_LEVEL.value))
        if self.level not in levels:
            raise ChoiceError(f"level {self.level} is none; choose one of {levels}")
        if self.brokers < 1:
            raise ChoiceError(f"a cluster of {self.brokers} brokers is none; give 1 or more")
        if self.extra and not self.implementation.takes_flags:
            raise ChoiceError(
                f"{self.implementation.name} is started by no command line, so it takes no flags "
                f"{' '.join(self.extra)}; leave out extra"
            )
        if self.first_controller > self.brokers:
            raise ChoiceError(
                f"first_controller is {self.first_controller}; choose one of 1 to {self.brokers}"
            )

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """From 1 on."""
        return tuple(range(1, self.brokers + 1))

    @property
    def level_among(self) -> tuple[int, tuple[int, ...]]:
        """The level, and all that the implementation has."""
        return self.level, self.implementation.levels

    def has_redirected_mutations(self, story: Story) -> bool:
        """Clients may change configurations, which in the end the controller alone writes.

        That is at level 5, or on the way there (FWD-001, FWD-007).
        """
        is_offered = Capability.CONFIGURATION in self.implementation.capabilities
        return is_offered and self._last_level(story) >= ProtocolLevel.CONTROLLER_MUTATIONS

    def has_told_metadata(self, story: Story) -> bool:
        """In the end brokers answer clients as the controller told them: from level 4 on."""
        return self._last_level(story) >= ProtocolLevel.MAX_BROKER_EPOCH

    def _last_level(self, story: Story) -> int:
        """The one that some broker speaks in the end."""
        faults = [one.fault for one in story.actions]
        faults += [fault_of(one) for one in story.steps if isinstance(one, FaultStep)]
        rolls = [one.inter_broker_protocol for one in faults if isinstance(one, RollBrokers)]
        return max([self.level, *(level or 0 for level in rolls)])


def unusual(settings: ClusterSettings) -> dict[str, int]:
    """What a story file says of a cluster, where it differs from the usual one."""
    names = ("brokers", "session_timeout_ms", "replica_lag_ms")
    usual = ClusterSettings()
    found = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in found.items() if value != getattr(usual, name)}
