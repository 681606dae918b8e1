"""Failing inputs are made small: what is not needed goes, in an order free of chance."""

from collections.abc import Callable, Iterator

from fencepost.fault_injection.stories.ddmin import Minimizer

Letters = tuple[str, ...]


def search(
    letters: str, fails: Callable[[Letters], bool], tries_max: int = 100
) -> Minimizer[Letters]:
    return Minimizer(best=tuple(letters), fails=fails, tries_max=tries_max)


def drop(found: Minimizer[Letters]) -> bool:
    return found.drop_parts(
        lambda letters: letters, lambda letters, gone: tuple(x for x in letters if x not in gone)
    )


def test_parts_that_are_not_needed_are_dropped() -> None:
    found = search("abcdefgh", lambda letters: {"b", "g"} <= set(letters))

    assert drop(found)
    assert found.best == ("b", "g")
    assert not drop(found), "nothing is left to drop"


def test_large_parts_are_tried_first_and_none_twice() -> None:
    tried: list[str] = []

    def fails(letters: Letters) -> bool:
        tried.append("".join(letters))
        return "d" in letters

    found = search("abcd", fails)
    drop(found)
    drop(found)

    assert tried == ["", "cd", "d"]
    assert found.tries == 3


def test_no_more_is_tried_than_allowed() -> None:
    found = search("abcdefgh", lambda letters: "h" in letters, tries_max=2)

    drop(found)

    assert (found.best, found.tries) == (tuple("efgh"), 2)
    assert found.is_exhausted


def test_a_candidate_that_is_known_to_pass_costs_no_try() -> None:
    found: Minimizer[Letters] = Minimizer(
        best=("a",), fails=lambda _: True, tries_max=5, passing=((),)
    )

    assert not drop(found)
    assert (found.best, found.tries) == (("a",), 0)


def test_the_first_simpler_candidate_that_fails_is_taken_until_there_is_none() -> None:
    def simpler(number: int) -> Iterator[int]:
        yield number // 2
        yield number - 1

    found = Minimizer(best=100, fails=lambda number: number >= 11, tries_max=100)

    assert found.simplify(simpler)
    assert found.best == 11
    assert not found.simplify(simpler)


def test_a_number_is_brought_down_to_the_least_at_which_it_fails() -> None:
    found = Minimizer(best=(1000, "x"), fails=lambda pair: pair[0] >= 37, tries_max=100)

    found.lower(lambda pair, number: (number, pair[1]), most=1000)

    assert found.best == (37, "x")


def test_a_number_that_is_never_low_enough_stays() -> None:
    found = Minimizer(best=1000, fails=lambda number: number >= 1000, tries_max=100)

    found.lower(lambda _, number: number, most=500)

    assert found.best == 1000
