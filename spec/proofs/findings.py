"""All that is shown of a module: its proof, that its actions can be taken, its countermodels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from fencepost.spec.proofs.countermodels import Countermodel, Search
from fencepost.spec.proofs.module import ProvedModule, WrongRule
from fencepost.spec.proofs.proof import ALWAYS, JOINT, START, count_obligations, prove
from fencepost.spec.proofs.solver import Obligation, ProofAnswer

OnProgress = Callable[[int, int, str], None]


class ProofError(ValueError):
    """What cannot be proved, for it does not exist; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofHazard:
    """A wrong rule, and the countermodel that it must have."""

    module: str
    rule: WrongRule
    countermodel: Countermodel | None

    @property
    def is_shown(self) -> bool:
        """Whether the proof fails with the wrong rule, as it should."""
        return self.countermodel is not None and self.countermodel.is_confirmed


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofFindings:
    """What came of one module."""

    module: str
    properties: frozenset[str]
    """The clauses that are properties of the specs; the others are needed for their proof."""
    obligations: tuple[Obligation, ...]
    never_taken: tuple[str, ...]
    """Ways to take an action that no state allows: of these the proof says nothing."""
    hazards: tuple[ProofHazard, ...]


def select(modules: Iterable[ProvedModule], names: Iterable[str]) -> tuple[ProvedModule, ...]:
    """The named modules, or all; raises `ProofError` for a name that none has."""
    by_name = {module.name: module for module in modules}
    wanted = tuple(dict.fromkeys(names)) or tuple(by_name)
    for name in wanted:
        if name not in by_name:
            known = ", ".join(by_name)
            raise ProofError(f"no proof is of a module {name!r}; there are those of {known}")
    return tuple(by_name[name] for name in wanted)


def find_all(modules: Sequence[ProvedModule], on_progress: OnProgress) -> tuple[ProofFindings, ...]:
    """What is shown of each module.

    All is proved before anything is searched: what z3 has seen before decides where it looks first,
    and proofs of logs are easily led astray.
    """
    total = sum(map(count_obligations, modules))
    proved: list[list[Obligation]] = []
    done = 0
    for module in modules:
        proved.append([])
        for one in prove(module):
            done += 1
            on_progress(done, total, f"{one.action}: {one.clause}")
            proved[-1].append(one)
    return tuple(map(_searched, modules, proved))


def _searched(module: ProvedModule, proved: Sequence[Obligation]) -> ProofFindings:
    """Look for what is not proved, and for what the proof must not miss, in a small universe."""
    search = Search(module)
    return ProofFindings(
        module=module.name,
        properties=frozenset(
            one.name for one in (*module.implied, *module.clauses) if one.is_property
        ),
        obligations=tuple(
            _refuted(module, search, one) if _may_be_refuted(one) else one for one in proved
        ),
        never_taken=tuple(one.way for one in module.actions if not search.can_be_taken(one)),
        hazards=tuple(
            ProofHazard(module=module.name, rule=rule, countermodel=search.against(rule.actions))
            for rule in module.wrong_rules
        ),
    )


def _may_be_refuted(one: Obligation) -> bool:
    return not one.is_proved and one.action not in {START, ALWAYS} and one.clause != JOINT


def _refuted(module: ProvedModule, search: Search, one: Obligation) -> Obligation:
    ways = [action for action in module.actions if action.way == one.way]
    found = search.against(ways, [one.clause])
    is_refuted = found is not None and found.is_confirmed
    return replace(one, answer=ProofAnswer.COUNTERMODEL) if is_refuted else one
