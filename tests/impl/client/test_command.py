"""What a program that starts the client may rely on: exit codes and one sentence."""

import pytest

from fencepost.impl.__main__ import main
from fencepost.impl.client import ClientError, DefiniteError, IndefiniteError, NoBrokerError
from fencepost.impl.client.errors import EXIT_USAGE, EXIT_WORLD, exit_code_of


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (ValueError("no address"), EXIT_USAGE),
        (DefiniteError("", "TOPIC_ALREADY_EXISTS"), EXIT_USAGE),
        (DefiniteError("", "UNKNOWN_TOPIC_OR_PARTITION"), EXIT_USAGE),
        (DefiniteError("", "NOT_ENOUGH_REPLICAS"), EXIT_WORLD),
        (NoBrokerError("", "UNAVAILABLE"), EXIT_WORLD),
        (IndefiniteError("", "REQUEST_TIMED_OUT"), EXIT_WORLD),
        (IndefiniteError("", "INVALID_REQUEST"), EXIT_WORLD),
    ],
)
def test_the_exit_code_says_whose_turn_it_is(error: ClientError, exit_code: int) -> None:
    assert exit_code_of(error) == exit_code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "usage: python -m fencepost.impl client CALL"),
        (["dance", "h:1"], "calls: create_topic, delete_topic, describe_cluster, "),
        (["describe_cluster", "h"], "'h' is no bootstrap server"),
        (["describe_cluster", "h:1", "{"], "Expecting property name"),
        (["describe_cluster", "h:1", "[]"], "usage: "),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["client", *arguments]) == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
