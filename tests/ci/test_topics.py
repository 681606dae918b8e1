"""What `produce` and `consume` print, of a client that answers at once."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from ci.cli import run
from ci.console import counted, printable

VALUE = "a\x1b[31m\tb\r\x07é"


@pytest.fixture(autouse=True)
def answering(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster has one partition, and one record with control characters in it."""
    answer = SimpleNamespace(is_ok=True, high_watermark=1, values=(VALUE,), offset=0, broker_id=1)
    client = SimpleNamespace(
        produce=lambda *_, **__: answer,
        list_offsets=lambda *_: answer,
        fetch=lambda *_: answer,
    )

    @contextmanager
    def connected(_: Path) -> Iterator[SimpleNamespace]:
        yield client

    monkeypatch.setattr("ci.commands.topics.connected", connected)
    monkeypatch.setattr("ci.commands.topics.known_partition", lambda *_: "orders/0")


def test_control_characters_of_a_record_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["consume", "orders"]) == 0
    assert capsys.readouterr().out == "0\ta\\x1b[31m\\tb\\r\\x07é\n"


def test_machines_get_the_exact_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["consume", "orders", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"offset": 0, "value": VALUE}]


@pytest.mark.parametrize(("values", "said"), [(["x"], "1 record "), (["x", "y"], "2 records ")])
def test_records_are_counted_in_grammar(
    values: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["produce", "orders", *(f"--value={value}" for value in values)]) == 0
    assert capsys.readouterr().out == f"orders/0: {said}from offset 0 on\n"


def test_a_line_break_and_half_a_surrogate_are_escapes_too() -> None:
    assert printable("a\nb\udcff\u2028\u3000") == "a\\nb\\udcff\\u2028\u3000"
    assert counted(0, "seed") == "0 seeds"
