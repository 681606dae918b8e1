"""Stories as files: YAML, or JSON, which is YAML too; described in `fault_injection/README.md`.

Reading is strict. What `as_document` writes is what `story_from_document` reads.
"""

from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import UNSET, Struct

from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_json import as_json, make_fault
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.faults.targets import FaultError, Target, parse_target
from fencepost.fault_injection.stories.story import (
    DEADLINE_MS,
    AfterAction,
    AfterEvent,
    At,
    Story,
    StoryAction,
    Trigger,
)
from fencepost.fault_injection.stories.story_document import ActionDocument, StoryDocument
from fencepost.fault_injection.stories.story_refusal import StoryError, refusal, require_text
from fencepost.fault_injection.stories.trigger_document import read_trigger

SCHEMA_VERSION = 1
FILE_MAX = 2 << 20
"""Bytes; what is larger is something else."""
LASTS = ("for_ms", "restart_after_ms")
"""The parameters that are `for_ms` of an action."""
VICTIM = ("target", "sender")
"""The parameters that are `target` of an action."""


class StrictLoader(yaml.SafeLoader):
    """As YAML's safe loader; a name that is given twice is an error and not a matter of order."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: ANN401, FBT001, FBT002
        """The mapping of a node."""
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        if twice:
            raise StoryError(
                f"line {node.start_mark.line + 1}: the name {twice[0]!r} is given twice; keep one"
            )
        return super().construct_mapping(node, deep)


StrictLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if letter in "tTfF" or "bool" not in tag]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
"""`on` is a name here, and not another word for true."""


def read_story(path: Path) -> Story:
    """The story in a file; raises `StoryError`, which begins with the file's name."""
    try:
        with path.open("rb") as file:
            text = file.read(FILE_MAX + 1)
        if len(text) > FILE_MAX:
            raise StoryError(f"it is larger than {FILE_MAX >> 20} MiB; name a schedule file")
        return story_from_text(text.decode("utf-8-sig"))
    except OSError as error:
        raise StoryError(f"{path}: {error.strerror}; name a schedule file") from error
    except UnicodeDecodeError as error:
        raise StoryError(f"{path}: it is no UTF-8 text; name a schedule file") from error
    except FaultError as error:
        raise StoryError(f"{path}: {error}") from error


def story_from_text(text: str) -> Story:
    """The story in a text; raises `StoryError`."""
    try:
        document = yaml.load(text, Loader=StrictLoader)  # noqa: S506  a safe loader, see above
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
    return story_from_document(document)


def story_from_document(document: object) -> Story:
    """The story that `as_document` wrote; raises `StoryError` with one sentence."""
    require_text(document)
    try:
        given = msgspec.convert(document, StoryDocument, dec_hook=_read_target)
    except msgspec.ValidationError as error:
        raise refusal(document, error) from error
    if not isinstance(given.origin.get("kind"), str):
        raise StoryError("the schedule: origin has no kind; give a text")
    actions = tuple(
        _action(f"actions[{index}] ({action.id})", action)
        for index, action in enumerate(given.actions)
    )
    try:
        return Story(
            story_id=given.id,
            says=given.says,
            covers=tuple(given.covers),
            seed=given.seed,
            profile=given.profile,
            script=given.script,
            cluster=_set_fields(given.cluster),
            floors=given.floors,
            actions=actions,
            quiet=tuple(given.quiet),
            healthy_within_ms=given.final.healthy_within_ms,
            fails_at=tuple(given.fails_at),
            origin=given.origin,
        )
    except FaultError as error:
        raise StoryError(f"the schedule: {error}") from error


def _read_target(_: type, value: object) -> Target:
    return parse_target(str(value))


def _set_fields(document: Struct) -> dict[str, Any]:
    """The fields that a file gives, by their names in Python."""
    given = {name: getattr(document, name) for name in document.__struct_fields__}
    return {name: value for name, value in given.items() if value is not UNSET}


def _action(where: str, given: ActionDocument) -> StoryAction:
    until = None if given.until is UNSET else read_trigger(f"{where}: until", given.until, given.id)
    when = At(at_ms=0) if given.when is UNSET else read_trigger(f"{where}: when", given.when, "")
    action = StoryAction(
        action_id=given.id,
        fault=_fault(where, given),
        when=when,
        until=until,
        deadline_ms=given.deadline_ms,
        must_take_effect=given.must_take_effect,
        covers=tuple(given.covers),
    )
    if until is not None and action.fault.active_ms == 0:
        raise StoryError(f"{where}: {given.kind} is over at once; leave out until")
    return action


