"""The page of hazards that are shown on real processes."""

from collections import Counter

from fencepost.ci.pages.stepped_hazards import led_hazards
from fencepost.conformance.whitebox.absent_rules import ABSENT_RULES
from fencepost.conformance.whitebox.stepped_hazards import ONE_RULE, Way


def test_seventy_hazards_and_more_are_led_and_the_others_say_what_the_core_lacks() -> None:
    found = led_hazards()
    counts = Counter(one.way for one in found)

    assert counts[Way.STEPPED] >= 28
    assert counts[Way.STEPPED] + counts[Way.SAME_RULE] + counts[Way.REPEATED] >= 70
    assert all(one.told for one in found)
    assert counts[Way.NOT_SEEN] == 0


def test_a_hazard_has_a_way_or_a_reason_and_not_both() -> None:
    found = led_hazards()

    assert {one.id for one in found if one.way is Way.NOT_STEPPED} == ABSENT_RULES.keys()


def test_a_hazard_of_one_rule_with_another_is_led_by_that() -> None:
    ways_of = {one.id: one.way for one in led_hazards()}

    assert {ways_of[other] for other in ONE_RULE.values()} <= {Way.STEPPED, Way.REPEATED}
