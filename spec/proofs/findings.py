"""All that is shown of a module: its proof, that its actions can be taken, its countermodels."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

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
    """What is shown of each module, each in a process of its own.

    What z3 has seen before decides where it looks first: only a process that has seen nothing gives
    the same answers always. Raises `ProofError` when one ends early.
    """
    total = sum(map(count_obligations, modules))
    found: list[ProofFindings] = []
    done = 0
    for module in modules:
        obligations: list[Obligation] = []
        told: list[Any] = []
        for one in _apart(module):
            if isinstance(one, Obligation):
                done += 1
                on_progress(done, total, f"{one.action}: {one.clause}")
                obligations.append(one)
            else:
                told.append(one)
        if not told:
            raise ProofError(f"the proof of {module.name} ended early; run it again")
        found.append(_findings(module, obligations, *told[0]))
    return tuple(found)


def _apart(module: ProvedModule) -> Iterator[Any]:
    """What `_work` sends from a process of its own."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(module, sending), daemon=True)
    process.start()
    sending.close()
    try:
        while True:
            yield receiving.recv()
    except EOFError:
        return
    finally:
        process.kill()
        process.join()
        receiving.close()


def _work(module: ProvedModule, sending: Connection) -> None:
    """Send each obligation; then the refuted, the actions never taken, and the countermodels."""
    proved: list[Obligation] = []
    for one in prove(module):
        sending.send(one)
        proved.append(one)
    search = Search(module)
    refuted = [_refuted(module, search, one) for one in proved if _may_be_refuted(one)]
    never = tuple(one.way for one in module.actions if not search.can_be_taken(one))
    sending.send((refuted, never, [search.against(one.actions) for one in module.wrong_rules]))
    sending.close()


def _findings(
    module: ProvedModule,
    proved: Sequence[Obligation],
    refuted: Sequence[Obligation],
    never_taken: tuple[str, ...],
    countermodels: Sequence[Countermodel | None],
) -> ProofFindings:
    again = {(one.way, one.clause): one for one in refuted}
    claimed = (*module.implied, *module.clauses)
    return ProofFindings(
        module=module.name,
        properties=frozenset(one.name for one in claimed if one.is_property),
        obligations=tuple(again.get((one.way, one.clause), one) for one in proved),
        never_taken=never_taken,
        hazards=tuple(
            ProofHazard(module=module.name, rule=rule, countermodel=countermodel)
            for rule, countermodel in zip(module.wrong_rules, countermodels, strict=True)
        ),
    )


def _may_be_refuted(one: Obligation) -> bool:
    return not one.is_proved and one.action not in {START, ALWAYS} and one.clause != JOINT


def _refuted(module: ProvedModule, search: Search, one: Obligation) -> Obligation:
    ways = [action for action in module.actions if action.way == one.way]
    found = search.against(ways, [one.clause])
    is_refuted = found is not None and found.is_confirmed
    return replace(one, answer=ProofAnswer.COUNTERMODEL) if is_refuted else one
