"""The network of a run as the harness sees it, and whether there can be one."""

import os
import subprocess
import sys
from pathlib import Path

import fencepost
from fencepost.fault_injection.network.link_sets import between
from fencepost.fault_injection.network.links.client import Control
from fencepost.fault_injection.network.links.rules import LinkRule
from fencepost.fault_injection.network.namespaces import kernel
from fencepost.fault_injection.network.namespaces.kernel import KernelError
from fencepost.fault_injection.network.namespaces.layout import NetworkNode
from fencepost.fault_injection.network.namespaces.switch import TRY

TASKS = Path("/proc/self/task")
TRIAL_S = 20.0


class NoNamespacesError(Exception):
    """There can be no network namespaces here; one sentence says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"no network namespaces: {why}")


class SwitchControl(Control):
    """A running switch."""

    PROGRAM = "fencepost.fault_injection.network.namespaces.switch"
    NAME = "switch"
    ANSWER_S = 10.0
    """It starts up to four programs before it answers."""
    PROBES_NETWORKS = True

    def node(self, name: str) -> NetworkNode:
        """The member has a network of its own; raises `LinkError`."""
        answer = self.command("node", name=name)
        return NetworkNode(name=name, number=answer["number"], namespace=Path(answer["namespace"]))

    def cut_off(self, name: str) -> None:
        """Nothing passes between the member and all that have a network now; raises `LinkError`."""
        links = between([name], self.command("members")["names"])
        self.add([LinkRule(rule_id=_absence(name), links=links, stalls=True)])

    def join(self, name: str) -> None:
        """A member that was cut off is in reach again; raises `LinkError`."""
        self.remove([_absence(name)])


def _absence(name: str) -> str:
    return f"{name} is cut off"


def why_not() -> str:
    """Why there can be no network namespaces here; empty when there can, which was tried."""
    if os.geteuid() != 0:
        return "only root can make them"
    missing = kernel.missing_program()
    if missing is not None:
        return f"{missing} is not on the PATH; install iproute2"
    rooms = str(Path(fencepost.__file__).parents[1])
    try:
        tried = subprocess.run(
            [sys.executable, "-S", "-m", SwitchControl.PROGRAM, TRY],
            env={**os.environ, "PYTHONPATH": rooms},
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
    """This process is in a new network, and so is whatever it starts from now on.

    The machine's own network gets nothing, and is out of reach. Raises `NoNamespacesError`.
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
