"""The form of a story in a file: what msgspec reads, and the JSON Schema is made of.

What no line of a trace can ever be is no value of a trigger: it would be waited for in vain.
"""

from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from fencepost.fault_injection.faults.parameters import (
    ANY_RECEIVER,
    Json,
    milliseconds,
    number,
)
from fencepost.fault_injection.faults.targets import Target
from fencepost.fault_injection.stories.steps.verbs import VERBS
from fencepost.fault_injection.stories.story import (
    DEADLINE_MS,
    HEALTHY_WITHIN_MS,
    ClientLoad,
    Floors,
    QuietTime,
)
from fencepost.spec.trace import NODE_LINES, TraceEvent
from fencepost.spec.vocabulary import Action, ProtocolLevel, RefusalKind

BROKERS_MAX = 50
"""As many processes as a machine may bear."""
EVENTS = (*Action, *RefusalKind, *NODE_LINES)
"""What is watched while a story is played: the lines of brokers and clients."""

Text = Annotated[str, Meta(description="a text")]
StoryName = Annotated[
    str,
    Meta(
        description="a name of at most 100 letters, digits, '.', '_' and '-', the first a letter "
        "or a digit",
        pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
    ),
]
RequirementId = Annotated[
    str, Meta(description="an id of a requirement, as CTL-006", pattern="^[A-Z]+-[0-9]{3}$")
]
Level = Annotated[
    int,
    number("a protocol level", ge=0, le=int(max(ProtocolLevel))),
]
Steps = Annotated[list[dict[str, Any] | str], Meta(description="one after the other")]
Event = Annotated[
    str,
    Meta(
        description="the line's action; empty: any",
        extra_json_schema={"enum": ["", *EVENTS]},
    ),
]
Count = Annotated[int, number("", ge=1)]
LaterMs = Annotated[int, milliseconds("later", ge=0)]


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object of a file, with these fields and no others."""


def _held(hint: Any) -> Any:  # noqa: ANN401
    """The type of a field of a trace line without the None of one that is left out."""
    return next((one for one in get_args(hint) if one is not NoneType), hint)


FIELDS: dict[str, Any] = {
    name: hint if get_origin(hint) is list else _held(hint)
    for name, hint in get_type_hints(TraceEvent).items()
}
"""Field of a trace line -> what it holds."""


class Comparison(Document, frozen=True, kw_only=True, rename={"in_": "in"}):
    """What a field of a trace line is compared with; numbers by size, too."""


@cache
def _comparison(held: Any) -> Any:  # noqa: ANN401
    """A value of that type, or what it is compared with."""
    either = held | UnsetType
    operators: dict[str, Any] = {"eq": either, "ne": either | None, "in_": list[held] | UnsetType}
    if held is int:
        operators |= dict.fromkeys(("lt", "le", "gt", "ge"), either)
    items = "".join(f"_of_{item.__name__}" for item in get_args(held))
    compared = msgspec.defstruct(
        f"compared_{held.__name__.lower()}{items}",
        [(name, hint, UNSET) for name, hint in operators.items()],
        bases=(Comparison,),
        frozen=True,
        kw_only=True,
        rename={"in_": "in"},
    )
    return Annotated[
        held | compared | UnsetType, Meta(extra_json_schema={"description": "a value, or these"})
    ]


_COMPARED = [(name, _comparison(held), UNSET) for name, held in FIELDS.items()]
Conditions: Any = msgspec.defstruct("conditions", _COMPARED, bases=(Document,), frozen=True)
FirstLine: Any = msgspec.defstruct(
    "first_line", [("event", Event, ""), *_COMPARED], bases=(Document,), frozen=True
)


class AfterDocument(Document, frozen=True, kw_only=True):
    """A line of a node's trace, or another action that has come to a phase."""

    event: Event | UnsetType = UNSET
    by: Annotated[Target | UnsetType, Meta(description="the node that wrote it")] = UNSET
    match: Conditions | UnsetType = UNSET
    nth: Count | UnsetType = UNSET
    since: Text | UnsetType = UNSET
    action: Text | UnsetType = UNSET
    phase: Literal["injecting", "active", "healing", "healed"] | UnsetType = UNSET
    plus_ms: LaterMs = 0


class TriggerDocument(Document, frozen=True, kw_only=True, rename={"with_": "with"}):
    """When something comes, in exactly one of these forms."""

    at_ms: Annotated[int, milliseconds("from the start of the story", ge=0)] | UnsetType = UNSET
    after: AfterDocument | UnsetType = UNSET
    with_: Text | UnsetType = UNSET
    on: FirstLine | UnsetType = UNSET


