"""The steps of stories on simulated clusters, and the writer of failing runs."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from fencepost.conformance.checks.registry import judge
from fencepost.fault_injection.stories.steps.verbs import VERBS
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.draw.draw import swarm
from fencepost.impl.sim.engine.run import described, run
from fencepost.impl.sim.stories.play import play, story_text
from fencepost.impl.sim.stories.settings import read_options, write_options
from fencepost.impl.sim.stories.simulated_steps import SIMULATED_STEPS
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import ProtocolLevel

README = Path(__file__).resolve().parents[2] / "stories" / "README.md"
ROW = re.compile(r"^\| `\{?(\w+)", re.MULTILINE)
"""Of the table of steps: the verb."""
HEAD = "schema: 1\nid: short\n"
SHORT = f"""# A story.
{HEAD}cluster: {{brokers: 1}}   # alone
steps:
  - {{create_topic: t, replicas: [1]}}
  # Comments stay.
  - {{produce: t/0, records: [a], expected: something else}}   # here too

  - show: log(t/0)
    expected: |
      something
      else
  - run_ms: 5  # in block style
"""


def story(steps: str, cluster: str = "first_controller: 3") -> str:
    """A story with a step per line."""
    items = "".join(f"  - {line}\n" for line in steps.strip().splitlines())
    return f"{HEAD}cluster: {{{cluster}}}\nsteps:\n{items}"


def output_of(steps: str, cluster: str = "first_controller: 3") -> list[str]:
    """What the steps print."""
    return [line for one in play(story(steps, cluster), judge).steps for line in one.printed]


def without_harness(events: Sequence[TraceEvent]) -> list[TraceEvent]:
    """What happened, without what the harness tells of the run."""
    told = (event for event in events if event.kind not in (Kind.RUN, Kind.FAULT))
    return [structs.replace(event, run_id="") for event in told]


@pytest.mark.parametrize(
    ("mutant", "printed"),
    [
        ("", []),
        (", mutant: high_watermark_on_fetch_only", ["not within 500 ms: pending=0; it is 1"]),
    ],
)
def test_a_demand_that_is_not_met_prints_what_is_seen(mutant: str, printed: list[str]) -> None:
    steps = """
{create_topic: t, replicas: [1, 2]}
{kill: 2}
{until: {isr(t/0): [1]}}
{produce: t/0, records: [a], wait: false}
{must: {pending: 0}, within_ms: 500, for_ms: 100}
"""

    assert output_of(steps, f"first_controller: 3{mutant}") == printed


# Files


def test_outputs_are_rewritten_and_all_else_stays() -> None:
    played = play(SHORT, judge)

    assert played.text == SHORT.replace("something else", "ok offset=0").replace(
        "- show: log(t/0)\n    expected: |\n      something\n      else",
        "- {show: log(t/0), expected: 'broker 1: a@0 |'}",
    )
    assert play(played.text, judge).text == played.text


def test_where_runs_differ_the_output_is_said_by_run() -> None:
    text = f"""{HEAD}runs:
  - {{id: one, cluster: {{brokers: 1}}}}
  - {{id: two, cluster: {{brokers: 2}}}}
steps:
  - {{until: {{life(1): alive}}, expected: old}}
  - {{until: {{registered(1): true}}}}
  - {{create_topic: t, replicas: [1]}}
  - {{produce: t/0, records: [a], broker: 1}}
  - {{until: {{life(1): dead}}, within_ms: 0, expected: {{two: old}}}}
  - show: state
