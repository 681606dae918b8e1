"""All that is shown of a module: its proof, that its actions can be taken, its countermodels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fencepost.spec.proofs.countermodels import Countermodel, Search
from fencepost.spec.proofs.module import ProvedModule, WrongRule
from fencepost.spec.proofs.proof import START, prove
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
    """What is shown of each module; progress counts the obligations of all."""
    totals = [obligations_of(module) for module in modules]
    found: list[ProofFindings] = []
    for place, module in enumerate(modules):
        before = sum(totals[:place])

        def advance(done: int, text: str, before: int = before) -> None:
            on_progress(before + done, sum(totals), text)

        found.append(find(module, advance))
    return tuple(found)


def obligations_of(module: ProvedModule) -> int:
    """How many a module has."""
    return len(module.clauses) * (len(module.starts) + len(module.actions))


def find(module: ProvedModule, on_progress: Callable[[int, str], None]) -> ProofFindings:
    """Prove a module, and look for what its proof must not miss."""
    search = Search(module)
    return ProofFindings(
        module=module.name,
        properties=frozenset(one.name for one in module.clauses if one.is_property),
        obligations=tuple(_judged(module, search, on_progress)),
        never_taken=tuple(one.way for one in module.actions if not search.can_be_taken(one)),
        hazards=tuple(
            ProofHazard(module=module.name, rule=rule, countermodel=search.against(rule.actions))
            for rule in module.wrong_rules
        ),
    )


def _judged(
    module: ProvedModule, search: Search, on_progress: Callable[[int, str], None]
) -> Iterator[Obligation]:
    """What is not proved is looked for in a small universe."""
    for done, one in enumerate(prove(module), 1):
        on_progress(done, f"{one.action}: {one.clause}")
        yield one if one.is_proved or one.action == START else _refuted(module, search, one)


def _refuted(module: ProvedModule, search: Search, one: Obligation) -> Obligation:
    ways = [action for action in module.actions if action.way == one.way]
    found = search.against(ways, [one.clause])
    is_refuted = found is not None and found.is_confirmed
    return replace(one, answer=ProofAnswer.COUNTERMODEL) if is_refuted else one
