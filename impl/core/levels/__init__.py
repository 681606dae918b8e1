"""The rules of each level of the protocol, by its number, and those between two levels.

An upgrade takes two passes over the brokers: the first brings the code of the next level, the
second lets it speak (UMD-003, FWD-007). In between a broker understands more than it says.
"""

from fencepost.impl.core.levels import level_0, level_1, level_2, level_3, level_4, level_5
from fencepost.impl.core.rules.rules import Rules
from fencepost.spec.vocabulary import BrokerVersion

LEVELS = (level_0.RULES, level_1.RULES, level_2.RULES, level_3.RULES, level_4.RULES, level_5.RULES)
_UNDERSTAND = {3: level_3.understand, 4: level_4.understand, 5: level_5.understand}
"""Each level that brokers can be upgraded to."""


def rules_of_version(version: BrokerVersion) -> Rules:
    """What a broker does that speaks one level, and understands all up to another."""
    rules = LEVELS[version.inter_broker_protocol]
    for level in range(version.inter_broker_protocol + 1, version.code_level + 1):
        rules = _UNDERSTAND[level](rules)
    return rules
