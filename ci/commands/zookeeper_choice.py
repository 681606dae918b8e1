"""`--zookeeper`: servers of our own, or some that must answer before anything else is started."""

from fencepost.ci.gate.failures import as_usage

EMBEDDED = "embedded"
OWN = (EMBEDDED, "ensemble", "container", "containers")
"""As `conformance.adapters.zookeepers` has them, which would take long to import for a default."""
ANSWER_DEADLINE_S = 5.0
"""A ZooKeeper that takes longer to grant a session is not one to measure failovers on."""


def check_zookeeper(choice: str) -> None:
    """Return when `choice` will do: one of our own, or an address where a ZooKeeper answers.

    Raises `UsageError` for what is no address, `ZooKeeperError` when nobody answers there.
    """
    if choice in OWN:
        return
    from fencepost.fault_injection.zookeeper.address import AddressError
    from fencepost.fault_injection.zookeeper.server import check_external

    with as_usage(AddressError):
        check_external(choice, deadline_s=ANSWER_DEADLINE_S)
