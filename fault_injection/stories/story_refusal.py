"""Says what is wrong with a story file in one sentence: the place, the value, and what to give.

msgspec finds the first thing that is wrong; the schema of its place says what may stand there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from fencepost.fault_injection.faults.parameters import Json
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.stories.steps.verbs import VERBS
from fencepost.fault_injection.stories.story_document import FIELDS, components

_PLACE = re.compile(r"(?P<says>.*?)(?: - at `(?P<inside>key` in `)?\$(?P<path>[^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_NOUNS = {
    "string": ("a text", "texts"),
    "integer": ("a whole number", "whole numbers"),
    "boolean": ("true or false", "true or false"),
    "object": ("an object with named fields", "objects"),
}

Place = tuple[str | int, ...]


class StoryError(FaultError):
    """A story that is not valid, or cannot be played; one sentence."""

    def __init__(self, reason: str, path: Place = ()) -> None:
        """`path` leads through the document to the step that is wrong."""
        super().__init__(reason)
        self.path = path


def refusal(
    document: object, error: msgspec.ValidationError, root: str = "StoryDocument"
) -> StoryError:
    """What msgspec says of a document, as one sentence; `root` is the class that was read."""
    found = _PLACE.fullmatch(str(error))
    assert found is not None
    path = tuple(name or int(index) for name, index in _STEP.findall(found["path"] or ""))
    if field := _FIELD.fullmatch(found["says"]):
        wrong = _missing if field[1] == "missing required" else _unknown
        return StoryError(f"{_place(document, path)}: {wrong(_nodes_at(path, root), field[2])}")
    if isinstance(error.__cause__, FaultError):
        return StoryError(f"{_place(document, path)}: {found['says']}")
    if not path:
        says = f"expected an object with named fields, found {document!r}"
        return StoryError(f"{_place(document, path)}: {says}")
    says = _wrong_value(document, path, _nodes_at(path, root))
    return StoryError(f"{_place(document, _owner(path))}: {says}")


def require_text(document: object) -> None:
    """Raise `StoryError` for a name that is no text, or a text that no file can hold."""
    for path, says in _no_texts(document, ()):
        raise StoryError(f"{_place(document, path)}{says}")


def _no_texts(value: object, path: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                yield path, f": the name {key!r} is no text; put it in quotes"
            elif not _is_text(key):
                yield path, f": the name {key!r} is no Unicode text; write it anew"
            else:
                yield from _no_texts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _no_texts(inner, (*path, index))
    elif isinstance(value, str) and not _is_text(value):
        yield path, f" is {value!r}, which is no Unicode text; write it anew"


def instead(wrong: str, known: Iterable[str], else_say: str) -> str:
    """What to write instead of a wrong name, as the end of a sentence."""
    folded = {name.casefold(): name for name in known}
    near = [folded[one] for one in get_close_matches(wrong.casefold(), folded)]
    return f"did you mean {' or '.join(near)}?" if near else else_say


def _place(document: object, path: Place) -> str:
    """`actions[0] (first): when: at_ms`; what is not of an action is of the story."""
    if (verb := _verb(document)) is not None:
        return ": ".join([verb, *map(str, path)])
    if path[:1] != ("actions",) or len(path) < 2:
        return ": ".join(["the story", *map(str, path)])
    action = _value_at(document, path[:2])
    name = action.get("id") if isinstance(action, Mapping) else None
    named = f" ({name})" if isinstance(name, str) and name else ""
    return ": ".join([f"actions[{path[1]}]{named}", *map(str, path[2:])])


def _verb(document: object) -> str | None:
    """The verb of a step; None for another document."""
    found = document if isinstance(document, Mapping) else {}
    return next((verb for verb in VERBS if verb in found), None)


def _missing(_: Sequence[Json], name: str) -> str:
    return f"the field {name} is missing; add it"


def _unknown(nodes: Sequence[Json], name: str) -> str:
    known = next(node["properties"] for node in nodes if "properties" in node)
    if "topic" in known:
        where = instead(name, FIELDS, "spec/trace.schema.json lists them")
        return f"{name!r} is no field of a trace line; {where}"
    if "eq" in known:
        return f"{name!r} compares nothing here; choose one of {', '.join(known)}"
    return f"there is no field {name!r}; choose among {', '.join(sorted(known))}"


def _owner(path: Place) -> Place:
    """The object that has the field, or the list, in which the value is."""
    return path[:-2] if isinstance(path[-1], int) else path[:-1]


def _wrong_value(document: object, path: Place, nodes: Sequence[Json]) -> str:
    value, rule = _value_at(document, path), nodes[0]
    if isinstance(path[-1], int):
        name, is_item = str(path[-2]), True
    else:
        name, is_item = str(path[-1]), False
    says = f"{name} {'holds' if is_item else 'is'} {value!r}"
    if rule.get("enum") == [1]:
        return f"{says}; this Fencepost reads schema 1"
    if "enum" in rule and (isinstance(value, str) or "type" not in rule):
        return f"{says}; choose one of {', '.join(map(str, rule['enum']))}"
    kind = rule.get("type", "object")
    if type(value) is int and kind == "integer":
        least, most = rule.get("minimum"), rule.get("maximum")
        is_low = least is not None and value < least
        return f"{says}; give {f'{least} or more' if is_low else f'{most} or less'}"
    if isinstance(value, str) and kind == "string":
        return f"{says}; give {rule['description']}"
    if is_item:
        return f"{says}; give a list of {_noun(rule, 1)}"
    return f"{says}; give {_noun(rule, 0)}"


def _noun(rule: Json, form: int) -> str:
    """What a rule asks for, in the singular (0) or the plural (1)."""
    if rule.get("type") != "array":
        return _NOUNS[rule.get("type", "object")][form]
    items = _noun(next(_alternatives(rule["items"])), 1)
    return f"{'lists' if form else 'a list'} of {items}"


def _nodes_at(path: Place, root: str) -> list[Json]:
    """The schemas of what may stand at a place, the plain value first."""
    nodes = list(_alternatives({"$ref": f"#/$defs/{root}"}))
    for step in path:
        below = (
            node["items"] if isinstance(step, int) else node["properties"][step]
            for node in nodes
            if ("items" in node if isinstance(step, int) else step in node.get("properties", {}))
        )
        nodes = list(_alternatives(next(below)))
    return nodes


def _alternatives(node: Json) -> Iterator[Json]:
    if "$ref" in node:
        yield from _alternatives(components()[node["$ref"].rpartition("/")[2]])
    elif "anyOf" in node:
        for one in node["anyOf"]:
            yield from _alternatives(one)
    else:
        yield node


def _value_at(document: Any, path: Place) -> Any:  # noqa: ANN401
    for step in path:
        document = document[step]
    return document


def _is_text(value: str) -> bool:
    """False for half a surrogate pair, which no file can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
