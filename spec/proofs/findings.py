"""All that is shown of a module: its proof, that its actions can be taken, its countermodels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.spec.proofs import kept
from fencepost.spec.proofs.countermodels import Countermodel
from fencepost.spec.proofs.module import ProvedModule, WrongRule
from fencepost.spec.proofs.proof import count_obligations
from fencepost.spec.proofs.shares import countermodels, find_shares, judged, never_taken, shares_of
from fencepost.spec.proofs.solver import Obligation

OnProgress = Callable[[int, int, str], None]


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
    is_cached: bool = False
    """Found by an earlier run of the same proof."""


def find_all(
    modules: Sequence[ProvedModule],
    on_progress: OnProgress,
    *,
    jobs: int = 1,
    use_cache: bool = True,
) -> tuple[ProofFindings, ...]:
    """What is shown of each module, from so many processes at a time, or from an earlier run.

    What is decided is kept. Raises `ProofError` when a process ends early.
    """
    known = {
        module.name: finding
        for module in modules
        if use_cache and (finding := kept.find(module)) is not None
    }
    asked = [module for module in modules if module.name not in known]
    for module, finding in _found(asked, on_progress, jobs):
        known[module.name] = finding
        if use_cache:
            kept.keep(module, finding)
    return tuple(
        _findings(module, known[module.name], is_cached=module not in asked) for module in modules
    )


def _found(
    modules: Sequence[ProvedModule], on_progress: OnProgress, jobs: int
) -> Iterator[tuple[ProvedModule, kept.KeptFinding]]:
    """What the shares of all modules find, put together."""
    total = sum(map(count_obligations, modules))
    done = 0

    def told(one: object) -> None:
        nonlocal done
        if isinstance(one, Obligation):
            done += 1
            on_progress(done, total, f"{one.action}: {one.clause}")

    shares = [share for module in modules for share in shares_of(module)]
    found = find_shares(shares, jobs, told)
    pairs = list(zip(shares, found, strict=True))
    for module in modules:

        def all_of(work: Callable[..., Any], name: str = module.name) -> Iterator[Any]:
            for share, ones in pairs:
                if share.module.name == name and share.work is work:
                    yield from ones

        yield (
            module,
            kept.KeptFinding(
                obligations=tuple(all_of(judged)),
                never_taken=tuple(all_of(never_taken)),
                countermodels=tuple(all_of(countermodels)),
            ),
        )


def _findings(module: ProvedModule, found: kept.KeptFinding, *, is_cached: bool) -> ProofFindings:
    return ProofFindings(
        module=module.name,
        properties=frozenset(one.name for one in module.claimed if one.is_property),
        obligations=found.obligations,
        never_taken=found.never_taken,
        hazards=tuple(
            ProofHazard(module=module.name, rule=rule, countermodel=countermodel)
            for rule, countermodel in zip(module.wrong_rules, found.countermodels, strict=True)
        ),
        is_cached=is_cached,
    )
