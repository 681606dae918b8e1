"""Makes a plan that violates something as small as it gets: fewer actions, shorter, together.

How a plan is played, and what counts as failing, is the caller's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import groupby

from fencepost.fault_injection.stories.ddmin import Minimizer
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


def shrink_actions(plan: Plan, fails: Callable[[Plan], bool], *, runs_max: int) -> ShrunkPlan:
    """Leave out, then shorten, then bring together; as long as there are runs left."""
    nothing = replace(plan, actions=())
    search = Minimizer(best=plan, fails=fails, tries_max=runs_max, passing=(nothing,))
    stages = []
    search.drop_parts(lambda one: one.actions, _without)
    stages.append(search.best)
    search.simplify(_shorter)
    stages.append(search.best)
    search.simplify(_together)
    stages.append(search.best)
    *larger, smallest = (plan for plan, _ in groupby(stages))
    return ShrunkPlan(plan=smallest, runs=search.tries, larger=tuple(reversed(larger)))


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
