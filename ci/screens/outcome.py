"""How commands tell an outcome: a table, what is worth a line, and the verdict; or JSON."""

from collections.abc import Iterable, Sequence

from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.screens.console import say, say_fitted, show_json, show_table
from fencepost.conformance.verdict import exit_code

Table = tuple[str, Sequence[str], Sequence[Sequence[object]]]
"""Title, columns and rows."""


def show_outcome(
    outcome: StageOutcome, table: Table, lines: Iterable[str], *, as_json: bool, **more: object
) -> int:
    """The exit code; `more` is for machines alone."""
    if as_json:
        show_json({"verdict": outcome.verdict, **outcome.detail, **more})
        return exit_code([outcome.verdict])
    show_table(*table)
    for line in lines:
        say_fitted(line)
    say(f"{outcome.verdict}: {outcome.summary}")
    return exit_code([outcome.verdict])
