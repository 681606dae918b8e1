"""`--zookeeper`: a server of our own, or one that must answer before anything else is started."""

from ci.failures import as_usage

EMBEDDED = "embedded"
ANSWER_DEADLINE_S = 5.0
"""A ZooKeeper that takes longer to grant a session is not one to measure failovers on."""


def check_zookeeper(choice: str) -> None:
    """Return when `choice` will do: embedded, or an address where a ZooKeeper answers.

    Raises `UsageError` for what is no address, `ZooKeeperError` when nobody answers there.
    """
    if choice == EMBEDDED:
        return
    from fault_injection.zookeeper_address import AddressError
    from fault_injection.zookeeper_server import check_external

    with as_usage(AddressError):
        check_external(choice, deadline_s=ANSWER_DEADLINE_S)
