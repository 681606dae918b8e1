"""On a healed cluster each right holds, and no other; tokens live as long as they may."""

from dataclasses import replace

import pytest

from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.runs.run_end import run_end
from fencepost.impl.core.configuration.stored_acls import StoredAuthorizer
from fencepost.impl.core.rules.security.acls import Authorizer
from fencepost.impl.core.rules.security.token_gate import TokenGate
from fencepost.impl.core.rules.security.tokens import TakenProofs
from fencepost.impl.sim.engine.run import described, run
from fencepost.impl.sim.requests.last_rights import RIGHTS, attempts
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Ending, ProtocolLevel
from tests.impl.sim.build import calm


def play(
    *, secured: bool = True, level: ProtocolLevel = ProtocolLevel.CONTROLLER_MUTATIONS
) -> list[TraceEvent]:
    options = replace(
        calm(),
        level=level,
        asks_last=True,
        secured=secured,
        duration_ms=500,
    )
    return run(described(options), "rights")


def wrong_answers() -> str:
    (bad,) = run_end(play()).bad
    assert bad.invariant is Ending.ANSWERS
    return bad.message


@pytest.mark.parametrize(
    "level", [level for level in ProtocolLevel if level >= ProtocolLevel.BROKER_EPOCH]
)
def test_each_right_holds_and_no_other(level: ProtocolLevel) -> None:
    events = play(level=level)

    assert run_end(events).bad == ()
    assert [one.invariant for one in run_checks(events) if one.violations] == []
    tokens = {one.path for one in events if (one.path or "").startswith("/delegation_token/t")}
    assert len(tokens) > 3


@pytest.mark.parametrize(("level", "are_kept"), [(5, False), (4, True)])
def test_from_level_5_on_no_token_is_left_that_is_over(level: int, are_kept: bool) -> None:
    known: dict[str | None, str | None] = {}
    for one in play(level=ProtocolLevel(level)):
        if one.node == "zookeeper" and (one.path or "").startswith("/delegation_token/tokens/"):
            known[one.path] = one.action

    assert ({*known.values()} == {"Delete"}) is not are_kept


def test_only_a_secured_run_has_tokens() -> None:
    events = play(secured=False)

    assert not any("delegation" in (one.path or "") for one in events)


def test_each_attempt_is_somebodys_right_and_not_anothers() -> None:
    for name in attempts():
        having = [name in rights.split() for _, rights in RIGHTS]
        assert any(having[1:]), name
        assert not all(having), name


@pytest.mark.parametrize(
    ("owner", "name", "always", "wrong"),
    [
        (StoredAuthorizer, "now", Authorizer((), {"User:ann"}), "for User:ann: NONE in place of"),
        (TakenProofs, "take", True, "for User:gus: NONE in place of SASL_AUTHENTICATION_FAILED"),
        (TokenGate, "secret_of", b"", "a token is told without its secret"),
    ],
)
def test_a_right_too_many_is_told(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, always: object, wrong: str
) -> None:
    monkeypatch.setattr(owner, name, lambda *_: always)

    assert wrong in wrong_answers()
