"""Stories as files: YAML, or JSON, which is YAML too; described in `fault_injection/README.md`.

Reading is strict. What `as_document` writes is what `story_from_document` reads.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_json import as_json, make_fault
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.stories.document_reader import Reader, StoryError
from fencepost.fault_injection.stories.story import (
    DEADLINE_MS,
    AfterAction,
    AfterEvent,
    At,
    ClientLoad,
    Floors,
    QuietTime,
    Story,
    StoryAction,
    Trigger,
)
from fencepost.fault_injection.stories.trigger_reader import read_trigger
from fencepost.spec.vocabulary import ProtocolLevel

SCHEMA_VERSION = 1
FILE_MAX = 2 << 20
"""Bytes; what is larger is something else."""
PLAN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LASTS = ("for_ms", "restart_after_ms")
"""The parameters that are `for_ms` of an action."""
WHO = ("target", "sender")
"""The parameters that are `target` of an action."""
CLUSTER_NUMBERS = ("brokers", "session_timeout_ms", "replica_lag_ms", "first_controller")
BROKERS_MAX = 50
"""As many processes as a machine may bear."""
ZOOKEEPERS = ("embedded", "ensemble")
LEVELS = tuple(level.value for level in ProtocolLevel)
REQUIREMENT_ID = re.compile(r"[A-Z]+-[0-9]{3}")


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
    reader = Reader.of("the schedule", document)
    version = reader.number("schema", at_least=1)
    if version != SCHEMA_VERSION:
        raise reader.error(f"schema is {version}; this Fencepost reads schema {SCHEMA_VERSION}")
    actions = tuple(
        _action(f"actions[{index}]", item)
        for index, item in enumerate(reader.list_of("actions", dict))
    )
    try:
        story = Story(
            story_id=_name(reader),
            says=reader.text("says", ""),
            covers=_requirements(reader),
            seed=reader.number("seed", 0),
            profile=ClientLoad(reader.choice("profile", ClientLoad.STEADY, tuple(ClientLoad))),
            script=reader.text("script", ""),
            cluster=_cluster(reader.inner("cluster")),
            floors=_floors(reader.inner("floors")),
            actions=actions,
            quiet=tuple(map(_quiet, reader.list_of("quiet", dict))),
            healthy_within_ms=_final(reader.inner("final")),
            fails_at=_levels(reader),
            origin=_origin(reader),
        )
    except StoryError:
        raise
    except FaultError as error:
        raise reader.error(str(error)) from error
    reader.finish()
    return story


def _name(reader: Reader) -> str:
    """Runs have folders of that name: it leads nowhere else."""
    name = reader.text("id")
    if not PLAN_NAME.fullmatch(name):
        raise reader.error(
            f"id is {name!r}; give a name of at most 100 letters, digits, '.', '_' and '-', "
            "the first a letter or a digit"
        )
    return name


def _cluster(reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: reader.number(name, at_least=1) for name in CLUSTER_NUMBERS if reader.has(name)
    }
    if reader.has("zookeeper"):
        found["zookeeper"] = reader.choice("zookeeper", None, ZOOKEEPERS)
    if found.get("brokers", 0) > BROKERS_MAX:
        raise reader.error(f"brokers is {found['brokers']}; give {BROKERS_MAX} or less")
    reader.knows(*CLUSTER_NUMBERS, "zookeeper")
    reader.finish()
    return found


def _floors(reader: Reader) -> Floors:
    usual = Floors()
    found = Floors(
        before=reader.number("before", usual.before),
        during=reader.number("during", usual.during),
        after=reader.number("after", usual.after),
        each=reader.number("each", usual.each),
    )
    reader.finish()
    return found


def _quiet(document: object) -> QuietTime:
    reader = Reader.of("quiet", document)
    found = QuietTime(at_ms=reader.number("at_ms"), for_ms=reader.number("for_ms", at_least=1))
    reader.finish()
    return found


def _final(reader: Reader) -> int:
    found = reader.number("healthy_within_ms", Story(story_id="").healthy_within_ms, at_least=1)
    reader.finish()
    return found


def _levels(reader: Reader) -> tuple[int, ...]:
    found = reader.list_of("fails_at", int)
    for level in found:
        if level not in LEVELS:
            known = ", ".join(map(str, LEVELS))
            raise reader.error(f"fails_at holds {level}, which is no level; choose among {known}")
    return found


def _requirements(reader: Reader) -> tuple[str, ...]:
    """Ids by their form; which of them there are, only the catalogue knows."""
    found = reader.list_of("covers", str)
    for name in found:
        if not REQUIREMENT_ID.fullmatch(name):
            raise reader.error(f"covers holds {name!r}; give ids of requirements, as CTL-006")
    return found


def _origin(reader: Reader) -> dict[str, Any]:
    if not reader.has("origin"):
        return {"kind": "hand"}
    inner = reader.inner("origin")
    inner.text("kind")
    return inner.given


def _action(where: str, document: object) -> StoryAction:
    reader = Reader.of(where, document)
    action_id = reader.text("id")
    if not action_id:
        raise reader.error("id is empty; give a name")
    reader.where = f"{where} ({action_id})"
    until = read_trigger(reader, "until", action_id) if reader.has("until") else None
    deadline_ms = reader.number("deadline_ms", DEADLINE_MS, at_least=1)
    action = StoryAction(
        action_id=action_id,
        fault=_fault(reader, deadline_ms if until else None),
        when=read_trigger(reader, "when", "") if reader.has("when") else At(at_ms=0),
        until=until,
        deadline_ms=deadline_ms,
        must_take_effect=reader.flag("must_take_effect", default=True),
        covers=_requirements(reader),
    )
    reader.knows("record", "until", "when")
    reader.finish()
    if until is not None and action.fault.active_ms == 0:
        raise reader.error(f"{action.fault.kind} is over at once; leave out until")
    return action


def _fault(reader: Reader, until_deadline_ms: int | None) -> Fault:
    """The fault of an action; `target` and `for_ms` stand beside its other parameters."""
    from fencepost.fault_injection.faults.catalogue import kind_of

    try:
        kind = kind_of(reader.text("kind"))
    except StoryError:
        raise
    except FaultError as error:
        raise reader.error(str(error)) from error
    names = kind.parameters
    given = dict(reader.inner("params").given)
    who = next((name for name in WHO if name in names), "")
    lasts = next((name for name in LASTS if name in names), "")
    reader.knows("target", "for_ms")
    for name, inside in (("target", who), ("for_ms", lasts)):
        if inside and inside in given:
            raise reader.error(f"params has {inside}; write it as {name} of the action")
        if reader.has(name):
            if not inside:
                raise reader.error(f"{kind.kind} takes no {name}; leave it out")
            given[inside] = reader.given[name]
    if until_deadline_ms is not None and lasts:
        if reader.has("for_ms"):
            raise reader.error("it has for_ms and until; keep one")
        given[lasts] = until_deadline_ms
    if lasts == "restart_after_ms":
        given.setdefault(lasts, None)
    try:
        return make_fault(kind.kind, given)
    except FaultError as error:
        raise reader.error(str(error)) from error


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
    for name in WHO:
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
