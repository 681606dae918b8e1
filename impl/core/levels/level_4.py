"""Level 4, `max_broker_epoch`: commands made from one reading of the brokers name one epoch.

It is the largest that was read, so that all brokers can be told the metadata of the cluster by one
request (`protocol/`, max broker epoch); `spec/tla/Fencing.tla`, `spec/tla/MetadataPropagation.tla`.
"""

from dataclasses import replace

from fencepost.impl.core.levels import level_3
from fencepost.impl.core.rules.commands import is_newer_init
from fencepost.impl.core.rules.incarnations import (
    meet_registered,
    named_largest,
    registered_when_listed,
    stamp_largest,
)
from fencepost.impl.core.rules.rules import Rules


def understand(rules: Rules) -> Rules:
    """The rules of a broker that takes what others say at this level, and says none of it.

    But that it tells a controller which ISRs it changes, if that one tells brokers of metadata.
    """
    return replace(
        rules,
        stamp_of=named_largest,
        is_first_init=is_newer_init,
        meet_registered=meet_registered,
        reports_isr=True,
    )


RULES = replace(
    understand(level_3.RULES),
    stamp=stamp_largest,
    init_stamp=stamp_largest,
    known_registrations=registered_when_listed,
    tells_metadata=True,
)
