"""What a run tried, one case each: the rows of JUnit and TAP, and what two runs are compared by.

A stage is no case beside its cases. It is one where it has none, as when it crashed, and where
none of them says why it ended as it did: so nothing is counted twice, and nothing is lost.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.ci.gate.verdict_files import StageRecord
from fencepost.conformance.verdict import BY_SEVERITY, SHOWN, Verdict, worst
from fencepost.reports.page.words import count

SKIPPED = frozenset({Verdict.NOT_RUN, Verdict.UNSUPPORTED, Verdict.NOT_OBSERVABLE})
"""What JUnit calls skipped: nothing was found out, and nothing was owed."""
CANARY = "canary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of JUnit, and one line of TAP."""

    name: str
    verdict: Verdict
    seconds: float = 0.0
    message: str = ""
    """The first thing that does not hold, in one sentence."""
    again: str = ""
    """The command that shows it."""
    known: str = ""
    """Why it is known to end so, by a file of expectations; empty: it is not."""
    requirements: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    """What a case of several things is about, a line each."""

    @property
    def is_broken(self) -> bool:
        """True when a pipeline must not take it for fine."""
        return not (self.is_skipped or self.verdict in SHOWN)

    @property
    def is_skipped(self) -> bool:
        """True when nothing is owed: it was not found out, or it is known."""
        return self.verdict in SKIPPED or bool(self.known)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroup:
    """One suite of JUnit."""

    name: str
    cases: Sequence[Case]
    seconds: float
    properties: tuple[tuple[str, str], ...] = ()
    """What is told of the whole: its verdict, its figures."""


def groups_of(records: Iterable[StageRecord]) -> list[CaseGroup]:
    """One group per stage, with its verdict, sentence and figures as properties."""
    return [
        CaseGroup(
            name=record.stage,
            cases=list(cases_of(record)),
            seconds=record.seconds,
            properties=_properties(record),
        )
        for record in records
    ]


def cases_of(record: StageRecord) -> Iterator[Case]:
    """The cases of one stage, and the stage itself where they do not explain it."""
    cases = [] if record.stage == CANARY else list(_parts(record.detail))
    yield from cases
    told = worst(case.verdict for case in cases if not case.known)
    if not cases or BY_SEVERITY.index(record.verdict) < BY_SEVERITY.index(told):
        yield Case(
            name=record.stage,
            verdict=record.verdict,
            seconds=0.0 if cases else record.seconds,
            message=record.summary,
            again=_first_command(record.detail),
        )


def _parts(detail: dict[str, Any]) -> Iterator[Case]:
    for entry in detail.get("models", ()):
        yield _model(entry)
    for entry in detail.get("trials", ()):
        yield _trial(entry)
    yield from _proofs(detail)
    for entry in detail.get("checks", ()):
        yield _named(f"check {_at_level(entry)}", entry)
    yield from _families(detail.get("mutants", ()))
    for entry in detail.get("scenarios", ()):
        yield _named(f"scenario {entry['name']}", entry)
    for entry in detail.get("replays", ()):
        yield _replay(entry)
    for entry in detail.get("parts", ()):
        yield _named(entry["name"], entry)


def _model(entry: dict[str, Any]) -> Case:
    undecided = {"not_exhausted": Verdict.INCONCLUSIVE, "error": Verdict.ERROR}
    found = undecided.get(entry.get("verdict", ""), Verdict.FAIL)
    return Case(
        name=f"model {entry['name']}",
        verdict=Verdict.PASS if entry["agrees"] else found,
        seconds=entry["seconds"],
        message="" if entry["agrees"] else entry["why"] or "",
        again=f"fencepost check {entry['name']}",
    )


def _trial(entry: dict[str, Any]) -> Case:
    is_fine = bool(entry["as_expected"])
    return Case(
        name=f"hazard {entry['hazard']} in {entry['row']}",
        verdict=Verdict.PASS if is_fine else Verdict.FAIL,
        message="" if is_fine else f"{entry['found']} instead of {entry['expected']}",
        again=f"fencepost check --without-repairs --hazard {entry['hazard']}",
    )


