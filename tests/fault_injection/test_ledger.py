import os
from pathlib import Path

import pytest

from fault_injection.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.ndjson")


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.open_entries()]


def test_an_entry_is_open_until_it_is_closed(ledger: Ledger) -> None:
    first = ledger.open("process", pid=12, name="broker-1")
    second = ledger.open("pause", pid=12)
    ledger.close(first)

    assert kinds(ledger) == ["pause"]
    assert ledger.open_entries()[0].number == second
    assert [entry.fields for entry in ledger.entries()] == [
        {"pid": 12, "name": "broker-1"},
        {"pid": 12},
    ]


def test_a_ledger_without_file_has_no_entries(ledger: Ledger) -> None:
    assert ledger.entries() == []
    assert not ledger.path.exists()


def test_another_ledger_on_the_same_file_goes_on_counting(ledger: Ledger) -> None:
    first = ledger.open("process", pid=1)
    again = Ledger(ledger.path)
    second = again.open("process", pid=2)
    again.close(first)

    assert second > first
    assert [entry.fields["pid"] for entry in again.open_entries()] == [2]


@pytest.mark.parametrize("torn", [1, 2, 20])
def test_a_torn_line_is_a_deed_that_never_happened_and_spoils_no_other(
    ledger: Ledger, torn: int
) -> None:
    ledger.open("process", pid=1)
    ledger.open("process", pid=2)
    text = ledger.path.read_bytes()
    ledger.path.write_bytes(text[:-torn] if torn > 1 else text[:-2])

    again = Ledger(ledger.path)
    again.open("pause", pid=1)

    assert kinds(again) == ["process", "pause"]
    assert [entry.fields["pid"] for entry in again.open_entries()] == [1, 1]


def test_lines_that_are_no_entries_are_passed_over(ledger: Ledger) -> None:
    ledger.path.write_bytes(b'\n[1]\nnonsense\n"open"\n')
    ledger.open("process", pid=1)

    assert kinds(Ledger(ledger.path)) == ["process"]


def test_every_line_is_on_the_disk_before_the_call_returns(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    fsync = os.fsync

    def watching_fsync(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", watching_fsync)
    entry = ledger.open("process", pid=1)
    assert synced == [ledger.path, ledger.path.parent]  # the name of a new file, too
    ledger.close(entry)
    assert synced[2:] == [ledger.path]
