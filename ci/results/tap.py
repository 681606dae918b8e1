"""`results.tap`: TAP 14 with YAML diagnostics, one subtest per group, for any harness of tests."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import indent

import yaml

from fencepost.ci.results.cases import Case, CaseGroup

TAP = "results.tap"
STEP = "    "
"""By so much a subtest is indented."""


def write_tap(folder: Path, groups: Sequence[CaseGroup], *, doubts: Sequence[str] = ()) -> None:
    """`results.tap` holds one subtest per group; a run with doubts bails out at its end."""
    lines = ["TAP version 14", f"1..{len(groups)}"]
    for number, group in enumerate(groups, 1):
        lines.append(f"# Subtest: {_escaped(group.name)}")
        lines += [indent(line, STEP, _always) for line in _subtest(group)]
        is_fine = not any(one.is_broken for one in group.cases)
        lines.append(f"{_ok(is_fine)} {number} - {_escaped(group.name)}")
    lines += [f"Bail out! {_one_line(doubt)}" for doubt in doubts[:1]]
    (folder / TAP).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _subtest(group: CaseGroup) -> Iterator[str]:
    yield f"1..{len(group.cases)}"
    for number, case in enumerate(group.cases, 1):
        ok = _ok(not case.known and not case.is_broken)
        yield f"{ok} {number} - {_escaped(case.name)}{_directive(case)}"
        yield indent(f"---\n{_diagnostics(case)}...", "  ", _always)


def _directive(case: Case) -> str:
    """What is known not to pass is something to do, and fails no test plan."""
    if case.known:
        return f" # TODO {_one_line(case.known)}"
    return f" # SKIP {case.verdict}" if case.is_skipped else ""


def _diagnostics(case: Case) -> str:
    found = {
        "verdict": str(case.verdict),
        "message": case.message,
        "requirements": list(case.requirements),
        "again": case.again,
        "duration_ms": round(case.seconds * 1000),
    }
    told = {name: value for name, value in found.items() if value}
    return yaml.safe_dump(told, allow_unicode=True, sort_keys=False, width=1000)


def _always(_: str) -> bool:
    """Blank lines of a document are indented, too."""
    return True


def _ok(is_fine: bool) -> str:
    return "ok" if is_fine else "not ok"


def _escaped(text: str) -> str:
    return _one_line(text).replace("\\", "\\\\").replace("#", "\\#")


def _one_line(text: str) -> str:
    return " ".join(text.split())
