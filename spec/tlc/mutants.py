"""Mutants of the specs: modules that replace operators of the protocol, one wrong rule each.

`mutants/<Module>/<name>.tla` extends `<Module>`; its `WrongIsOwn` stands for `IsOwn` wherever that
is used. TLC takes such replacements from its configuration, so the protocol knows nothing of them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.spec.tlc.modules import (
    defined_operators,
    modules_extended,
    modules_read,
    named_instances,
)

MUTANTS = "mutants"
"""The folder beside the modules, and what rows and hazards call the names."""
WRONG = "Wrong"
"""How a replacement is called: this, and the operator's own name."""
_EXTENDS = re.compile(r"^EXTENDS .*$", re.MULTILINE)


class SpecMutantError(ValueError):
    """A mutant that replaces nothing, or what another one replaces; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutated:
    """A root module with mutants on top of it."""

    root: str
    """The module that TLC is to begin with."""
    paths: tuple[Path, ...]
    """The mutants' files."""
    texts: Mapping[str, str]
    """File name -> text, to lie beside what the root module reads."""
    replaced: Mapping[str, str]
    """Operator -> what a configuration says behind its name: `<- WrongIsOwn`."""


def mutants_of(root: Path) -> dict[str, Path]:
    """Name -> file of each mutant of the modules that `root` reads.

    A name that both an extended and an instanced module have is that of the extended one.
    """
    extended = modules_extended(root)
    instanced = (path for path in modules_read(root) if path not in extended)
    found: dict[str, Path] = {}
    for module in (*extended, *instanced):
        for path in sorted((root.parent / MUTANTS / module.stem).glob("*.tla")):
            found.setdefault(path.stem, path)
    return found


def mutated(root: Path, names: Sequence[str]) -> Mutated:
    """`root` with these of `mutants_of(root)`; raises `SpecMutantError`."""
    known = mutants_of(root)
    if unknown := [name for name in names if name not in known]:
        raise SpecMutantError(f"module {root.stem} has no mutant {unknown[0]}")
    paths = tuple(known[name] for name in names)
    below = root.stem
    texts: dict[str, str] = {}
    replaced: dict[str, str] = {}
    for path in paths:
        for operator, replacement in replacements(path, root).items():
            if operator in replaced:
                raise SpecMutantError(f"{path.name}: another mutant replaces {operator} too")
            replaced[operator] = replacement
        texts[path.name] = _on_top_of(below, path, root)
        below = path.stem
    return Mutated(root=below, paths=paths, texts=texts, replaced=replaced)


def stand_together(root: Path, names: Sequence[str]) -> bool:
    """Whether no two of these mutants replace one operator; those that are no modules don't."""
    known = mutants_of(root)
    paths = (known[name] for name in names if name in known)
    replaced = [operator for path in paths for operator in replacements(path, root)]
    return len(replaced) == len(set(replaced))


def replacements(path: Path, root: Path) -> dict[str, str]:
    """Operator of the modules that `root` reads -> what replaces it, as a configuration says it.

    Raises `SpecMutantError` for a mutant that replaces none, or one that is not there.
    """
    names = [name for name in defined_operators(path) if name.startswith(WRONG)]
    if not names:
        raise SpecMutantError(f"{path.name} replaces nothing: it defines no {WRONG}…")
    return {name.removeprefix(WRONG): f"<- {_home(name, path, root)}{name}" for name in names}


def _home(name: str, path: Path, root: Path) -> str:
    """The instanced module that has the operator, in brackets; empty for an extended one."""
    operator = name.removeprefix(WRONG)
    extended = modules_extended(root)
    if any(operator in defined_operators(module) for module in extended):
        return ""
    for module in modules_read(root):
        if operator in defined_operators(module):
            return f"[{module.stem}]"
    raise SpecMutantError(f"{path.name}: {name} replaces {operator}, which no module defines")


def _on_top_of(below: str, path: Path, root: Path) -> str:
    """The mutant's text, extending `below` instead of the module that it breaks.

    What only an instanced module defines is reached through the name of the instance.
    """
    broken = path.parent.name
    home = root.with_name(f"{broken}.tla")
    text = path.read_text()
    line = _EXTENDS.search(text)
    if line is None or not re.search(rf"\b{broken}\b", line[0]):
        raise SpecMutantError(f"{path.name} does not extend {broken}")
    head, body = text[: line.start()], text[line.end() :]
    extends = re.sub(rf"\b{broken}\b", below, line[0])
    if home not in modules_extended(root):
        body = _through_instance(body, home, path, root)
    return f"{head}{extends}{body}"


def _through_instance(body: str, home: Path, path: Path, root: Path) -> str:
    extended = modules_extended(root)
    aliases = {of: alias for module in extended for alias, of in named_instances(module).items()}
    if home.stem not in aliases:
        raise SpecMutantError(f"{path.name}: {root.stem} has no name for its {home.stem}")
    own = {name for module in (*extended, path) for name in defined_operators(module)}
    theirs = {name for module in modules_extended(home) for name in defined_operators(module)}
    for name in sorted(theirs - own):
        body = re.sub(rf"(?<![!\w]){name}\b", f"{aliases[home.stem]}!{name}", body)
    return body
