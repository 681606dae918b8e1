"""A case of the suite on two releases: one loses a record by clean elections, one does not."""

from pathlib import Path

import pytest

from fencepost.ci.cli import run

CASE = "durability/clean_elections_keep_records"


@pytest.mark.kafka
@pytest.mark.parametrize(("target", "code"), [("kafka:0.10.2.2", 1), ("kafka:3.9.1@2.6", 0)])
def test_a_lost_record_is_told_with_the_elections_that_lost_it(
    target: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"

    assert run(["conform", "run", "-t", target, "--select", CASE, "--out", str(folder)]) == code

    told, page = capsys.readouterr().out, (folder / "report.html").read_text()
    for words in (" at offset 1 is lost: ", "elected since then: broker 2 from the ISR"):
        assert (words in told, words in page) == (bool(code), bool(code))
