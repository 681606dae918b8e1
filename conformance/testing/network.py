"""Which network the clusters of a run of pytest have; cheap to import."""

from dataclasses import dataclass

from fencepost.conformance.adapters.choices import NAMESPACES, PROXY


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginNetwork:
    """What was asked for, and whether it can be had."""

    name: str = PROXY
    why_not: str = ""
    """Why tests that want a cluster are skipped; empty when they are not."""

    def require(self, wanted: str) -> None:
        """Raise `ChoiceError` when a cluster is to have a network that this process is not in."""
        if wanted == NAMESPACES and self.name != NAMESPACES:
            from fencepost.conformance.adapters.errors import ChoiceError

            raise ChoiceError(
                f"cluster_settings say network={wanted!r}, for which pytest has to begin in "
                f"another place: give --fencepost-network {NAMESPACES}"
            )


def enter_network(asked: str, recorded: str | None = None) -> PluginNetwork:
    """Enter the network that was asked for, or that of the `recorded` run.

    Namespaces get a network of their own, so that the machine's is left alone; whatever else the
    tests do happens there too.
    """
    name = asked or recorded or PROXY
    if name != NAMESPACES:
        return PluginNetwork(name=name)
    from fencepost.fault_injection.network.namespaces.links import (
        NoNamespacesError,
        enter_own_network,
    )

    try:
        enter_own_network()
    except NoNamespacesError as error:
        return PluginNetwork(name=name, why_not=str(error))
    return PluginNetwork(name=name)
