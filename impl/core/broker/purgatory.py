"""Requests that wait: produces for the high watermark, fetches for something to tell."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import Struct

from fencepost.impl.core.types.messages import FetchRequest
from fencepost.spec.vocabulary import LeaderEpoch, Offset


class DelayedProduce(Struct, frozen=True, kw_only=True):
    """A produce with acks=all; its records `[base_offset, end_offset)` are not yet committed."""

    token: int
    base_offset: Offset
    end_offset: Offset
    leader_epoch: LeaderEpoch
    deadline_ms: int


class DelayedFetch(Struct, frozen=True, kw_only=True):
    """A fetch that waits for records or a high watermark, until its deadline."""

    token: int
    request: FetchRequest
    deadline_ms: int


Delayed = TypeVar("Delayed", DelayedProduce, DelayedFetch)


@dataclass(slots=True)
class Purgatory:
    """The delayed requests of one partition, in order of arrival."""

    produces: list[DelayedProduce] = field(default_factory=list)
    fetches: list[DelayedFetch] = field(default_factory=list)

    @property
    def due_ms(self) -> int | None:
        """When the first of it expires; None when nothing waits."""
        if not self.produces and not self.fetches:
            return None
        times_ms = [one.deadline_ms for one in self.produces]
        return min(times_ms + [one.deadline_ms for one in self.fetches])

    def committed(self, high_watermark: Offset) -> list[DelayedProduce]:
        """Take the produces that are committed now."""
        done, self.produces = _split(self.produces, lambda one: one.end_offset <= high_watermark)
        return done

    def expired_produces(self, now_ms: int) -> list[DelayedProduce]:
        """Take the produces that are past their deadline."""
        late, self.produces = _split(self.produces, lambda one: one.deadline_ms <= now_ms)
        return late

    def expired_fetches(self, now_ms: int) -> list[DelayedFetch]:
        """Take the fetches that are past their deadline."""
        late, self.fetches = _split(self.fetches, lambda one: one.deadline_ms <= now_ms)
        return late

    def take_produces(self) -> list[DelayedProduce]:
        """Take every produce."""
        taken, self.produces = self.produces, []
        return taken

    def take_fetches(self) -> list[DelayedFetch]:
        """Take every fetch."""
        taken, self.fetches = self.fetches, []
        return taken


def _split(
    delayed: list[Delayed], is_over: Callable[[Delayed], bool]
) -> tuple[list[Delayed], list[Delayed]]:
    if not delayed:
        return [], delayed
    return [one for one in delayed if is_over(one)], [one for one in delayed if not is_over(one)]
