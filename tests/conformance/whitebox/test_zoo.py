"""Each animal of the zoo gets its verdict, and a tame one is told as not caught."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.zoo.animals import ANIMALS, visit

LIARS = {animal.name for animal in ANIMALS if animal.verdict is Verdict.FAIL}
BY_NAME = {animal.name: animal for animal in ANIMALS}


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - LIARS - {"hangs"}))
def test_an_adapter_that_breaks_the_contract_is_told(name: str, tmp_path: Path) -> None:
    """One that hangs needs 7 s here; `test_bad_adapters.py` has it with a short deadline."""
    (found,) = visit(tmp_path, [BY_NAME[name]])

    assert found.is_caught, found.message


def test_a_liar_is_told_by_a_case_and_an_honest_one_is_not(tmp_path: Path) -> None:
    liar = BY_NAME["stores_nothing"]
    honest = replace(liar, name="honest", words=())

    found = visit(tmp_path, [liar, honest])

    assert [one.is_caught for one in found] == [True, False]
    assert found[1].verdict is Verdict.PASS


def test_every_animal_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(ANIMALS)
    assert all(animal.says for animal in ANIMALS)
