"""The commands about rules that have come, whoever makes them true.

Standard library only.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from fencepost.fault_injection.network.links.board import ActiveLinkRule, ActiveLinkRules
from fencepost.fault_injection.network.links.service import Answer


class RuleCommands(ABC):
    """What the proxy and the switch have in common."""

    def __init__(self) -> None:
        self.board = ActiveLinkRules()

    async def remove(self, command: Mapping[str, Any]) -> Answer:
        """The rules apply no more; what each did, in the order of the names."""
        found = self._statuses(command["rule_ids"])
        for rule_id in command["rule_ids"]:
            self.board.remove(str(rule_id))
        return {"statuses": found}

    async def status(self, command: Mapping[str, Any]) -> Answer:
        """What each of the rules has done so far, in the order of the names."""
        return {"statuses": self._statuses(command["rule_ids"])}

    @abstractmethod
    def _looked_at(self, active: ActiveLinkRule) -> Answer:
        """The status of a rule at this moment."""

    def _statuses(self, rule_ids: list[str]) -> list[Answer | None]:
        found = [self.board.rules.get(str(rule_id)) for rule_id in rule_ids]
        return [self._looked_at(active) if active else None for active in found]
