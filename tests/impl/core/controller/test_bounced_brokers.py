"""Brokers that were away: another incarnation than the one in the ISR (H2, BEP-006)."""

from fencepost.spec.znodes import BROKER_IDS, leader_and_isr_path
from tests.impl.core.build import T0, state
from tests.impl.core.controller.test_controller import managing
from tests.impl.core.driver import Driver, Fate, broker_ids


def test_a_bounced_leader_is_seen_by_its_registration(driver: Driver) -> None:
    managing(driver)
    driver.plan_listing(BROKER_IDS, Fate.HOLD)
    driver.unregister(2)
    driver.register(2)

    driver.release()

    assert driver.state(T0) == state(3, 1, (1, 3))
    assert driver.live_seen() == broker_ids(1, 2, 3)


def test_a_broker_that_is_back_before_the_decision_has_bounced(driver: Driver) -> None:
    managing(driver)
    driver.plan_read(leader_and_isr_path(T0), Fate.HOLD)
    driver.unregister(2)
    driver.register(2)

    driver.release()

    assert driver.state(T0) == state(3, 1, (1, 3))
    assert driver.live_seen() == broker_ids(1, 2, 3)
