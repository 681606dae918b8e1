import json

import pytest

from fencepost.ci.screens.console import progress, show_json, show_table


def test_without_a_terminal_progress_is_lines_on_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("seeds") as advance:
        for done in range(1, 501):
            advance(done, 500, f"seed {done}")

    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == "seeds: 1/500 seed 1"
    assert err.splitlines()[-1] == "seeds: 500/500 seed 500"
    assert len(err.splitlines()) < 10


def test_a_table_on_a_pipe_keeps_each_row_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    long = "a sentence of some length that a narrow terminal would have to break into parts"

    show_table("", ("name", "found"), [("[red]x", long), ("y", None)])

    lines = capsys.readouterr().out.splitlines()
    assert any("[red]x" in line and long in line for line in lines)


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"b": [1], "a": "ü"})

    assert json.loads(capsys.readouterr().out) == {"a": "ü", "b": [1]}
