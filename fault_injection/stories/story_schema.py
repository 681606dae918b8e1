"""The JSON Schema (2020-12) of schedule files, made from the catalogue of faults.

For editors and other programs. `story_file.py` is who decides: it also checks what a schema cannot
say, as that a trigger names an action that stands before it. What it takes, the schema takes.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_origin

from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_kind import FaultKind
from fencepost.fault_injection.stories.story import DEADLINE_MS, ClientLoad, Floors, Operator, Story
from fencepost.fault_injection.stories.story_file import (
    BROKERS_MAX,
    CLUSTER_NUMBERS,
    LASTS,
    LEVELS,
    PLAN_NAME,
    REQUIREMENT_ID,
    SCHEMA_VERSION,
    WHO,
    ZOOKEEPERS,
)
from fencepost.fault_injection.stories.trigger_reader import EVENTS, FIELDS, PHASES, operators_of
from fencepost.spec.trace import Phase
from fencepost.spec.znodes import TOPIC_NAME

SCHEMA = Path("fault_injection/schedule.schema.json")
ONE_BROKER = (
    rf"([0-9]+|controller|leader\({TOPIC_NAME.pattern}/[0-9]+\)"
    rf"|follower\({TOPIC_NAME.pattern}/[0-9]+,[0-9]+\))"
)

Json = dict[str, Any]


def schema_text() -> str:
    """What is committed, and what `fencepost faults schema` prints."""
    return json.dumps(story_schema(), indent=2, ensure_ascii=False) + "\n"


def story_schema() -> Json:
    """The schema as a JSON object."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Fencepost: a schedule of faults",
        **_object(_story(), needs=("schema", "id")),
        "$defs": _definitions(),
    }


def _story() -> Json:
    usual = Story(story_id="")
    healthy = "how long the cluster may take to be in sync after the last fault was healed"
    quiet = {"at_ms": _ms("from the start"), "for_ms": _ms("how long", at_least=1)}
    return {
        "schema": {"const": SCHEMA_VERSION},
        "id": {**_text("the name of the schedule"), "pattern": f"^{PLAN_NAME.pattern}$"},
        "says": _text("the story in one sentence"),
        "covers": _requirements(),
        "seed": _number("of the clients", default=usual.seed),
        "profile": {
            "description": "what clients do",
            "enum": list(ClientLoad),
            "default": usual.profile,
        },
        "script": _text("the scenario that is played, whose deeds the actions are"),
        "cluster": _object(_cluster(), "settings that differ from the usual ones"),
        "floors": _object(_floors(), "without so many, the run is VACUOUS"),
        "actions": _list({"$ref": "#/$defs/action"}, "what is done, in this order"),
        "quiet": _list(_object(quiet, needs=tuple(quiet)), "when nothing begins"),
        "final": _object(
            {"healthy_within_ms": _ms(healthy, at_least=1, default=usual.healthy_within_ms)}
        ),
        "fails_at": _list(
            {"enum": list(LEVELS)}, "the protocol levels that are known to violate a check here"
        ),
        "origin": {
            "description": "where the schedule comes from",
            "type": "object",
            "properties": {"kind": {"type": "string"}},
            "required": ["kind"],
        },
    }


def _cluster() -> Json:
    numbers = {name: {"type": "integer", "minimum": 1} for name in CLUSTER_NUMBERS}
    numbers["brokers"]["maximum"] = BROKERS_MAX
    return {**numbers, "zookeeper": {"enum": list(ZOOKEEPERS)}}


def _floors() -> Json:
    usual = Floors()
    return {
        "before": _number("acknowledged requests before the first fault", default=usual.before),
        "during": _number("while faults are about", default=usual.during),
        "after": _number("after the last fault was healed", default=usual.after),
        "each": _number("while each fault lasts", default=usual.each),
    }


def _definitions() -> Json:
    return {
        "action": _action(),
        **{kind.kind: _kind(kind) for kind in KINDS.values()},
        "trigger": _trigger(),
        "after_event": _after_event(),
        "after_action": _after_action(),
        "event": {"description": "the line's action; empty: any", "enum": ["", *EVENTS]},
        "conditions": {"type": "object", **_conditions()},
        **{_comparison_of(name): _comparison(name) for name in FIELDS},
        "one_broker": _target("a broker id, or a role", ONE_BROKER),
        "receiver": _target("a broker id, a role, or any", f"({ONE_BROKER}|any)"),
    }


