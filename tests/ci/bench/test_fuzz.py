"""How the growth of a broker is read from its memory after each round."""

from fencepost.ci.bench.fuzz import growth_mb


def test_what_swings_is_no_growth() -> None:
    assert growth_mb([60.0, 70, *[120.0, 260, 180, 110] * 5]) <= 0


def test_what_is_kept_for_good_is_seen_below_the_swings() -> None:
    sizes = [100.0 + number + 150 * (number % 3) for number in range(100)]

    assert growth_mb(sizes) == 78