class ActionDocument(Document, frozen=True, kw_only=True):
    """One fault; its parameters are read by the class of its kind."""

    id: Annotated[str, Meta(description="a name, by which other actions speak of it", min_length=1)]
    kind: Text
    target: Annotated[Any, Meta(description="the broker that it hurts")] = UNSET
    params: dict[str, Any] = {}
    when: TriggerDocument | UnsetType = UNSET
    for_ms: Annotated[Any, Meta(description="how long it lasts")] = UNSET
    until: TriggerDocument | UnsetType = UNSET
    deadline_ms: Annotated[int, milliseconds("of every wait", ge=1)] = DEADLINE_MS
    must_take_effect: Annotated[bool, Meta(description="false: it depends on luck")] = True
    covers: list[RequirementId] = []
    record: Annotated[Any, Meta(description="what a run wrote down of it; not read")] = None


class ClusterDocument(Document, frozen=True, kw_only=True):
    """Settings of the cluster that differ from the usual ones."""

    brokers: Annotated[int, number("", ge=1, le=BROKERS_MAX)] | UnsetType = UNSET
    session_timeout_ms: Annotated[int, milliseconds("", ge=1)] | UnsetType = UNSET
    replica_lag_ms: Annotated[int, milliseconds("", ge=1)] | UnsetType = UNSET
    first_controller: Count | UnsetType = UNSET
    zookeeper: Literal["embedded", "ensemble"] | UnsetType = UNSET
    level: Level | UnsetType = UNSET
    judged_level: (
        Annotated[
            int,
            number(
                "the level by which it is judged who may write; else what each broker speaks",
                ge=0,
                le=int(max(ProtocolLevel)),
            ),
        ]
        | UnsetType
    ) = UNSET
    mutant: Annotated[str, Meta(description="the rule that is broken")] | UnsetType = UNSET
    unclean_leader_election: bool | UnsetType = UNSET
    min_insync_replicas: (
        Annotated[int, number("in the ISR at an append for acks=all", ge=1, le=BROKERS_MAX)]
        | UnsetType
    ) = UNSET
    extra: (
        Annotated[tuple[str, ...], Meta(description="more flags of every broker process")]
        | UnsetType
    ) = UNSET
    simulator: (
        Annotated[
            dict[str, Any],
            Meta(description="what only simulated runs have, as RunOptions names it"),
        ]
        | UnsetType
    ) = UNSET


class RunDocument(Document, frozen=True, kw_only=True):
    """One cluster on which the story is played."""

    id: StoryName
    says: Annotated[str, Meta(description="what is different, in one sentence")] = ""
    cluster: ClusterDocument = field(default_factory=ClusterDocument)
    steps: Steps = []


class FinalDocument(Document, frozen=True, kw_only=True):
    """What must hold after the last fault was healed."""

    healthy_within_ms: Annotated[
        int, milliseconds("how long the cluster may take to be in sync", ge=1)
    ] = HEALTHY_WITHIN_MS


class StoryDocument(Document, frozen=True, kw_only=True, rename={"schema_version": "schema"}):
    """A story: steps and actions in the order of the file, and what they are played on."""

    schema_version: Literal[1]
    id: StoryName
    says: Annotated[str, Meta(description="the story in one sentence")] = ""
    covers: list[RequirementId] = []
    hazards: Annotated[list[str], Meta(description="ids of spec/hazards.toml")] = []
    kills: Annotated[list[str], Meta(description="mutants of the reference that fail it")] = []
    seed: Annotated[int, number("of the clients", ge=0)] = 0
    profile: Annotated[ClientLoad, Meta(description="what clients do")] = ClientLoad.STEADY
    cluster: ClusterDocument = field(default_factory=ClusterDocument)
    floors: Floors = field(default_factory=Floors)
    steps: Steps = []
    runs: list[RunDocument] = []
    actions: list[ActionDocument] = []
    quiet: list[QuietTime] = []
    final: FinalDocument = field(default_factory=FinalDocument)
    further: Annotated[list[str], Meta(description="commands and pages that show more of it")] = []
    from_level: Annotated[
        int, number("the first level that has what it is about", ge=0, le=int(max(ProtocolLevel)))
    ] = 0
    fails_at: Annotated[list[Level], Meta(description="the levels that violate a check")] = []
    origin: Annotated[
        dict[str, Any],
        Meta(
            description="where the story comes from",
            extra_json_schema={
                "properties": {"kind": {"type": "string"}},
                "required": ["kind"],
            },
        ),
    ] = field(default_factory=lambda: {"kind": "hand"})


@cache
def components() -> dict[str, Json]:
    """The JSON Schema of each object of a story file, by the name of its class."""
    _, found = msgspec.json.schema_components(
        [StoryDocument, *VERBS.values()],
        schema_hook=lambda _: ANY_RECEIVER,
        ref_template="#/$defs/{name}",
    )
    return found
