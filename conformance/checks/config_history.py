"""The configuration as ZooKeeper recorded it: every write of an entity, with what it changed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fencepost.conformance.checks.ordering import by_zxid
from fencepost.spec.config_store import ConfigEntity, entity_at, parse_config
from fencepost.spec.trace import TraceEvent
from fencepost.spec.znodes import MalformedZnodeError


@dataclass(frozen=True, slots=True)
class ConfigWrite:
    """One write of an entity's znode."""

    event: TraceEvent
    path: str
    entity: ConfigEntity
    before: Mapping[str, str]
    after: Mapping[str, str]

    def changed(self) -> Iterator[str]:
        """Each other entry, `name=value`, ascending; `name=` where it is gone or empty."""
        for name in sorted({*self.before, *self.after}):
            value = self.after.get(name)
            if value != self.before.get(name):
                yield f"{name}={value or ''}"


def config_writes(events: Iterable[TraceEvent]) -> list[ConfigWrite]:
    """In the order of the transactions; a document that cannot be read counts as empty."""
    known: dict[str, Mapping[str, str]] = {}
    writes = []
    for event in by_zxid(events):
        path = event.path or ""
        entity = entity_at(path)
        if entity is None:
            continue
        before, known[path] = known.get(path, {}), _entries(event)
        writes.append(ConfigWrite(event, path, entity, before, known[path]))
    return writes


def _entries(event: TraceEvent) -> Mapping[str, str]:
    """A deletion stores no document."""
    try:
        return parse_config("", (event.data or "").encode())
    except MalformedZnodeError:
        return {}
