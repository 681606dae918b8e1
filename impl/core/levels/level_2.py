"""Level 2, `leader_epoch`: logs are compared and fetches are fenced by leader epoch.

KIP-101 (truncation by epoch), KIP-279 (until the logs agree), KIP-320 (fetches carry the epoch).
"""

from dataclasses import replace

from fencepost.impl.core.levels import level_1
from fencepost.impl.core.rules.fetches import (
    compare_again,
    fenced_fetch_error,
    fetch_epoch,
    is_of_epoch,
    keep_log,
)
from fencepost.impl.core.rules.replica import become_comparing_follower

RULES = replace(
    level_1.RULES,
    become_follower=become_comparing_follower,
    truncate_follower=keep_log,
    fetch_epoch=fetch_epoch,
    is_current_fetch=is_of_epoch,
    obey_shorter_leader=compare_again,
    fetch_error=fenced_fetch_error,
)
