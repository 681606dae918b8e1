"""What an operator's `kafka-storage.sh format` leaves on the disks of a cluster's nodes.

The tool itself is run once for a cluster, by its first controller: it knows which features the
release begins with. The other controllers get a copy of that, and every folder the file that says
of which node and cluster it is. A broker that lost its disk gets a new folder of that kind.
"""

import base64
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.fault_injection.processes.supervisor import Supervisor

STORAGE_TOOL = "kafka.tools.StorageTool"
FORMAT = ("format", "-c")
FORMAT_DEADLINE_S = 30.0
META = "meta.properties"


def new_id() -> str:
    """An id as Kafka writes it."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def run_tool(supervisor: Supervisor, command: Sequence[str], cluster_id: str) -> None:
    """The storage of one node is formatted; raises `ClusterError`."""
    # with `=`, for an id may begin with a hyphen, which is no option
    tool = supervisor.start("format", [*command, f"--cluster-id={cluster_id}"])
    if tool.wait(FORMAT_DEADLINE_S) != 0:
        raise ClusterError(f"the storage of a node could not be formatted: {tool.log_tail()}")


def copy_controller(first: Path, other: Path, node_id: int, cluster_id: str) -> None:
    """The folder of another controller begins with the same metadata."""
    shutil.copytree(first, other)
    (other / META).unlink(missing_ok=True)
    require_formatted(other, node_id, cluster_id)


def require_formatted(folder: Path, node_id: int, cluster_id: str) -> None:
    """A folder without the file gets one; any other stays as it is."""
    path = folder / META
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={new_id()}\n",
        encoding="utf-8",
    )
