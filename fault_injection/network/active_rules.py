"""The rules that apply now, what they mean for each link, and what each has done.

Standard library only.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.fault_injection.network.rules import (
    Link,
    LinkRule,
    LinkRuleStatus,
    RequestHandling,
    Treatment,
    treatment_of,
)


@dataclass(slots=True, kw_only=True, eq=False)
class ActiveLinkRule:
    """A rule between its beginning and its end."""

    rule: LinkRule
    status: LinkRuleStatus = field(default_factory=LinkRuleStatus)
    applies: bool = False
    """False outside of its windows."""
    timers: list[asyncio.TimerHandle] = field(default_factory=list)
    kept: list[tuple[str, bytes]] = field(default_factory=list)
    """Requests that wait, with the members that they are for."""


class ActiveLinkRules:
    """The rules that apply; `on_change` is called after each change."""

    def __init__(self) -> None:
        self.active: dict[str, ActiveLinkRule] = {}
        self.on_change: Callable[[], None] = lambda: None
        self.on_drop: Callable[[ActiveLinkRule], None] = lambda _active: None
        self.on_release: Callable[[ActiveLinkRule], object] = lambda _active: None
        self._treatments: dict[Link, Treatment] = {}

    def add(self, rule: LinkRule) -> None:
        """Apply the rule from now on, or in its windows from now on."""
        self.remove(rule.rule_id)
        active = self.active[rule.rule_id] = ActiveLinkRule(rule=rule)
        if not rule.windows:
            self._begin(active)
            return
        loop = asyncio.get_running_loop()
        for start_ms, end_ms in rule.windows:
            active.timers.append(loop.call_later(start_ms / 1000, self._begin, active))
            active.timers.append(loop.call_later(end_ms / 1000, self._end, active))

    def remove(self, rule_id: str) -> LinkRuleStatus | None:
        """End the rule; its status, or None when there is no such rule."""
        active = self.active.pop(rule_id, None)
        if active is None:
            return None
        for timer in active.timers:
            timer.cancel()
        self._end(active)
        return active.status

    def applying(self) -> list[ActiveLinkRule]:
        """The rules that apply now, oldest first."""
        return [active for active in self.active.values() if active.applies]

    def on(self, link: Link) -> list[ActiveLinkRule]:
        """The rules that apply to the link now, oldest first."""
        return [active for active in self.applying() if link in active.rule.links]

    def treatment(self, link: Link) -> Treatment:
        """The treatment of the bytes of a link now."""
        found = self._treatments.get(link)
        if found is None:
            rules = [active.rule for active in self.on(link)]
            found = self._treatments[link] = treatment_of(rules)
        return found

    def losing(self, link: Link) -> ActiveLinkRule | None:
        """A rule that still has a reply to lose on the connections of the link."""
        for active in self.on(link):
            if active.rule.replies_to_lose > len(active.status.lost_replies):
                return active
        return None

    def failing(self, link: Link, *, is_write: bool) -> ActiveLinkRule | None:
        """A rule by which such a request on the connections of the link is to fail."""
        for active in self.on(link):
            is_meant = is_write or not active.rule.fails_only_writes
            if is_meant and active.rule.requests_to_fail > active.status.requests_taken:
                return active
        return None

    def handling(
        self, link: Link, is_meant: Callable[[RequestHandling], bool]
    ) -> ActiveLinkRule | None:
        """The rule that says what becomes of a request of Kafka on the link."""
        for active in self.on(link):
            wanted = active.rule.requests
            if wanted is None or (wanted.count and active.status.requests_matched >= wanted.count):
                continue
            if is_meant(wanted):
                return active
        return None

    def keep(self, active: ActiveLinkRule, server: str, request: bytes) -> None:
        """Let the request wait for the end of the rule, or for those that are to overtake it."""
        active.kept.append((server, request))
        active.status.requests_kept += 1
        assert active.rule.requests is not None
        if len(active.kept) == active.rule.requests.window:
            self.on_release(active)

    def delayed(self, link: Link, size: int) -> None:
        """Count so many bytes of the link as late."""
        for active in self.on(link):
            if active.rule.delay_ms or active.rule.kb_per_s:
                active.status.bytes_delayed += size

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
