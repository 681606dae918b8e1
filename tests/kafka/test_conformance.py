"""Cases of the suite on releases that differ in what they answer."""

from pathlib import Path

import pytest

from fencepost.ci.cli import run

CASE = "durability/clean_elections_keep_records"
FENCED = "replication/fetch_of_another_epoch_is_refused"


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


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("target", "code", "says"),
    [
        ("kafka:1.1.1", 2, "kafka:1.1.1 does not declare what the run needs: fetch epochs"),
        ("kafka:2.1.1", 0, "REPL-006     PASS"),
        ("kafka:4.1.1", 0, "REPL-006     PASS"),
    ],
)
def test_fetches_are_fenced_by_releases_that_know_of_epochs(
    target: str, code: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["-t", target, "--select", FENCED, "--out", str(tmp_path / "run")]

    assert run(["conform", "run", *arguments]) == code
    assert says in capsys.readouterr().out
