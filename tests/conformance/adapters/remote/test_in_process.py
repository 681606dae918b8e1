"""An implementation in Python is chosen by its name, and told so that it can be chosen again."""

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.reference import implementation_of

TOY = "py:tests.conformance.toy:Toy"


def test_an_implementation_in_python_is_chosen_by_its_name() -> None:
    toy = implementation_of(TOY)

    assert (toy.name, toy.target, toy.again) == ("toy", TOY, f" --target {TOY}")
    assert implementation_of(toy.told["command"]) == toy


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("py:no_such_module:Toy", "No module named 'no_such_module'; give py:"),
        ("py:tests.conformance.toy:Tony", "has no attribute 'Tony'"),
        ("py:tests.conformance.toy:Partition.__name__", "has no attribute 'Partition.__name__'"),
        ("py:os:getcwd", "py:os:getcwd is a str, not an Implementation"),
        ("py:", "cannot be loaded: Empty module name; give py:"),
    ],
)
def test_what_is_no_implementation_is_no_choice(target: str, sentence: str) -> None:
    with pytest.raises(ChoiceError, match=sentence):
        implementation_of(target)
