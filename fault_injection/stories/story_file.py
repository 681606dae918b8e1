"""Stories as files: YAML, or JSON, which is YAML too; described in `fault_injection/README.md`.

Reading is strict. What `as_document` writes is what `story_from_document` reads.
"""

from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import msgspec
import yaml
from msgspec import UNSET, Struct

from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_json import as_json, make_fault
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.faults.parameters import Json
from fencepost.fault_injection.faults.targets import FaultError, Target, parse_target
from fencepost.fault_injection.stories.steps.story_step import (
    FaultStep,
    StoryStep,
    WaitForStep,
    verb_of,
)
from fencepost.fault_injection.stories.steps.verbs import BARE, VERBS
from fencepost.fault_injection.stories.story import (
    DEADLINE_MS,
    AfterAction,
    AfterEvent,
    At,
    Story,
    StoryAction,
    StoryRun,
    Trigger,
)
from fencepost.fault_injection.stories.story_document import (
    ActionDocument,
    AfterDocument,
    RunDocument,
    StoryDocument,
    TriggerDocument,
)
from fencepost.fault_injection.stories.story_refusal import (
    Place,
    StoryError,
    instead,
    refusal,
    require_text,
)
from fencepost.fault_injection.stories.story_text import document_of, placed, step_text
from fencepost.fault_injection.stories.trigger_document import read_trigger

SCHEMA_VERSION = 1
FILE_MAX = 2 << 20
"""Bytes; what is larger is something else."""
LASTS = ("for_ms", "restart_after_ms")
"""The parameters that are `for_ms` of an action."""
VICTIM = ("target", "sender")
"""The parameters that are `target` of an action."""


def read_story(path: Path) -> Story:
    """The story in a file; raises `StoryError`, which begins with the file's name."""
    try:
        with path.open("rb") as file:
            text = file.read(FILE_MAX + 1)
        if len(text) > FILE_MAX:
            raise StoryError(f"it is larger than {FILE_MAX >> 20} MiB; name a story file")
        return story_from_text(text.decode("utf-8-sig"))
    except OSError as error:
        raise StoryError(f"{path}: {error.strerror}; name a story file") from error
    except UnicodeDecodeError as error:
        raise StoryError(f"{path}: it is no UTF-8 text; name a story file") from error
    except FaultError as error:
        raise StoryError(f"{path}: {error}") from error


def story_from_text(text: str) -> Story:
    """The story in a text; raises `StoryError`."""
    try:
        return story_from_document(document_of(text))
    except StoryError as error:
        raise placed(text, error) from error


def story_from_document(document: object) -> Story:
    """The story that `as_document` wrote; raises `StoryError` with one sentence."""
    require_text(document)
    try:
        given = msgspec.convert(document, StoryDocument, dec_hook=_read_target)
    except msgspec.ValidationError as error:
        raise refusal(document, error) from error
    if not isinstance(given.origin.get("kind"), str):
        raise StoryError("the story: origin has no kind; give a text")
    actions = tuple(
        _action(f"actions[{index}] ({action.id})", action)
        for index, action in enumerate(given.actions)
    )
    try:
        story = Story(
            story_id=given.id,
            says=given.says,
            covers=tuple(given.covers),
            hazards=tuple(given.hazards),
            kills=tuple(given.kills),
            seed=given.seed,
            profile=given.profile,
            cluster=_set_fields(given.cluster),
            floors=given.floors,
            steps=_steps(("steps",), given.steps),
            runs=tuple(_run(index, run) for index, run in enumerate(given.runs)),
            actions=actions,
            quiet=tuple(given.quiet),
            healthy_within_ms=given.final.healthy_within_ms,
            further=tuple(given.further),
            from_level=given.from_level,
            fails_at=tuple(given.fails_at),
            origin=given.origin,
        )
    except StoryError:
        raise
    except FaultError as error:
        raise StoryError(f"the story: {error}") from error
    _require_runs(story)
    return story


def _read_target(_: type, value: object) -> Target:
    return parse_target(str(value))


def _set_fields(document: Struct) -> dict[str, Any]:
    """The fields that a file gives, by their names in Python."""
    given = {name: getattr(document, name) for name in document.__struct_fields__}
    return {name: value for name, value in given.items() if value is not UNSET}


def _run(index: int, given: RunDocument) -> StoryRun:
    return StoryRun(
        run_id=given.id,
        says=given.says,
        cluster=_set_fields(given.cluster),
        steps=_steps(("runs", index, "steps"), given.steps),
    )


def _steps(path: Place, given: Sequence[Json | str]) -> tuple[StoryStep, ...]:
    steps: list[StoryStep] = []
    for index, one in enumerate(given):
        try:
            steps.append(read_step(one))
        except FaultError as error:
            raise StoryError(str(error), (*path, index)) from error
    return tuple(steps)


