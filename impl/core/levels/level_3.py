"""Level 3, `broker_epoch`: commands, fetches and members of the ISR name incarnations of brokers.

KIP-380 (control requests carry the broker epoch), KIP-903 (the ISR does); `spec/tla/Fencing.tla`.
"""

from dataclasses import replace

from fencepost.impl.core.levels import level_2
from fencepost.impl.core.rules.incarnations import (
    incarnation_fetch_error,
    is_stale_broker_epoch,
    named_broker_epoch,
    other_incarnations,
    stamp_receiver,
    tell_decided_state,
    with_incarnations,
)
from fencepost.impl.core.rules.rules import Rules


def understand(rules: Rules) -> Rules:
    """The rules of a broker that takes what others say at this level, and says none of it."""
    return replace(
        rules,
        heard_broker_epoch=named_broker_epoch,
        is_stale_broker_epoch=is_stale_broker_epoch,
        fetch_error=incarnation_fetch_error,
    )


RULES = replace(
    understand(level_2.RULES),
    named_broker_epoch=named_broker_epoch,
    stamp=stamp_receiver,
    bounced_members=other_incarnations,
    with_incarnations=with_incarnations,
    tells_state=tell_decided_state,
    has_controlled_shutdown=True,
)
