"""Level 5, `controller_mutations`: the controller alone changes the configuration.

KIP-590 (redirected mutations); `spec/tla/Forwarding.tla`.
"""

from dataclasses import replace

from fencepost.impl.core.configuration.redirection import change_at_controller
from fencepost.impl.core.levels import level_4

RULES = replace(
    level_4.RULES,
    redirect=change_at_controller,
    reads_configs=True,
)
