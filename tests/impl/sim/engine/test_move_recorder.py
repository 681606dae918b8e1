"""What a simulated cluster goes through, as moves for brokers as processes."""

from pathlib import Path

import pytest

from fencepost.impl.sim.adapter import moves
from fencepost.impl.sim.engine.move_lists import moves_of
from fencepost.spec.pacing import Move, Verb
from tests.conftest import ROOT

UPGRADE = ROOT / "tests" / "stories" / "kip_380_3_accept_missing_epoch.yaml"
MUTANT = "acknowledge_on_step_down"
LATE = """\
schema: 1
id: late
cluster: {mutant: no_step_down, brokers: 3, first_controller: 3}
steps:
  - {create_topic: t, replicas: [1, 2]}
  - {hold_request: LeaderAndIsr, sender: 3, receiver: 1}
  - {kill: 2}
  - {until: {isr(t/0): [1]}}
  - {until: {held: 1}}
  - {kill: 3}
THEN
  - deliver
  - {run_ms: 50}
"""


TOKENS = """\
schema: 1
id: tokens
cluster: {brokers: 3, first_controller: 3, simulator: {secured: true}}
steps:
  - {create_topic: t, replicas: [1]}
  - {create_token: "User:bob", life_ms: 0, broker: 1}
  - {create_token: "User:ann", broker: 1}
  - {renew_token: "User:ann", broker: 2}
  - {describe_token: "User:ann", broker: 3}
  - {expire_token: "User:ann", broker: 1}
"""


def written(tmp_path: Path, then: str = "  - {run_ms: 10}") -> Path:
    path = tmp_path / "late.yaml"
    path.write_text(LATE.replace("THEN", then))
    return path


def test_a_scenario_is_the_same_moves_every_time() -> None:
    assert moves(MUTANT, is_repaired=False) == moves(MUTANT, is_repaired=False)


def test_the_repaired_cluster_is_the_one_without_the_mutant() -> None:
    bad, good = (moves(MUTANT, is_repaired=repaired) for repaired in (False, True))

    assert (bad.mutant, good.mutant) == (MUTANT, "")
    assert bad.is_free
    assert bad.brokers == (1, 2, 3, 4)
    assert bad.flags["replica-lag-ms"] == 20_000


def test_what_is_asked_of_a_token_names_the_request_that_made_it(tmp_path: Path) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text(TOKENS)
    listed = moves_of(path, is_repaired=True)
    requests = [one for one in listed.moves if one.verb is Verb.REQUEST]
    (made,) = [
        one
        for one in requests
        if one.method.startswith("Create") and one.body.get("renewers") == ["User:ann"]
    ]
    others = [one for one in requests if one.body.get("token_id")]
    told = [one for one in listed.moves if one.verb is Verb.INVOKE and one.token]

    assert listed.is_secured
    assert [one.method.removesuffix("DelegationToken") for one in others] == ["Renew", "Expire"]
    assert {one.token for one in (*others, *told)} == {made.number}
    assert len(told) == 3
    assert all(one.wall_ms > 0 for one in requests)


def test_what_is_answered_was_asked_or_lost_and_what_is_responded_was_sent() -> None:
    ready: set[tuple[Verb, int, int]] = set()
    for move in moves(MUTANT, is_repaired=False).moves:
        at = (move.broker, move.number)
        match move.verb:
            case Verb.ANSWER:
                assert {(Verb.ASK, *at), (Verb.LOSE, *at)} & ready, move
            case Verb.RESPOND:
                assert {(Verb.SEND, *at), (Verb.HEARD, *at)} <= ready, move
            case Verb.END_SESSION:
                assert (Verb.ESTABLISH, *at) in ready, move
            case _:
                pass
        ready.add((move.verb, *at))
    assert {verb for verb, _, _ in ready} >= {Verb.END_SESSION, Verb.SESSION_LOST, Verb.SUSPEND}


def test_ticks_of_which_nothing_comes_wait_for_the_next_move_of_their_broker() -> None:
    listed = moves(MUTANT, is_repaired=False).moves
    late = [move for move in listed if move.idle_ms]

    assert sum(len(move.idle_ms) for move in late) > 100
    assert all(move.idle_ms == sorted(move.idle_ms) for move in late)
    assert all(move.idle_ms[-1] <= move.at_ms for move in late)
    assert any(move.verb is Verb.TICK for move in listed)


def test_a_client_invokes_asks_hears_and_completes() -> None:
    listed = moves(MUTANT, is_repaired=False)
    own = [move for move in listed.moves if move.client == "client-script"]
    first = next(move for move in own if move.verb is Verb.INVOKE)
    done = next(m for m in own if m.verb is Verb.COMPLETED and m.number == first.number)

    assert (first.method, first.body["values"]) == ("Produce", ["a"])
    assert own.index(first) < own.index(done)
    asked = next(m for m in own if m.verb is Verb.REQUEST and m.number == done.to)
    assert (asked.method, asked.body["topic"]) == ("Produce", "t")


def test_a_request_of_a_dead_broker_left_before_it_died(tmp_path: Path) -> None:
    listed = moves_of(written(tmp_path), is_repaired=False).moves
    posted = {m.copy: n for n, m in enumerate(listed) if m.verb is Verb.POST and m.broker == 3}
    taken = {m.number: n for n, m in enumerate(listed) if m.verb is Verb.TAKE}

    assert posted
    for copy, left in posted.items():
        assert listed[left].to == listed[taken[copy]].broker
        assert left < place(listed, Verb.KILL, 3) < taken[copy]


def test_a_request_that_comes_to_a_later_start_of_its_receiver_is_no_move(tmp_path: Path) -> None:
    path = written(tmp_path, then="  - {kill: 1}\n  - {restart: 1}\n  - {run_ms: 500}")

    with pytest.raises(ValueError, match=r"late: a dead broker's request comes to a later"):
        moves_of(path, is_repaired=False)


def test_a_story_without_such_a_run_has_no_moves(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"late\.yaml has no run without mutant"):
        moves_of(written(tmp_path), is_repaired=True)


def test_only_a_run_that_settles_owes_anything_at_its_end(tmp_path: Path) -> None:
    assert moves(MUTANT, is_repaired=False).settles
    assert not moves_of(written(tmp_path), is_repaired=False).settles


def place(listed: tuple[Move, ...], verb: Verb, broker: int) -> int:
    return next(n for n, m in enumerate(listed) if m.verb is verb and m.broker == broker)


def test_a_start_after_a_pass_of_an_upgrade_names_what_the_broker_understands_and_speaks() -> None:
    listed = moves_of(UPGRADE, is_repaired=True)
    of_2 = [move for move in listed.moves if move.verb is Verb.START and move.broker == 2]

    versions = [(move.code_level, move.inter_broker_protocol) for move in of_2]
    assert listed.level == 3
    assert versions == [(0, 0), (4, 3), (4, 4)]
