"""The language of scenarios, the verbs, and the writer of failing runs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from fencepost.conformance.checks.registry import judge
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.draw.swarm import swarm
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import described, run
from fencepost.impl.sim.script.language import ScriptError, milliseconds, parse
from fencepost.impl.sim.script.play import play, scenario_text
from fencepost.impl.sim.script.settings import read_options, write_options
from fencepost.impl.sim.script.verbs import VERBS
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import ProtocolLevel

README = Path(__file__).resolve().parents[2] / "scenarios" / "README.md"
SHORT = """# A story.

cluster brokers=1   # alone
create-topic t replicas=1
----

produce t/0 a
show log t/0
----
something else
"""


def output_of(text: str) -> list[str]:
    """What the last block prints."""
    return list(play(text, "s", judge).outputs[-1])


def without_harness(events: Sequence[TraceEvent]) -> list[TraceEvent]:
    """What happened, whoever tells of the run."""
    told = (event for event in events if event.kind not in (Kind.RUN, Kind.FAULT))
    return [structs.replace(event, run_id="") for event in told]


# The language


def test_outputs_are_rewritten_and_all_else_stays() -> None:
    played = play(SHORT, "s", judge)

    assert played.text == SHORT.replace("----\n\n", "----\nok\n\n").replace(
        "something else\n", "produce t/0 a: ok offset=0\nbroker 1: a@0 |\n"
    )
    assert play(played.text, "s", judge).text == played.text


def test_a_block_knows_its_lines() -> None:
    first, second = parse(SHORT, "s")

    assert [command.verb for command in first.commands] == ["cluster", "create-topic"]
    assert first.commands[0].options == {"brokers": "1"}
    assert (first.first, first.separator, first.expected) == (3, 5, ())
    assert (second.first, second.expected) == (7, ("something else",))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "s: there is no command"),
        ("run 1ms\n", "s:1: the block has no ----"),
        ("run 1ms\n\nrun 2ms\n----\n", "s:2: the block of line 1 has no ----"),
        ("----\n", "s:1: ---- without a command before it"),
        ("at 5ms\n----\n", "s:1: at needs a time and a command"),
        ("at 5m run 1ms\n----\n", "s:1: '5m' is no time; write 1200ms or 2s"),
        ("kill broker=1 broker=2\n----\n", "s:1: broker is given twice"),
        ("dance\n----\n", "s:1: unknown verb dance; write one of cluster, "),
        ("kill broker=1\n----\n", "s:1: there is no cluster yet"),
        ("cluster colour=red\n----\n", "s:1: cluster takes no colour="),
        ("cluster level=9\n----\n", "s:1: level=9 is none; write one of 0, 1, 2"),
        ("cluster mutant=x\n----\n", "s:1: mutant=x is none; write one of no_znode_version_check"),
        ("cluster think_ms=5\n----\n", "s:1: think_ms=5 is none; write two numbers, as in 1..60"),
        ("cluster survivors_first=1\n----\n", "s:1: survivors_first=1 is none; write yes or no"),
        ("cluster controller=7\n----\n", "s:1: controller=7 is no broker of 1 to 3"),
        ("cluster\nrun\n----\n", "s:2: run is given 0 words; write run 500ms"),
        ("cluster\nrun soon\n----\n", "s:2: 'soon' is no time"),
        ("cluster\nat 5ms run 1ms\n----\n", "s:2: run lets time pass"),
        ("cluster\nkill\n----\n", "s:2: kill needs broker=, a number or a role"),
        ("cluster\nkill broker=x\n----\n", "s:2: target 'x' is none"),
        ("cluster\nkill broker=9\n----\n", "s:2: no broker is broker=9 now"),
        ("cluster\nkill broker=leader(t/0)\n----\n", "s:2: no broker is broker=leader"),
        ("cluster\nkill broker=1\nkill broker=1\n----\n", "s:3: broker 1 is dead"),
        ("cluster\nkill broker=1 at=noon\n----\n", "s:2: at=noon is no point"),
        ("cluster\nkill broker=1 at=WriteLog\n----\n", "s:2: at=WriteLog is no point"),
        ("cluster\nproduce t a\n----\n", "s:2: 't' is no partition"),
        ("cluster\nproduce t/0 a\n----\n", "s:2: t/0 has no leader; name a broker="),
        ("cluster\nproduce t/0 a acks=2 broker=1\n----\n", "s:2: acks=2 is none"),
        ("cluster\ncreate-topic ! replicas=1\n----\n", "s:2: '!' is no name of a topic"),
        ("cluster\ncreate-topic t replicas=a\n----\n", "s:2: a is no list of brokers"),
        ("cluster\nuntil\n----\n", "s:2: until needs a condition"),
        ("cluster\nuntil soon\n----\n", "s:2: 'soon' is no condition"),
        ("cluster\nuntil mood(1)=good\n----\n", "s:2: mood\\(1\\) is not to be seen"),
        ("cluster\nuntil life(7)=dead\n----\n", "s:2: '7' is no broker of this cluster"),
        ("cluster\nhold method=Sing\n----\n", "s:2: method=Sing is none"),
        ("cluster\nhold count=many\n----\n", "s:2: count=many is no whole number"),
        ("cluster\nshow off\n----\n", "s:2: write show state"),
        ("cluster\nread\nread\n----\n", "s:3: all was read already"),
        ("cluster\nexpire broker=1\n----\n", "s:2: broker 1 has no session"),
        ("cluster\ndelete-znode /controller\n----\n", "s:2: there is no znode /controller"),
        ("cluster\nfault proc.dance\n----\n", "s:2: fault: unknown fault 'proc.dance'"),
        ("cluster\nfault proc.pause\n----\n", "s:2: fault: proc.pause needs the field 'target'"),
        ("cluster\nat 5ms kill broker=9\nrun 9ms\n----\n", "s:2: no broker is broker=9 now"),
    ],
)
def test_what_cannot_be_played_gets_one_sentence_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(ScriptError, match=sentence):
        play(text, "s", judge)


def test_times_are_milliseconds_or_seconds() -> None:
    assert [milliseconds(text) for text in ("1200ms", "2s", "7")] == [1200, 2000, 7]


def test_the_readme_names_every_verb() -> None:
    rows = [line for line in README.read_text().splitlines() if line.startswith("| `")]
    told = {word.split()[0] for row in rows for word in row.split("|")[1].split("`")[1::2]}

    assert told == {*VERBS}


# The verbs


def test_what_is_put_off_happens_in_its_time() -> None:
    story = "cluster\nat 300ms kill broker=1\nrun {}ms\nuntil life(1)=dead within=0\n----\n"

    assert output_of(story.format(299)) == ["not within 0 ms: life(1)=dead; it is alive"]
    assert output_of(story.format(300)) == ["ok"]


def test_a_process_stops_at_a_named_point_and_goes_on_there() -> None:
    story = "cluster controller=3\ncreate-topic t replicas=1,2,3 wait=no\n{}\nuntil {}\n----\n"
    written = "leader(t/0)=1 role(t/0,1)=none"

    assert output_of(story.format("kill broker=3 at=PublishDecision", written)) == ["ok"]
    paused = "pause broker=3 at=PublishDecision\nuntil life(3)=paused {}\nresume broker=3"
    assert output_of(story.format(paused.format(written), "role(t/0,1)=leader")) == ["ok"]


def test_the_second_time_is_counted() -> None:
    story = """cluster controller=3
