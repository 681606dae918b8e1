"""What must be possible: states that a row has to reach, or it holds because too little happens.

Each is named by a state predicate of the modules. A module on top of the root has an invariant that
is always true and says of each predicate, once, that a state satisfies it: one search answers all.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.spec.tlc.config import ConfigError, ModelConfig
from fencepost.spec.tlc.modules import defined_operators, modules_extended
from fencepost.spec.tlc.mutants import Mutated

POSSIBLE = "Possible"
"""The module on top."""
TOLD = "ReachedStatesAreTold"
"""Its invariant."""
_REACHED = re.compile(r'<<"reached", "(\w+)">>$')
_TEXT = """---- MODULE {possible} ----
EXTENDS {root}, TLC
ASSUME TLCSet(1, {{}})
Tell(name, is_so) ==
    \\/ name \\in TLCGet(1)
    \\/ ~is_so
    \\/ PrintT(<<"reached", name>>) /\\ TLCSet(1, TLCGet(1) \\cup {{name}})
{told} ==
{claims}
====
"""


def telling(config: ModelConfig) -> ModelConfig:
    """The configuration with the invariant that says what is reached."""
    return replace(config, reports=(TOLD,))


def on_top_of(mutated: Mutated, predicates: Sequence[str]) -> Mutated:
    """The same with the module on top that says which states are reached."""
    claims = "\n".join(f'    /\\ Tell("{name}", {name})' for name in predicates)
    text = _TEXT.format(possible=POSSIBLE, root=mutated.root, told=TOLD, claims=claims)
    texts = {**mutated.texts, f"{POSSIBLE}.tla": text}
    return replace(mutated, root=POSSIBLE, texts=texts)


def check_predicates(predicates: Iterable[str], module: Path) -> None:
    """Raise `ConfigError` for a predicate that no module defines, itself or by extension."""
    known = frozenset().union(*(defined_operators(path) for path in modules_extended(module)))
    if unknown := sorted(set(predicates) - known):
        raise ConfigError(f"module {module.stem} defines no {unknown[0]} to be reached")


def unreached(printed: Iterable[str], predicates: Sequence[str]) -> tuple[str, ...]:
    """Those of which TLC has not said that they are reached."""
    reached = {found[1] for found in map(_REACHED.match, printed) if found}
    return tuple(name for name in predicates if name not in reached)
