"""Numbers as people read them."""

import pytest

from fencepost.reports.page.words import count


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 seeds"), (1, "1 seed"), (2, "2 seeds"), (12_000, "12,000 seeds")]
)
def test_what_is_counted_is_in_the_plural_unless_there_is_one(number: int, said: str) -> None:
    assert count(number, "seed") == said
