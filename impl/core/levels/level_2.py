"""Level 2, `leader_epoch`: logs are compared and fetches are fenced by leader epoch.

KIP-101 (truncation by epoch), KIP-279 (until the logs agree), KIP-320 (fetches carry the epoch).
"""

from dataclasses import replace

from fencepost.impl.core.levels import level_1

RULES = replace(level_1.RULES)
