"""The committed log of a partition, as answers and disks tell it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fencepost.spec.replay.fields import MISSING, Fields
from fencepost.spec.replay.offices import Numbers
from fencepost.spec.replay.projection import is_about
from fencepost.spec.replay.recorded_run import TraceFileLine
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import TopicPartition


@dataclass(slots=True)
class CommittedLog:
    """What answers and disks tell of each offset; the first word counts."""

    values: Numbers = field(default_factory=Numbers)
    found: dict[int, int] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
    """Value -> where it was told first."""
    end: int = 0

    def tell(self, offset: int, values: tuple[int, ...], epochs: tuple[int, ...]) -> None:
        """An answer has these values from `offset` on."""
        for at, (value, epoch) in enumerate(zip(values, epochs, strict=True), start=offset):
            if self.found.setdefault(at, value) == value:
                self.offsets.setdefault(value, at)
                if epoch != MISSING:
                    self.epochs.setdefault(at, epoch)
        self.end = max(self.end, offset + len(values))

    def records(self) -> Iterator[Fields]:
        """In order of their offsets."""
        for offset in range(self.end):
            yield {
                "value": self.found.get(offset, MISSING),
                "leader_epoch": self.epochs.get(offset, MISSING),
            }

    def places(self) -> Iterator[int]:
        """In order of the values' numbers."""
        for value in range(1, len(self.values.known) + 1):
            yield self.offsets.get(value, MISSING)


@dataclass(frozen=True, slots=True)
class Disk:
    """What a replica held after the run."""

    line: TraceFileLine
    values: tuple[str, ...]
    epochs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Disks:
    """Those of a partition, and the lines that tell of them."""

    found: tuple[Disk, ...] = ()

    @classmethod
    def of(cls, lines: Iterable[TraceFileLine], key: TopicPartition) -> "Disks":
        """Whole logs; one of which the beginning is gone tells nothing."""
        told: dict[str, list[TraceFileLine]] = {}
        for line in lines:
            if is_of_disk(line.event) and is_about(line.event, key):
                told.setdefault(line.event.node, []).append(line)
        return cls(tuple(disk for _, own in sorted(told.items()) for disk in _disk(own)))


def is_of_disk(event: TraceEvent) -> bool:
    """True for a line that tells what a replica holds, where only disks tell that."""
    return event.action in (Action.FOLLOWER_APPEND, "LogRecovered")


def _disk(lines: list[TraceFileLine]) -> Iterator[Disk]:
    values: list[str] = []
    epochs: list[int] = []
    for line in lines:
        event = line.event
        if event.action == "LogRecovered":
            if len(values) == event.log_end_offset:
                yield Disk(line, tuple(values), tuple(epochs))
        elif event.offset == len(values):
            values.extend(event.values or ())
            epochs.extend(event.record_epochs or [MISSING] * len(event.values or ()))
