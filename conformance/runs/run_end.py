"""What a run says of its own end: whether the cluster healed and could be read.

Both are liveness within a bound, so they are reported beside the safety invariants of the specs
and not among them. A run that did not heal names the liveness properties that do not hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Ending, Liveness

SENTENCES = {
    Ending.CONVERGED: "The cluster had not healed in the time it had after the last fault.",
    Ending.FINAL_READ: "The final read did not end in its time.",
    Ending.DEMANDS: "Something that the story demands was not so in its time.",
    Ending.ANSWERS: "An administrator of the healed cluster was answered wrongly.",
    Ending.RETRIES: "A broker asked in a hurry for what it was not given.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BadEnding:
    """One thing that does not hold at the end of a run."""

    invariant: Ending
    message: str
    """One sentence for people."""


class RunEndDetail(msgspec.Struct, frozen=True):
    """The `detail` of `RunEnded`; a field that is left out is no failure."""

    converged: bool = True
    final_read: bool = True
    demands_met: bool = True
    unhealed: tuple[Liveness, ...] = ()
    wrong_answers: tuple[str, ...] = ()
    """What an administrator was not answered or given as it must be, once all was healed."""
    hasty_retries: tuple[str, ...] = ()
    """What a broker asked for again and again without a pause, also while a fault lasted."""

    def wrong_of(self, ending: Ending) -> tuple[str, ...]:
        """What is told of it beyond that it is so."""
        told = {Ending.ANSWERS: self.wrong_answers, Ending.RETRIES: self.hasty_retries}
        return told.get(ending, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended."""

    bad: tuple[BadEnding, ...] = ()
    unhealed: frozenset[Liveness] = frozenset()
    """What should have come to hold after the last fault, and did not."""
    doubts: tuple[str, ...] = ()
    """Why it cannot be told, one sentence each."""

    @property
    def verdict(self) -> Verdict:
        """`FAIL`, else `INCONCLUSIVE` when it cannot be told."""
        if self.bad:
            return Verdict.FAIL
        return Verdict.INCONCLUSIVE if self.doubts else Verdict.PASS


def run_end(events: Sequence[TraceEvent]) -> RunEnd:
    """What `RunEnded` tells; nothing without it, for a trace that was cut short says so itself."""
    ended = [event for event in events if event.kind is Kind.RUN and event.action == "RunEnded"]
    try:
        told = [msgspec.json.decode(event.detail or "{}", type=RunEndDetail) for event in ended]
    except msgspec.MsgspecError as error:
        return RunEnd(doubts=(f"The detail of RunEnded cannot be read: {error}.",))
    fails = {
        Ending.CONVERGED: any(not detail.converged for detail in told),
        Ending.FINAL_READ: any(not detail.final_read for detail in told),
        Ending.DEMANDS: any(not detail.demands_met for detail in told),
        Ending.ANSWERS: any(detail.wrong_answers for detail in told),
        Ending.RETRIES: any(detail.hasty_retries for detail in told),
    }
    return RunEnd(
        unhealed=frozenset(name for detail in told for name in detail.unhealed),
        bad=tuple(
            BadEnding(invariant=ending, message=_sentence(ending, told))
            for ending, failed in fails.items()
            if failed
        ),
    )


def _sentence(ending: Ending, told: Sequence[RunEndDetail]) -> str:
    wrong = "; ".join(one for detail in told for one in detail.wrong_of(ending))
    return f"{SENTENCES[ending]} {wrong}." if wrong else SENTENCES[ending]
