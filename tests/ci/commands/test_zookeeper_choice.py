from fencepost.ci.commands import zookeeper_choice
from fencepost.conformance.adapters import zookeepers


def test_the_command_line_and_the_suite_know_the_same_zookeepers() -> None:
    assert zookeeper_choice.OWN == zookeepers.OWN
    assert zookeeper_choice.EMBEDDED == zookeepers.EMBEDDED
