"""The tables of roles and commands, and the levels that hold them."""

from itertools import product

import pytest

from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules.produces import PRODUCE_ENDS, ProduceEnd
from fencepost.impl.core.rules.tables import COMMANDS, SERVING, CommandKind, Role
from fencepost.spec.vocabulary import Action, ErrorCode, ProtocolLevel


def test_every_role_has_an_answer_to_every_command() -> None:
    assert COMMANDS.keys() == {*product(Role, CommandKind)}
    assert SERVING.keys() == {*Role}
    assert PRODUCE_ENDS.keys() == {*ProduceEnd}


def test_only_newer_commands_change_a_role() -> None:
    changing = {kind for (_, kind), reaction in COMMANDS.items() if reaction in {*Action}}

    assert changing == {CommandKind.LEAD, CommandKind.FOLLOW, CommandKind.STOP}
    assert ErrorCode.NONE not in COMMANDS.values()


def test_only_a_leader_serves_and_only_a_committed_produce_is_acknowledged() -> None:
    assert [role for role, error in SERVING.items() if error is ErrorCode.NONE] == [Role.LEADER]
    assert [end for end, error in PRODUCE_ENDS.items() if error is ErrorCode.NONE] == [
        ProduceEnd.COMMITTED
    ]


@pytest.mark.parametrize("level", list(ProtocolLevel))
def test_every_level_replaces_some_rules_of_the_one_below(level: ProtocolLevel) -> None:
    assert len(LEVELS) == len(ProtocolLevel)
    assert LEVELS[level] not in LEVELS[:level]
