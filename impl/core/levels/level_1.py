"""Level 1, `controller_epoch`: an elected controller raises `/controller_epoch` in one multi.

Its commands and its writes are fenced by that epoch (CTL-005, CTL-006, ZK-005).
"""

from dataclasses import replace

from fencepost.impl.core.levels import level_0
from fencepost.impl.core.rules.commands import deposes_controller, is_stale_controller
from fencepost.impl.core.rules.controller.controller_election import (
    belongs_to_no_session,
    controller_fence,
    elected_by_multi,
    elected_under_next_epoch,
    epoch_is_ours,
    is_overwritten,
    learn_epoch,
    take_znode_and_raise_epoch,
)

RULES = replace(
    level_0.RULES,
    is_stale_controller=is_stale_controller,
    deposes_controller=deposes_controller,
    belongs_to_no_session=belongs_to_no_session,
    is_overwritten=is_overwritten,
    election_operations=take_znode_and_raise_epoch,
    elected_of=elected_under_next_epoch,
    elected_by=elected_by_multi,
    epoch_stands=epoch_is_ours,
    learn_epoch=learn_epoch,
    controller_fence=controller_fence,
)
