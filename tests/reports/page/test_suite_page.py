"""The page of a run of the suite, its JUnit, its TAP and its badges."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import jsonschema
import msgspec
import pytest
import yaml

from fencepost.ci.commands.conform_report import write_report
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.conformance.suite.records import (
    RESULTS,
    SCHEMA_FILE,
    AnyRecord,
    CaseEnd,
    CaseStart,
    Footer,
    Header,
    RequirementRecord,
    TargetRecord,
    read_run,
)
from fencepost.conformance.verdict import Verdict
from fencepost.reports.suite.implementations import fact_groups
from tests.conformance.toy import Toy

ROOT = Path(__file__).resolve().parents[3]
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
    cut_off_run(tmp_path)
    return tmp_path


def cut_off_run(folder: Path) -> None:
    """One case of one target failed, and the last one was not reached."""
    records: list[AnyRecord] = [HEADER, TargetRecord.of("reference", REFERENCE)]
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
    write(folder, records)


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


def test_the_matrix_of_implementations_has_names_that_stay(folder: Path) -> None:
    page = write_report(read_run(folder)).read_text()
    ids = re.findall(r'\bid="([^"]+)"', page)

    assert len(ids) == len(set(ids))
    assert {"requirement-ISR-001", "case-isr/a", "case-kafka~3a~3.9.1-isr/a"} <= set(ids)
    row = page.partition('id="requirement-ISR-001"')[2].partition("</tr>")[0]
    assert re.findall(r'data-label="([^"]+)"', row) == ["reference", "kafka:3.9.1"]
    targets = re.findall(r'<a class="cell" href="#([^"]+)"', page)
    assert targets
    assert {unquote(target) for target in targets} <= set(ids)


def test_what_each_target_declares_is_a_column_of_one_table(folder: Path) -> None:
    write_report(read_run(folder))
    page = (folder / "report.html").read_text()
    row = re.search(r'<th scope="row">roles</th>(.*?)</tr>', page)
    assert row is not None
    assert re.findall(r'<td data-label="([^"]+)">([^<]+)</td>', row[1]) == [
        ("reference", "exact"),
        ("kafka:3.9.1", "not begun"),
    ]

    found = msgspec.structs.replace(HEADER, targets=("reference", "toy", "broken"))
    records = [
        TargetRecord.of("reference", REFERENCE),
        TargetRecord.of("toy", Toy()),
        TargetRecord.of("broken", replace(Toy(), broken_rule="acks", names_incarnations=False)),
    ]
    write(folder, [found, *records])

    groups = {group.title: group.rows for group in fact_groups(read_run(folder))}
    told = {row.name: row.cells for rows in groups.values() for row in rows}
    assert told["zookeeper"] == ("yes", "—", "—")
    assert told["znodes"] == ("as spec", *["its state is in no ZooKeeper"] * 2)
    assert told["roles"] == ("exact", "none", "none")
    assert told["LogMatching"] == ("decided", *["needs appends exact or disk (here none)"] * 2)
    assert told["differs"][:2] == ("—", "—")
    assert told["differs"][2].endswith("are about; it breaks acks on purpose")
    assert told["a produce appended nothing after"][0].startswith("any error of the spec but DUP")


def test_a_run_of_which_no_target_was_begun_has_no_such_table(folder: Path) -> None:
    write(folder, [HEADER])

    assert fact_groups(read_run(folder)) == ()
    assert "Implementations" not in write_report(read_run(folder)).read_text()


@dataclass(frozen=True)
class TapLine:
    """One test of TAP, with its diagnostics."""

    is_ok: bool
    name: str
    directive: str
    found: dict[str, object]


def lines_of(document: str) -> list[TapLine]:
    """The tests of all subtests, as a consumer of TAP 14 reads them."""
    found: list[TapLine] = []
    blocks = re.split(r"^ {6}---\n(.*?)^ {6}\.\.\.\n", document, flags=re.DOTALL | re.MULTILINE)
    for text, diagnostics in zip(blocks[::2], blocks[1::2], strict=False):
        *_, line = text.splitlines()
        test = re.fullmatch(r" {4}(not )?ok \d+ - (.*?)(?: # (SKIP .*))?", line)
        assert test, line
        name = re.sub(r"\\(.)", r"\1", test[2])
        found.append(TapLine(not test[1], name, test[3] or "", yaml.safe_load(diagnostics)))
    return found


EACH = tuple(Verdict)


@pytest.fixture
def of_each_verdict(tmp_path: Path) -> Path:
    """The folder of a run with one case of each verdict; the last one was not reached."""
    cases = tuple(f"isr/case[rf={number}] # \\" for number in range(len(EACH)))
    header = msgspec.structs.replace(HEADER, targets=("reference",), cases=cases)
    records: list[AnyRecord] = [header, TargetRecord.of("reference", REFERENCE)]
    for case, verdict in zip(cases, EACH, strict=True):
        if verdict is Verdict.NOT_RUN:
            continue
        target, told = "reference", "" if verdict is Verdict.PASS else f"{NASTY}\n\n...\nok 1"
        records += [
            CaseStart(target=target, case=case),
            RequirementRecord(target=target, case=case, requirement="ISR-001", verdict=verdict),
            CaseEnd(target=target, case=case, verdict=verdict, message=told, again="fencepost"),
        ]
    write(tmp_path, [*records, Footer(counts=dict.fromkeys(EACH, 1), seconds=1.0)])
    return tmp_path


def test_tap_has_a_test_per_case_and_counts_as_the_results_do(of_each_verdict: Path) -> None:
    run = read_run(of_each_verdict)
    assert run.footer is not None
    assert run.doubts == ()
    write_report(run)

    found = lines_of((of_each_verdict / "results.tap").read_text())

    assert [one.name for one in found] == list(run.header.cases)
    assert Counter(str(one.found["verdict"]) for one in found) == run.footer.counts
    fine = [one.found["verdict"] for one in found if one.is_ok and not one.directive]
    assert fine == [Verdict.PASS, Verdict.DEVIATES]
    skipped = {one.directive for one in found if one.directive}
    assert skipped == {"SKIP UNSUPPORTED", "SKIP NOT_OBSERVABLE", "SKIP NOT_RUN"}
    failed = next(one.found for one in found if one.found["verdict"] == Verdict.FAIL)
    assert failed["message"] == f"{NASTY}\n\n...\nok 1"
    assert failed["requirements"] == ["ISR-001"]


def test_junit_counts_as_the_results_do(of_each_verdict: Path) -> None:
    run = read_run(of_each_verdict)
    write_report(run)

    suite = ET.parse(of_each_verdict / "junit.xml").getroot()[0]  # noqa: S314 - we wrote it

    children = {
        case.get("name"): [child.tag for child in case if child.tag != "properties"]
        for case in suite
    }
    told = Counter(tag for tags in children.values() for tag in tags)
    assert list(children) == list(run.header.cases)
    assert told == {"failure": 3, "error": 1, "skipped": 3}
    for tag, attribute in {"failure": "failures", "error": "errors", "skipped": "skipped"}.items():
        assert suite.get(attribute) == str(told[tag])
    assert suite.get("tests") == str(sum(run.verdicts.count(verdict) for verdict in EACH))
    assert {one.get("value") for one in suite.iter("property")} == {"ISR-001"}


def test_every_line_of_the_results_is_as_the_schema_says(of_each_verdict: Path) -> None:
    schema = json.loads((ROOT / SCHEMA_FILE).read_text())
    lines = [json.loads(line) for line in (of_each_verdict / RESULTS).read_text().splitlines()]

    assert len({line["type"] for line in lines}) == len(schema["anyOf"])
    for line in lines:
        jsonschema.validate(line, schema)
    lines[0].pop("cases")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(lines[0], schema)


def test_a_run_that_was_cut_off_bails_out_of_tap(folder: Path) -> None:
    write_report(read_run(folder))

    lines = (folder / "results.tap").read_text().splitlines()
    assert lines[:2] == ["TAP version 14", "1..2"]
    assert [line for line in lines if line.startswith(("ok", "not ok"))] == [
        "ok 1 - reference",
        "not ok 2 - kafka:3.9.1",
    ]
    assert lines[-1].startswith("Bail out! the run was cut off: 1 of 4 cases were not played")


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