def read_step(given: Json | str) -> StoryStep:
    """The step that an object says, or a verb alone; raises `FaultError`."""
    document = {given: None} if isinstance(given, str) else given
    verb = next((name for name in document if name in VERBS), None)
    if verb is None:
        name = next(iter(document), "")
        known = f"begin with one of {', '.join(VERBS)}"
        raise StoryError(f"there is no verb {name!r}; {instead(name, VERBS, known)}")
    if isinstance(given, str) and verb not in BARE:
        raise StoryError(f"{verb} does not stand alone; write it as in {{{verb}: ...}}")
    try:
        step = msgspec.convert(document, VERBS[verb], dec_hook=_read_target)
    except msgspec.ValidationError as error:
        raise refusal(document, error, VERBS[verb].__name__) from error
    if isinstance(step, FaultStep):
        fault_of(step)
    elif isinstance(step, WaitForStep):
        awaited_by(step)
    return step


def fault_of(step: FaultStep) -> Fault:
    """The fault that a step begins; raises `FaultError`."""
    kind = kind_of(step.kind)
    return make_fault(kind.kind, _parameters(kind, step))


def awaited_by(step: WaitForStep) -> Trigger:
    """What a step waits for; raises `StoryError`."""
    try:
        after = msgspec.convert(step.wait_for, AfterDocument, dec_hook=_read_target)
    except msgspec.ValidationError as error:
        raise refusal({"wait_for": step.wait_for}, error, "AfterDocument") from error
    return read_trigger("wait_for", TriggerDocument(after=after), "")


def _require_runs(story: Story) -> None:
    """Raise `StoryError` for two runs of one name, or a step that names a run that is not there."""
    known = [run.run_id for run in story.runs]
    if twice := [name for name in known if known.count(name) > 1]:
        raise StoryError(f"the story: runs: the id {twice[0]!r} is used twice; rename one")
    for number, run in enumerate(story.played):
        for index, step in enumerate(run.steps):
            for name in step.expected if isinstance(step.expected, dict) else ():
                if name not in known:
                    says = instead(name, known, f"there are {', '.join(known) or 'none'}")
                    path = (*story.place_of_steps(number), index)
                    raise StoryError(
                        f"expected names the run {name!r}, which is none; {says}", path
                    )


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


def _parameters(kind: FaultKind, action: ActionDocument | FaultStep) -> dict[str, Any]:
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
    if isinstance(action, ActionDocument) and action.until is not UNSET and lasts:
        if action.for_ms is not UNSET:
            raise FaultError("it has for_ms and until; keep one")
        given[lasts] = action.deadline_ms
    if lasts == "restart_after_ms":
        given.setdefault(lasts, None)
    return given


def as_document(story: Story) -> Json:
    """The story as plain values; what is usual is left out."""
    usual = _whole_document(Story(story_id=""))
    given = _whole_document(story).items()
    return {"schema": SCHEMA_VERSION} | {n: value for n, value in given if value != usual[n]}


def _whole_document(story: Story) -> Json:
    return {
        "id": story.story_id,
        "says": story.says,
        "covers": list(story.covers),
        "hazards": list(story.hazards),
        "kills": list(story.kills),
        "seed": story.seed,
        "profile": str(story.profile),
        "cluster": dict(story.cluster),
        "floors": _plain(story.floors),
        "steps": [step_document(step) for step in story.steps],
        "runs": [_run_document(run) for run in story.runs],
        "actions": [action_document(action) for action in story.actions],
        "quiet": _plain(story.quiet),
        "final": {"healthy_within_ms": story.healthy_within_ms},
        "further": list(story.further),
        "from_level": story.from_level,
        "fails_at": list(story.fails_at),
        "origin": dict(story.origin),
    }


def _plain(value: object) -> Any:  # noqa: ANN401
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))


def _run_document(run: StoryRun) -> Json:
    document: Json = {"id": run.run_id}
    document |= {"says": run.says} if run.says else {}
    document |= {"cluster": dict(run.cluster)} if run.cluster else {}
    steps = [step_document(step) for step in run.steps]
    return document | ({"steps": steps} if steps else {})


def step_document(step: StoryStep) -> Json:
    """What `read_step` reads: the verb first, and what it prints last."""
    given: Json = _plain(step)
    verb, expected = verb_of(step), given.pop("expected", None)
    document = {verb: given.pop(verb), **given}
    return document | ({} if expected is None else {"expected": expected})


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
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    document = as_document(story)
    steps = document.pop("steps", [])
    text = yaml.safe_dump(document, sort_keys=False, width=100, allow_unicode=True)
    items = "".join(indent(f"{step_text(step)}\n", "  ") for step in steps)
    return head + text + (f"steps:\n{items}" if items else "")
