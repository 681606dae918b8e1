"""What was found of a module before, found again by the content of what was proved.

An entry is under a hash of everything that it follows from: the text of the proofs, whatever else
states a guard or a claim of the module, and z3. What is not decided is never kept.
"""

import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import z3

from fencepost.spec.proofs import solver
from fencepost.spec.proofs.countermodels import Countermodel
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.proofs.solver import Obligation, ProofAnswer
from fencepost.spec.tlc.cache.entries import find_entry, hash_of, keep_entry

KIND = "proofs"
FOLDER = Path(__file__).parent


class KeptFinding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was found of a module."""

    obligations: tuple[Obligation, ...]
    never_taken: tuple[str, ...]
    countermodels: tuple[Countermodel | None, ...]
    """In the order of the wrong rules."""


def find(module: ProvedModule) -> KeptFinding | None:
    """What was found of the same module; None when nothing was, or what is there is not whole."""
    if (content := find_entry(KIND, key_of(module))) is None:
        return None
    try:
        return msgspec.json.decode(content, type=KeptFinding)
    except msgspec.DecodeError:
        return None


def keep(module: ProvedModule, found: KeptFinding) -> None:
    """Keep a finding in which all is decided."""
    if all(one.answer is not ProofAnswer.UNKNOWN for one in found.obligations):
        keep_entry(KIND, key_of(module), msgspec.json.encode(found))


def key_of(module: ProvedModule) -> str:
    """The hash of all that a finding follows from, in hexadecimal."""
    parts = list(functions_of(module))
    told = [f"{one.__module__}.{one.__qualname__}" for one in parts]
    paths = {Path(sys.modules[one.__module__].__file__ or "") for one in parts}
    texts = [path.read_bytes() for path in sorted({*paths, *FOLDER.rglob("*.py")})]
    with_what = (z3.get_full_version(), platform.python_version(), str(solver.STEPS_MAX))
    words = (module.name, *with_what, *told, *names_in(module))
    return hash_of(*map(str.encode, words), *texts)


def names_in(module: ProvedModule) -> Iterator[str]:
    """What is told of a module by name alone."""
    yield from (one.name for one in (*module.whole, *module.claimed))
    for rule in module.wrong_rules:
        yield from (rule.name, rule.breaks, str(rule.size))


def functions_of(module: ProvedModule) -> Iterator[Callable[..., Any]]:
    """Whatever states a guard, a next state or a claim of a module, or what matters to it."""
    rules = [action for rule in module.wrong_rules for action in rule.actions]
    yield from module.starts
    yield from (one.step for one in (*module.actions, *rules))
    clauses = (*module.whole, *module.claimed, *module.given, *module.lemmas.values())
    yield from (one.claim for one in clauses)
    yield from module.joints.values()
    yield from (module.is_small, module.define, module.terms, module.anchors, module.counts)
