"""What random runs reached: actions of the core, and actions while a kind of fault was about.

A fault is about from its injection until `AFTERMATH_NS` after it was healed: what it does to a
cluster mostly shows then, and some faults (`zk.expire`, `clock.jump`) are over at once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fencepost.fault_injection.faults.catalogue import DRAWN_KINDS
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import Action

AFTERMATH_NS = 1_000_000_000
CALM = ""
"""The kind of no fault."""

Pair = tuple[str, str]
"""A kind of fault, or `CALM`, and an action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionCoverage:
    """In how many seeds each pair occurred."""

    seeds: int
    pairs: dict[Pair, int]
    actions: dict[str, int]
    """In how many seeds each action of the core occurred at all; 0 of those that never did."""

    @property
    def unreached(self) -> tuple[str, ...]:
        """The actions of the core that occurred in no seed."""
        return tuple(action for action, seeds in self.actions.items() if not seeds)

    @property
    def missing(self) -> tuple[Pair, ...]:
        """The pairs of kind and reached action that occurred in no seed."""
        return tuple(
            (kind, action)
            for kind in sorted(DRAWN_KINDS)
            for action, seeds in self.actions.items()
            if seeds and (kind, action) not in self.pairs
        )

    def as_json(self) -> dict[str, object]:
        """For machines: action -> kind of fault -> in how many seeds."""
        kinds = (CALM, *sorted(DRAWN_KINDS))
        return {
            "seeds": self.seeds,
            "actions": {
                action: {
                    "seeds": seeds,
                    "faults": {
                        kind or "none": self.pairs[kind, action]
                        for kind in kinds
                        if (kind, action) in self.pairs
                    },
                }
                for action, seeds in self.actions.items()
            },
            "unreached": list(self.unreached),
            "missing_pairs": len(self.missing),
        }


def covered(events: Iterable[TraceEvent]) -> frozenset[Pair]:
    """The pairs that occur in one run; its events in order of time."""
    open_: dict[str, str] = {}
    waning: dict[str, int] = {}
    found: set[Pair] = set()
    for event in events:
        if event.kind is Kind.FAULT:
            _follow(event, open_, waning)
        elif event.kind is Kind.ACTION:
            kinds = {*open_.values(), *(k for k, end in waning.items() if event.mono_ns <= end)}
            found.update((kind, event.action) for kind in kinds or (CALM,))
    return frozenset(found)


def _follow(event: TraceEvent, open_: dict[str, str], waning: dict[str, int]) -> None:
    assert event.fault_id is not None
    assert event.fault is not None
    if event.phase is Phase.ACTIVE:
        open_[event.fault_id] = event.fault
    elif event.phase is Phase.HEALING and event.fault_id in open_:
        del open_[event.fault_id]
        waning[event.fault] = event.mono_ns + AFTERMATH_NS


def coverage_of(runs: Sequence[frozenset[Pair]]) -> ActionCoverage:
    """The coverage of several runs; it does not depend on their order."""
    pairs = Counter(pair for run in runs for pair in run)
    reached = Counter(action for run in runs for action in {action for _, action in run})
    return ActionCoverage(
        seeds=len(runs),
        pairs=dict(sorted(pairs.items())),
        actions={action.value: reached[action.value] for action in Action},
    )
