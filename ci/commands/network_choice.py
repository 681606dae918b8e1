"""`--network`: who cuts connections, and what must be so before that is tried."""

from fencepost.ci.gate.failures import HarnessError

PROXY = "proxy"
"""As `conformance.adapters.networks` has it, which would take long to import for a default."""


def enter_network(choice: str) -> None:
    """This process is where a run with that network must be started from.

    Of namespaces, that is a network of our own, so that the machine's is left alone. Raises
    `HarnessError` when there can be none.
    """
    if choice == PROXY:
        return
    from fencepost.fault_injection.network.namespaces.client import (
        NoNamespacesError,
        enter_own_network,
    )

    try:
        enter_own_network()
    except NoNamespacesError as error:
        raise HarnessError(f"skipped: {error}") from error
