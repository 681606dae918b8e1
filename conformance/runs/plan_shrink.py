"""Makes a plan that violates something as small as it gets: fewer actions, shorter, together.

Delta debugging (Zeller and Hildebrandt 2002): what is left out stays out when the rest still
fails in the same way. How a plan is played, and what counts as failing, is the caller's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import groupby

from fencepost.fault_injection.stories.plan import Action, At, Plan, referred

SHORTEST_MS = 50
"""Nothing is made shorter than this."""
LENGTHS = ("for_ms", "restart_after_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkPlan:
    """The smallest plan that was found, and how many were played for it."""

    plan: Plan
    runs: int
    larger: tuple[Plan, ...] = ()
    """What it was made of, the last first: it lasts longer, and then it also begins later."""


class PlanShrinker:
    """Holds the smallest failing plan so far."""

    def __init__(self, plan: Plan, fails: Callable[[Plan], bool], runs_max: int) -> None:
        self.best = plan
        self.runs = 0
        self._tried = [plan]
        self._fails = fails
        self._runs_max = runs_max

    def shrink(self) -> ShrunkPlan:
        """Leave out, then shorten, then bring together; as long as there are runs left."""
        stages = []
        for step in (self._drop_actions, self._shorten, self._bring_together):
            step()
            stages.append(self.best)
        *larger, smallest = (plan for plan, _ in groupby(stages))
        return ShrunkPlan(plan=smallest, runs=self.runs, larger=tuple(reversed(larger)))

    def _drop_actions(self) -> None:
        size = len(self.best.actions)
        while size:
            at = 0
            while at < len(self.best.actions):
                if not self._tries(_without(self.best, self.best.actions[at : at + size])):
                    at += size
            size //= 2

    def _shorten(self) -> None:
        self._take(_shorter)

    def _bring_together(self) -> None:
        self._take(_together)

    def _take(self, simpler: Callable[[Plan], Iterator[Plan]]) -> None:
        while any(self._tries(candidate) for candidate in simpler(self.best)):
            pass

    def _tries(self, candidate: Plan) -> bool:
        if self.runs >= self._runs_max or not candidate.actions or candidate in self._tried:
            return False
        self._tried.append(candidate)
        self.runs += 1
        if not self._fails(candidate):
            return False
        self.best = candidate
        return True


def _without(plan: Plan, dropped: tuple[Action, ...]) -> Plan:
    """The plan without these actions, and without those that wait for them."""
    gone = {action.action_id for action in dropped}
    kept: list[Action] = []
    for action in plan.actions:
        if action.action_id in gone or not gone.isdisjoint(referred(action.when)):
            gone.add(action.action_id)
        else:
            kept.append(action)
    ended = [a for a in kept if a.until is None or gone.isdisjoint(referred(a.until))]
    if len(ended) < len(kept):
        lost = tuple(action for action in kept if action not in ended)
        return _without(replace(plan, actions=tuple(kept)), lost)
    return replace(plan, actions=tuple(kept))


def _shorter(plan: Plan) -> Iterator[Plan]:
    """Each plan in which one action lasts half as long."""
    for index, action in enumerate(plan.actions):
        fault, lasts_ms = action.fault, action.fault.active_ms
        names = [item.name for item in fields(fault) if item.name in LENGTHS]
        if not names or action.until is not None or not lasts_ms or lasts_ms // 2 < SHORTEST_MS:
            continue
        shorter = replace(action, fault=replace(fault, **{names[0]: lasts_ms // 2}))
        yield _with(plan, index, shorter)


def _together(plan: Plan) -> Iterator[Plan]:
    """Each plan in which one action begins with the one before it, or at once."""
    earlier_ms = 0
    for index, action in enumerate(plan.actions):
        if not isinstance(action.when, At):
            continue
        if action.when.at_ms > earlier_ms:
            yield _with(plan, index, replace(action, when=At(at_ms=earlier_ms)))
        earlier_ms = action.when.at_ms


def _with(plan: Plan, index: int, action: Action) -> Plan:
    actions = (*plan.actions[:index], action, *plan.actions[index + 1 :])
    return replace(plan, actions=actions)
