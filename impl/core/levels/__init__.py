"""The rules of each level of the protocol, by its number."""

from fencepost.impl.core.levels import level_0, level_1, level_2, level_3, level_4, level_5

LEVELS = (level_0.RULES, level_1.RULES, level_2.RULES, level_3.RULES, level_4.RULES, level_5.RULES)
