"""The page of a run of the suite, its JUnit and its badges."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from fencepost.ci.commands.conform_report import write_report
from fencepost.conformance.suite.records import (
    RESULTS,
    AnyRecord,
    CaseEnd,
    CaseStart,
    Footer,
    Header,
    RequirementRecord,
    read_run,
)
from fencepost.conformance.verdict import Verdict

HEADER = Header(
    schema="fencepost-conformance/1",
    version="1",
    catalogue="c",
    targets=("reference", "kafka:3.9.1"),
    profile="core",
    select=(),
    skip=(),
    seed=None,
    started="2026-11-23T12:00:00+00:00",
    command="fencepost conform run -t reference -t kafka:3.9.1",
    cases=("isr/a", "isr/b"),
)
NASTY = "</script><b>\x01 & so"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a run in which one case of one target failed, and the last one was not reached."""
    records: list[AnyRecord] = [HEADER]
    for target, case, verdict in (
        ("reference", "isr/a", Verdict.PASS),
        ("reference", "isr/b", Verdict.PASS),
        ("kafka:3.9.1", "isr/a", Verdict.FAIL),
    ):
        records += [
            CaseStart(target=target, case=case),
            RequirementRecord(target=target, case=case, requirement="ISR-001", verdict=verdict),
            CaseEnd(target=target, case=case, verdict=verdict, message=NASTY, again="again"),
        ]
    write(tmp_path, records)
    return tmp_path


def write(folder: Path, records: Sequence[AnyRecord]) -> None:
    (folder / RESULTS).write_bytes(b"\n".join(map(msgspec.json.encode, records)) + b"\n")


def test_the_page_of_a_run_that_was_cut_off_says_so_and_claims_nothing(folder: Path) -> None:
    page = write_report(read_run(folder)).read_text()

    assert "INCOMPLETE" in page
    assert "1 of 4 cases were not played" in page
    assert "conforms to" not in page
    assert NASTY not in page
    assert "&lt;/script&gt;" in page
    assert page == write_report(read_run(folder)).read_text()


def test_every_case_is_a_row_of_junit_with_what_became_of_it(folder: Path) -> None:
    write_report(read_run(folder))

    suites = ET.parse(folder / "junit.xml").getroot()  # noqa: S314 - we wrote it
    found = {one.get("name"): one for one in suites}
    assert set(found) == {"reference", "kafka:3.9.1"}
    assert (found["reference"].get("tests"), found["reference"].get("failures")) == ("2", "0")
    failed, missing = found["kafka:3.9.1"]
    assert failed.find("failure") is not None
    assert missing.find("skipped") is not None


def test_a_badge_claims_a_profile_only_when_all_of_it_passed(folder: Path, tmp_path: Path) -> None:
    write_report(read_run(folder))
    shown = json.loads((folder / "badge-reference.json").read_text())
    assert (shown["schemaVersion"], shown["message"]) == (1, "2 pass")

    whole = msgspec.structs.replace(HEADER, targets=("reference",), cases=("isr/a",))
    target, case, verdict = "reference", "isr/a", Verdict.PASS
    passed: list[AnyRecord] = [
        RequirementRecord(target=target, case=case, verdict=verdict, requirement="ISR-001"),
        CaseEnd(target=target, case=case, verdict=verdict),
        Footer(counts={"PASS": 1}, seconds=1.0),
    ]
    write(tmp_path, [whole, *passed])
    page = write_report(read_run(tmp_path)).read_text()

    assert "reference conforms to core" in page
    assert json.loads((tmp_path / "badge.json").read_text())["message"] == "core 1"
    picture = ET.parse(tmp_path / "badge.svg").getroot()  # noqa: S314 - we wrote it
    assert picture.get("role") == "img"