kill broker=1 at=send(Fetch) nth={}
create-topic t replicas=3,1
until life(1)=dead within={}ms
----
"""
    assert output_of(story.format(2, 2000)) == ["ok"]
    assert output_of(story.format(9, 100)) == ["not within 100 ms: life(1)=dead; it is alive"]


def test_messages_wait_and_are_delivered() -> None:
    story = """cluster controller=3
create-topic t replicas=1,2
hold method=Fetch from=2
produce t/0 a wait=no
run 200ms
show results
deliver
until pending=0
show results
----
"""
    assert output_of(story) == ["produce t/0 a: pending", "produce t/0 a: ok offset=0"]


def test_what_is_lifted_is_lost() -> None:
    story = """cluster controller=3
create-topic t replicas=1,2
hold method=Produce
produce t/0 a
lift
produce t/0 b
show log t/0
----
"""
    assert output_of(story)[:2] == ["produce t/0 a: no answer", "produce t/0 b: ok offset=0"]


def test_answers_wait_too() -> None:
    story = """cluster controller=3
create-topic t replicas=1,2
hold-answer method=Produce
produce t/0 a wait=no
until high_watermark(t/0,1)=1 pending=1 held=1
deliver keep=yes
until pending=0 held=0
----
"""
    assert output_of(story) == ["ok"]


def test_a_broker_that_is_cut_from_zookeeper_loses_its_session() -> None:
    story = """cluster controller=3
until registered(1)=yes
disconnect broker=1
until registered(1)=no
run 5s
until registered(1)=no within=0
connect broker=1
until registered(1)=yes
----
"""
    assert output_of(story) == ["ok"]


def test_who_was_killed_lives_in_the_end_whatever_fault_it_had_besides() -> None:
    text = """cluster brokers=3 controller=3
create-topic t replicas=1,2
fault zk.watch_delay target=1 for_ms=60000 delay_ms=10
run 100ms
kill broker=1
settle
----
"""

    assert output_of(text) == ["converged"]


def test_who_was_paused_twice_goes_on_in_the_end() -> None:
    pauses = "pause broker=1\n" * 2
    text = f"cluster brokers=2\ncreate-topic t replicas=1,2\n{pauses}settle\n----\n"

    assert output_of(text) == ["converged"]


def test_a_znode_is_deleted_by_hand() -> None:
    story = "cluster controller=3\ndelete-znode /controller\nuntil controller_epoch=2\n----\n"

    assert output_of(story) == ["ok"]


# The writer of failing runs


@pytest.mark.parametrize("seed", [3, 36, 99])
def test_a_run_that_is_written_down_plays_again_event_for_event(seed: int) -> None:
    options = swarm(seed, level=ProtocolLevel.LEADER_EPOCH, mutant=mutant_name("no_step_down"))
    text = scenario_text(options, comment=f"Seed {seed}.\nAs it was.")

    played = play(text, "s", judge)

    assert text.startswith(f"# Seed {seed}.\n# As it was.\n\ncluster seed={seed} ")
    assert without_harness(played.traces[0]) == without_harness(run(described(options), "r"))


def test_every_option_is_written_and_read_again() -> None:
    for seed in range(30):
        options = swarm(seed, level=ProtocolLevel.DRAFT_V3)
        given = dict(word.split("=") for word in write_options(options))

        again: RunOptions = read_options(given)
        assert replace(again, story=options.story) == options
