"""The page of hazards that are shown on real processes."""

from collections import Counter

import pytest

from fencepost.ci.pages import stepped_hazards as page_of_hazards
from fencepost.ci.pages.stepped_hazards import PAGE, main, page
from fencepost.conformance.whitebox.stepped_hazards import Way, stepped_hazards as find


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), "stale; run python -m fencepost.ci.pages.stepped_hazards"


def test_twenty_hazards_and_more_go_the_whole_way_and_the_others_say_why_not() -> None:
    found = find()
    counts = Counter(one.way for one in found)

    assert counts[Way.STEPPED] >= 20
    assert all(one.told for one in found)
    assert counts[Way.NOT_SEEN] == 0
    assert all(
        "liveness" in one.told or "stepped through" in one.told
        for one in found
        if one.way is Way.NOT_STEPPED
    )


def test_a_stale_page_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_of_hazards, "page", lambda: "another")

    assert main(["--check"]) == 1
    assert "is stale" in capsys.readouterr().out
    assert main(["--rewrite"]) == 4
