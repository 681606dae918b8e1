"""A broker whose command line comes later."""

import os

import pytest

from fencepost.impl.__main__ import main
from fencepost.impl.shell.warm_start import WarmStartError, complete_arguments


def sent(text: bytes) -> str:
    """A descriptor at which that can be read, and then nothing any more."""
    read_end, write_end = os.pipe()
    os.write(write_end, text)
    os.close(write_end)
    return str(read_end)


def test_the_rest_of_the_command_line_comes_from_the_descriptor() -> None:
    arguments = ["node", "--go-fd", sent(b'["--broker-id", "1", "--data", "a\\nb"]\n')]

    assert complete_arguments(arguments) == ["node", "--broker-id", "1", "--data", "a\nb"]


def test_a_command_line_that_is_whole_stays_as_it_is() -> None:
    assert complete_arguments(["node", "--run-id", "--go-fd", "x", "y"]) == [
        "node",
        "--run-id",
        "--go-fd",
        "x",
        "y",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "the descriptor was closed before the arguments came"),
        (b'["--broker-id", ', "the descriptor was closed before the arguments came"),
        (b"7\n", "descriptor .* holds no JSON list of arguments"),
    ],
)
def test_without_a_whole_line_nothing_is_begun(text: bytes, says: str) -> None:
    with pytest.raises(WarmStartError, match=says):
        complete_arguments(["node", "--go-fd", sent(text)])


@pytest.mark.parametrize(
    ("descriptor", "says"),
    [("987", "cannot be read: Bad file descriptor"), ("x", "takes the number of a descriptor")],
)
def test_what_is_no_descriptor_is_told(descriptor: str, says: str) -> None:
    with pytest.raises(WarmStartError, match=says):
        complete_arguments(["node", "--go-fd", descriptor])


def test_a_broker_that_nobody_starts_ends_with_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["node", "--go-fd", sent(b"")])

    assert code == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "python -m fencepost.impl: the descriptor was closed before the arguments came; "
        "no broker was started\n"
    )
