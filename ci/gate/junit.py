"""`junit.xml`: one test case per model, scenario, check and mutant, for any build server."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from fencepost.ci.gate.verdict_files import StageRecord
from fencepost.conformance.verdict import SHOWN, Verdict
from fencepost.reports.page.words import count

JUNIT = "junit.xml"

SKIPPED = frozenset({Verdict.NOT_RUN, Verdict.UNSUPPORTED, Verdict.NOT_OBSERVABLE})
"""What JUnit calls skipped: nothing was found out, and nothing was owed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of JUnit, and one line of TAP."""

    name: str
    verdict: Verdict
    seconds: float = 0.0
    message: str = ""
    again: str = ""
    """The command that runs it again."""
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroup:
    """One suite of JUnit."""

    name: str
    cases: Sequence[Case]
    seconds: float


def write_junit(folder: Path, records: Sequence[StageRecord]) -> None:
    """`junit.xml` holds one suite per stage; a failure names what broke and how to see it again."""
    groups = [
        CaseGroup(name=record.stage, cases=list(cases_of(record)), seconds=record.seconds)
        for record in records
    ]
    write_groups(folder, groups)


def write_groups(folder: Path, groups: Sequence[CaseGroup]) -> None:
    """`junit.xml` holds one suite per group."""
    suites = ET.Element("testsuites", name="fencepost")
    for group in groups:
        _add_suite(suites, group)
    ET.indent(suites)
    path = folder / JUNIT
    fresh = path.with_suffix(".part")
    ET.ElementTree(suites).write(fresh, encoding="utf-8", xml_declaration=True)
    fresh.replace(path)


def cases_of(record: StageRecord) -> Iterator[Case]:
    """The cases of one stage; the stage itself is the first of them."""
    yield Case(
        name=record.stage,
        verdict=record.verdict,
        seconds=record.seconds,
        message=record.summary,
    )
    for entry in record.detail.get("models", ()):
        yield _model(entry)
    for entry in record.detail.get("mutants", ()):
        yield _mutant(entry)
    for entry in record.detail.get("scenarios", ()):
        yield _named("scenario", entry)
    for entry in record.detail.get("checks", ()):
        yield _named("check", entry)


def _model(entry: dict[str, Any]) -> Case:
    return Case(
        name=f"model {entry['name']}",
        verdict=Verdict.PASS if entry["agrees"] else Verdict.FAIL,
        seconds=entry["seconds"],
        message=entry["why"] or "",
    )


def _mutant(entry: dict[str, Any]) -> Case:
    caught = bool(entry["caught"])
    return Case(
        name=f"mutant {entry['mutant']}",
        verdict=Verdict.PASS if caught else Verdict.FAIL,
        message="" if caught else f"not caught within {count(entry['seeds_tried'], 'seed')}",
    )


def _named(kind: str, entry: dict[str, Any]) -> Case:
    return Case(
        name=f"{kind} {entry['name']}",
        verdict=Verdict(entry["verdict"]),
        seconds=float(entry.get("seconds", 0.0)),
        message=entry.get("message") or "",
        again=entry.get("reproduce") or "",
    )


def _add_suite(suites: ET.Element, group: CaseGroup) -> None:
    suite = ET.SubElement(suites, "testsuite", name=group.name)
    counts = {"failure": 0, "error": 0, "skipped": 0}
    for case in group.cases:
        element = ET.SubElement(
            suite,
            "testcase",
            classname=f"fencepost.{group.name}",
            name=case.name,
            time=f"{case.seconds:.1f}",
        )
        if case.requirements:
            told = ", ".join(case.requirements)
            properties = ET.SubElement(element, "properties")
            ET.SubElement(properties, "property", name="requirements", value=told)
        message = " | ".join(part for part in (case.message, case.again) if part)
        if tag := _tag(case.verdict):
            counts[tag] += 1
            ET.SubElement(element, tag, message=f"{case.verdict}: {_printable(message)}")
    suite.set("tests", str(len(group.cases)))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))
    suite.set("time", f"{group.seconds:.1f}")


def _tag(verdict: Verdict) -> str | None:
    if verdict in SHOWN:
        return None
    if verdict is Verdict.ERROR:
        return "error"
    return "skipped" if verdict in SKIPPED else "failure"


def _printable(text: str) -> str:
    """XML 1.0 has no way to write most control characters, not even escaped."""
    return "".join(c if c in "\t\n" or c >= " " else "?" for c in text)