"""

    played = play(text, judge)

    assert "  - {until: {life(1): alive}}\n" in played.text
    assert "records: [a], broker: 1, expected: ok offset=0}\n" in played.text
    assert "expected: 'not within 0 ms: life(1)=dead; it is alive'}" in played.text
    assert "  - show: state\n    expected:\n      one: |\n        controller=1 " in played.text
    assert play(played.text, judge).text == played.text


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ("{dance: 1}", "line 5: there is no verb 'dance'; begin with one of create_topic"),
        ("{kil: 1}", "line 5: there is no verb 'kil'; did you mean kill"),
        ("kill", "line 5: kill does not stand alone; write it as in {kill: ...}"),
        ("7", r"the story: steps holds 7; give a list of"),
        (
            "{kill: 1, brokr: 2}",
            "line 5: kill: there is no field 'brokr'; choose among after_ms, at",
        ),
        ("{produce: t/0}", "line 5: produce: the field records is missing; add it"),
        ("{run_ms: soon}", "line 5: run_ms: run_ms is 'soon'; give a whole number"),
        ("{run_ms: -1}", "line 5: run_ms: run_ms is -1; give 0 or more"),
        ("{run_ms: 1, after_ms: 5}", "line 5: run_ms: there is no field 'after_ms'"),
        ("{kill: x}", "line 5: kill: kill: target 'x' is none"),
        ("{kill: 1, at: noon}", "line 5: kill: at is 'noon', which is no point"),
        ("{kill: 1, at: send(Sing)}", r"line 5: kill: at is 'send\(Sing\)', which is no point"),
        (
            "{produce: t, records: [a]}",
            "line 5: produce: produce is 't'; give a partition, as in t/0",
        ),
        (
            "{produce: t/0, records: [a], acks: 2}",
            "line 5: produce: acks is 2; choose one of 0, 1, all",
        ),
        (
            "{create_topic: '!', replicas: [1]}",
            "line 5: create_topic: create_topic is '!'; give a name",
        ),
        (
            "{create_topic: t, replicas: [a]}",
            "line 5: create_topic: replicas holds 'a'; give a list",
        ),
        ("{until: {}}", "line 5: until: until is empty; give an observation"),
        ("{until: {mood(1): good}}", r"line 5: until: mood\(1\) cannot be seen; write one of"),
        (
            "{hold_request: Sing}",
            "line 5: hold_request: hold_request is 'Sing'; choose one of ControlledShutdown, Fetch",
        ),
        ("{show: off}", "line 5: show: show is 'off'; give state, results, log"),
        ("{kind: proc.dance}", "line 5: kind: unknown fault 'proc.dance'"),
        ("{kind: proc.pause}", "line 5: proc.pause needs the field 'target'"),
        ("{read: , expected: {x: y}}", "line 5: expected names the run 'x', which is none"),
        ("{kill: 9}", "line 5: no broker is 9 now"),
        ("{kill: leader(t/0)}", r"line 5: no broker is leader\(t/0\) now"),
        ("{kill: 1}\n{kill: 1}", "line 6: broker 1 is dead"),
        ("{produce: t/0, records: [a]}", "line 5: t/0 has no leader; name a broker"),
        ("{until: {life(7): dead}}", r"line 5: life\(7\): there is no broker 7"),
        ("read\nread", "line 6: all was read already"),
        ("{retry: t/0, broker: 1}", "line 5: no produce to t/0 is open"),
        ("{heal: cut}", "line 5: no fault 'cut' is active"),
        ("{delete_znode: /nothing}", "line 5: there is no znode /nothing"),
        ("workload", "line 5: there is no partition to work on; create_topic comes first"),
    ],
)
def test_what_cannot_be_played_gets_one_sentence_with_its_line(steps: str, sentence: str) -> None:
    with pytest.raises(StoryError, match=sentence):
        play(story(steps), judge)


@pytest.mark.parametrize(
    ("cluster", "sentence"),
    [
        ("level: 9", "the story: cluster: level is 9; give 5 or less"),
        ("mutant: x", "cluster: there is no mutant 'x'"),
        ("colour: red", "the story: cluster: there is no field 'colour'"),
        ("simulator: {colour: red}", "cluster: Object contains unknown field `colour`"),
        ("simulator: {think_ms: 5}", "cluster: Expected `array`, got `int` - at `.*think_ms"),
        ("first_controller: 7", "first_controller is 7; choose one of 1 to 3"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(cluster: str, sentence: str) -> None:
    with pytest.raises(StoryError, match=sentence):
        play(story("{run_ms: 1}", cluster), judge)


def test_a_story_without_steps_is_told() -> None:
    with pytest.raises(StoryError, match="it has no steps"):
        play(HEAD, judge)


def test_every_verb_is_performed_and_named_in_the_readme() -> None:
    assert {*ROW.findall(README.read_text())} == {*VERBS}
    assert set(SIMULATED_STEPS) == set(VERBS.values())


# The steps


def test_what_is_put_off_happens_in_its_time() -> None:
    steps = """{{kill: 1, after_ms: 300}}
{{run_ms: {}}}
{{until: {{life(1): dead}}, within_ms: 0}}"""

    assert output_of(steps.format(299), "") == ["not within 0 ms: life(1)=dead; it is alive"]
    assert output_of(steps.format(300), "") == []


def test_actions_wait_beside_the_steps() -> None:
    text = story("{create_topic: t, replicas: [1, 2]}\n{until: {role(1): x}}").replace(
        "{role(1): x}", "{life(1): dead}"
    )
    actions = """actions:
  - {id: kill, kind: proc.kill, target: 1, when: {after: {event: BecomeLeader}}}
