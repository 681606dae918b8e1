"""What the probes of both networks have in common. Standard library only."""

import time
from dataclasses import dataclass, field

from fencepost.fault_injection.network.links.rules import Link


@dataclass(slots=True, kw_only=True, eq=False)
class LinkProbe:
    """A message of our own on one link, which passes or does not."""

    link: Link
    started: float = field(default_factory=time.monotonic)
    passed_ms: float | None = None
    """Milliseconds from its start until it was first seen to have passed."""

    def waited_ms(self) -> float:
        """Milliseconds since its start."""
        return round((time.monotonic() - self.started) * 1000, 3)
