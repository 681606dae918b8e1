"""Random behaviours in place of all states: what TLC is asked for, and which actions it took.

TLC 2.15 draws one action after another, each with the same chance, and tells nothing of them. So a
module on top of the root has each action of `Next` say that it was taken, once per behaviour.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec

from fencepost.spec.tlc.config import ConfigError, ModelConfig
from fencepost.spec.tlc.counterexample import Counterexample
from fencepost.spec.tlc.modules import defined_operators, modules_extended, without_comments
from fencepost.spec.tlc.mutants import Mutated

SIMULATED = "Simulated"
"""The module on top, and what begins the names of its actions."""
_NEXT = re.compile(r"^Next ==\n((?:    .*\n)+)", re.MULTILINE)
_DISJUNCT = re.compile(r"    \\/ (\\E .+ : )?(\w+)(\(.*\))?$")
_TAKEN = re.compile(r'<<"taken", "(\w+)">>$')
_TEXT = """---- MODULE {simulated} ----
EXTENDS {root}
Seen == IF TLCGet("level") = 1 THEN {{}} ELSE TLCGet(1)
Took(action) ==
    \\/ action \\in Seen
    \\/ PrintT(<<"taken", action>>) /\\ TLCSet(1, Seen \\cup {{action}})
{actions}
{simulated}Next ==
{disjuncts}
====
"""

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Simulation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many random behaviours a row looks at, and what was measured with them."""

    behaviours: Positive
    depth: Positive
    """States of a behaviour at most; it ends before that where nothing can happen any more."""
    seed: int
    states: int = 0
    """Of all behaviours together: exact, since the seed is given. 0 of a row that violates: TLC
    walks on while it tells of the violation."""
    never_taken: frozenset[str] = frozenset()
    """Actions that none of the behaviours takes, and no others."""

    @property
    def options(self) -> tuple[str, ...]:
        """For TLC's command line."""
        number = f"num={self.behaviours}"
        return ("-simulate", number, "-depth", str(self.depth), "-seed", str(self.seed))

    def __str__(self) -> str:
        return f"{self.behaviours:,} behaviours to depth {self.depth}, seed {self.seed}"


def simulated(config: ModelConfig) -> ModelConfig:
    """The configuration with the actions that say that they were taken."""
    return replace(config, next=f"{SIMULATED}Next")


def on_top_of(mutated: Mutated, module: Path) -> Mutated:
    """The same with the module on top that says which actions are taken."""
    texts = {**mutated.texts, f"{SIMULATED}.tla": _text(mutated.root, module)}
    return replace(mutated, root=SIMULATED, texts=texts)


def _text(root: str, module: Path) -> str:
    actions, disjuncts = [], []
    for quantified, name, arguments in _disjuncts(module):
        called = f"{name}{arguments}"
        actions.append(f'{SIMULATED}{called} == {called} /\\ Took("{name}")')
        disjuncts.append(f"    \\/ {quantified}{SIMULATED}{called}")
    return _TEXT.format(
        simulated=SIMULATED,
        root=root,
        actions="\n".join(actions),
        disjuncts="\n".join(disjuncts),
    )


def actions_of(module: Path) -> dict[str, str]:
    """Action of `Next` -> the module that defines it."""
    homes = {
        name: path.stem for path in modules_extended(module) for name in defined_operators(path)
    }
    return {name: homes.get(name, module.stem) for _, name, _ in _disjuncts(module)}


def taken_in(
    printed: Iterable[str], simulation: Simulation, module: Path
) -> dict[tuple[str, str], int]:
    """Module and action -> in how many behaviours it was taken, of all actions of `Next`."""
    homes = actions_of(module)
    taken = dict.fromkeys(homes, 0)
    for match in filter(None, map(_TAKEN.match, printed)):
        # A first step may say so more than once: at that level nothing is remembered.
        taken[match[1]] = min(taken[match[1]] + 1, simulation.behaviours)
    return {(homes[name], name): number for name, number in taken.items()}


def untaken(taken: Mapping[tuple[str, str], int]) -> frozenset[str]:
    """Actions that no behaviour took."""
    return frozenset(name for (_, name), number in taken.items() if number == 0)


def with_own_names(counterexample: Counterexample, module: Path) -> Counterexample:
    """The counterexample with the actions of `Next` in place of those on top."""
    homes = actions_of(module)
    states = tuple(
        replace(
            state,
            action=(name := state.action.removeprefix(SIMULATED)),
            module=homes.get(name, state.module),
        )
        for state in counterexample.states
    )
    return replace(counterexample, states=states)


def _disjuncts(module: Path) -> list[tuple[str, str, str]]:
    """Of `Next`: quantifier or nothing, action, arguments or nothing."""
    texts = (without_comments(path.read_text()) for path in modules_extended(module))
    body = next((found[1] for found in map(_NEXT.search, texts) if found), "")
    matches = [_DISJUNCT.match(line) for line in body.splitlines()]
    if not matches or None in matches:
        raise ConfigError(f"Next of {module.stem} is no list of actions, one a line, to simulate")
    return [(found[1] or "", found[2], found[3] or "") for found in matches if found]
