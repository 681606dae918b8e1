"""A driven node for the tests of the core."""

from collections.abc import Callable

import pytest

from fencepost.impl.core.config import Config
from fencepost.spec.vocabulary import BrokerId
from tests.impl.core.driver import Driver


@pytest.fixture
def driver() -> Driver:
    """Broker 1 at the highest level, not started."""
    return Driver(Config(broker_id=BrokerId(1)))


@pytest.fixture
def drive() -> Callable[[Config], Driver]:
    """A driver of a node with another config."""
    return Driver
