"""What a TLA+ module says about itself without TLC: what it reads, and its constants."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

TEXTS_MAX = 256
"""So many texts of modules are known; each row of a table asks for the same few dozen."""
_COMMENT_PART = re.compile(r'"(?:[^"\\\n]|\\.)*"|\\\*[^\n]*|\(\*|\*\)')
_NAMES = r"\w+(?:\s*\([\s_,]*\))?"
_EXTENDS = re.compile(r"^\s*EXTENDS\s+(\w+(?:\s*,\s*\w+)*)", re.MULTILINE)
_INSTANCE = re.compile(r"\bINSTANCE\s+(\w+)")
_DEFINED = re.compile(r"^(?:LOCAL\s+)?(\w+)(?:\([^)]*\))?\s*==", re.MULTILINE)
_NAMED = re.compile(r"^(\w+)\s*==\s*INSTANCE\s+(\w+)", re.MULTILINE)
_CONSTANTS = re.compile(rf"^\s*CONSTANTS?\s+({_NAMES}(?:\s*,\s*{_NAMES})*)", re.MULTILINE)


@lru_cache(TEXTS_MAX)
def without_comments(text: str) -> str:
    """The text of a module with its comments, which nest, cut out."""
    kept: list[str] = []
    depth = at = 0
    for part in _COMMENT_PART.finditer(text):
        if depth == 0:
            kept.append(text[at : part.start()])
        at = part.end()
        if part[0] == "(*":
            depth += 1
        elif part[0] == "*)":
            depth = max(0, depth - 1)
        elif depth == 0 and part[0].startswith('"'):
            kept.append(part[0])
    if depth == 0:
        kept.append(text[at:])
    return "".join(kept)


def modules_read(module: Path) -> tuple[Path, ...]:
    """The module and all beside it that it extends or instances, however far; sorted by name."""
    found = {module: None}
    waiting = [module]
    while waiting:
        for path in _beside(waiting.pop()):
            if path not in found:
                found[path] = None
                waiting.append(path)
    return tuple(sorted(found))


def modules_extended(module: Path) -> tuple[Path, ...]:
    """The module and all beside it that it extends, however far; the module first."""
    found: dict[Path, None] = {}
    _extend(found, module)
    return tuple(found)


def _extend(found: dict[Path, None], module: Path) -> None:
    """Add the module and all that it extends, unless it has been added before."""
    if module in found:
        return
    found[module] = None
    for path in _paths(module, head_of(module.read_text()).extended):
        if path.is_file():
            _extend(found, path)


def defined_operators(module: Path) -> frozenset[str]:
    """The operators that the module itself defines, each at the beginning of a line."""
    return _defined_in(module.read_text())


@lru_cache(TEXTS_MAX)
def _defined_in(text: str) -> frozenset[str]:
    return frozenset(_DEFINED.findall(without_comments(text)))


def named_instances(module: Path) -> dict[str, str]:
    """Name -> module of each instance that the module names."""
    return dict(_NAMED.findall(without_comments(module.read_text())))


def declared_constants(module: Path) -> frozenset[str]:
    """The CONSTANTS of a module and of the modules beside it that it extends.

    Those of an instanced module get their values from the INSTANCE, never from a configuration.
    """
    heads = (head_of(path.read_text()) for path in modules_extended(module))
    return frozenset(name for head in heads for name in head.constants)


def owner_of_constant(name: str, module: Path) -> str:
    """Which module that `module` reads declares the constant `name`; empty when none does."""
    owners = (path.stem for path in modules_read(module) if name in declared_constants(path))
    return next(owners, "")


def _beside(module: Path) -> Iterator[Path]:
    head = head_of(module.read_text())
    names = (*head.extended, *head.instanced)
    return (path for path in _paths(module, names) if path.is_file())


def _paths(module: Path, names: tuple[str, ...]) -> Iterator[Path]:
    return (module.with_name(f"{name}.tla") for name in names)


class ModuleHead(NamedTuple):
    """What a module names, each in its order."""

    constants: tuple[str, ...]
    extended: tuple[str, ...]
    instanced: tuple[str, ...]


@lru_cache(TEXTS_MAX)
def head_of(text: str) -> ModuleHead:
    """What the text of a module says that it declares, extends and instances."""
    plain = without_comments(text)
    constants = (re.sub(r"\([^)]*\)", "", block) for block in _CONSTANTS.findall(plain))
    return ModuleHead(
        constants=tuple(name for block in constants for name in re.findall(r"\w+", block)),
        extended=tuple(n for block in _EXTENDS.findall(plain) for n in re.findall(r"\w+", block)),
        instanced=tuple(_INSTANCE.findall(plain)),
    )
