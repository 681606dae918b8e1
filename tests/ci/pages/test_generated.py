"""Generated files are fresh, and a stale one is found."""

import shutil
from pathlib import Path

import pytest

from fencepost.ci.pages.generated import ROOT, SCHEMA, WIRE, GeneratorError, main, refresh
from fencepost.conformance.adapters.remote import messages
from fencepost.conformance.suite import records
from fencepost.fault_injection.faults import table
from fencepost.fault_injection.stories import story_schema
from fencepost.spec.pages import FOLDER


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "spec", tmp_path / "spec", ignore=ignore)
    for path in (table.README, story_schema.SCHEMA, messages.SCHEMA, records.SCHEMA_FILE):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_what_is_committed_is_fresh() -> None:
    assert refresh(ROOT, only_compare=True) == []


def test_a_stale_file_and_a_missing_one_are_found_and_written_anew(copy: Path) -> None:
    stale, missing = WIRE / "replication_pb2.py", SCHEMA
    (copy / stale).write_text("# old\n")
    (copy / missing).unlink()

    assert refresh(copy, only_compare=True) == [stale, missing]
    assert (copy / stale).read_text() == "# old\n"
    assert refresh(copy, only_compare=False) == [stale, missing]
    assert refresh(copy, only_compare=True) == []


def test_a_new_field_makes_the_wire_code_stale(copy: Path) -> None:
    proto = copy / WIRE / "fault_control.proto"
    proto.write_text(proto.read_text().replace("string error = 5;", "string problem = 5;"))

    assert WIRE / "fault_control_pb2.py" in refresh(copy, only_compare=True)


def test_a_new_sentence_in_a_module_makes_the_tables_stale(copy: Path) -> None:
    module = copy / "spec/tla/ReplicaLog.tla"
    module.write_text(
        module.read_text().replace("(* The log of one replica", "(* The log of a replica")
    )

    assert refresh(copy, only_compare=True) == [FOLDER / "modules.md"]


def test_a_schema_of_other_faults_is_stale(copy: Path) -> None:
    schema = copy / story_schema.SCHEMA
    schema.write_text(schema.read_text().replace("proc.pause", "proc.nap"))

    assert refresh(copy, only_compare=True) == [story_schema.SCHEMA]


def test_a_page_without_a_place_for_the_faults_is_an_error(copy: Path) -> None:
    (copy / table.README).write_text("nothing")

    with pytest.raises(GeneratorError, match="there is no place for the table; write"):
        refresh(copy, only_compare=True)


def test_a_proto_that_is_none_is_an_error(copy: Path) -> None:
    (copy / WIRE / "replication.proto").write_text("nonsense")

    with pytest.raises(GeneratorError, match=r"spec/wire/\*\.proto"):
        refresh(copy, only_compare=True)


def test_an_unknown_argument_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--fast"]) == 4
    assert capsys.readouterr().err == "usage: python -m fencepost.ci.pages.generated [--check]\n"
