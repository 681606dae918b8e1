import json
import os
from pathlib import Path

import pytest

from fencepost.fault_injection.processes.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.ndjson")


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.open_entries()]


def test_an_entry_is_open_until_it_is_closed(ledger: Ledger) -> None:
    first = ledger.open("deed", pid=12, name="broker-1")
    second = ledger.open("other", pid=12)
    ledger.close(first)

    assert kinds(ledger) == ["other"]
    assert ledger.open_entries()[0].number == second
    assert [entry.fields for entry in ledger.entries()] == [
        {"pid": 12, "name": "broker-1"},
        {"pid": 12},
    ]


def test_a_ledger_without_file_has_no_entries(ledger: Ledger) -> None:
    assert ledger.entries() == []
    assert not ledger.path.exists()


def test_another_ledger_on_the_same_file_goes_on_counting(ledger: Ledger) -> None:
    first = ledger.open("deed", pid=1)
    again = Ledger(ledger.path)
    second = again.open("deed", pid=2)
    again.close(first)

    assert second > first
    assert [entry.fields["pid"] for entry in again.open_entries()] == [2]


@pytest.mark.parametrize("torn", [1, 2, 20])
def test_a_torn_line_is_a_deed_that_never_happened_and_spoils_no_other(
    ledger: Ledger, torn: int
) -> None:
    ledger.open("deed", pid=1)
    ledger.open("deed", pid=2)
    text = ledger.path.read_bytes()
    ledger.path.write_bytes(text[:-torn] if torn > 1 else text[:-2])

    again = Ledger(ledger.path)
    again.open("other", pid=1)

    assert kinds(again) == ["deed", "other"]
    assert [entry.fields["pid"] for entry in again.open_entries()] == [1, 1]


def test_lines_that_are_no_entries_are_passed_over(ledger: Ledger) -> None:
    ledger.path.write_bytes(b'\n[1]\nnonsense\n"open"\n')
    ledger.open("deed", pid=1)

    assert kinds(Ledger(ledger.path)) == ["deed"]


def test_every_line_is_on_the_disk_before_the_call_returns(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    fsync = os.fsync

    def watching_fsync(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", watching_fsync)
    entry = ledger.open("deed", pid=1)
    assert synced == [ledger.path, ledger.path.parent]  # the name of a new file, too
    ledger.close(entry)
    assert synced[2:] == [ledger.path]


@pytest.mark.parametrize(
    "line",
    [
        b'{"open": 1}',
        b'{"open": "x", "kind": "fault", "fields": {}}',
        b'{"open": 1, "kind": 3, "fields": {}}',
        b'{"open": 1, "kind": "fault", "fields": []}',
        b'{"open": 2, "kind": "process", "fields": {"name": "broker-1"}}',
        b"[" * 100_000,
        b'{"close": {}}',
        b"\x98\x00",
    ],
)
def test_what_no_ledger_has_written_is_passed_over(ledger: Ledger, line: bytes) -> None:
    number = ledger.open("fault", fault_id="hold")
    with ledger.path.open("ab") as file:
        file.write(line + b"\n")

    assert [entry.number for entry in Ledger(ledger.path).open_entries()] == [number]
    assert Ledger(ledger.path).foreign_lines() == 1


@pytest.mark.parametrize("pid", [None, "twelve", "12", True, 1.5, 0, -1, 2**70])
@pytest.mark.parametrize("kind", ["process", "pause"])
def test_entry_of_a_process_without_a_pid_is_passed_over(
    ledger: Ledger, kind: str, pid: object
) -> None:
    fields = {"name": "broker-1", "pid": 12, "start_time": 1, "run_id": "run", "log": "log"}
    lines = [
        {"open": number, "kind": kind, "fields": {**fields, **told}}
        for number, told in enumerate([{}, {"pid": pid}], start=1)
    ]
    ledger.path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="ascii")

    assert [entry.number for entry in Ledger(ledger.path).open_entries()] == [1]
