"""Story files: what is written is read again, and every mistake gets one sentence."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fencepost.conformance.scenarios import STORIES
from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.request_faults import HoldRequest
from fencepost.fault_injection.faults.targets import FaultError, broker, leader
from fencepost.fault_injection.stories.story import (
    AfterAction,
    AfterEvent,
    At,
    Condition,
    Operator,
    Story,
)
from fencepost.fault_injection.stories.story_document import EVENTS
from fencepost.fault_injection.stories.story_file import (
    LASTS,
    VICTIM,
    as_document,
    read_step,
    read_story,
    story_from_document,
    story_from_text,
    to_yaml,
)
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.stories.story_schema import story_schema
from fencepost.fault_injection.stories.story_text import QuickLoader, StrictLoader
from fencepost.spec.trace import Phase

WHOLE = """
schema: 1
id: story
says: A story.
seed: 7
profile: none
cluster: {brokers: 4, session_timeout_ms: 900, zookeeper: ensemble, first_controller: 2}
floors: {before: 1, during: 2, after: 3}
quiet: [{at_ms: 100, for_ms: 50}]
final: {healthy_within_ms: 9000}
from_level: 3
fails_at: [0]
origin: {kind: tlc, model: truncation}
actions:
  - id: hold
    kind: rpc.hold
    target: controller
    params: {method: LeaderAndIsr, receiver: leader(orders/0)}
    until: {after: {event: BecomeLeader, by: "2", match: {leader_epoch: {ge: 3}, isr: [1, 2]}}}
    deadline_ms: 700
    covers: [CTL-006]
  - id: kill
    kind: proc.kill
    target: leader(orders/0)
    when: {after: {action: hold, plus_ms: 5}}
  - {id: expire, kind: zk.expire, target: 3, when: {with: kill}, must_take_effect: false}
  - {id: jump, kind: clock.jump, target: 3, params: {by_ms: 9},
     when: {on: {event: WriteLeaderAndIsr, topic: {ne: x}, partition: {in: [0, 1]},
                 isr: {in: [[1], [1, 2]]}, error_code: {ne: null}}}}
  - {id: pause, kind: proc.pause, target: 1, for_ms: 20, when: {at_ms: 150}}
