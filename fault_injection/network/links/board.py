"""The rules that apply now, and what each has done: what every connection of the proxy looks at."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.fault_injection.network.links.rules import (
    Link,
    LinkRule,
    LinkRuleStatus,
    Treatment,
    treatment_of,
)


@dataclass(slots=True, kw_only=True)
class LinkCount:
    """What has passed on one link, as evidence."""

    bytes_passed: int = 0
    connections: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class ActiveLinkRule:
    """A rule between its beginning and its end."""

    rule: LinkRule
    status: LinkRuleStatus = field(default_factory=LinkRuleStatus)
    applies: bool = False
    """False outside of its windows."""
    timers: list[asyncio.TimerHandle] = field(default_factory=list)


class ActiveLinkRules:
    """The rules that apply; `on_change` is called after each change."""

    def __init__(self) -> None:
        self.rules: dict[str, ActiveLinkRule] = {}
        self.counts: dict[Link, LinkCount] = {}
        self.on_change: Callable[[], None] = lambda: None
        self.on_drop: Callable[[ActiveLinkRule], None] = lambda _active: None
        self._treatments: dict[Link, Treatment] = {}

    def add(self, rule: LinkRule) -> None:
        """The rule applies from now on, or in its windows from now on."""
        self.remove(rule.rule_id)
        active = self.rules[rule.rule_id] = ActiveLinkRule(rule=rule)
        if not rule.windows:
            self._begin(active)
            return
        loop = asyncio.get_running_loop()
        for start_ms, end_ms in rule.windows:
            active.timers.append(loop.call_later(start_ms / 1000, self._begin, active))
            active.timers.append(loop.call_later(end_ms / 1000, self._end, active))

    def remove(self, rule_id: str) -> LinkRuleStatus | None:
        """The rule applies no more; what it did, or None when there is no such rule."""
        active = self.rules.pop(rule_id, None)
        if active is None:
            return None
        for timer in active.timers:
            timer.cancel()
        self._end(active)
        return active.status

    def treatment(self, link: Link) -> Treatment:
        """What happens to the bytes of a link now."""
        found = self._treatments.get(link)
        if found is None:
            found = self._treatments[link] = treatment_of(link, self._applying_rules())
        return found

    def refusing(self, link: Link) -> ActiveLinkRule | None:
        """A rule by which a new connection on the link is reset."""
        return next((a for a in self.applying() if a.rule.refuses and a.rule.is_on(link)), None)

    def stalling(self, link: Link) -> list[ActiveLinkRule]:
        """The rules that hold back the bytes of the link."""
        return [a for a in self.applying() if a.rule.stalls and a.rule.is_on(link)]

    def losing(self, link: Link) -> ActiveLinkRule | None:
        """A rule that still has a reply to lose on the connections of the link."""
        for active in self.applying():
            left = active.rule.replies_to_lose - len(active.status.lost_replies)
            if left > 0 and active.rule.is_on(link):
                return active
        return None

    def failing(self, link: Link, *, is_write: bool) -> ActiveLinkRule | None:
        """A rule by which such a request on the connections of the link is to fail."""
        for active in self.applying():
            left = active.rule.requests_to_fail - active.status.requests_taken
            is_meant = is_write or not active.rule.fails_only_writes
            if left > 0 and is_meant and active.rule.is_on(link):
                return active
        return None

    def delayed(self, link: Link, size: int) -> None:
        """So many bytes of the link were made to wait."""
        for active in self.applying():
            if (active.rule.delay_ms or active.rule.kb_per_s) and active.rule.is_on(link):
                active.status.bytes_delayed += size

    def count(self, link: Link) -> LinkCount:
        """The counter of a link."""
        return self.counts.setdefault(link, LinkCount())

    def applying(self) -> list[ActiveLinkRule]:
        """The rules that apply now, oldest first."""
        return [active for active in self.rules.values() if active.applies]

    def _applying_rules(self) -> list[LinkRule]:
        return [active.rule for active in self.applying()]

    def _begin(self, active: ActiveLinkRule) -> None:
        active.applies = True
        active.status.windows_begun += 1
        self._changed()
        if active.rule.drops:
            self.on_drop(active)

    def _end(self, active: ActiveLinkRule) -> None:
        active.applies = False
        self._changed()

    def _changed(self) -> None:
        self._treatments.clear()
        self.on_change()
