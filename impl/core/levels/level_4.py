"""Level 4, `max_broker_epoch`: commands made from one reading of the brokers name one epoch.

It is the largest that was read, so that all brokers can be told the metadata of the cluster by one
request (`protocol/`, max broker epoch); `spec/tla/Fencing.tla`, `spec/tla/MetadataPropagation.tla`.
"""

from dataclasses import replace

from fencepost.impl.core.levels import level_3
from fencepost.impl.core.rules.commands import is_newer_init
from fencepost.impl.core.rules.incarnations import (
    named_largest,
    registered_when_listed,
    stamp_largest,
)

RULES = replace(
    level_3.RULES,
    stamp=stamp_largest,
    init_stamp=stamp_largest,
    stamp_of=named_largest,
    is_first_init=is_newer_init,
    known_registrations=registered_when_listed,
    tells_metadata=True,
    reports_isr=True,
)