"""

    assert [one.printed for one in play(text + actions, judge).steps] == [(), ()]


def test_a_fault_is_healed_by_its_id() -> None:
    steps = """{id: pause, kind: proc.pause, target: 1, for_ms: 60000}
{until: {life(1): paused}}
{heal: pause}
{until: {life(1): alive}, within_ms: 1000}"""

    assert output_of(steps) == []


def test_a_process_stops_at_a_named_point_and_goes_on_there() -> None:
    create = "{create_topic: t, replicas: [1, 2, 3], wait: false}\n"
    written = "{until: {leader(t/0): 1, 'role(t/0,1)': none}}"

    assert output_of(f"{create}{{kill: 3, at: PublishDecision}}\n{written}") == []
    paused = f"{create}{{pause: 3, at: PublishDecision}}\n{{until: {{life(3): paused}}}}\n{written}"
    assert output_of(f"{paused}\n{{resume: 3}}\n{{until: {{'role(t/0,1)': leader}}}}") == []


def test_the_second_time_is_counted() -> None:
    steps = """{{kill: 1, at: send(Fetch), nth: {}}}
{{create_topic: t, replicas: [3, 1]}}
{{until: {{life(1): dead}}, within_ms: {}}}"""

    assert output_of(steps.format(2, 2000)) == []
    assert output_of(steps.format(9, 100)) == ["not within 100 ms: life(1)=dead; it is alive"]


def test_messages_wait_and_are_delivered() -> None:
    steps = """{create_topic: t, replicas: [1, 2]}
{hold_request: Fetch, sender: 2}
{produce: t/0, records: [a], wait: false}
{run_ms: 200}
{show: results}
deliver
{until: {pending: 0}}
{show: results}"""

    assert output_of(steps) == ["produce t/0 a: pending", "produce t/0 a: ok offset=0"]


def test_what_is_lifted_is_lost() -> None:
    steps = """{create_topic: t, replicas: [1, 2]}
{hold_request: Produce}
{produce: t/0, records: [a]}
lift
{produce: t/0, records: [b]}"""

    assert output_of(steps) == ["no answer", "ok offset=0"]


def test_answers_wait_too() -> None:
    steps = """{create_topic: t, replicas: [1, 2]}
{hold_response: Produce}
{produce: t/0, records: [a], wait: false}
{until: {'high_watermark(t/0,1)': 1, pending: 1, held: 1}}
{deliver: any, keep: true}
{until: {pending: 0, held: 0}}"""

    assert output_of(steps) == []


def test_a_broker_that_is_cut_from_zookeeper_loses_its_session() -> None:
    steps = """{until: {registered(1): true}}
{disconnect: 1}
{until: {registered(1): false}}
{run_ms: 5000}
{until: {registered(1): false}, within_ms: 0}
{connect: 1}
{until: {registered(1): true}}"""

    assert output_of(steps) == []


def test_what_was_killed_lives_in_the_end_whatever_fault_it_had_besides() -> None:
    steps = """{create_topic: t, replicas: [1, 2]}
{kind: zk.watch_delay, target: 1, for_ms: 60000, params: {delay_ms: 10}}
{run_ms: 100}
{kill: 1}
heal_all"""

    assert output_of(steps) == []


def test_what_was_paused_twice_goes_on_in_the_end() -> None:
    steps = "{create_topic: t, replicas: [1, 2]}\n{pause: 1}\n{pause: 1}\nheal_all"

    assert output_of(steps, "brokers: 2") == []


def test_a_znode_is_deleted_by_hand() -> None:
    assert output_of("{delete_znode: /controller}\n{until: {controller_epoch: 2}}") == []


# The writer of failing runs


@pytest.mark.parametrize("seed", [3, 36, 99])
def test_a_run_that_is_written_down_plays_again_event_for_event(seed: int) -> None:
    options = swarm(seed, level=ProtocolLevel.LEADER_EPOCH, mutant=mutant_name("no_step_down"))
    text = story_text(options, story_id="s", comment=f"Seed {seed}.\n\nAs it was.")

    played = play(text, judge)

    assert text.startswith(f"# Seed {seed}.\n#\n# As it was.\nschema: 1\nid: s\nseed: {seed}\n")
    assert without_harness(played.traces[0]) == without_harness(run(described(options), "r"))


def test_every_option_is_written_and_read_again() -> None:
    for seed in range(30):
        options = swarm(seed, level=ProtocolLevel.DRAFT_V3)

        again = read_options(options.seed, write_options(options))

        assert replace(again, story=options.story) == options


def test_until_compares_with_what_was_noted() -> None:
    steps = """{{create_topic: t, replicas: [1, 2]}}
{{note: [epoch(t/0), leader(t/0)]}}
{{kill: 1}}
{{until: {{epoch(t/0): {}, leader(t/0): {}}}}}"""

    assert output_of(steps.format('"+1"', "1|2"), "") == []
    assert output_of(steps.format("more", 2), "") == []
    (wrong,) = output_of(steps.format("same", 2), "")
    assert wrong == "not within 10000 ms: epoch(t/0)=same; it is 1"


def test_a_comparison_needs_a_note() -> None:
    with pytest.raises(StoryError, match="more compares with nothing; note the observation"):
        play(story("{create_topic: t, replicas: [1]}\n{until: {epoch(t/0): more}}"), judge)


def test_offsets_are_listed_at_a_broker() -> None:
    steps = """{create_topic: t, replicas: [1, 2]}
{produce: t/0, records: [a]}
{list_offsets: t/0}
{list_offsets: t/0, broker: 2}"""

    assert output_of(steps, "")[1:] == [
        "ok high_watermark=1 log_end_offset=1",
        "NOT_LEADER_OR_FOLLOWER",
    ]


def test_a_znode_prints_what_it_does_not_hold() -> None:
    steps = """{until: {controller: 1|2|3}}
{znode: /controller, holds: {brokerid: [1, 2, 3], timestamp: null}, ephemeral: true}
{znode: /controller, holds: {brokerid: 9, colour: null}, ephemeral: false}
{znode: /nothing, exists: false}
{znode: /nothing}"""

    seen = output_of(steps, "")
    assert seen[0] == "ephemeral=True"
    assert seen[1].startswith("brokerid=")
    assert seen[2:] == ["colour=absent", "it does not exist"]


def test_one_of_several_answers_is_expected() -> None:
    steps = "{create_topic: t, replicas: [1]}\n{list_offsets: t/0, broker: 2, expected: [ok, %s]}"

    fits = play(story(steps % "UNKNOWN_TOPIC_OR_PARTITION"), judge)
    differs = play(story(steps % "NOT_ENOUGH_REPLICAS"), judge)

    assert fits.steps[1].printed == fits.steps[1].expected
    assert differs.steps[1].printed != differs.steps[1].expected


def test_a_command_with_an_older_epoch_is_refused_and_changes_nothing() -> None:
    printed = output_of(
        """
        {create_topic: t, replicas: [1, 2, 3]}
        {kill: 1}
        {until: {leader(t/0): 2, epoch(t/0): 1, version(t/0): 1, controller_epoch: 1}}
        {control: LeaderAndIsr, to: 2, partition: t/0, controller_epoch: current-1, leader: 3}
        {control: LeaderAndIsr, to: 2, partition: t/0, leader_epoch: current-1, leader: 1}
        {control: StopReplica, to: 3, partition: t/0, controller_epoch: 0, delete: true}
        {control: StopReplica, to: 3, partition: t/0, leader_epoch: 0, delete: true}
        {control: LeaderAndIsr, to: 3, partition: t/0}
        {until: {'role(t/0,2)': leader, 'replica_epoch(t/0,2)': 1, 'role(t/0,3)': follower}}
        """
    )

    of_partition = "t/0: STALE_LEADER_EPOCH"
    assert printed == [
        "STALE_CONTROLLER_EPOCH",
        of_partition,
        "STALE_CONTROLLER_EPOCH",
        of_partition,
        of_partition,
    ]


def test_a_newer_command_is_obeyed_whichever_broker_sends_it() -> None:
    printed = output_of(
        """
        {create_topic: t, replicas: [1, 2, 3]}
        {control: LeaderAndIsr, to: 2, partition: t/0, leader_epoch: current+1, leader: 2}
        {until: {'role(t/0,2)': leader, 'replica_epoch(t/0,2)': 1}}
        """
    )

    assert printed == ["ok"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("{control: UpdateMetadata, to: 2}", "the core has no UpdateMetadata"),
        ("{control: LeaderAndIsr, to: 2, partition: t/0}", "t/0 has no published state"),
    ],
)
def test_a_command_that_means_nothing_here_is_told(step: str, why: str) -> None:
    with pytest.raises(StoryError, match=why):
        output_of(f"{{until: {{registered(2): true, controller: 3}}}}\n{step}")
