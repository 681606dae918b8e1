"""Level 5, `controller_mutations`: the controller alone changes the configuration and topics.

KIP-590 (redirected mutations); `spec/tla/Forwarding.tla`.
"""

from dataclasses import replace

from fencepost.impl.core.levels import level_4
from fencepost.impl.core.rules.configuration.redirection import (
    change_at_controller,
    change_what_is_asked,
)
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.security.tokens import outlived
from fencepost.impl.core.rules.tables import Writer


def understand(rules: Rules) -> Rules:
    """The rules of a broker that takes what others forward, and forwards nothing."""
    own, asked = rules.may_write[Writer.CONTROLLER], rules.may_write[Writer.ADMINISTRATOR]
    office = {kind: {*own.get(kind, ()), *asked.get(kind, ())} for kind in (*own, *asked)}
    return replace(
        rules,
        redirect=change_what_is_asked,
        may_write={**rules.may_write, Writer.CONTROLLER: office},
    )


_UNDERSTOOD = understand(level_4.RULES)
RULES = replace(
    _UNDERSTOOD,
    redirect=change_at_controller,
    reads_configs=True,
    tokens_to_remove=outlived,
    topics_at_controller=True,
    may_write={**_UNDERSTOOD.may_write, Writer.ADMINISTRATOR: {}},  # FWD-001
)
