"""What this broker has read of the configuration, kept fresh by one watch (FWD-008).

Whatever changes it also writes `/config/changes`: its version counts the changes, and it says what
the last ones wrote. A broker reads that, and all when it does not know what it missed. It reads
nothing before it is told to begin: where nothing needs a configuration, there is none.
"""

from collections.abc import Generator, Mapping
from types import MappingProxyType

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, list_children, read
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.config_store import (
    CLIENTS,
    CONFIG_CHANGES,
    FOLDERS,
    NAME_COUNTS,
    ConfigEntity,
    EntityKind,
    entity_at,
    parse_config,
    parse_config_changes,
)
from fencepost.spec.vocabulary import ANY_VERSION, ZnodeVersion

NO_ENTRIES: Mapping[str, str] = MappingProxyType({})


class ConfigStore:
    """The entries of all entities, as they were in ZooKeeper at `version` or later."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox
        self.version: ZnodeVersion = ANY_VERSION
        """Of `/config/changes`; -1 before the first change."""
        self.is_read = False
        """True when all was read once."""
        self.revision = 0
        """Counts the reads that may have changed what is known."""
        self._czxid: int | None = None
        """Of `/config/changes`: another one has another history."""
        self._entries: dict[ConfigEntity, Mapping[str, str]] = {}
        self._has_begun = self._is_reading = self._is_due = False
        self._retry_ms: int | None = None

    def entries(self, entity: ConfigEntity) -> Mapping[str, str]:
        """Of the entity by name; none when it has no configuration of its own."""
        return self._entries.get(entity, NO_ENTRIES)

    def entities(self, kind: EntityKind) -> list[ConfigEntity]:
        """Those of the kind that have entries, ascending."""
        return sorted(one for one in self._entries if one.kind is kind)

    def begin(self) -> None:
        """The configuration is read, and kept fresh from now on."""
        if not self._has_begun:
            self._has_begun = True
            self._look()

    def expect(self) -> None:
        """As `begin`, from the first session on."""
        self._has_begun = True

    def on_session(self) -> None:
        """A new session has no watches: all that it misses is read again."""
        self._has_begun |= self._config.rules.reads_configs
        if self._has_begun:
            self._look()

    def on_change(self) -> None:
        """`/config/changes` is another one."""
        self._look()

    def tick(self) -> None:
        """What failed with the connection is read again."""
        if self._retry_ms is not None and self._retry_ms <= self._outbox.now_ms:
            self._look()

    def _look(self) -> None:
        self._is_due, self._retry_ms = True, None
        if not self._is_reading:
            self._outbox.run(self._read())

    def _read(self) -> Script:
        self._is_reading = True
        while self._is_due:
            self._is_due = False
            if not (yield from self._catch_up()):
                self._retry_ms = self._config.retry_at_ms(self._outbox.now_ms)
                break
        self._is_reading = False

    def _catch_up(self) -> Generator[Ask, Answer, bool]:
        """The watch is set, and what changed is read; False when the connection was lost.

        All that is asked in a session is answered before the next one: no reading spans two.
        """
        is_watched = self._config.rules.watches_changes(self.is_read)
        found = yield from read(CONFIG_CHANGES, watch=is_watched)
        if found is None:
            return False
        changes = found[0]
        missed = self._missed(changes)
        paths = (yield from _all_paths()) if missed is None else missed
        znodes = None if paths is None else (yield from read(*sorted(paths)))
        if znodes is None:
            return False
        self.catch_up(changes, znodes, is_all=missed is None)
        return True

    def _missed(self, changes: Znode) -> set[str] | None:
        """The paths that were written since the last look; None: all may have been."""
        if not self.is_read or changes.stat is None or changes.stat.czxid != self._czxid:
            return None
        listed = parsed(parse_config_changes, changes, self._outbox.report)
        count = changes.stat.version - self.version
        if listed is None or not 0 <= count <= len(listed):
            return None
        return {path for change in listed[len(listed) - count :] for path in change}

    def catch_up(self, changes: Znode, znodes: tuple[Znode, ...], *, is_all: bool) -> None:
        """What was read is what the broker knows from now on."""
        if is_all:
            self._entries.clear()
        for znode in znodes:
            entity = entity_at(znode.path)
            entries = parsed(parse_config, znode, self._outbox.report)
            if entity is not None and entries:
                self._entries[entity] = MappingProxyType(entries)
            elif entity is not None:
                self._entries.pop(entity, None)
        self.is_read = True
        self.revision += 1
        self._czxid = changes.stat.czxid if changes.stat is not None else None
        self.version = changes.stat.version if changes.stat is not None else ANY_VERSION


def _all_paths() -> Generator[Ask, Answer, list[str] | None]:
    """The znodes of all entities; None without a connection."""
    found: list[str] = []
    for kind, parts in FOLDERS.items():
        level = ["/" + "/".join(parts)]
        for _ in range(NAME_COUNTS[kind]):
            below = yield from _below(level)
            if below is None:
                return None
            level = below
        found += level
        if kind is EntityKind.USER and level:
            below = yield from _below([f"{path}/{CLIENTS}" for path in level])
            if below is None:
                return None
            found += below
    return found


def _below(folders: list[str]) -> Generator[Ask, Answer, list[str] | None]:
    if not folders:
        return []
    listed = yield from list_children(*folders)
    if listed is None:
        return None
    return [f"{one.path}/{name}" for one in listed for name in one.names or ()]
