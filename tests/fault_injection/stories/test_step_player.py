"""Steps that wait: what came in time has come, whatever is seen a moment later."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fencepost.fault_injection.stories.steps.step_player import StepPlayer
from fencepost.fault_injection.stories.steps.story_step import UntilStep


def wait(within_ms: int, holds: Callable[[], bool]) -> bool:
    """As a cluster waits, with a look at each millisecond."""
    return any(holds() for _ in range(within_ms))


@pytest.mark.parametrize(
    ("seen", "printed"),
    [
        ([2, 1, 3], []),
        ([2, 3, 4], ["not within 2 ms: controller=1; it is 4"]),
    ],
)
def test_what_came_and_went_again_has_come(seen: list[int], printed: list[str]) -> None:
    cluster: Any = SimpleNamespace(wait=wait)
    looks = iter(seen)
    player: StepPlayer[Any] = StepPlayer(
        cluster, observed={"controller": lambda _player, _what: str(next(looks))}
    )

    assert list(player.perform(UntilStep(until={"controller": 1}, within_ms=2))) == printed
