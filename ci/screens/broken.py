"""What broke, as lines for people: each says what does not hold and which command shows it again.

DESIGN section 6: every failure prints one line that reproduces it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.ci.gate.verdict_files import StageRecord
from fencepost.ci.screens.console import printable
from fencepost.conformance.verdict import Verdict

LINES_MAX = 5
"""Of one stage; its files tell the rest."""

HARMLESS = frozenset({Verdict.PASS, Verdict.DEVIATES, Verdict.NOT_OBSERVABLE, Verdict.UNSUPPORTED})
"""Verdicts that break nothing."""

Broken = tuple[str, str]
"""What does not hold, and the command that shows it; empty when only the whole does."""


def broken_lines(record: StageRecord, whole: str) -> list[str]:
    """Up to `LINES_MAX` lines of a failing stage, none of one that is fine; `whole` repeats all."""
    if record.verdict in HARMLESS:
        return []
    return lines_of(record.detail, whole) or [line_of(record.stage, record.summary, whole)]


def lines_of(detail: Mapping[str, Any], whole: str) -> list[str]:
    """What the lists of one stage say is broken, first things first, and how many lines are cut."""
    found = list(dict.fromkeys(_broken(detail)))
    lines = [line_of("", what, command or whole) for what, command in found[:LINES_MAX]]
    if more := len(found) - len(lines):
        lines.append(f"  and {more} more")
    return lines


def line_of(stage: str, what: str, command: str) -> str:
    """One line, whatever characters a trace put into the message."""
    name = f"{stage}: " if stage else ""
    return printable(f"  {name}{' '.join(what.split())} — {command}")


def _broken(detail: Mapping[str, Any]) -> Iterator[Broken]:
    for row in detail.get("models", ()):
        if not row["agrees"]:
            yield f"model {row['name']}: {row['why']}", f"fencepost check {row['name']}"
    yield from _unproved(detail)
    for row in detail.get("violations", ()):
        yield f"seed {row['seed']}: {row['invariant']}: {row['message']}", row["reproduce"]
    for row in detail.get("errors", ()):
        yield f"seed {row['seed']}: {row['message']}", row["reproduce"]
    for row in detail.get("mutants", ()):
        if not row["caught"]:
            yield f"mutant {row['mutant']}: NOT caught", row.get("reproduce", "")
    for row in detail.get("scenarios", ()):
        if Verdict(row["verdict"]) not in HARMLESS and not row.get("known"):
            yield f"scenario {row['name']}: {row['verdict']}: {row['message']}", row["reproduce"]
    yield from _not_replayed(detail)
    for row in detail.get("broken", ()):
        yield row["what"], row["reproduce"]


def _not_replayed(detail: Mapping[str, Any]) -> Iterator[Broken]:
    """What the specs did not accept, or what could not be read."""
    for row in detail.get("replays", ()):
        if row["verdict"] not in {"accepted", "not observable"}:
            run = f"{row['run']} {row['partition'] or ''}".rstrip()
            why = f": {row['why']}" if row["why"] else ""
            yield f"replay {run}: {row['verdict']}{why}", row.get("reproduce", "")


def _unproved(detail: Mapping[str, Any]) -> Iterator[Broken]:
    for row in detail.get("proofs", ()):
        if row["answer"] in {"countermodel", "unknown"}:
            what = f"{row['module']}: {row['clause']} after {row['action']}: {row['answer']}"
            yield what, f"fencepost prove --module {row['module']}"
    for row in detail.get("proof_hazards", ()):
        if not row["shown"]:
            what = f"hazard {row['hazard']}: no countermodel to the proof of {row['module']}"
            yield what, f"fencepost prove --module {row['module']}"
    for way in detail.get("never_taken", ()):
        yield f"{way}: no state allows it, so that nothing is shown of it", "fencepost prove"