def _action() -> Json:
    fields = {
        "id": {**_text("by which other actions name it"), "minLength": 1},
        "kind": {"enum": list(KINDS)},
        "target": {"description": "whom it hurts"},
        "params": {"type": "object"},
        "when": {"$ref": "#/$defs/trigger"},
        "for_ms": {"description": "how long it lasts"},
        "until": {"$ref": "#/$defs/trigger"},
        "deadline_ms": _ms("of every wait", at_least=1, default=DEADLINE_MS),
        "must_take_effect": {
            "description": "false: it depends on luck",
            "type": "boolean",
            "default": True,
        },
        "covers": _requirements(),
        "record": {"description": "what a run wrote down of it; not read"},
    }
    return {
        **_object(fields, "one fault", needs=("id", "kind")),
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
    who = next((name for name in WHO if name in fields), "")
    lasts = next((name for name in LASTS if name in fields), "")
    about: Json = {"target": fields.pop(who, False), "for_ms": fields.pop(lasts, False)}
    needed = [name for name in fields if name in required]
    about["params"] = _object(fields, needs=needed)
    if not lasts and kind.fault_class.active_ms is Fault.active_ms:
        about["until"] = False  # it is over at once
    needs = (["target"] if who in required else []) + (["params"] if needed else [])
    found: Json = {"description": kind.sentence, "properties": about}
    found |= {"required": needs} if needs else {}
    if lasts in required and lasts == "for_ms":
        found["anyOf"] = [{"required": ["for_ms"]}, {"required": ["until"]}]
    return found


def _trigger() -> Json:
    """Exactly one of its forms."""
    forms = {
        "at_ms": _ms("from the start of the schedule"),
        "after": {"oneOf": [{"$ref": "#/$defs/after_event"}, {"$ref": "#/$defs/after_action"}]},
        "with": _text("an action that begins together with it"),
        "on": {
            "description": "the first line with these fields",
            "type": "object",
            **_conditions(event={"$ref": "#/$defs/event"}),
            "minProperties": 1,
        },
    }
    return {
        "description": "when something comes",
        "oneOf": [_object({name: form}, needs=(name,)) for name, form in forms.items()],
    }


def _conditions(**more: Json) -> Json:
    """Fields of a trace line, each with what it must be."""
    compared = {name: {"$ref": f"#/$defs/{_comparison_of(name)}"} for name in sorted(FIELDS)}
    return {"properties": more | compared, "additionalProperties": False}


def _after_event() -> Json:
    fields = {
        "event": {"$ref": "#/$defs/event"},
        "by": {"$ref": "#/$defs/receiver", "description": "the node that wrote it"},
        "match": {"$ref": "#/$defs/conditions"},
        "nth": {"type": "integer", "minimum": 1, "default": 1},
        "since": _text("the action from whose injection on it is counted"),
        "plus_ms": _ms("later", default=0),
    }
    return _object(fields, "a line of a node's trace", needs=("event",))


def _after_action() -> Json:
    fields = {
        "action": _text("an action that stands before this one"),
        "phase": {"enum": list(PHASES), "default": Phase.ACTIVE},
        "plus_ms": _ms("later", default=0),
    }
    return _object(fields, "another action has come to a phase", needs=("action",))


def _comparison_of(name: str) -> str:
    """The definition that all fields of one type share."""
    held = FIELDS[name]
    items = "".join(f"_of_{item.__name__}" for item in get_args(held))
    return f"compared_{held.__name__.lower()}{items}"


def _comparison(name: str) -> Json:
    """A value, or what it is compared with."""
    value = _value_of(FIELDS[name])
    forms: Json = {str(one): value for one in operators_of(name)}
    forms[Operator.NE] = {"anyOf": [value, {"type": "null"}]}
    forms[Operator.IN] = {"type": "array", "items": value}
    return {"anyOf": [value, {**_object(forms), "minProperties": 1}]}


def _value_of(field_type: Any) -> Json:  # noqa: ANN401
    if isinstance(field_type, type) and issubclass(field_type, StrEnum):
        return {"enum": list(field_type)}
    if get_origin(field_type) is list:
        (item,) = get_args(field_type)
        return {"type": "array", "items": _value_of(item)}
    return {"type": {int: "integer", str: "string", bool: "boolean"}[field_type]}


def _requirements() -> Json:
    return _list(
        {"type": "string", "pattern": f"^{REQUIREMENT_ID.pattern}$"}, "ids of requirements"
    )


def _target(says: str, pattern: str) -> Json:
    text = {"type": "string", "pattern": f"^{pattern}$"}
    return {"description": says, "anyOf": [{"type": "integer", "minimum": 0}, text]}


def _object(fields: Mapping[str, Any], says: str = "", needs: Sequence[str] = ()) -> Json:
    """An object with these fields and no others."""
    about: Json = {"description": says} if says else {}
    about |= {"type": "object", "properties": dict(fields), "additionalProperties": False}
    return about | ({"required": list(needs)} if needs else {})


def _list(items: Json, says: str) -> Json:
    return {"description": says, "type": "array", "items": items}


def _text(says: str) -> Json:
    return {"description": says, "type": "string"}


def _number(says: str, *, default: int) -> Json:
    return {"description": says, "type": "integer", "minimum": 0, "default": default}


def _ms(says: str, *, at_least: int = 0, default: int | None = None) -> Json:
    about: Json = {"description": says, "type": "integer", "minimum": at_least, "x-unit": "ms"}
    return about | ({} if default is None else {"default": default})
