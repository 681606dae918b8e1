"""From the results of a run of the suite to `report.html`, `junit.xml` and badges beside it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from fencepost.conformance.suite.claims import (
    claim_of,
    failures,
    records_of,
    requirement_verdicts_of,
)
from fencepost.conformance.suite.library import all_cases, requirements
from fencepost.conformance.suite.records import CaseEnd, SuiteRun
from fencepost.conformance.verdict import Verdict, worst
from fencepost.reports.page.page import html_of
from fencepost.reports.page.views import Broken, Figure
from fencepost.reports.page.words import anchor, count, listing, seconds
from fencepost.reports.suite.implementations import fact_groups
from fencepost.reports.suite.stories import broken_case
from fencepost.reports.suite.views import (
    CellRow,
    MatrixCell,
    Shortfall,
    SuitePage,
    TargetRow,
)

REPORT = "report.html"
STORIES_MAX = 12
"""Violations that are drawn; the others are told in a sentence."""


def write_page(run: SuiteRun) -> Path:
    """Write `report.html` in the folder of the run; the same results give the same bytes."""
    target = run.folder / REPORT
    text = html_of("conformance.html.j2", suite_page(run))
    target.write_text(text, encoding="utf-8", newline="\n")
    return target


def suite_page(run: SuiteRun) -> SuitePage:
    """All that the page shows."""
    told = dict(_stories(run))
    rest = [end for end in failures(run) if _key(end) not in told]
    anchors = {key: story.anchor for key, story in told.items()}
    shortfalls = tuple(_shortfall(end) for end in rest)
    anchors |= {_key(end): one.anchor for end, one in zip(rest, shortfalls, strict=True)}
    targets = tuple(_target(run, name) for name in run.header.targets)
    return SuitePage(
        verdict=worst(run.verdicts),
        headline=_headline(run, targets),
        subline=_subline(run),
        figures=tuple(_figures(run)),
        doubts=run.doubts,
        targets=targets,
        broken=tuple(told.values()),
        shortfalls=shortfalls,
        requirements=tuple(_requirement_rows(run, anchors)),
        cases=tuple(_case_rows(run, anchors)),
        facts=fact_groups(run),
        header=run.header,
    )


_Key = tuple[str, str]


def _key(end: CaseEnd) -> _Key:
    return end.target, end.case


def _stories(run: SuiteRun) -> Iterator[tuple[_Key, Broken]]:
    violated = [end for end in failures(run) if end.violated and end.folder]
    for number, end in enumerate(violated[:STORIES_MAX]):
        if (story := broken_case(run, end, number)) is not None:
            yield _key(end), story


def _shortfall(end: CaseEnd) -> Shortfall:
    return Shortfall(
        anchor=anchor("case", end.target, end.case),
        title=f"{end.target} · {end.case}",
        verdict=end.verdict,
        message=end.message,
        again=end.again,
    )


def _headline(run: SuiteRun, targets: Sequence[TargetRow]) -> str:
    """One sentence: the worst that was found, else the claims."""
    first = next(iter(failures(run)), None)
    if first is not None and first.verdict is Verdict.FAIL:
        return f"{first.target} fails {first.case}: {first.message}"
    met = [row.name for row in targets if row.claim.is_met]
    if met and len(met) == len(targets):
        verb = "conforms" if len(met) == 1 else "conform"
        return f"{listing(met)} {verb} to {run.header.profile}"
    return next(row.claim.sentence for row in targets if not row.claim.is_met)


def _subline(run: SuiteRun) -> str:
    header = run.header
    what = f"profile {header.profile}" if header.profile else "selected cases"
    parts = [what, *(f"select {one}" for one in header.select), *(f"skip {s}" for s in header.skip)]
    return f"{' · '.join(parts)} · begun {header.started} · Fencepost {header.version}"


def _figures(run: SuiteRun) -> Iterator[Figure]:
    yield Figure(value=f"{len(run.header.targets)}", label="targets")
    yield Figure(value=f"{len(run.header.cases)}", label="cases on each")
    yield Figure(value=f"{len({r.requirement for r in run.requirements})}", label="requirements")
    for verdict in (Verdict.PASS, Verdict.FAIL):
        yield Figure(value=f"{run.verdicts.count(verdict)}", label=f"cases {verdict}")
    others = [v for v in run.verdicts if v not in (Verdict.PASS, Verdict.FAIL)]
    yield Figure(value=f"{len(others)}", label="cases without a decision")
    yield Figure(value=seconds(sum(end.seconds for end in run.ends)), label="played")


def _target(run: SuiteRun, name: str) -> TargetRow:
    claim = claim_of(run, name)
    found = [run.verdict_of(name, case) for case in run.header.cases]
    return TargetRow(
        name=name,
        verdict=worst(found),
        claim=claim,
        seconds=seconds(sum(end.seconds for end in run.ends if end.target == name)),
    )


def _requirement_rows(run: SuiteRun, anchors: dict[_Key, str]) -> Iterator[CellRow]:
    catalogue = requirements()
    verdicts = {target: requirement_verdicts_of(run, target) for target in run.header.targets}
    for name in sorted({one.requirement for one in run.requirements}):
        known = catalogue.get(name)
        cells = []
        for target in run.header.targets:
            verdict = verdicts[target].get(name, Verdict.NOT_RUN)
            records = records_of(run, target, name)
            passed = sum(one.verdict is Verdict.PASS for one in records)
            decided = sum(one.premise_count for one in records)
            told = f"{passed} of {count(len(records), 'case')}"
            told += f", {decided:,} decided" if decided else ""
            guilty = next((one for one in records if one.verdict is verdict), None)
            anchor = anchors.get((target, guilty.case), "") if guilty else ""
            cells.append(MatrixCell(verdict=verdict, told=told, anchor=anchor))
        yield CellRow(
            name=name,
            title=known.title if known else "",
            detail=known.statement if known else "",
            cells=tuple(cells),
        )


def _case_rows(run: SuiteRun, anchors: dict[_Key, str]) -> Iterator[CellRow]:
    says = {case.case_id: case.story.says for case in all_cases()}
    for case in run.header.cases:
        cells = []
        for target in run.header.targets:
            end = run.end_of(target, case)
            told = seconds(end.seconds) if end and end.folder else ""
            told += f", {len(end.tries)} tries" if end and end.tries else ""
            anchor = anchors.get((target, case), "")
            verdict = run.verdict_of(target, case)
            cells.append(MatrixCell(verdict=verdict, told=told, anchor=anchor))
        yield CellRow(name=case, title=says.get(case, ""), detail="", cells=tuple(cells))
