"""The pages of the public API: what `docs/api.md` lists, as the sources have it."""

import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from fencepost.ci.site.documents import ROOT

API = ROOT / "docs" / "api.md"
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

FULL_NAME = "\n    options:\n      show_root_full_path: true"
"""For what is imported from the module that defines it."""


def sections() -> Iterator[tuple[str, str, str]]:
    """Heading, module ("" for none) and text of each section of the list."""
    for section in re.split(r"^## ", API.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        module = re.search(r"`(fencepost[\w.]+)`", heading)
        yield heading.partition(":")[0], module.group(1) if module else "", FENCE.sub("", body)


def listed(module: str, body: str) -> Iterator[tuple[str, str]]:
    """Module and name of what a section lists: in the first cell of a row, or in a sentence."""
    rows = [line for line in body.splitlines() if line.startswith("|")] or body.splitlines()
    for line in rows if module else ():
        first, *others = line.strip("| ").split(" | ")
        names = re.findall(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`", first)
        dotted = [name for name in names if name.startswith("fencepost.")]
        yield from ((name.rpartition(".")[0], name.rpartition(".")[2]) for name in dotted)
        if not dotted:
            yield from ((module, name) for name in names)
        elif found := re.match(r"(`\w+`(, )?)+", " ".join(others)):
            yield from ((dotted[0], name) for name in re.findall(r"`(\w+)`", found.group()))


def public_names() -> Iterator[tuple[str, str]]:
    """Module and name of all that is listed."""
    for _, module, body in sections():
        yield from listed(module, body)


def api_pages() -> Iterator[tuple[str, str]]:
    """Path and Markdown of a page for each section with a module."""
    for heading, module, body in sections():
        if not module:
            continue
        exported = getattr(import_module(module), "__all__", ())
        wanted = [(module, name) for name in exported] or list(listed(module, body))
        homes = dict.fromkeys(home_of(*one) for one in wanted)
        parts = [
            f"# {heading}",
            f"`{module}`; [the list](../../docs/api.md) says what may be imported.",
        ]
        told = [home for home in homes if home.rpartition(".")[0] not in homes]
        parts += [f"::: {home}{'' if exported else FULL_NAME}" for home in told]
        yield f"reference/api/{heading.lower().replace(' ', '_')}.md", "\n\n".join(parts) + "\n"


def home_of(module: str, name: str) -> str:
    """The dotted name under which the sources define it."""
    found = getattr(import_module(module), name, None)
    if found is None or isinstance(found, ModuleType):
        return f"{module}.{name}"
    place = getattr(found, "__module__", module)
    return f"{place if place.startswith('fencepost.') else module}.{name}"