def _proofs(detail: dict[str, Any]) -> Iterator[Case]:
    """One case per module: every clause of it is proved, and every hazard refutes it."""
    rows, hazards = detail.get("proofs", ()), detail.get("proof_hazards", ())
    for module in dict.fromkeys(row["module"] for row in rows):
        own = [row for row in rows if row["module"] == module]
        open_ = [row for row in own if row["answer"] in {"countermodel", "unknown"}]
        hidden = [one for one in hazards if one["module"] == module and not one["shown"]]
        told = [f"{row['clause']} after {row['action']}: {row['answer']}" for row in open_]
        told += [f"hazard {one['hazard']}: no countermodel" for one in hidden]
        yield Case(
            name=f"proof {module}",
            verdict=_proof_verdict(open_, is_hidden=bool(hidden)),
            seconds=sum(row["seconds"] for row in own),
            message=_first_of(told),
            again=f"fencepost prove --module {module}",
        )


def _proof_verdict(open_rows: Sequence[dict[str, Any]], *, is_hidden: bool) -> Verdict:
    if any(row["answer"] == "countermodel" for row in open_rows):
        return Verdict.FAIL
    if open_rows:
        return Verdict.INCONCLUSIVE
    return Verdict.VACUOUS if is_hidden else Verdict.PASS


def _families(mutants: Sequence[dict[str, Any]]) -> Iterator[Case]:
    """One case per family of mutants: each member must be caught."""
    families = dict.fromkeys(entry.get("family", "") for entry in mutants)
    for family in sorted(families):
        own = [entry for entry in mutants if entry.get("family", "") == family]
        alive = [entry for entry in own if not entry["caught"]]
        again = (alive or own)[0].get("reproduce", "")
        yield Case(
            name=f"mutants of {family}" if family else "mutants",
            verdict=Verdict.FAIL if alive else Verdict.PASS,
            message=_first_of([_fate(entry) for entry in alive]),
            again=again if alive else "",
            members=tuple(map(_fate, own)),
        )


def _fate(entry: dict[str, Any]) -> str:
    if not entry["caught"]:
        return f"{entry['mutant']}: not caught within {count(entry['seeds_tried'], 'seed')}"
    judges = ", ".join(entry.get("caught_by") or ()) or "a check"
    return f"{entry['mutant']}: caught by {judges}"


def _replay(entry: dict[str, Any]) -> Case:
    verdicts = {
        "accepted": Verdict.PASS,
        "unreadable": Verdict.ERROR,
        "not observable": Verdict.NOT_OBSERVABLE,
    }
    verdict = verdicts.get(str(entry["verdict"]), Verdict.FAIL)
    return Case(
        name=f"replay {entry['run']} {entry['partition'] or ''}".rstrip(),
        verdict=verdict,
        message="" if verdict is Verdict.PASS else entry["why"] or "",
        again=entry.get("reproduce") or "",
    )


def _named(name: str, entry: dict[str, Any]) -> Case:
    return Case(
        name=name,
        verdict=Verdict(entry["verdict"]),
        seconds=float(entry.get("seconds", 0.0)),
        message=entry.get("message") or "",
        again=entry.get("reproduce") or "",
        known=entry.get("known") or "",
    )


def _at_level(entry: dict[str, Any]) -> str:
    level = entry.get("level")
    return entry["name"] if level is None else f"{entry['name']} at level {level}"


def _first_of(sentences: Sequence[str]) -> str:
    more = len(sentences) - 1
    return "".join(sentences[:1]) + (f" (and {more} more)" if more > 0 else "")


def _first_command(detail: dict[str, Any]) -> str:
    """The command of the first thing that is told to be broken; empty without one."""
    rows = [*detail.get("errors", ()), *detail.get("broken", ()), *detail.get("scenarios", ())]
    return next((row["reproduce"] for row in rows if row.get("reproduce")), "")


def _properties(record: StageRecord) -> tuple[tuple[str, str], ...]:
    figures = ((name, str(value)) for name, value in sorted(record.figures.items()))
    return (("verdict", str(record.verdict)), ("summary", record.summary), *figures)
