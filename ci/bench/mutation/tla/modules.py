"""Which definitions of which modules are the protocol: what `Next` of a checked module reaches."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fencepost.ci.bench.mutation.tla.syntax import Expression, TlaModule, read_module

Definition = tuple[str, str]
"""Module and name."""
_EXTENDS = re.compile(
    r"^EXTENDS\s+([\w\s,]+?)(?=\n\s*\n|\n\(\*|\nCONST|\nVARI|\n\w+ ==)", re.MULTILINE
)
_NAMED_INSTANCE = re.compile(r"^(\w+)\s*==\s*INSTANCE\s+(\w+)", re.MULTILINE)
_PLAIN_INSTANCE = re.compile(r"^INSTANCE\s+(\w+)", re.MULTILINE)
_HISTORY = re.compile(r"^\s*(?:VARIABLES?\s+)?(\w+),?\s*\\\*\s*history\b", re.MULTILINE)


@dataclass(frozen=True)
class TlaModules:
    """The modules of a folder, read."""

    modules: dict[str, TlaModule] = field(hash=False)

    @cached_property
    def history(self) -> frozenset[str]:
        """Variables that say `history` of themselves: the properties read them, no rule does."""
        texts = (module.text for module in self.modules.values())
        return frozenset(name for text in texts for name in _HISTORY.findall(text))

    @cached_property
    def assigned(self) -> dict[Definition, frozenset[str]]:
        """Definition -> the variables of which it says the next values, with all that it uses."""
        found = {one: frozenset(primed(body)) for one, body in self._definitions()}
        while True:
            more = {
                one: found[one].union(*(found.get(used, frozenset()) for used in self.uses(one)))
                for one in found
            }
            if more == found:
                return found
            found = more

    def _definitions(self) -> Iterator[tuple[Definition, Expression]]:
        for module in self.modules.values():
            for name, body in module.definitions.items():
                yield (module.name, name), body

    @cached_property
    def scopes(self) -> dict[str, tuple[str, ...]]:
        """Module -> itself and all that it extends."""
        return {name: tuple(self._extended(name)) for name in self.modules}

    def _extended(self, module: str) -> Iterator[str]:
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop(0)
            if name in seen or name not in self.modules:
                continue
            seen.add(name)
            yield name
            text = self.modules[name].text
            for block in _EXTENDS.findall(text):
                waiting += re.findall(r"\w+", block)
            waiting += _PLAIN_INSTANCE.findall(text)

    @cached_property
    def instances(self) -> dict[str, dict[str, str]]:
        """Module -> what it calls its instances -> the modules that those are of."""
        own = {one.name: dict(_NAMED_INSTANCE.findall(one.text)) for one in self.modules.values()}
        return {
            name: {alias: target for one in scope for alias, target in own[one].items()}
            for name, scope in self.scopes.items()
        }

    @cached_property
    def owners(self) -> dict[str, dict[str, str]]:
        """Module -> name -> the module of its scope that defines it."""
        return {
            name: {word: one for one in reversed(scope) for word in self.modules[one].definitions}
            for name, scope in self.scopes.items()
        }

    def resolve(self, module: str, name: str) -> Definition | None:
        """Where `name`, as `module` says it, is defined; None for variables and the like."""
        *instances, last = name.split("!")
        for instance in instances:
            module = self.instances.get(module, {}).get(instance, "")
        owner = self.owners.get(module, {}).get(last)
        return None if owner is None else (owner, last)

    def body(self, one: Definition) -> Expression:
        """What is defined."""
        return self.modules[one[0]].definitions[one[1]]

    def uses(self, one: Definition) -> frozenset[Definition]:
        """The definitions that it names."""
        return self.named_in(one[0], self.body(one).walk())

    def named_in(self, module: str, parts: Iterable[Expression]) -> frozenset[Definition]:
        """The definitions that these expressions of a module name."""
        names = {part.symbol for part in parts if part.kind in {"name", "apply"}}
        return frozenset(filter(None, (self.resolve(module, name) for name in names)))

    def assigned_by(self, module: str, expression: Expression) -> frozenset[str]:
        """The variables of which an expression of a module says the next values."""
        used = self.named_in(module, expression.walk())
        return frozenset(primed(expression)).union(*(self.assigned[one] for one in used))


def primed(expression: Expression) -> Iterator[str]:
    """The variables with a prime, and those that are said to be unchanged."""
    for part in expression.walk():
        if part.kind == "group" and part.symbol == "'":
            yield from (inner.symbol for inner in part.parts[0].walk() if inner.kind == "name")
        if part.kind == "prefix" and part.symbol == "UNCHANGED":
            yield from (inner.symbol for inner in part.walk() if inner.kind == "name")


def read_folder(folder: Path) -> TlaModules:
    """All modules of a folder; raises `TlaSyntaxError`."""
    paths = sorted(folder.glob("*.tla"))
    return TlaModules({path.stem: read_module(path.stem, path.read_text()) for path in paths})
