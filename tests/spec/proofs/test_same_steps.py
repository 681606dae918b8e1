"""The actions of the proofs are those of the specs: TLC's steps are theirs, and theirs are TLC's.

TLC writes the graph of a small model. Each of its states becomes one of the proofs, with the
history of the way on which it was first reached; there, each action is evaluated in plain values
with every choice, and what it leads to must be what TLC's action of that name leads to.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.spec.proofs.actions import ActionStep, ProofAction
from fencepost.spec.proofs.metadata.leader_and_isr import become_leader
from fencepost.spec.proofs.metadata.module import LEADER_AND_ISR_MODULE
from fencepost.spec.proofs.metadata.wrong_rules import forget_controller, lead_under_older_epoch
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.proofs.state import SpecState
from fencepost.spec.tlc.graph.graph import Graph, read_graph
from fencepost.spec.tlc.models import Model, ModelVerdict, load_models, select
from fencepost.spec.tlc.runner import TlcOptions, findings
from tests.spec.proofs import abstraction

SPENDS = {
    "elect_leader": "elections",
    "shrink_isr": "isr_changes",
    "expand_isr": "isr_changes",
    "crash_broker": "crashes",
    "expire_broker_session": "expiries",
    "expire_controller_session": "controller_expiries",
    "lose_leader_reply": "lost_replies",
    "lose_controller_reply": "lost_replies",
    "lose_message": "losses",
    "duplicate_message": "duplicates",
}
"""What a way to take an action uses up in a model; proofs know no such bounds."""

SMALL: Mapping[str, Any] = {
    "InitialIsr": [1, 2],
    "Controllers": [11],
    "MaxElections": 0,
    "MaxIsrChanges": 0,
    "MaxCrashes": 0,
    "MaxExpiries": 0,
    "MaxControllerExpiries": 0,
    "MaxLosses": 0,
    "MaxDuplicates": 0,
    "MaxLostReplies": 0,
}
MODELS: Mapping[str, Mapping[str, Any]] = {
    "two_controllers": {
        "Controllers": [11, 12],
        "InitialIsr": [1],
        "MaxIsrChanges": 1,
        "MaxControllerExpiries": 1,
        "MaxLostReplies": 1,
    },
    "from_nothing": {"Start": "empty"},
    "restart": {"MaxCrashes": 1, "MaxExpiries": 1, "MaxDuplicates": 1, "MaxLosses": 1},
    "conflict": {"MaxElections": 1, "MaxIsrChanges": 1, "MaxExpiries": 1, "MaxLostReplies": 1},
}
"""Each of a few hundred states; together they take every action."""


def row(name: str) -> Model:
    (some,) = select(load_models(), ["two_controllers"])
    return replace(some, name=name, constants={**SMALL, **MODELS[name]})


def graph_of(model: Model, folder: Path) -> Graph:
    path = folder / f"{model.name}.dot"
    asked = TlcOptions(tlc_options=("-dump", "dot,actionlabels", str(path)))
    (found,) = findings([model], options=asked)
    assert found.verdict is ModelVerdict.HOLDS, found.error
    return read_graph(path.read_text())


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph]:
    folder = tmp_path_factory.mktemp("graphs")
    return {name: graph_of(row(name), folder) for name in MODELS}


Steps = dict[tuple[str, abstraction.Seen], SpecState]


@dataclass(frozen=True, slots=True)
class Difference:
    """An action that leads somewhere in the one and not in the other."""

    action: str
    is_in_specs: bool


class Walk:
    """Goes through the states of TLC with a module of the proofs."""

    def __init__(self, module: ProvedModule, graph: Graph, start: Callable[..., SpecState]) -> None:
        self.module = module
        self.graph = graph
        self.start = start
        self.taken: Counter[str] = Counter()
        self.following: dict[str, list[tuple[str, str]]] = {}
        for edge in graph.edges:
            for label in edge.label.split(", "):
                self.following.setdefault(edge.source, []).append((label, edge.target))

    def differences(self) -> Iterator[Difference]:
        """Every state once, in breadth-first order."""
        known = {
            node.id: self.start(node.values)
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
                    universe = abstraction.universe_of(self.graph.nodes[target].values)
                    known[target] = abstraction.frozen(steps[key], universe)
                    waiting.append(target)

    def seen(self, target: str, before: SpecState) -> abstraction.Seen:
        tables = abstraction.observed_state(self.graph.nodes[target].values)
        state = replace(before, **tables)
        return abstraction.seen(state, before.universe)  # type: ignore[arg-type]

    def steps(self, state: SpecState, values: Mapping[str, Any]) -> Steps:
        """What the actions of the proofs lead to, as far as the model's bounds go."""
        left = values["budget"]
        found: Steps = {}
        for action in self.module.actions:
            spent = SPENDS.get(action.way)
            if action.is_generalised or (spent and left[spent] == 0):
                continue
            for step in ways(action, state):
                key = (action.name, abstraction.seen(step.next, state.universe))  # type: ignore[arg-type]
                found[key] = step.next
        return found


def ways(action: ProofAction, state: SpecState) -> Iterable[ActionStep]:
    """The steps of an action with all choices that its guard allows."""
    for choices in state.universe.choices(action.choices):  # type: ignore[attr-defined]
        step = action.step(state, *choices)
        assert isinstance(step.guard, bool), action.way
        if step.guard:
            yield step


@pytest.mark.tlc
def test_every_step_of_the_specs_is_one_of_the_proofs_and_the_other_way_round(
    graphs: dict[str, Graph],
) -> None:
    taken: Counter[str] = Counter()
    for name, graph in graphs.items():
        walk = Walk(LEADER_AND_ISR_MODULE, graph, abstraction.initial_state)
        assert list(walk.differences()) == [], name
        taken += walk.taken

    assert sum(taken.values()) > 2500
    assert set(taken) == {one.name for one in LEADER_AND_ISR_MODULE.actions}


@pytest.mark.tlc
@pytest.mark.parametrize(
    ("drifted", "difference"),
    [
        (lead_under_older_epoch, Difference("BecomeLeader", is_in_specs=False)),
        (forget_controller, Difference("BecomeLeader", is_in_specs=True)),
    ],
)
def test_a_proof_that_drifts_from_the_specs_is_seen(
    graphs: dict[str, Graph], drifted: ProofAction, difference: Difference
) -> None:
    kept = [one for one in LEADER_AND_ISR_MODULE.actions if one is not become_leader]
    module = replace(LEADER_AND_ISR_MODULE, actions=(*kept, drifted))

    found = Walk(module, graphs["restart"], abstraction.initial_state).differences()

    assert difference in set(found)