def _fault(where: str, action: ActionDocument) -> Fault:
    """The fault of an action; `target` and `for_ms` stand beside its other parameters."""
    try:
        kind = kind_of(action.kind)
        given = _parameters(kind, action)
        return make_fault(kind.kind, given)
    except FaultError as error:
        raise StoryError(f"{where}: {error}") from error


def _parameters(kind: FaultKind, action: ActionDocument) -> dict[str, Any]:
    """The parameters of a fault by their own names; raises `FaultError`."""
    given = dict(action.params)
    victim = next((name for name in VICTIM if name in kind.parameters), "")
    lasts = next((name for name in LASTS if name in kind.parameters), "")
    for name, inside in (("target", victim), ("for_ms", lasts)):
        value = getattr(action, name)
        if inside and inside in given:
            raise FaultError(f"params has {inside}; write it as {name} of the action")
        if value is not UNSET and not inside:
            raise FaultError(f"{kind.kind} takes no {name}; leave it out")
        if value is not UNSET:
            given[inside] = value
    if action.until is not UNSET and lasts:
        if action.for_ms is not UNSET:
            raise FaultError("it has for_ms and until; keep one")
        given[lasts] = action.deadline_ms
    if lasts == "restart_after_ms":
        given.setdefault(lasts, None)
    return given


def as_document(story: Story) -> dict[str, Any]:
    """The story as plain values; what is usual is left out."""
    usual = Story(story_id="")
    floors = story.floors
    document: dict[str, Any] = {"schema": SCHEMA_VERSION, "id": story.story_id}
    document |= {"says": story.says} if story.says else {}
    document |= {"covers": list(story.covers)} if story.covers else {}
    document |= {"seed": story.seed, "profile": str(story.profile)}
    document |= {"script": story.script} if story.script else {}
    document |= {"cluster": dict(story.cluster)} if story.cluster else {}
    document["floors"] = {
        "before": floors.before,
        "during": floors.during,
        "after": floors.after,
        **({"each": floors.each} if floors.each else {}),
    }
    document["actions"] = [action_document(action) for action in story.actions]
    if story.quiet:
        document["quiet"] = [{"at_ms": one.at_ms, "for_ms": one.for_ms} for one in story.quiet]
    if story.healthy_within_ms != usual.healthy_within_ms:
        document["final"] = {"healthy_within_ms": story.healthy_within_ms}
    document |= {"fails_at": list(story.fails_at)} if story.fails_at else {}
    document["origin"] = dict(story.origin)
    return document


def action_document(action: StoryAction) -> dict[str, Any]:
    """One action as plain values."""
    given = as_json(action.fault)
    document: dict[str, Any] = {"id": action.action_id, "kind": given.pop("fault")}
    for name in VICTIM:
        if name in given:
            document["target"] = given.pop(name)
    lasts = [given.pop(name) for name in LASTS if name in given]
    document |= {"params": given} if given else {}
    document["when"] = trigger_document(action.when)
    if action.until is not None:
        document["until"] = trigger_document(action.until)
    elif lasts and lasts[0] is not None:
        document["for_ms"] = lasts[0]
    if action.deadline_ms != DEADLINE_MS:
        document["deadline_ms"] = action.deadline_ms
    if not action.must_take_effect:
        document["must_take_effect"] = False
    return document | ({"covers": list(action.covers)} if action.covers else {})


def trigger_document(trigger: Trigger) -> dict[str, Any]:
    """One trigger as plain values."""
    match trigger:
        case At():
            return {"at_ms": trigger.at_ms}
        case AfterAction():
            plus = {"plus_ms": trigger.plus_ms} if trigger.plus_ms else {}
            return {"after": {"action": trigger.action_id, "phase": str(trigger.phase), **plus}}
        case AfterEvent():
            return {"after": _event_document(trigger)}


def _event_document(trigger: AfterEvent) -> dict[str, Any]:
    match: dict[str, Any] = {}
    for one in trigger.match:
        match.setdefault(one.name, {})[str(one.operator)] = _as_list(one.value)
    document: dict[str, Any] = {"event": trigger.event}
    document |= {"by": str(trigger.by)} if trigger.by else {}
    document |= {"match": match} if match else {}
    document |= {"nth": trigger.nth} if trigger.nth != 1 else {}
    document |= {"since": trigger.since} if trigger.since else {}
    return document | ({"plus_ms": trigger.plus_ms} if trigger.plus_ms else {})


def _as_list(value: object) -> object:
    return list(map(_as_list, value)) if isinstance(value, tuple) else value


def to_yaml(story: Story, comment: str = "") -> str:
    """The story as a file that can be committed."""
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + yaml.safe_dump(as_document(story), sort_keys=False, width=100, allow_unicode=True)
