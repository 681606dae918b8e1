"""`junit.xml`: one test case per case of a run, for any build server."""

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from fencepost.ci.results.cases import Case, CaseGroup
from fencepost.conformance.verdict import Verdict

JUNIT = "junit.xml"
TAGS = ("failure", "error", "skipped")
NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, not even escaped: most control characters, for one."""


def write_junit(folder: Path, groups: Sequence[CaseGroup]) -> None:
    """`junit.xml` holds one suite per group; a failure names what broke and how to see it again."""
    suites = ET.Element("testsuites", name="fencepost")
    for group in groups:
        _add_suite(suites, group)
    _count(suites, [case for group in groups for case in group.cases])
    suites.set("time", f"{sum(group.seconds for group in groups):.1f}")
    ET.indent(suites)
    path = folder / JUNIT
    fresh = path.with_suffix(".part")
    ET.ElementTree(suites).write(fresh, encoding="utf-8", xml_declaration=True)
    fresh.replace(path)


def _add_suite(suites: ET.Element, group: CaseGroup) -> None:
    suite = ET.SubElement(suites, "testsuite", name=_printable(group.name))
    _count(suite, group.cases)
    suite.set("time", f"{group.seconds:.1f}")
    _add_properties(suite, group.properties)
    for case in group.cases:
        _add_case(suite, group.name, case)


def _add_case(suite: ET.Element, group: str, case: Case) -> None:
    element = ET.SubElement(
        suite,
        "testcase",
        classname=f"fencepost.{_printable(group)}",
        name=_printable(case.name),
        time=f"{case.seconds:.1f}",
    )
    requirements = ", ".join(case.requirements)
    _add_properties(element, (("requirements", requirements),) if requirements else ())
    again = f"again: {case.again}" if case.again else ""
    if tag := _tag(case):
        message = _printable(f"{case.verdict}: {case.message}")
        found = ET.SubElement(element, tag, message=message, type=str(case.verdict))
        lines = (case.message, again)
        found.text = _printable("\n".join(line for line in lines if line)) or None
    if case.members:
        ET.SubElement(element, "system-out").text = _printable("\n".join(case.members))


def _add_properties(element: ET.Element, pairs: Sequence[tuple[str, str]]) -> None:
    if not pairs:
        return
    properties = ET.SubElement(element, "properties")
    for name, value in pairs:
        ET.SubElement(properties, "property", name=_printable(name), value=_printable(value))


def _count(element: ET.Element, cases: Sequence[Case]) -> None:
    tags = [_tag(case) for case in cases]
    element.set("tests", str(len(cases)))
    for tag, counted in zip(TAGS, ("failures", "errors", "skipped"), strict=True):
        element.set(counted, str(tags.count(tag)))


def _tag(case: Case) -> str | None:
    if case.is_skipped:
        return "skipped"
    if not case.is_broken:
        return None
    return "error" if case.verdict is Verdict.ERROR else "failure"


def _printable(text: str) -> str:
    return NO_XML.sub("?", text)