"""


def test_a_file_tells_what_waits_for_what() -> None:
    story = story_from_text(WHOLE)
    hold, kill, expire, jump, pause = story.actions

    assert (story.story_id, story.seed, story.fails_at, story.requirements) == (
        "story",
        7,
        (0,),
        ("CTL-006",),
    )
    assert story.from_level == 3
    assert hold.fault == HoldRequest(
        method="LeaderAndIsr",
        sender=hold.fault.victim,
        receiver=leader("orders"),
        for_ms=700,
    )
    assert hold.when == At(at_ms=0)
    assert hold.until == AfterEvent(
        event="BecomeLeader",
        by=broker(2),
        match=(
            Condition(name="leader_epoch", operator=Operator.GE, value=3),
            Condition(name="isr", operator=Operator.EQ, value=(1, 2)),
        ),
        since="hold",
    )
    assert kill.fault == KillBroker(target=leader("orders"), restart_after_ms=None)
    assert kill.when == AfterAction(action_id="hold", plus_ms=5)
    assert expire.when == AfterAction(action_id="kill", phase=Phase.INJECTING)
    assert not expire.must_take_effect
    assert isinstance(jump.when, AfterEvent)
    assert [(one.operator, one.value) for one in jump.when.match] == [
        (Operator.NE, "x"),
        (Operator.IN, (0, 1)),
        (Operator.IN, ((1,), (1, 2))),
        (Operator.NE, None),
    ]
    assert pause.when == At(at_ms=150)
    assert story.is_quiet(100)
    assert not story.is_quiet(150)


def test_what_is_written_is_read_again() -> None:
    story = story_from_text(WHOLE)

    assert story_from_text(to_yaml(story, "two\nlines")) == story


@pytest.mark.parametrize("path", sorted(STORIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_file_that_comes_along_has_the_name_of_its_story_and_follows_the_schema(
    path: Path,
) -> None:
    story = read_story(path)

    assert story.story_id == path.stem
    assert story.says.endswith(".")
    assert story.requirements
    assert shown(document_of(path.read_text())) == []


def one(action: str) -> str:
    return f"schema: 1\nid: a\nactions:\n  - {{id: first, {action}}}\n"


PAUSE = "kind: proc.pause, target: 1, for_ms: 5"


SEEN_BY_SCHEMA = [
    ("3", "the story: expected an object with named fields, found 3"),
    ("schema: 2\nid: a", "schema is 2; this Fencepost reads schema 1"),
    ("id: a", "the field schema is missing; add it"),
    ("schema: 1", "the field id is missing"),
    ("schema: 1\nid: a\nnap: 1", "there is no field 'nap'; choose among actions, cluster"),
    ("schema: 1\nid: a\nprofile: wild", "profile is 'wild'; choose one of none, pipelined, steady"),
    ("schema: 1\nid: a\ncluster: {brokers: 0}", "cluster: brokers is 0; give 1 or more"),
    ("schema: 1\nid: a\ncluster: {size: 3}", "cluster: there is no field 'size'"),
    ("schema: 1\nid: a\nactions: [3]", "actions holds 3; give a list of objects"),
    (one("kind: proc.nap"), r"actions\[0\] \(first\): unknown fault 'proc.nap'; choose one of"),
    (one("kind: proc.pause, target: 1"), "proc.pause needs the field 'for_ms'"),
    (one("kind: proc.pause, target: boss, for_ms: 5"), "target 'boss' is none; write a"),
    (one("kind: zk.expire, target: 1, for_ms: 5"), "zk.expire takes no for_ms; leave it out"),
    (one("kind: proc.pause, params: {target: 1}, for_ms: 5"), "write it as target of the"),
    (one(f"{PAUSE}, when: {{}}"), "when: it has nothing; give exactly one of at_ms, after"),
    (one(f"{PAUSE}, when: {{at_ms: 1, with: b}}"), "when: it has at_ms and with; give exactly"),
    (one(f"{PAUSE}, when: {{at_ms: -1}}"), "when: at_ms is -1; give 0 or more"),
    (one(f"{PAUSE}, when: {{after: {{}}}}"), "it has neither event nor action; give one"),
    (one(f"{PAUSE}, until: {{with: first}}"), "it has for_ms and until; keep one"),
    (one("kind: zk.expire, target: 1, until: {at_ms: 9}"), "zk.expire is over at once; leave"),
    (one(f"{PAUSE}, when: {{on: {{}}}}"), "it is empty; give an event or fields of one"),
    (one(f"{PAUSE}, when: {{on: {{mood: 1}}}}"), "'mood' is no field of a trace line"),
    (one(f"{PAUSE}, when: {{on: {{isrs: 1}}}}"), "'isrs' is no field .*; did you mean isr"),
    (one(f"{PAUSE}, when: {{on: {{event: 7}}}}"), "event is 7; give a text"),
    (
        one(f"{PAUSE}, when: {{on: {{event: becomeleeder}}}}"),
        r"first\): when: on: event is 'becomeleeder', which no .*; did you mean BecomeLeader",
    ),
    (
        one(f"{PAUSE}, when: {{after: {{event: SetData}}}}"),
        "when: after: event is 'SetData', which no broker or client writes into its trace; spec",
    ),
    (one(f"{PAUSE}, when: {{on: {{leader: {{about: 1}}}}}}"), "'about' compares nothing"),
    (one(f"{PAUSE}, when: {{on: {{topic: {{ge: 1}}}}}}"), "topic: 'ge' compares nothing here"),
    (one(f"{PAUSE}, when: {{on: {{topic: 7}}}}"), "on: topic is 7; give a text"),
    (one(f"{PAUSE}, when: {{on: {{topic: null}}}}"), "on: topic is None; give a text"),
    (one(f"{PAUSE}, when: {{on: {{leader: x}}}}"), "leader is 'x'; give a whole number"),
    (one(f"{PAUSE}, when: {{on: {{isr: 3}}}}"), "isr is 3; give a list of whole numbers"),
    (one(f"{PAUSE}, when: {{on: {{isr: [a]}}}}"), "isr holds 'a'; give a list of whole numbers"),
    (
        one(f"{PAUSE}, when: {{on: {{isr: {{in: [1]}}}}}}"),
        "isr: in holds 1; give a list of lists",
    ),
    (one(f"{PAUSE}, when: {{on: {{is_unclean: 1}}}}"), "is_unclean is 1; give true or false"),
    (
        one(f"{PAUSE}, when: {{on: {{kind: {{ne: x}}}}}}"),
        "kind: ne is 'x'; choose one of act",
    ),
    (one(f"{PAUSE}, when: {{on: {{leader: {{ge: x}}}}}}"), "ge is 'x'; give a whole number"),
    (one(f"{PAUSE}, when: {{on: {{leader: {{in: 1}}}}}}"), "in is 1; give a list"),
    (one(f"{PAUSE}, covers: [1]"), "covers holds 1; give a list of texts"),
    (
        one(f"{PAUSE}, covers: [safety]"),
        "covers holds 'safety'; give an id of a requ",
    ),
    (
        "schema: 1\nid: a\nfails_at: [7]",
        "fails_at holds 7; give 5 or less",
    ),
    ("schema: 1\nid: a\nfails_at: [draft]", "fails_at holds 'draft'; give a list of whole numbers"),
    ("", "it is empty; give at least schema and id"),
    ("schema: 1\nid: ../a", "id is '../a'; give a name of at most 100 letters"),
    ("schema: 1\nid: ''", "id is ''; give a name"),
    ("schema: 1\nid: a\ncluster: {brokers: 51}", "brokers is 51; give 50 or less"),
]
SEEN_BY_READER = [
    ("[", "line 1: no valid YAML: "),
    ("schema: 1\nid: a\nid: b", "line 1: the name 'id' is given twice; keep one"),
    (one(f"{PAUSE}, when: {{with: b}}"), "first: when refers to 'b', which is not among the"),
    (
        one("kind: proc.pause, target: 1, until: {with: b}"),
        "until refers to 'b', which is no action; choose one of first",
    ),
    (one(PAUSE) + f"  - {{id: first, {PAUSE}}}\n", "the id 'first' is used twice; rename one"),
    (
        one(f"{PAUSE}, when: {{at_ms: 7}}") + "quiet: [{at_ms: 5, for_ms: 5}]\n",
        "at_ms 7 is in a quiet time; move one",
    ),
    ("schema: 1\nid: 2020-99-99", "no valid YAML: month must be in 1"),
    ("seed: " + "9" * 5000, "no valid YAML: Exceeds the limit"),
    ("[" * 3000, "no valid YAML: too many brackets within brackets"),
    ("\0", "yaml: no valid YAML: it has characters that are no text"),
    ('schema: 1\nid: a\nsays: "\\ud800"', "says is .*, which is no Unicode text"),
    ("#" * ((2 << 20) + 1), "it is larger than 2 MiB; name a story file"),
    (one(f"{PAUSE}, when: {{at_ms: 2147483648}}"), "at_ms is 2147483648; give 2147483647 or less"),
    (one("kind: proc.pause, target: 1, for_ms: 2147483648"), "give 2147483647 or less"),
    (
        one("kind: proc.pause, target: 1, when: {at_ms: 9}, until: {at_ms: 9}"),
        "first: until never comes while it lasts",
    ),
    (
        one("kind: proc.pause, target: 1, until: {after: {action: first, phase: healed}}"),
        "first: until never comes while it lasts",
    ),
]
"""A schema knows no line of a text, and not what refers to what."""


@pytest.mark.parametrize(("text", "message"), [*SEEN_BY_SCHEMA, *SEEN_BY_READER])
def test_a_mistake_is_told_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "story.yaml"
    path.write_text(text)

    with pytest.raises(StoryError, match=message) as caught:
        read_story(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoryError, match=r"none\.yaml: No such file or directory; name a story"):
        read_story(tmp_path / "none.yaml")


def test_every_line_that_can_be_waited_for_is_in_the_table_of_lines() -> None:
    pages = Path("spec/docs")
    told = (pages / "trace.md").read_text() + (pages / "generated" / "actions.md").read_text()

    assert [name for name in EVENTS if f"`{name}`" not in told] == []


def test_the_usual_is_left_out_of_a_small_file() -> None:
    assert to_yaml(Story(story_id="small")) == "schema: 1\nid: small\n"


STEPPED = sorted((Path(__file__).parents[2] / "stories").glob("*.yaml"))[::6]
SCHEMA_OF_PLANS = jsonschema.Draft202012Validator(story_schema())


def shown(document: object) -> list[str]:
    """What the schema has against a document."""
    return [error.message for error in SCHEMA_OF_PLANS.iter_errors(document)]


def document_of(text: str) -> object:
    return yaml.load(text, Loader=StrictLoader)  # noqa: S506  a safe loader


@pytest.mark.parametrize("path", STEPPED, ids=lambda path: path.stem)
def test_both_readers_of_a_file_find_the_same(path: Path) -> None:
    text = path.read_text()

    assert yaml.load(text, Loader=QuickLoader) == document_of(text)  # noqa: S506  a safe loader


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(story_schema())


@pytest.mark.parametrize("path", STEPPED, ids=lambda path: path.stem)
def test_steps_are_written_as_they_are_read(path: Path) -> None:
    story = read_story(path)

    assert story_from_text(to_yaml(story)) == story
    assert shown(as_document(story)) == []


@pytest.mark.parametrize(
    "step",
    [
        "kill",
        {"kill": 1, "brokr": 2},
        {"produce": "t/0"},
        {"run_ms": -1},
        {"kind": "proc.dance"},
        {"kind": "proc.pause", "target": 1},
    ],
)
def test_the_schema_refuses_a_wrong_step(step: object) -> None:
    assert shown({"schema": 1, "id": "a", "steps": [step]})


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"control": "LeaderAndIsr", "to": 2}, "is about a partition"),
        ({"control": "UpdateMetadata", "to": 2, "shuts_down": 1}, "shuts_down names"),
        ({"control": "ControlledShutdown", "to": 2}, "shuts_down names"),
        ({"control": "StopReplica", "to": 2, "partition": "t/0", "leader_epoch": "now"}, "epoch"),
    ],
)
def test_a_command_that_cannot_be_sent_is_refused(step: dict[str, object], why: str) -> None:
    with pytest.raises(FaultError, match=why):
        read_step(step)


def test_the_schema_takes_what_the_reader_takes_and_what_is_written() -> None:
    assert shown(document_of(WHOLE)) == []
    assert shown(as_document(story_from_text(WHOLE))) == []


@pytest.mark.parametrize("text", [text for text, _ in SEEN_BY_SCHEMA])
def test_the_schema_refuses_what_the_reader_refuses(text: str) -> None:
    assert shown(document_of(text))


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_takes_each_kind_and_no_parameter_out_of_its_range(kind: str) -> None:
    action = {"id": "first", "kind": kind, **least(kind)}
    document = {"schema": 1, "id": "a", "actions": [action]}

    assert story_from_document(document).actions[0].fault.kind == kind
    assert shown(document) == []
    for wrong in spoilt(kind, action):
        spoilt_document = {**document, "actions": [wrong]}
        with pytest.raises(StoryError):
            story_from_document(spoilt_document)
        assert shown(spoilt_document), wrong


def least(kind: str) -> dict[str, Any]:
    """The smallest action of a kind but for its id; parameters as small as they may be."""
    rules = KINDS[kind].parameters
    given = {name: smallest(rules[name]) for name in KINDS[kind].required}
    beside = {
        ours: given.pop(name)
        for ours, names in (("target", VICTIM), ("for_ms", LASTS))
        for name in names
        if name in given
    }
    return beside | ({"params": given} if given else {})


def smallest(rule: dict[str, Any]) -> object:
    rule = rule["anyOf"][0] if "anyOf" in rule else rule
    match rule.get("type"):
        case "integer":
            return rule["minimum"]
        case "array":
            return [1] * rule["minItems"]
        case _:
            return "1" if "$ref" in rule else (*rule.get("enum", ()), "orders")[0]


def spoilt(kind: str, action: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The action with one thing wrong at a time."""
    yield {**action, "mood": 1}
    yield {**action, "params": {**action.get("params", {}), "mood": 1}}
    yield {**action, "target": "any"}
    for name, rule in KINDS[kind].parameters.items():
        if name in (*VICTIM, *LASTS):
            continue
        values: list[object] = ["boss"] if "$ref" in rule else [{"a": 1}]
        values += ["an earthquake"] if "enum" in rule else []
        if rule.get("type") == "integer":
            values += [rule["minimum"] - 1, rule["maximum"] + 1]
        for value in values:
            yield {**action, "params": {**action.get("params", {}), name: value}}
