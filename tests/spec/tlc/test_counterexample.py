"""Values as TLC prints them, and what a step changed."""

import json

import pytest

from fencepost.spec.tlc.counterexample import Counterexample, CounterexampleState
from fencepost.spec.tlc.values import TlaValueError, Value, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1", -1),
        ("TRUE", True),
        ('"a, ]\\"b"', 'a, ]"b'),
        ("nobody", "nobody"),
        ("<<>>", []),
        ("1..3", [1, 2, 3]),
        ("<<1, {2, 3},\n  <<>>>>", [1, [2, 3], []]),
        ('[role |-> "leader", isr |-> {1}]', {"role": "leader", "isr": [1]}),
        ('(11 :> [a |-> 1] @@ "/x" :> <<FALSE>>)', {"11": {"a": 1}, "/x": [False]}),
    ],
)
def test_a_printed_value_is_read(text: str, value: Value) -> None:
    assert parse_value(text) == value


@pytest.mark.parametrize("text", ["", "<<1", "[a |-> ]", "1 2", "{1; 2}", "(1 :> 2"])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(TlaValueError):
        parse_value(text)


def counterexample() -> Counterexample:
    before: dict[str, Value] = {
        "replicas": [{"role": "leader", "isr": [1, 2]}, {"role": "follower", "isr": []}],
        "messages": [],
    }
    after: dict[str, Value] = {
        "replicas": [{"role": "leader", "isr": [1]}, {"role": "down", "isr": []}],
        "messages": [{"to": 2}],
    }
    return Counterexample(
        states=(
            CounterexampleState(number=1, action="Init", module="", values=before),
            CounterexampleState(number=2, action="CrashBroker", module="Replication", values=after),
        )
    )


def test_only_what_changed_is_shown() -> None:
    assert counterexample().as_table().splitlines() == [
        "   1  Init",
        "   2  CrashBroker",
        "        replicas[1].isr: 2 -> gone",
        "        replicas[2].role: follower -> down",
        "        messages: nothing -> [to: 2]",
    ]


def test_a_counterexample_survives_json() -> None:
    data = counterexample().as_data()

    assert json.loads(json.dumps(data)) == data
    assert [state["action"] for state in data] == ["Init", "CrashBroker"]
