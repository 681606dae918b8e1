"""Level 1, `controller_epoch`: an elected controller raises `/controller_epoch` in one multi.

Its commands and its writes are fenced by that epoch (CTL-005, CTL-006, ZK-005).
"""

from dataclasses import replace

from fencepost.impl.core.levels import level_0
from fencepost.impl.core.rules.commands import deposes_controller, is_stale_controller

RULES = replace(
    level_0.RULES,
    is_stale_controller=is_stale_controller,
    deposes_controller=deposes_controller,
)
