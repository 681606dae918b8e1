"""`summary.md`: how a run ended, for the page on which a build server shows a job."""

import os
from collections.abc import Sequence
from pathlib import Path

from fencepost.ci.exit_codes import MEANINGS
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.gate.places import require_file
from fencepost.ci.gate.verdict_files import RunHead, StageRecord, overall
from fencepost.ci.results.cases import SKIPPED, Case, CaseGroup, groups_of
from fencepost.conformance.verdict import SHOWN, Verdict, exit_code
from fencepost.reports.page.words import count, seconds

VARIABLE = "GITHUB_STEP_SUMMARY"
"""GitHub names a file there, to which steps append."""
BROKEN_MAX = 20
"""So many are told; a server cuts a page that is too long, and the files have them all."""
SENTENCE_MAX = 300
SIGNS = {Verdict.PASS: "✅", Verdict.FAIL: "❌", Verdict.ERROR: "❗"}


def require_summary(given: Path | None, *, is_left: bool = True) -> None:
    """Raise `UsageError` for a file that cannot be written, or that nothing would be written to."""
    if given is None:
        return
    if not is_left:
        raise UsageError("--summary tells of stories that are played; leave it out here")
    require_file(given, "--summary")


def leave_summary(
    given: Path | None, head: RunHead, records: Sequence[StageRecord], code: int | None = None
) -> None:
    """The summary is in `given`, and at the end of the file that the build server names."""
    text = summary_of(head, records, code)
    if given is not None:
        given.write_text(text, encoding="utf-8")
    if named := os.environ.get(VARIABLE):
        try:
            with Path(named).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            told = f"{VARIABLE} names {named}, which cannot be written: {error.strerror}"
            raise UsageError(f"{told}; unset it, or name a file") from error


def summary_of(head: RunHead, records: Sequence[StageRecord], code: int | None = None) -> str:
    """Verdict, stages, and what broke, each with the command that shows it; Markdown."""
    ended = exit_code(record.verdict for record in records) if code is None else code
    verdict, groups = overall(records), groups_of(records)
    of = f" of `{_code(head.target)}`" if head.target else ""
    share = f", share {head.shard}" if head.shard else ""
    tier = f", tier {head.tier}" if head.tier else ""
    lines = [
        f"## {_sign(verdict)} Fencepost {head.command}{of}: {verdict}",
        "",
        f"Exit code {ended}: {MEANINGS[ended]}. Level {head.level}, seed {head.seed}{tier}{share}.",
        "",
        "| stage | verdict | cases | time | found |",
        "|---|---|---|---|---|",
        *(_row(group, record) for group, record in zip(groups, records, strict=True)),
        "",
        *_broken(groups),
        f"Again: `{_code(head.reproduce)}`",
        "",
    ]
    return "\n".join(lines)


def _row(group: CaseGroup, record: StageRecord) -> str:
    fine = sum(case.verdict in SHOWN for case in group.cases)
    owed = sum(not case.is_skipped for case in group.cases)
    verdict = f"{_sign(record.verdict)} {record.verdict}"
    cells = (group.name, verdict, f"{fine} of {owed}", seconds(group.seconds), record.summary)
    return "| " + " | ".join(_text(cell) for cell in cells) + " |"


def _broken(groups: Sequence[CaseGroup]) -> list[str]:
    found = [(group.name, case) for group in groups for case in group.cases if case.is_broken]
    if not found:
        return []
    lines = ["### What broke", ""]
    lines += [line for name, case in found[:BROKEN_MAX] for line in _told(name, case)]
    if (more := len(found) - BROKEN_MAX) > 0:
        lines.append(f"- and {count(more, 'more case')}: see `junit.xml`")
    return [*lines, ""]


def _told(group: str, case: Case) -> list[str]:
    sentence = f": {_text(case.message)}" if case.message else ""
    told = [f"- **{_text(group)}: {_text(case.name)}** {case.verdict}{sentence}"]
    return [*told, "", f"      {_one_line(case.again)}", ""] if case.again else told


def _sign(verdict: Verdict) -> str:
    return SIGNS.get(verdict, "⚪" if verdict in SKIPPED else "⚠️")


def _text(text: str) -> str:
    """Nothing in it is Markdown or HTML, and it fits a cell."""
    line = _one_line(text)
    line = line if len(line) <= SENTENCE_MAX else f"{line[:SENTENCE_MAX]}…"
    for character in "\\`*_[]|~#":
        line = line.replace(character, f"\\{character}")
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return _one_line(text).replace("`", "'")


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
