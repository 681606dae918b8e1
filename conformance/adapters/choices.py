"""What a run can be asked to have, by name: networks, ZooKeepers, targets; cheap to import."""

PROXY = "proxy"
"""All processes share the loopback; where a scenario hurts connections, a proxy leads them."""
NAMESPACES = "namespaces"
"""Each broker and each ZooKeeper has a network of its own, and the kernel drops packets."""
NETWORKS = (PROXY, NAMESPACES)

EMBEDDED = "embedded"
"""One server from the jars inside PySpark."""
ENSEMBLE = "ensemble"
"""Three of them, of which one leads."""
CONTAINER = "container"
"""One server in a container."""
CONTAINERS = "containers"
"""An ensemble of which each server has a container and the network between them can be cut."""
AS_PROCESSES = (EMBEDDED, ENSEMBLE)
"""Those that can be in network namespaces."""
OWN = (*AS_PROCESSES, CONTAINER, CONTAINERS)
"""Those that the harness starts; anything else is an address."""

KAFKA = "kafka:"
"""How the target begins that is a release of Apache Kafka."""
ADAPTER = "cmd:"
"""That is an adapter program."""
ATTACHED = "tcp:"
"""That is an adapter that listens."""
IN_PROCESS = "py:"
"""That is an `Implementation` in Python."""


def why_no_network(network: str, zookeeper: str, *, options: str = "--") -> str:
    """Why there is no such network, or not with that ZooKeeper; empty: there is.

    `options` is how the names of options begin, for people.
    """
    if network not in NETWORKS:
        return f"{options}network is {network!r}; choose one of {', '.join(NETWORKS)}"
    if network == NAMESPACES and zookeeper not in AS_PROCESSES:
        return (
            f"{options}network {NAMESPACES} reaches only servers that are in it: choose "
            f"{options}zookeeper {' or '.join(AS_PROCESSES)}"
        )
    return ""
