"""Links that the kernel hurts: the networks of a run as the harness sees them, if there can be any.

A broker registers the address at which the others find it. The harness asks it about its faults at
another one, which no cut is about.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fencepost.fault_injection.network.link_sets import between
from fencepost.fault_injection.network.links import Links
from fencepost.fault_injection.network.namespaces import kernel
from fencepost.fault_injection.network.namespaces.kernel import KernelError
from fencepost.fault_injection.network.namespaces.layout import BROKER_PORT, NetworkNode
from fencepost.fault_injection.network.namespaces.switch import TRY
from fencepost.fault_injection.network.rules import LinkRule
from fencepost.fault_injection.network.wiring import BrokerPlace, Wiring, broker_name
from fencepost.fault_injection.processes.spawning import MODULE_ENVIRONMENT, python_module

TASKS = Path("/proc/self/task")
TRIAL_S = 20.0


class NoNamespacesError(Exception):
    """Network namespaces are not possible here; one sentence says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"no network namespaces: {why}")


class NamespaceLinks(Links):
    """A running switch."""

    PROGRAM = "fencepost.fault_injection.network.namespaces.switch"
    NAME = "switch"
    ANSWER_S = 10.0
    """It starts up to four programs before it answers."""
    PROBES_NETWORKS = True

    def node(self, name: str) -> NetworkNode:
        """Give the member a network of its own, once; raises `LinkError`."""
        answer = self.command("node", name=name)
        return NetworkNode(name=name, number=answer["number"], namespace=Path(answer["namespace"]))

    def cut_off(self, name: str) -> None:
        """Cut all links between the member and those that have a network; raises `LinkError`."""
        links = between([name], self.command("members")["names"])
        self.add([LinkRule(rule_id=_absence(name), links=links, stalls=True)])

    def join(self, name: str) -> None:
        """Open the links of a member that was cut off; raises `LinkError`."""
        self.remove([_absence(name)])


@dataclass(slots=True, kw_only=True)
class NamespaceWiring(Wiring):
    """The networks of one cluster's members; each broker has its own."""

    links: NamespaceLinks

    def place_of(self, broker_id: int) -> BrokerPlace:
        """In its own network; it listens at all addresses there."""
        node = self.links.node(broker_name(broker_id))
        return BrokerPlace(
            zookeeper=self.zookeeper,
            listens=f"0.0.0.0:{BROKER_PORT}",
            advertised=f"{node.host}:{BROKER_PORT}",
            namespace=node.namespace,
        )

    def network_of(self, broker_id: int) -> Path:
        """The network of the broker."""
        return self.links.node(broker_name(broker_id)).namespace

    def started(self, broker_id: int, pid: int) -> None:
        """Nothing to do: its address identifies the broker."""

    def address_of(self, broker_id: int) -> str | None:
        """The address of the broker that only the harness uses."""
        return f"{self.links.node(broker_name(broker_id)).control}:{BROKER_PORT}"


def _absence(name: str) -> str:
    return f"{name} is cut off"


def why_not() -> str:
    """Why network namespaces are not possible here; empty when a trial succeeded."""
    if os.geteuid() != 0:
        return "only root can make them"
    missing = kernel.missing_program()
    if missing is not None:
        return f"{missing} is not on the PATH; install iproute2"
    try:
        tried = subprocess.run(
            python_module(NamespaceLinks.PROGRAM, TRY),
            env={**os.environ, **MODULE_ENVIRONMENT},
            capture_output=True,
            text=True,
            check=False,
            timeout=TRIAL_S,
        )
    except subprocess.TimeoutExpired:
        return f"a trial took more than {TRIAL_S:g} s"
    if tried.returncode == 0:
        return ""
    return (tried.stderr.splitlines() or [f"a trial ended with {tried.returncode}"])[-1]


def enter_own_network() -> None:
    """Move this process, and all that it starts from now on, into a new network.

    The machine's own network is unchanged and out of reach. Raises `NoNamespacesError`.
    """
    why = why_not()
    if why:
        raise NoNamespacesError(why)
    if len(list(TASKS.iterdir())) > 1:
        raise NoNamespacesError("this process has threads, which would stay where they are")
    try:
        kernel.leave()
        kernel.settle_network()
    except KernelError as error:
        raise NoNamespacesError(str(error)) from error
