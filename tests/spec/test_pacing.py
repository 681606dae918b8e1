"""Files of moves."""

from pathlib import Path

import pytest

from fencepost.spec.pacing import Move, MoveError, MoveList, Verb, read_moves, write_moves

LISTED = MoveList(
    name="n",
    level=2,
    brokers=(1, 2),
    controllers=(11,),
    unclean_leader_election=False,
    flags={"retry-ms": 100},
    mutant="",
    steps=("LeaderAppend of 1",),
    taken=1,
    moves=(
        Move(verb=Verb.START, broker=1),
        Move(verb=Verb.TICK, broker=1, step=1, at_ms=7, may=["advance"], takes=["A x=1"]),
    ),
)


def test_moves_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_moves(tmp_path / "moves", LISTED)

    assert read_moves(tmp_path / "moves") == LISTED
    assert len((tmp_path / "moves").read_text().splitlines()) == 3


@pytest.mark.parametrize("text", ["", "{}", '{"name": 1}', "nonsense"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "moves").write_text(text)

    with pytest.raises(MoveError, match="holds no moves"):
        read_moves(tmp_path / "moves")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(MoveError, match="No such file"):
        read_moves(tmp_path / "nowhere")


def test_a_move_is_told_in_a_line() -> None:
    assert str(LISTED.moves[1]) == "tick broker=1 at_ms=7 may=['advance']"
