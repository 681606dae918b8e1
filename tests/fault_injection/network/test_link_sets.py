"""Which ways a fault on the network closes."""

from itertools import pairwise

import pytest

from fencepost.fault_injection.faults.network_faults import FlapBroker, SwizzleBrokers
from fencepost.fault_injection.faults.targets import FaultError, broker
from fencepost.fault_injection.faults.zookeeper_faults import HurtZooKeeperLink
from fencepost.fault_injection.network.link_sets import around_bridge, between, outside_majorities


def heard(members: tuple[int, ...]) -> list[set[int]]:
    """Whom each hears, in the order of the members."""
    unheard = outside_majorities(members)
    return [{a for a in members if (a, b) not in unheard} for b in members]


def test_sides_are_cut_off_both_ways() -> None:
    assert between((1,), (2, 3)) == {(1, 2), (2, 1), (1, 3), (3, 1)}
    assert between("ab", "ab") == {("a", "b"), ("b", "a")}


def test_only_the_bridge_is_reached_by_both_halves() -> None:
    assert around_bridge(2, (1, 2, 3)) == {(1, 3), (3, 1)}
    assert around_bridge(5, (1, 2, 3, 4, 5)) == between((1, 2), (3, 4))
    assert around_bridge(1, (1, 2)) == frozenset()


def test_of_three_each_hears_the_next_one_and_nobody_else() -> None:
    assert heard((1, 2, 3)) == [{1, 2}, {2, 3}, {3, 1}]


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_everybody_hears_a_majority_and_no_two_the_same(size: int) -> None:
    found = heard(tuple(range(1, size + 1)))

    assert {len(each) for each in found} == {size // 2 + 1}
    assert all(at + 1 in each for at, each in enumerate(found))
    assert all(one != other for one, other in pairwise([*found, found[0]]))


def test_swizzled_brokers_go_one_by_one_and_come_back_in_their_own_order() -> None:
    fault = SwizzleBrokers(cut=(1, 2), back=(2, 1), gap_ms=100)

    assert fault.windows() == {1: (0, 300), 2: (100, 200)}
    assert fault.active_ms == 400
    with pytest.raises(FaultError, match=r"net\.swizzle: cut and back do not name the same"):
        SwizzleBrokers(cut=(1, 2), back=(2,), gap_ms=100)


def test_flapping_ends_with_the_fault() -> None:
    fault = FlapBroker(target=broker(1), cut_ms=100, open_ms=50, for_ms=370)

    assert fault.windows() == ((0, 100), (150, 250), (300, 370))


def test_a_connection_cannot_be_reset_one_way() -> None:
    with pytest.raises(FaultError, match=r"zk\.link: reset ends both directions; leave"):
        HurtZooKeeperLink(target=broker(1), direction="c2s", mode="reset", for_ms=1)
