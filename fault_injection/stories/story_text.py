"""The text of story files: YAML, where a step stands in it, and how steps are written.

A file is rewritten step by step: comments stay, and so does the text of every other step.
"""

from collections.abc import Callable, Iterator, Mapping
from textwrap import indent
from typing import Any

import yaml

from fencepost.fault_injection.faults.parameters import Json
from fencepost.fault_injection.stories.story_refusal import Place, StoryError

WIDTH = 100
INDENT = "  "


class _NamesOnce:
    """A name that is given twice is an error and not a matter of order."""

    construct_object: Callable[..., Any]

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: ANN401, FBT001, FBT002
        """The mapping of a node."""
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        if twice:
            raise StoryError(
                f"line {node.start_mark.line + 1}: the name {twice[0]!r} is given twice; keep one"
            )
        found: dict[Any, Any] = super().construct_mapping(node, deep)  # type: ignore[misc]
        return found


class StrictLoader(_NamesOnce, yaml.SafeLoader):
    """As YAML's safe loader, in Python: it tells best what is wrong, and where."""


_OfLibyaml: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class QuickLoader(_NamesOnce, _OfLibyaml):  # type: ignore[misc]
    """The same by libyaml, in a tenth of the time."""


StrictLoader.yaml_implicit_resolvers = QuickLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if letter in "tTfF" or "bool" not in tag]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
"""`on` is a name here, and not another word for true."""


def document_of(text: str) -> object:
    """The plain values of a file; raises `StoryError`."""
    try:
        document = _values(text)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
        problem = getattr(error, "problem", None) or "it has characters that are no text"
        where = f"line {line}: " if line else ""
        raise StoryError(f"{where}no valid YAML: {problem}") from error
    except ValueError as error:
        raise StoryError(f"no valid YAML: {error}") from error
    except RecursionError as error:
        raise StoryError("no valid YAML: too many brackets within brackets") from error
    if document is None:
        raise StoryError("it is empty; give at least schema and id")
    return document


def _values(text: str) -> object:
    """The quick loader's; what it refuses, the other one judges."""
    try:
        return yaml.load(text, Loader=QuickLoader)  # noqa: S506  a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return yaml.load(text, Loader=StrictLoader)  # noqa: S506  a safe loader


def placed(text: str, error: StoryError) -> StoryError:
    """The error with the line of the step that is wrong, if one is."""
    if not error.path:
        return error
    return StoryError(f"line {line_of(text, error.path)}: {error}")


def line_of(text: str, place: Place) -> int:
    """The line of what stands at a place of a file that can be read."""
    line: int = _node_at(_tree(text), place).start_mark.line
    return line + 1


def rewritten(text: str, printed: Mapping[Place, Mapping[str, str] | str]) -> str:
    """The file, with what the steps at these places print; all else stays as it is."""
    root = _tree(text)
    for path in sorted(printed, reverse=True):
        node = _node_at(root, path)
        start = node.start_mark
        end = start.index + len(text[start.index : _end_of(node)].rstrip())
        document = StrictLoader("").construct_object(node, deep=True)
        document = {document: None} if isinstance(document, str) else document
        document.pop("expected", None)
        if printed[path]:
            document["expected"] = printed[path]
        lines = indent(step_text(document), " " * (start.column - len(INDENT)))
        text = text[: start.index] + lines.lstrip(" -") + text[end:]
    return text


def step_text(document: Json) -> str:
    """A step as an item of a list: in one line where that can be read."""
    verb, *names = document
    if document == {verb: None}:
        return f"- {verb}"
    line = f"- {_flow(document)}"
    if document[verb] is not None and len(line) <= WIDTH and "\n" not in line:
        return line
    lines = [f"{verb}:" if document[verb] is None else f"{verb}: {_flow(document[verb])}"]
    for name in names:
        lines += _field(name, document[name])
    return "\n".join([f"- {lines[0]}", *(f"{INDENT}{line}" for line in lines[1:])])


def _field(name: str, value: object) -> Iterator[str]:
    """A field, on as many lines as its text has."""
    flow = f"{name}: {_flow(value)}"
    if isinstance(value, str) and "\n" in value and not value.startswith(" "):
        yield f"{name}: |"
        yield from (f"{INDENT}{line}".rstrip() for line in value.splitlines())
    elif isinstance(value, Mapping) and ("\n" in flow or len(flow) > WIDTH - 2 * len(INDENT)):
        yield f"{name}:"
        for inner, one in value.items():
            yield from (f"{INDENT}{line}" for line in _field(inner, one))
    else:
        yield flow


def _flow(value: object) -> str:
    text: str = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _tree(text: str) -> Any:  # noqa: ANN401  PyYAML's nodes
    return yaml.compose(text, Loader=StrictLoader)


def _node_at(node: Any, path: Place) -> Any:  # noqa: ANN401
    for name in path:
        inner = node.value
        node = inner[name] if isinstance(name, int) else {k.value: v for k, v in inner}[name]
    return node


def _end_of(node: Any) -> int:  # noqa: ANN401
    """Where the text of a node ends: comments and blank lines behind it are not its own."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end_of(last[1] if isinstance(last, tuple) else last)
