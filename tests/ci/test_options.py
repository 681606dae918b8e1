from fencepost.ci import options
from fencepost.conformance.adapters import zookeepers


def test_the_command_line_and_the_suite_know_the_same_zookeepers() -> None:
    assert options.OWN == zookeepers.OWN
    assert options.EMBEDDED == zookeepers.EMBEDDED
