"""The protocols that servers of a run speak, as the proxy must know them. Standard library only."""

from enum import StrEnum


class WireProtocol(StrEnum):
    """What a server takes, and so how a probe greets it and how its messages are read."""

    GRPC = "grpc"
    """Its messages are not read."""
    KAFKA = "kafka"
    ZOOKEEPER = "zookeeper"
