"""The page of hazards that are shown on real processes."""

from collections import Counter

from fencepost.conformance.whitebox.stepped_hazards import Way, stepped_hazards as find


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
