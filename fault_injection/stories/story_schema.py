"""The JSON Schema (2020-12) of story files, as msgspec makes it of the structs of a file.

For editors and other programs. The reader in `story_file.py` decides: it also checks what a schema
cannot say, as that a trigger names an action that stands before it.
"""

import json
from copy import deepcopy
from pathlib import Path

from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.faults.parameters import Json
from fencepost.fault_injection.stories.steps.verbs import BARE, VERBS
from fencepost.fault_injection.stories.story_document import components
from fencepost.fault_injection.stories.story_file import LASTS, VICTIM
from fencepost.fault_injection.stories.trigger_document import OF_EVENTS
from fencepost.spec.znodes import TOPIC_NAME

SCHEMA = Path("fault_injection/story.schema.json")
ONE_BROKER = (
    rf"([0-9]+|controller|leader\({TOPIC_NAME.pattern}/[0-9]+\)"
    rf"|follower\({TOPIC_NAME.pattern}/[0-9]+,[0-9]+\))"
)


def schema_text() -> str:
    """What is committed, and what `fencepost faults schema` prints."""
    return json.dumps(story_schema(), indent=2, ensure_ascii=False) + "\n"


def story_schema() -> Json:
    """The schema as a JSON object."""
    found = deepcopy(components())
    found["ActionDocument"] |= _actions(found["ActionDocument"])
    found["TriggerDocument"] = _either(found["TriggerDocument"])
    after = found["AfterDocument"]
    found["AfterDocument"] = {
        "description": after["description"],
        "oneOf": [
            _part(after, (*OF_EVENTS, "plus_ms"), needs="event"),
            _part(after, ("action", "phase", "plus_ms"), needs="action"),
        ],
    }
    for name in found:
        if name.startswith("compared_") or name == "first_line":
            found[name]["minProperties"] = 1
    for name in ("StoryDocument", "RunDocument"):
        found[name]["properties"]["steps"]["items"] = {"$ref": "#/$defs/step"}
    found["WaitForStep"]["properties"]["wait_for"] = {"$ref": "#/$defs/AfterDocument"}
    found["FaultStep"] |= _actions(found["FaultStep"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found.pop("StoryDocument"),
        "title": "Fencepost: a story of faults",
        "$defs": {
            **found,
            "step": _step(),
            **{kind.kind: _kind(kind) for kind in KINDS.values()},
            "one_broker": _target("a broker id, or a role", ONE_BROKER),
            "receiver": _target("a broker id, a role, or any", f"({ONE_BROKER}|any)"),
        },
    }


def _step() -> Json:
    """A verb alone, or an object that begins with one."""
    steps = [{"$ref": f"#/$defs/{step.__name__}"} for step in VERBS.values()]
    return {"anyOf": [{"enum": sorted(BARE)}, *steps]}


def _actions(action: Json) -> Json:
    """An action has one of the kinds, and what that kind has."""
    action["properties"]["kind"] = {"enum": list(KINDS)}
    return {
        "not": {"required": ["for_ms", "until"]},
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {"$ref": f"#/$defs/{kind}"},
            }
            for kind in KINDS
        ],
    }


def _kind(kind: FaultKind) -> Json:
    """What an action of that kind has: its target and its time stand beside its parameters."""
    fields, required = dict(kind.parameters), kind.required
    victim = next((name for name in VICTIM if name in fields), "")
    lasts = next((name for name in LASTS if name in fields), "")
    about: Json = {"target": fields.pop(victim, False), "for_ms": fields.pop(lasts, False)}
    needed = [name for name in fields if name in required]
    about["params"] = _object(fields, needed)
    if not lasts and kind.fault_class.active_ms is Fault.active_ms:
        about["until"] = False  # it is over at once
    needs = (["target"] if victim in required else []) + (["params"] if needed else [])
    found: Json = {"description": kind.sentence, "properties": about}
    found |= {"required": needs} if needs else {}
    if lasts in required and lasts == "for_ms":
        found["anyOf"] = [{"required": ["for_ms"]}, {"required": ["until"]}]
    return found


def _either(whole: Json) -> Json:
    """Exactly one field of an object."""
    forms = [_part(whole, (name,), needs=name) for name in whole["properties"]]
    return {"description": whole["description"], "oneOf": forms}


def _part(whole: Json, names: tuple[str, ...], *, needs: str) -> Json:
    return _object({name: whole["properties"][name] for name in names}, [needs])


def _object(fields: Json, needs: list[str]) -> Json:
    """An object with these fields and no others."""
    about = {"type": "object", "properties": fields, "additionalProperties": False}
    return about | ({"required": needs} if needs else {})


def _target(description: str, pattern: str) -> Json:
    text = {"type": "string", "pattern": f"^{pattern}$"}
    return {"description": description, "anyOf": [{"type": "integer", "minimum": 0}, text]}
