"""A walk through the states of TLC, in which each action of the proofs is tried with every choice.

Each state of TLC becomes one of the proofs, with the history of the way on which it was first
reached; there, each action is evaluated in plain values, and what it leads to must be what TLC's
action of that name leads to.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fencepost.spec.proofs.actions import ActionStep, ProofAction
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.proofs.state import SpecState
from fencepost.spec.tlc.graph.graph import Graph
from tests.spec.proofs import abstraction
from tests.spec.proofs.abstraction import Reading

SPENDS = {
    "elect_leader": "elections",
    "shrink_isr": "isr_changes",
    "expand_isr": "isr_changes",
    "crash_broker": "crashes",
    "expire_broker_session": "expiries",
    "expire_controller_session": "controller_expiries",
    "lose_leader_reply": "lost_replies",
    "lose_controller_reply": "lost_replies",
    "lose_leader_request": "lost_requests",
    "lose_controller_request": "lost_requests",
    "lose_message": "losses",
    "lose_answer": "losses",
    "duplicate_message": "duplicates",
    "duplicate_answer": "duplicates",
    "leader_append": "records",
}
"""What a way to take an action uses up in a model; proofs know no such bounds."""
Steps = dict[tuple[str, abstraction.Seen], SpecState]
Choices = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """An action that leads somewhere in the one and not in the other."""

    action: str
    is_in_specs: bool


class Walk:
    """Goes through the states of TLC with a module of the proofs."""

    def __init__(self, module: ProvedModule, graph: Graph, reading: Reading) -> None:
        self.module = module
        self.graph = graph
        self.reading = reading
        self.taken: Counter[str] = Counter()
        self.following: dict[str, list[tuple[str, str]]] = {}
        for edge in graph.edges:
            for label in edge.label.split(", "):
                self.following.setdefault(edge.source, []).append((label, edge.target))

    def differences(self) -> Iterator[Difference]:
        """Every state once, in breadth-first order."""
        known = {
            node.id: self.reading.initial_state(node.values)
            for node in self.graph.nodes.values()
            if node.is_initial
        }
        waiting = deque(known)
        while waiting:
            id_ = waiting.popleft()
            steps = self.steps(known[id_], self.graph.nodes[id_].values)
            expected = {
                (label, self.seen(target, known[id_])): target
                for label, target in self.following.get(id_, [])
            }
            self.taken.update(label for label, _ in steps)
            yield from (
                Difference(name, is_in_specs=True) for name, _ in expected.keys() - steps.keys()
            )
            yield from (
                Difference(name, is_in_specs=False) for name, _ in steps.keys() - expected.keys()
            )
            for key in expected.keys() & steps.keys():
                if (target := expected[key]) not in known:
                    universe = self.reading.universe_of(self.graph.nodes[target].values)
                    known[target] = abstraction.frozen(steps[key], universe)
                    waiting.append(target)

    def seen(self, target: str, before: SpecState) -> abstraction.Seen:
        tables = self.reading.observed_state(self.graph.nodes[target].values, before)
        state = replace(before, **tables)
        return self.shown(state, before)

    def steps(self, state: SpecState, values: Mapping[str, Any]) -> Steps:
        """What the actions of the proofs lead to, as far as the model's bounds go."""
        left = values["budget"]
        found: Steps = {}
        for action in self.module.actions:
            spent = SPENDS.get(action.way)
            if action.is_generalised or (spent and left[spent] == 0):
                continue
            for step in whole_steps(action, state):
                found[action.name, self.shown(step.next, state)] = step.next
        return found

    def shown(self, state: SpecState, before: SpecState) -> abstraction.Seen:
        """What TLC would show of a state, over what there was in the one before."""
        return abstraction.seen(state, before.universe, self.reading.unseen)  # type: ignore[arg-type]


def whole_steps(action: ProofAction, state: SpecState) -> Iterator[ActionStep]:
    """The steps as the specs take them: there, a follower asks until its log is truncated."""
    for choices, step in ways(action, state):
        if action.way == "truncate_once":
            yield from settled(action, step, choices[0])
        else:
            yield step


def settled(action: ProofAction, step: ActionStep, b: int) -> Iterator[ActionStep]:
    """A step, or those after it, in which broker b is done."""
    if step.next.logs.is_truncated(b):
        yield step
        return
    for choices, further in ways(action, step.next):
        if choices[0] == b:
            yield from settled(action, further, b)


def ways(action: ProofAction, state: SpecState) -> Iterator[tuple[Choices, ActionStep]]:
    """The steps of an action with all choices that its guard allows."""
    for choices in state.universe.choices(action.choices):  # type: ignore[attr-defined]
        step = action.step(state, *choices)
        assert isinstance(step.guard, bool), action.way
        if step.guard:
            yield choices, step
