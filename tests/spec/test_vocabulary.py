"""One spelling: the names of the vocabulary map mechanically onto each other."""

import pytest

from fencepost.spec.vocabulary import (
    Action,
    EnvironmentAction,
    ErrorCode,
    Invariant,
    Liveness,
    snake_case,
)


@pytest.mark.parametrize(
    ("camel", "snake"),
    [
        ("BecomeLeader", "become_leader"),
        ("SendLeaderAndIsr", "send_leader_and_isr"),
        ("ElectController", "elect_controller"),
    ],
)
def test_a_name_has_one_python_spelling(camel: str, snake: str) -> None:
    assert snake_case(camel) == snake


@pytest.mark.parametrize("family", [Action, EnvironmentAction, Invariant, Liveness])
def test_each_member_is_named_as_its_value(family: type[Action]) -> None:
    assert {member.name.lower() for member in family} == {snake_case(m.value) for m in family}


def test_only_what_may_have_happened_is_indefinite() -> None:
    indefinite = {code for code in ErrorCode if code.is_indefinite}

    assert indefinite == {
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.NOT_LEADER_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
    }
