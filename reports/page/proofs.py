"""The tables of proofs: invariant by action, and the wrong rules that must break them."""

from dataclasses import dataclass

from fencepost.reports.analysis.stages import Detail, ProofHazardRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofLine:
    """A clause, and the answer after each action."""

    clause: str
    is_property: bool
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofTable:
    """What is proved of one module."""

    module: str
    actions: tuple[str, ...]
    lines: tuple[ProofLine, ...]
    hazards: tuple[ProofHazardRow, ...]


def proof_tables(detail: Detail) -> tuple[ProofTable, ...]:
    """One table for each module, in the order in which they were proved."""
    modules = dict.fromkeys(row.module for row in detail.proofs)
    return tuple(_table(detail, module) for module in modules)


def _table(detail: Detail, module: str) -> ProofTable:
    rows = [row for row in detail.proofs if row.module == module]
    actions = tuple(dict.fromkeys(row.action for row in rows))
    clauses = {row.clause: row.is_property for row in rows}
    answers = {(row.clause, row.action): row.answer for row in rows}
    lines = tuple(
        ProofLine(
            clause=clause,
            is_property=is_property,
            answers=tuple(answers.get((clause, action), "not tried") for action in actions),
        )
        for clause, is_property in clauses.items()
    )
    hazards = tuple(row for row in detail.proof_hazards if row.module == module)
    return ProofTable(module=module, actions=actions, lines=lines, hazards=hazards)
