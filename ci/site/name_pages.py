"""A page for each kind of name: what `fencepost explain` tells, with links from name to name."""

import re
from collections.abc import Iterator
from functools import cache

from fencepost.ci.screens.explanations import ExplainedName, NameKind, explanations, names

HEADINGS = {
    NameKind.REQUIREMENT: "Requirements",
    NameKind.CHECK: "Checks",
    NameKind.LIVENESS: "Properties of liveness",
    NameKind.MUTANT: "Mutants",
    NameKind.HAZARD: "Hazards",
    NameKind.FAULT: "Kinds of faults",
    NameKind.MODEL: "Models",
    NameKind.BUG: "Bugs of releases",
    NameKind.STORY: "Stories",
}
MARK = re.compile(r"([\\*_\[\]<>|#])")


def name_pages() -> Iterator[tuple[NameKind, str]]:
    """Each kind with its page."""
    for kind, known in names().items():
        head = f"# {HEADINGS[kind]}\n\nWhat `fencepost explain ID` tells of each.\n"
        yield kind, head + "".join(f"\n{_entry(kind, name)}" for name in known)


def _entry(kind: NameKind, name: str) -> str:
    about = next(one for one in explanations(name) if one.kind is kind)
    return "\n".join(_lines(about)) + "\n"


def _lines(about: ExplainedName) -> Iterator[str]:
    yield f"## `{about.name}` {{ #{about.name} }}\n"
    yield f"{prose(about.title)}\n"
    told = {"source": about.source, **about.told}
    yield from (f"- **{prose(what)}**: {prose(text)}" for what, text in told.items() if text)
    for what, found in about.links.items():
        if found:
            yield f"- **{prose(what)}**: {', '.join(_linked(what, name) for name in found)}"
    if about.again:
        yield f"- **shown by**: `{about.again}`"


def _linked(what: str, name: str) -> str:
    """A name with a link to what is told of it, where something is."""
    kinds = _kinds_of().get(name, ())
    kind = next((one for one in kinds if one == what), next(iter(kinds), None))
    return f"[`{name}`]({kind}.md#{name})" if kind else f"`{name}`"


@cache
def _kinds_of() -> dict[str, tuple[NameKind, ...]]:
    found: dict[str, tuple[NameKind, ...]] = {}
    for kind, known in names().items():
        for name in known:
            found[name] = (*found.get(name, ()), kind)
    return found


def prose(text: str) -> str:
    """`text` in one line; what Markdown would take for a mark is a character, but in code."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return MARK.sub(r"\\\1", "'".join(parts))
    return "`".join(part if at % 2 else MARK.sub(r"\\\1", part) for at, part in enumerate(parts))
